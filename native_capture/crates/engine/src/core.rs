//! One packet at a time, in order of time, the same for files and live.

use std::sync::Arc;

use nc_correlate::{identity_of, Again, Gone, Look, Matcher, Sighting};
use nc_decode::{Packet, Stop};
use nc_detect::{Bundle, Judge, Name, Offence, Place, Verdict};
use nc_flow::{
    Ahead, Counted, FlowKey, FlowTable, Fragments, KeyedState, Limits, Signature, Signatures, TcpEvent, TcpTracker,
};

use crate::clocks::Clocks;
use crate::fabric::Fabric;
use crate::limits::Limits as Used;
use crate::names::Names;
use crate::observe::{Observation, Observer};
use crate::path::Path;
use crate::point::Point;
use crate::queues::Queues;

const SECOND: u64 = 1_000_000_000;
/// A conversation without a packet for this long is over, where flows may be forgotten.
pub(crate) const IDLE_NS: u64 = 300 * SECOND;
/// How often packet time wakes the judge.
/// Two captures that were begun and ended together differ by this much at most where the last packets are lost.
const EDGE_NS: u64 = 10_000_000;
const TICK_NS: u64 = SECOND / 10;
/// Flow number of a packet whose flow found no room.
pub(crate) const NO_FLOW: u32 = u32::MAX;

/// Sizes; all memory of the engine follows from them. `sweep`: flow records looked at per tick for being idle. `observe`: rows per
/// second are kept; `path`: delays and rewrites are kept for a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub flows: usize,
    pub idle_ns: Option<u64>,
    pub sweep: usize,
    pub in_flight: usize,
    pub roce_flows: usize,
    pub observe: bool,
    pub path: bool,
}

/// The engine's memory. Feed packets in order of time.
pub(crate) struct Core {
    pub points: Vec<Point>,
    pub flows: FlowTable,
    pub judge: Judge,
    pub path: Option<Path>,
    pub clocks: Clocks,
    pub matcher: Option<Matcher>,
    pub queues: Option<Queues>,
    pub fabric: Fabric,
    pub limits: Used,
    pub signatures: Arc<Signatures>,
    /// Filled by who reads payload for a report.
    pub names: Names,
    /// Revisions and rows that are due; taken by the caller.
    pub verdicts: Vec<Verdict>,
    pub observations: Vec<Observation>,
    observers: Vec<Observer>,
    incomplete: Vec<u64>,
    pub realms: Vec<String>,
    fragments: Fragments,
    hashers: (KeyedState, KeyedState),
    vanished: Vec<Gone>,
    now_ns: u64,
    sweep: usize,
    next_tick_ns: u64,
    second: Option<u64>,
    /// Packets seen at one point only whose window had not passed when the capture ended.
    pub unsettled: u64,
}

impl Core {
    pub fn new(names: &[String], size: Size, signatures: Arc<Signatures>) -> Self {
        let several = names.len() > 1;
        let tracker = || several.then(|| TcpTracker::new(size.flows));
        let places = names.iter().map(|name| Place { name: name.clone(), realm: String::new() }).collect();
        let window_ns = SECOND;
        Self {
            points: names.iter().map(|name| Point::new(name.clone(), tracker())).collect(),
            flows: FlowTable::new(Limits { flows: size.flows, idle_ns: size.idle_ns }),
            judge: Judge::new(places),
            path: (several && size.path).then(|| Path::new(names.len())),
            clocks: Clocks::unknown(names.len()),
            matcher: several.then(|| Matcher::new(names.len() as u32, window_ns, size.in_flight)),
            queues: None,
            fabric: Fabric::new(names.len(), size.roce_flows),
            limits: Used::default(),
            signatures,
            names: Names::default(),
            verdicts: Vec::new(),
            observations: Vec::new(),
            observers: if size.observe { names.iter().map(|_| Observer::default()).collect() } else { Vec::new() },
            incomplete: vec![0; names.len()],
            realms: vec![String::new()],
            fragments: Fragments::default(),
            hashers: Default::default(),
            vanished: Vec::new(),
            now_ns: 0,
            sweep: size.sweep,
            next_tick_ns: 0,
            second: None,
            unsettled: 0,
        }
    }

    /// Judge by this bundle from now on; it also says the realm of each point and the window of matching.
    pub fn set_bundle(&mut self, bundle: Arc<Bundle>) {
        for point in &mut self.points {
            let realm = bundle.realm_of(&point.name);
            let known = self.realms.iter().position(|known| known == realm);
            point.realm = known.unwrap_or_else(|| {
                self.realms.push(realm.to_owned());
                self.realms.len() - 1
            }) as u16;
        }
        if let Some(matcher) = &mut self.matcher {
            matcher.set_window(bundle.match_window_ms * 1_000_000);
        }
        self.limits = Used::of(&bundle);
        self.judge.set_bundle(bundle);
    }

