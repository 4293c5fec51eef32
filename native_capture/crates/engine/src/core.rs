//! One packet at a time, in order of time, the same for files and live.

use std::sync::Arc;

use nc_correlate::{identity_of, Again, Gone, Look, Matcher, Sighting};
use nc_decode::{Packet, Stop};
use nc_detect::{Bundle, Judge, Name, Place, Verdict};
use nc_flow::{
    Ahead, Counted, FlowKey, Fragments, KeyedState, Limits, MediaTracker, Signatures, TcpEvent, TcpTracker, NO_QP,
};

use crate::account::{is_judged, is_notable, note, Breach, Ground};
use crate::clocks::Clocks;
use crate::fabric::Fabric;
use crate::flows::{look_ahead, stages, Flows};
use crate::inside::Inside;
use crate::limits::Limits as Used;
use crate::names::Names;
use crate::observe::{Observation, Observer};
use crate::path::Path;
use crate::point::Point;
use crate::queues::Queues;

const SECOND: u64 = 1_000_000_000;
/// A conversation without a packet for this long is over, where flows may be forgotten.
pub(crate) const IDLE_NS: u64 = 300 * SECOND;
/// Two captures that were begun and ended together differ by this much at most where the last packets are lost.
const EDGE_NS: u64 = 10_000_000;
/// How often packet time wakes the judge.
pub(crate) const TICK_NS: u64 = SECOND / 10;
/// Flow number of a packet whose flow found no room.
pub(crate) const NO_FLOW: u32 = u32::MAX;

/// Sizes; all memory of the engine follows from them. `flows`: in all `shards` of the flow table together. `sweep`: flow records looked at
/// per tick for being idle. `observe`: rows per second are kept; `path`: delays and rewrites are kept for a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub flows: usize,
    pub shards: usize,
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
    pub flows: Flows,
    pub ground: Arc<Ground>,
    pub judge: Judge,
    pub path: Option<Path>,
    pub clocks: Clocks,
    pub matcher: Option<Matcher>,
    pub queues: Option<Queues>,
    pub fabric: Fabric,
    pub inside: Inside,
    pub limits: Used,
    /// Filled by who reads payload for a report.
    pub names: Names,
    /// Revisions and rows that are due; taken by the caller.
    pub verdicts: Vec<Verdict>,
    pub observations: Vec<Observation>,
    observers: Vec<Observer>,
    incomplete: Vec<u64>,
    pub fragments: Fragments,
    hashers: (KeyedState, KeyedState),
    vanished: Vec<Gone>,
    now_ns: u64,
    pub sweep: usize,
    next_tick_ns: u64,
    second: Option<u64>,
    /// Points are compared with each other, or rows, queues or limits are kept.
    is_watched: bool,
    /// Packets seen at one point only whose window had not passed when the capture ended.
    pub unsettled: u64,
}

impl Core {
    pub fn new(names: &[String], size: Size, signatures: Arc<Signatures>) -> Self {
        let several = names.len() > 1;
        let tracker = || several.then(|| TcpTracker::new(size.flows));
        let media = || (several && size.path).then(|| MediaTracker::new(size.flows));
        let places: Vec<Place> = names.iter().map(|name| Place { name: name.clone(), realm: String::new() }).collect();
        let window_ns = SECOND;
        let ground =
            Ground { places: places.clone(), realms: vec![String::new()], bundle: None, generation: 0, signatures };
        Self {
            points: names.iter().map(|name| Point::new(name.clone(), tracker(), media())).collect(),
            flows: Flows::new(Limits { flows: size.flows, idle_ns: size.idle_ns }, size.shards),
            ground: Arc::new(ground),
            judge: Judge::new(places),
            path: (several && size.path).then(|| Path::new(names.len())),
            clocks: Clocks::unknown(names.len()),
            matcher: several.then(|| Matcher::new(names.len() as u32, window_ns, size.in_flight)),
            queues: None,
            fabric: Fabric::new(names.len(), size.roce_flows),
            inside: Inside::new(names.len()),
            limits: Used::default(),
            names: Names::default(),
            verdicts: Vec::new(),
            observations: Vec::new(),
            observers: if size.observe { names.iter().map(|_| Observer::default()).collect() } else { Vec::new() },
            incomplete: vec![0; names.len()],
            fragments: Fragments::default(),
            hashers: Default::default(),
            vanished: Vec::new(),
            now_ns: 0,
            sweep: size.sweep,
            next_tick_ns: 0,
            second: None,
            is_watched: several || size.observe,
            unsettled: 0,
        }
    }

    /// Judge by this bundle from now on; it also says the realm of each point and the window of matching.
    pub fn set_bundle(&mut self, bundle: Arc<Bundle>) {
        let mut realms = self.ground.realms.clone();
        for point in &mut self.points {
            let realm = bundle.realm_of(&point.name);
            let known = realms.iter().position(|known| known == realm);
            point.realm = known.unwrap_or_else(|| {
                realms.push(realm.to_owned());
                realms.len() - 1
            }) as u16;
        }
        if let Some(matcher) = &mut self.matcher {
            matcher.set_window(bundle.match_window_ms * 1_000_000);
        }
        self.limits = Used::of(&bundle);
        self.is_watched |= !self.limits.is_empty();
        self.judge.set_bundle(Arc::clone(&bundle));
        self.ground = Arc::new(Ground {
            places: self.judge.places().to_vec(),
            realms,
            bundle: Some(bundle),
            generation: self.judge.generation() as u16,
            signatures: Arc::clone(&self.ground.signatures),
        });
    }