    /// Replay and measure these queues.
    pub fn set_queues(&mut self, queues: Queues) {
        for (point, pauses) in self.fabric.pauses.iter_mut().enumerate() {
            queues.speed_of(point).into_iter().for_each(|bps| pauses.set_speed(bps));
        }
        self.queues = Some(queues);
    }

    /// A handful of packets of a point that stands alone: what they need is brought near, then they are accounted, one by one.
    /// `ahead`: room that is used again and again.
    pub fn packets(&mut self, number: u16, packets: &[Packet], ahead: &mut Vec<Ahead>) {
        let realm = self.points[usize::from(number)].realm;
        let whole = packets.iter().filter(|packet| Ahead::is_for(packet));
        ahead.clear();
        ahead.extend(whole.map(|packet| self.flows.ahead(&FlowKey::of(packet, realm, ports(packet)))));
        ahead.iter_mut().for_each(|ahead| self.flows.meet(ahead));
        ahead.iter().for_each(|ahead| self.flows.meet_more(ahead));
        let mut ahead = ahead.iter();
        for packet in packets {
            let ahead = if Ahead::is_for(packet) { ahead.next() } else { None };
            self.account(number, packet, ahead);
        }
    }

    /// Account one frame of point `number`. Frames must come in order of time.
    pub fn packet(&mut self, number: u16, packet: &Packet) {
        self.account(number, packet, None);
    }

    #[inline]
    fn account(&mut self, number: u16, packet: &Packet, ahead: Option<&Ahead>) {
        self.advance(packet.ts_ns);
        let point = &mut self.points[usize::from(number)];
        if let Some(queues) = self.queues.as_mut().filter(|_| point.packets == 0) {
            queues.begin(number, packet.ts_ns);
        }
        point.count(packet);
        if !packet.is_ip() {
            if packet.has_bth || packet.stop != Stop::None {
                self.fabric(number, packet, true);
            }
            return;
        }
        if let Some(observer) = self.observers.get_mut(usize::from(number)) {
            observer.count(packet);
        }
        if let Some(ahead) = ahead.filter(|_| self.matcher.is_none()) {
            let seen = self.flows.observe_ahead(ahead, number, packet);
            return self.account_alone(seen, number, packet);
        }
        let ports = if packet.is_fragment() { self.fragments.ports(packet) } else { ports(packet) };
        let key = FlowKey::of(packet, point.realm, ports);
        let Some(matcher) = &mut self.matcher else {
            let seen = self.flows.observe(key, number, packet);
            return self.account_alone(seen, number, packet);
        };
        let id = identity_of(packet, key.realm, &self.hashers);
        let sighting = matcher.sight(id, number, packet);
        if let Some(tracker) = point.tracker.as_mut().filter(|_| packet.is_tcp()) {
            let event = tracker.observe(key, packet);
            self.count_tcp(number, packet, event);
        }
        if packet.has_bth {
            self.fabric(number, packet, sighting == Sighting::First);
        }
        match sighting {
            Sighting::Again(again) => self.again(number, packet, &again),
            Sighting::First => {
                let seen = self.flows.observe(key, number, packet);
                let (flow, _) = self.note_payload(seen, packet);
                if let Some(matcher) = &mut self.matcher {
                    matcher.remember(id, number, packet, flow);
                }
                self.queue_first(number, packet, flow);
                if flow != NO_FLOW {
                    self.judge_host(flow, number, packet);
                }
            }
        }
    }