    /// Replay and measure these queues.
    pub fn set_queues(&mut self, queues: Queues) {
        for (point, pauses) in self.fabric.pauses.iter_mut().enumerate() {
            queues.speed_of(point).into_iter().for_each(|bps| pauses.set_speed(bps));
        }
        self.queues = Some(queues);
        self.is_watched = true;
    }

    /// As [`look_ahead`], of a point that stands alone.
    #[inline]
    pub fn look_ahead(&self, number: u16, packets: &[Packet], turn: usize, ahead: &mut Vec<Ahead>) {
        let realm = self.points[usize::from(number)].realm;
        look_ahead(self.flows.tables(), realm, packets, turn, ahead);
        if self.fabric.table.is_empty() {
            return;
        }
        let [.., more] = stages(turn, packets.len());
        for (packet, ahead) in packets[more.clone()].iter().zip(&mut ahead[more]).filter(|(packet, _)| packet.has_bth) {
            if let Some(table) = self.flows.tables().get(ahead.place()) {
                ahead.qp = table.qp(ahead);
                self.fabric.fetch(ahead.qp, packet.opcode);
            }
        }
    }

    /// Account one frame of point `number`. Frames must come in order of time.
    pub fn packet(&mut self, number: u16, packet: &Packet) {
        self.account(number, packet, &Ahead::NOTHING);
    }

    /// `ahead`: what was worked out of it before.
    #[inline(always)]
    pub fn account(&mut self, number: u16, packet: &Packet, ahead: &Ahead) {
        self.begin(number, packet);
        if !packet.is_ip() {
            return;
        }
        if self.matcher.is_some() {
            return self.account_among(number, packet);
        }
        let looked_up;
        let ahead = match ahead.is_something() {
            true => ahead,
            false => {
                looked_up = self.look_up(number, packet);
                &looked_up
            }
        };
        let shard = ahead.place();
        let mut flow = NO_FLOW;
        if let Some(seen) = self.flows.tables_mut()[shard].observe_ahead(ahead, number, packet) {
            flow = seen.0;
            if is_notable(&self.ground, seen.1, packet) {
                self.note(shard, seen, number, packet);
            }
            self.count_tcp(number, packet, seen.1);
        }
        if self.is_watched {
            self.hold_against(self.flows.number(shard, flow), number, packet);
        }
        if packet.has_bth {
            let qp = self.rdma(number, packet, true, ahead.qp);
            if qp != ahead.qp && flow != NO_FLOW {
                self.flows.tables_mut()[shard].set_qp(flow, qp);
            }
        }
    }

    /// Where other points may show the packet again.
    fn account_among(&mut self, number: u16, packet: &Packet) {
        let point = &mut self.points[usize::from(number)];
        let key = FlowKey::of(packet, point.realm, self.fragments.ports(packet));
        let id = identity_of(packet, key.realm, &self.hashers);
        let Some(matcher) = &mut self.matcher else { return };
        let sighting = matcher.sight(id, number, packet);
        if let Some(tracker) = point.tracker.as_mut().filter(|_| packet.is_tcp()) {
            let event = tracker.observe(key, packet);
            self.count_tcp(number, packet, event);
        }
        if let Some(media) = self.points[usize::from(number)].media.as_mut().filter(|_| packet.may_be_rtp) {
            media.observe(key, packet);
        }
        if packet.has_bth {
            self.rdma(number, packet, sighting == Sighting::First, NO_QP);
        }
        match sighting {
            Sighting::Again(again) => self.again(number, packet, &again),
            Sighting::First => {
                let flow = self.first(&key, number, packet);
                if let Some(matcher) = &mut self.matcher {
                    matcher.remember(id, number, packet, flow);
                }
            }
        }
    }

    /// What comes before a packet's flow: time goes on, the point counts it; all of a frame without IP.
    #[inline(always)]
    pub fn begin(&mut self, number: u16, packet: &Packet) {
        self.now_ns = self.now_ns.max(packet.ts_ns);
        if self.is_watched || self.now_ns >= self.next_tick_ns {
            self.wake(number, packet);
        }
        self.points[usize::from(number)].count(packet);
        if !packet.is_ip() {
            self.count_other(number, packet);
        }
    }

    /// Who does not wait for every packet is told of its time, who does of the packet.
    #[inline(never)]
    fn wake(&mut self, number: u16, packet: &Packet) {
        self.advance();
        let point = &self.points[usize::from(number)];
        if let Some(queues) = self.queues.as_mut().filter(|_| point.packets == 0) {
            queues.begin(number, packet.ts_ns);
        }
        if let Some(observer) = self.observers.get_mut(usize::from(number)).filter(|_| packet.is_ip()) {
            observer.count(packet);
        }
    }