    /// Numbers of the points of a realm.
    pub fn points_of(&self, realm: u16) -> impl Iterator<Item = u16> + '_ {
        let points = self.points.iter().enumerate().filter(move |(_, point)| point.realm == realm);
        points.map(|(number, _)| number as u16)
    }

    /// The rest, where no other point may show the packet again.
    #[inline]
    fn account_alone(&mut self, seen: Option<(u32, TcpEvent)>, number: u16, packet: &Packet) {
        let (flow, event) = self.note_payload(seen, packet);
        self.count_tcp(number, packet, event);
        if self.queues.is_some() {
            self.queue_first(number, packet, flow);
        }
        if flow != NO_FLOW && self.judge.bundle().is_some() {
            self.judge_host(flow, number, packet);
        }
        if packet.has_bth {
            self.fabric(number, packet, true);
        }
    }

    /// What the payload told goes to the packet's flow. Returns the flow, and what the packet counts as there.
    #[inline]
    fn note_payload(&mut self, seen: Option<(u32, TcpEvent)>, packet: &Packet) -> (u32, TcpEvent) {
        let Some((flow, event)) = seen else {
            return (NO_FLOW, TcpEvent::default());
        };
        if packet.name != 0 {
            self.flows.name_server(flow, packet.name);
        }
        if packet.signature != 0 && !event.retransmitted {
            self.flows.sighted(flow, packet, &self.signatures);
        }
        (flow, event)
    }

    /// Signatures of this flow's conversation that enough packets showed, and how many did.
    pub fn signatures_of(&self, flow: u32) -> impl Iterator<Item = (&Arc<Signature>, u32)> {
        named(&self.flows, &self.signatures, flow)
    }

    fn count_tcp(&mut self, number: u16, packet: &Packet, event: TcpEvent) {
        if event == TcpEvent::default() {
            return;
        }
        self.points[usize::from(number)].count_tcp(event);
        if let Some(observer) = self.observers.get_mut(usize::from(number)) {
            observer.count_tcp(packet.dscp, event);
        }
    }

    /// A packet counted and judged before, seen at a later point.
    fn again(&mut self, number: u16, packet: &Packet, again: &Again) {
        if let Some(path) = &mut self.path {
            path.passed(again, number, packet.ts_ns.saturating_sub(again.from_ns));
        }
        if let Some(queues) = &mut self.queues {
            queues.passed(again.from, number, again.from_ns, packet, again.flow);
        }
        if again.flow == NO_FLOW {
            return;
        }
        self.flows.flow_mut(again.flow).dscp.matched(again.first_dscp);
        let (before, now) = (again.from_look, Look::of(packet));
        if before == now {
            return;
        }
        if let Some(path) = &mut self.path {
            path.changed((again.flow, again.from, number), before, now);
        }
        if before.dscp == now.dscp {
            return;
        }
        let new_flow = self.flows.flow_mut(again.flow).dscp.first_time(before.dscp, Counted::Rewrite);
        let change = (Name::DscpRewritten, before.dscp, Some(now.dscp));
        self.offend(again.flow, number, packet, change, new_flow);
    }

    /// Is the mark its sender's own? ICMP errors carry the mark of the packet they answer; only echo is judged.
    fn judge_host(&mut self, number: u32, point: u16, packet: &Packet) {
        let Some(bundle) = self.judge.bundle() else { return };
        if packet.is_icmp() && !packet.is_echo() {
            return;
        }
        let generation = self.judge.generation() as u16;
        if self.flows.flow(number).who_version != generation {
            let key = self.flows.key(number);
            let who = bundle.find(&self.realms[usize::from(key.realm)], key.version, key.src);
            let flow = self.flows.flow_mut(number);
            (flow.dscp.who, flow.who_version) = (who, generation);
        }
        let flow = self.flows.flow_mut(number);
        if let Some(name) = bundle.breach(flow.dscp.who, packet.dscp) {
            let new_flow = flow.dscp.first_time(packet.dscp, Counted::Offence);
            self.offend(number, point, packet, (name, packet.dscp, None), new_flow);
        }
        if !self.limits.is_empty() {
            self.judge_limits(number, point, packet);
        }
    }

    pub(crate) fn offend(
        &mut self,
        number: u32,
        point: u16,
        packet: &Packet,
        what: (Name, u8, Option<u8>),
        new_flow: bool,
    ) {
        let (flow, key) = (self.flows.flow(number), self.flows.key(number));
        let offence = Offence {
            name: what.0,
            key: &key,
            server_port: self.flows.server_port(number),
            who: flow.dscp.who,
            dscp: what.1,
            point,
            ts_ns: packet.ts_ns,
            frame_len: packet.frame_len,
            ip_id: packet.ip_id,
            new_flow,
            changed_to: what.2,
            told: None,
        };
        // A rewritten mark is measured where it arrives, among packets of the new mark.
        let dscp = what.2.unwrap_or(what.1);
        let place = &self.points[usize::from(point)];
        let named = named(&self.flows, &self.signatures, number).map(|(signature, _)| signature);
        self.judge.offend(&offence, named, |second| place.class_bytes(second, dscp), &mut self.verdicts);
    }

    /// Packet time goes on.
    fn advance(&mut self, ts_ns: u64) {
        self.now_ns = self.now_ns.max(ts_ns);
        if !self.observers.is_empty() {
            self.roll(self.now_ns / SECOND);
        }
        if let Some(matcher) = &mut self.matcher {
            let (flows, vanished) = (&mut self.flows, &mut self.vanished);
            let path = &mut self.path;
            let points = &self.points;
            matcher.expire(self.now_ns, |gone| unmatched(flows, &gone, running(points, gone.first_ns), vanished, path));
            if !self.vanished.is_empty() {
                self.tell_vanished();
            }
        }
        if self.now_ns >= self.next_tick_ns {
            self.next_tick_ns = self.now_ns.saturating_add(TICK_NS);
            self.flows.expire(self.now_ns, self.sweep);
            self.fabric.tidy(self.now_ns);
            self.roll_pauses(self.now_ns, false);
            self.watch_queues(self.now_ns);
            self.judge.tick(self.now_ns, &mut self.verdicts);
        }
    }

    /// Packets that one point showed and the next did not: the loss of a queue, or of an RDMA connection that lost some.
    fn tell_vanished(&mut self) {
        for at in 0..self.vanished.len() {
            let gone = self.vanished[at];
            let point = gone.points.trailing_zeros() as u16;
            self.queue_lost(gone.flow, point, gone.first_dscp, gone.first_ns);
            self.roce_lost(&gone, point);
        }
        self.vanished.clear();
    }

    /// Hand out the rows of a second that is over.
    fn roll(&mut self, second: u64) {
        let over = *self.second.get_or_insert(second);
        if second <= over {
            return;
        }
        for (number, observer) in self.observers.iter_mut().enumerate() {
            let point = &self.points[number];
            let complete = self.incomplete[number] <= over;
            let realm = &self.realms[usize::from(point.realm)];
            self.observations.push(observer.take(&point.name, realm, over, complete));
        }
        self.second = Some(second);
    }

    /// Packets of this point were dropped at or before `ts_ns`: rows up to that second are incomplete.
    pub fn dropped(&mut self, number: usize, ts_ns: u64) {
        self.incomplete[number] = self.incomplete[number].max(ts_ns / SECOND + 1);
    }

    /// Packets that some full table turned away.
    pub fn overflow(&self) -> u64 {
        let in_flight = self.matcher.as_ref().map_or(0, Matcher::overflow);
        self.fabric.overflow()
            + self.flows.overflow()
            + self.flows.sightings_overflow()
            + self.flows.health_overflow()
            + in_flight
            + self.judge.overflow()
    }

    /// The end of a capture: nothing more will be matched; what has changed is put out.
    pub fn finish(&mut self) {
        let flows = &mut self.flows;
        if let Some(matcher) = &mut self.matcher {
            let vanished = &mut self.vanished;
            matcher.expire(u64::MAX, |gone| {
                self.unsettled += u64::from(gone.points.count_ones() == 1);
                unmatched(flows, &gone, running(&self.points, gone.first_ns), vanished, &mut self.path);
            });
            self.tell_vanished();
        }
        if let Some(queues) = &mut self.queues {
            queues.finish(&self.points.iter().map(|point| point.last_ns).collect::<Vec<_>>());
        }
        self.watch_queues(u64::MAX);
        self.roll_pauses(self.now_ns, true);
        self.judge.finish(&mut self.verdicts);
    }
}

/// As [`Fragments::ports`] says of whole packets.
fn ports(packet: &Packet) -> (u16, u16) {
    if packet.is_icmp() {
        (0, 0)
    } else {
        (packet.sport, packet.dport)
    }
}

fn named<'a>(
    flows: &FlowTable,
    signatures: &'a Signatures,
    flow: u32,
) -> impl Iterator<Item = (&'a Arc<Signature>, u32)> + use<'a> {
    let known = flows.tally(flow).into_iter();
    let named = known.filter_map(|(number, packets)| Some((signatures.get(number)?, packets)));
    named.filter(|(signature, packets)| *packets >= signature.packets)
}

/// A bit for each point whose capture ran at that time, give or take [`EDGE_NS`]: what it did not show may be lost.
fn running(points: &[Point], ns: u64) -> u32 {
    let begun = |point: &Point| point.first_ns.is_some_and(|first| first <= ns.saturating_add(EDGE_NS));
    let runs = |point: &Point| begun(point) && point.last_ns.is_some_and(|last| ns <= last.saturating_add(EDGE_NS));
    points.iter().enumerate().filter(|(_, point)| runs(point)).fold(0, |bits, (number, _)| bits | 1 << number)
}

/// `running`: points whose captures ran then. `vanished`: packets of flows that pass other points as well.
fn unmatched(flows: &mut FlowTable, gone: &Gone, running: u32, vanished: &mut Vec<Gone>, path: &mut Option<Path>) {
    if let Some(path) = path.as_mut().filter(|_| gone.flow != NO_FLOW) {
        path.ended(gone, running);
    }
    if gone.flow != NO_FLOW && gone.points.count_ones() == 1 {
        let marks = &mut flows.flow_mut(gone.flow).dscp;
        marks.unmatched(gone.first_dscp);
        if marks.was_matched() {
            vanished.push(*gone);
        }
    }
}