    #[cold]
    fn count_other(&mut self, number: u16, packet: &Packet) {
        if packet.stop != Stop::None {
            self.stop(number, packet);
        }
        if packet.has_bth {
            self.rdma(number, packet, true, NO_QP);
        }
    }

    /// What [`look_ahead`] does not work out: of fragments.
    #[cold]
    fn look_up(&mut self, number: u16, packet: &Packet) -> Ahead {
        let realm = self.points[usize::from(number)].realm;
        self.flows.look_up(&FlowKey::of(packet, realm, self.fragments.ports(packet)))
    }

    /// A packet that no other point showed before: its flow.
    fn first(&mut self, key: &FlowKey, number: u16, packet: &Packet) -> u32 {
        let ahead = self.flows.look_up(key);
        let shard = ahead.place();
        let seen = self.flows.tables_mut()[shard].observe_unmet(&ahead, number, packet);
        seen.into_iter().for_each(|seen| self.note(shard, seen, number, packet));
        let flow = self.flows.number(shard, seen.map_or(NO_FLOW, |seen| seen.0));
        self.hold_against(flow, number, packet);
        flow
    }

    /// `seen`: what the table of this shard says.
    #[inline(never)]
    fn note(&mut self, shard: usize, seen: (u32, TcpEvent), number: u16, packet: &Packet) {
        let Self { flows, ground, judge, points, verdicts, .. } = self;
        note(&mut flows.tables_mut()[shard], ground, seen, packet, |breach| {
            breach.charge(judge, ground, points[usize::from(number)].saw(number), packet, verdicts);
        });
    }

    /// Queues, hours and peaks.
    fn hold_against(&mut self, flow: u32, number: u16, packet: &Packet) {
        self.queue_first(number, packet, flow);
        if flow != NO_FLOW && !self.limits.is_empty() && is_judged(packet) {
            self.judge_limits(flow, number, packet);
        }
    }

    /// A breach that another thread found in a packet that was begun here.
    pub fn charge(&mut self, number: u16, packet: &Packet, breach: &Breach) {
        let Self { ground, judge, points, verdicts, .. } = self;
        breach.charge(judge, ground, points[usize::from(number)].saw(number), packet, verdicts);
    }

    /// Numbers of the points of a realm.
    pub fn points_of(&self, realm: u16) -> impl Iterator<Item = u16> + '_ {
        let points = self.points.iter().enumerate().filter(move |(_, point)| point.realm == realm);
        points.map(|(number, _)| number as u16)
    }

    #[inline]
    fn count_tcp(&mut self, number: u16, packet: &Packet, event: TcpEvent) {
        if !event.is(TcpEvent::COUNTED) {
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
        self.flows.matched(again.flow, again.first_dscp);
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
        let new_flow = self.flows.first_time(again.flow, before.dscp, Counted::Rewrite);
        let change = (Name::DscpRewritten, before.dscp, Some(now.dscp));
        self.offend(again.flow, number, packet, change, new_flow);
    }

    /// `what`: the verdict's name, the mark, and the one it was changed to.
    pub(crate) fn offend(
        &mut self,
        number: u32,
        point: u16,
        packet: &Packet,
        what: (Name, u8, Option<u8>),
        new_flow: bool,
    ) {
        let (flows, flow) = self.flows.at(number);
        let breach = Breach { changed_to: what.2, ..Breach::of(flows, flow, what.0, what.1, new_flow) };
        self.charge(point, packet, &breach);
    }

    /// Whether a packet of this time makes the flow table look for conversations that are over.
    pub fn is_due(&self, ts_ns: u64) -> bool {
        ts_ns >= self.next_tick_ns
    }

    /// Packet time goes on.
    fn advance(&mut self) {
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
            self.inside.expire(self.now_ns, self.sweep);
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
            let realm = &self.ground.realms[usize::from(point.realm)];
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
            + self.inside.overflow()
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
        self.finish_clocks();
        self.judge.finish(&mut self.verdicts);
    }
}

/// A bit for each point whose capture ran at that time, give or take [`EDGE_NS`]: what it did not show may be lost.
fn running(points: &[Point], ns: u64) -> u32 {
    let begun = |point: &Point| point.first_ns.is_some_and(|first| first <= ns.saturating_add(EDGE_NS));
    let runs = |point: &Point| begun(point) && point.last_ns.is_some_and(|last| ns <= last.saturating_add(EDGE_NS));
    points.iter().enumerate().filter(|(_, point)| runs(point)).fold(0, |bits, (number, _)| bits | 1 << number)
}

/// `running`: points whose captures ran then. `vanished`: packets of flows that pass other points as well.
fn unmatched(flows: &mut Flows, gone: &Gone, running: u32, vanished: &mut Vec<Gone>, path: &mut Option<Path>) {
    if let Some(path) = path.as_mut().filter(|_| gone.flow != NO_FLOW) {
        path.ended(gone, running);
    }
    let is_lost = gone.flow != NO_FLOW && gone.points.count_ones() == 1;
    if is_lost && flows.unmatched(gone.flow, gone.first_dscp) {
        vanished.push(*gone);
    }
}
