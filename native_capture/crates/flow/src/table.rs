//! The flow table: one record per conversation, with both directions and the port that the server listens on.

use nc_decode::{proto, tcp_flag, Packet};

use crate::ahead::{Ahead, UNMET};
use crate::ends::Ends;
use crate::flow::{Flow, Talk};
use crate::health::Health;
use crate::index::Index;
use crate::key::{FlowKey, KeyedState};
use crate::near;
use crate::pace::{Pace, PaceKey, Paces, PACE_STEP_BITS};
use crate::roce_flow::NO_QP;
use crate::room::Pieces;
use crate::signature::{Found, Sample, Signatures, Tally};
use crate::tcp::TcpEvent;

/// A flow with a packet this recent is never pushed out: its packets may still be on their way to another point.
const RECENT_NS: u64 = 2_000_000_000;
/// Records looked at to find the one to push out.
const LOOK: usize = 32;

/// `flows`: most conversations kept at once. `idle_ns`: forget one after this long without a packet (None: never). When the
/// table is full and flows may be forgotten, the stalest of a few gives way to a new one, so that a flood of new flows
/// cannot blind the judge.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub flows: usize,
    pub idle_ns: Option<u64>,
}

/// Why the table let go of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    Idle,
    NoRoom,
}

/// Records in pieces of this many.
const PIECE: usize = 1 << 17;
/// Records brought near before their turn, where all are gone through.
const STRIDE: usize = 8;

/// Conversations in one flat table; a flow is one of their two directions and is reached by its number, which stays the same while
/// the conversation lives.
pub struct FlowTable {
    limits: Limits,
    hasher: KeyedState,
    index: Index,
    talks: Pieces<Talk, PIECE>,
    free: Vec<u32>,
    /// Conversations that are over and wait to be written down, when somebody does; with why.
    gone: Option<Vec<(u32, Gone)>>,
    found: Found,
    pub(crate) health: Health,
    paces: Paces,
    overflow: u64,
    sweep: usize,
}

impl FlowTable {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            hasher: KeyedState::default(),
            index: Index::new(),
            talks: Pieces::new(),
            free: Vec::new(),
            gone: None,
            found: Found::default(),
            health: Health::new(limits.flows),
            paces: Paces::default(),
            overflow: 0,
            sweep: 0,
        }
    }

    /// Account one packet; None (and one more overflow) when the table is full and the conversation is new.
    pub fn observe(&mut self, key: FlowKey, point: u16, packet: &Packet) -> Option<(u32, TcpEvent)> {
        self.observe_unmet(&self.look_up(&key), point, packet)
    }

    /// What is known of a packet before it is counted, where nothing was brought near.
    pub fn look_up(&self, key: &FlowKey) -> Ahead {
        let mut ahead = Ahead::of(key);
        ahead.tag = self.hasher.tag(&ahead.both());
        ahead
    }

    /// As `observe`, with what [`FlowTable::ahead`] has worked out: the conversation that was met, if it is the right one still.
    #[inline(always)]
    pub fn observe_ahead(&mut self, ahead: &Ahead, point: u16, packet: &Packet) -> Option<(u32, TcpEvent)> {
        if let Some(talk) = self.talks.get_mut(ahead.number as usize).filter(|talk| talk.is_of(ahead)) {
            return Some(count(talk, &mut self.health, &mut self.paces, ahead.number, (ahead, point, packet)));
        }
        self.observe_unmet(ahead, point, packet)
    }

    /// As `observe`, of a packet of which nothing was brought near.
    #[inline(never)]
    pub fn observe_unmet(&mut self, ahead: &Ahead, point: u16, packet: &Packet) -> Option<(u32, TcpEvent)> {
        let number = match self.find(ahead) {
            Ok(number) => number,
            Err(other) => self.begin(ahead, other, packet)?,
        };
        let talk = &mut self.talks[number as usize];
        Some(count(talk, &mut self.health, &mut self.paces, number, (ahead, point, packet)))
    }

    /// Before a packet is counted, in three steps, each for a handful of packets before the next: its slot is brought near here, its
    /// conversation by `meet`, and what stands beside that by `meet_more`.
    #[inline]
    pub fn ahead(&self, ahead: &mut Ahead) {
        ahead.tag = self.hasher.tag(&ahead.both());
        self.index.fetch(ahead.tag);
    }

    #[inline]
    pub fn meet(&self, ahead: &mut Ahead) {
        ahead.number = self.index.find(ahead.tag, |_| true).unwrap_or(UNMET);
        if let Some(talk) = self.talks.get(ahead.number as usize) {
            near::fetch(talk);
        }
    }

    #[inline]
    pub fn meet_more(&self, ahead: &Ahead) {
        if ahead.proto() == proto::TCP {
            if let Some(talk) = self.talks.get(ahead.number as usize) {
                self.health.timings.fetch(talk.timing);
            }
        }
    }

    /// The number of the RDMA flow that this direction's last packet was of; a guess.
    #[inline]
    pub fn qp(&self, ahead: &Ahead) -> u32 {
        self.talks.get(ahead.number as usize).map_or(NO_QP, |talk| talk.ways[usize::from(ahead.way & 1)].tcp.qp())
    }

    /// Of a flow that is not of TCP.
    pub fn set_qp(&mut self, number: u32, qp: u32) {
        let talk = self.talk_mut(number >> 1);
        if talk.proto() != proto::TCP {
            talk.ways[(number & 1) as usize].tcp.set_qp(qp);
        }
    }

    /// The conversation whose direction carries these tags, or was not seen yet; or else the one of these ends with other tags.
    fn find(&self, ahead: &Ahead) -> Result<u32, Option<u32>> {
        let first = self.lookup(ahead.tag, &ahead.both()).ok_or(None)?;
        if self.talk(first).fits(ahead) {
            return Ok(first);
        }
        let both = Ends { vlan: apart(ahead.vlan()), ..ahead.both() };
        self.lookup(self.hasher.tag(&both), &both).ok_or(Some(first))
    }

    fn lookup(&self, tag: u32, both: &Ends) -> Option<u32> {
        self.index.find(tag, |number| self.talk(number).has_ends(both))
    }

    /// `other`: the conversation of these ends whose direction has other tags.
    fn begin(&mut self, ahead: &Ahead, other: Option<u32>, packet: &Packet) -> Option<u32> {
        if self.index.len() >= self.limits.flows && !self.push_out(packet.ts_ns) {
            self.overflow += 1;
            return None;
        }
        let (mut both, mut tag, vlan, way) = (ahead.both(), ahead.tag, ahead.vlan(), ahead.way);
        // A conversation of its own, unless the other one made room for it.
        if other.is_some_and(|number| self.talk(number).is_alive()) {
            both = Ends { vlan: apart(vlan), ..both };
            tag = self.hasher.tag(&both);
        }
        let talk = Talk::new(&both, usize::from(way & 1));
        let number = match self.free.pop() {
            Some(number) => {
                *self.talk_mut(number) = talk;
                number
            }
            None => {
                self.talks.push(talk);
                (self.talks.len() - 1) as u32
            }
        };
        self.index.insert(tag, number);
        Some(number)
    }

    #[inline]
    pub(crate) fn talk(&self, number: u32) -> &Talk {
        &self.talks[number as usize]
    }

    #[inline]
    fn talk_mut(&mut self, number: u32) -> &mut Talk {
        &mut self.talks[number as usize]
    }

    #[inline]
    pub(crate) fn talk_and_health(&mut self, number: u32) -> (&mut Talk, &mut Health) {
        (&mut self.talks[number as usize], &mut self.health)
    }

    #[inline]
    pub fn flow(&self, number: u32) -> &Flow {
        &self.talk(number >> 1).ways[(number & 1) as usize]
    }

    /// Who sends to whom in this direction.
    #[inline]
    pub fn key(&self, number: u32) -> FlowKey {
        let talk = self.talk(number >> 1);
        let key = FlowKey { vlan: self.flow(number).vlan, ..talk.key() };
        if number & 1 == 0 {
            key
        } else {
            key.reversed()
        }
    }

    /// The port that the SYN, or else the first packet of the conversation, went to.
    #[inline]
    pub fn server_port(&self, number: u32) -> u16 {
        self.talk(number >> 1).server_port()
    }

    /// Account a signature that this packet of the flow shows; it was counted by `observe` before.
    pub fn sighted(&mut self, number: u32, packet: &Packet, signatures: &Signatures) {
        if Signatures::is_in_vain(packet.signature) {
            let handle = self.health.rares.handles(self.talk(number >> 1)).found;
            return self.found.add_beside(handle, packet.signature);
        }
        let flow = self.flow(number);
        let place = if packet.is_tcp() { u64::from(flow.data_segments) } else { flow.packets() };
        let sample = Sample { place, to_server: packet.dport == self.server_port(number) };
        if signatures.accept(packet.signature, sample).is_some() {
            let talk = &mut self.talks[(number >> 1) as usize];
            if let Some(rare) = self.health.rares.handles_mut(talk) {
                self.found.add(&mut rare.found, packet.signature);
            }
        }
    }

    /// Signatures that packets of this conversation showed, of both directions.
    pub fn tally(&self, number: u32) -> Tally {
        self.found.get(self.health.rares.handles(self.talk(number >> 1)).found)
    }

    /// Sightings that found no room.
    pub fn sightings_overflow(&self) -> u64 {
        self.found.overflow()
    }

    /// Whether the other direction was seen as well.
    #[inline]
    pub fn is_answered(&self, number: u32) -> bool {
        self.talk(number >> 1).ways[(number & 1 ^ 1) as usize].packets() > 0
    }

    /// Directions with packets.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Flow)> {
        let talks = self.talks.iter().enumerate().filter(|(_, talk)| talk.is_alive());
        talks.flat_map(|(number, talk)| {
            let ways = talk.ways.iter().enumerate().filter(|(_, flow)| flow.packets() > 0);
            ways.map(move |(way, flow)| ((number << 1 | way) as u32, flow))
        })
    }

    /// Packets of flows that found no room.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    fn records(&self) -> usize {
        self.talks.len()
    }

    /// Look at up to `steps` records and forget those that are idle; called now and then, it goes round the table.
    pub fn expire(&mut self, now_ns: u64, steps: usize) {
        let Some(idle) = self.limits.idle_ns else { return };
        let records = self.records();
        for _ in 0..steps.min(records) {
            self.sweep = (self.sweep + 1) % records;
            let talk = self.talk(self.sweep as u32);
            if talk.is_alive() && talk.last_ns().saturating_add(idle) < now_ns {
                self.forget(self.sweep as u32, Gone::Idle);
            }
        }
    }

    /// From now on conversations that are over stay readable by their numbers until they are let go.
    pub fn hold_gone(&mut self) {
        self.gone.get_or_insert_with(Vec::new);
    }

    /// Conversations that are over: the numbers of their two directions, and why.
    pub fn gone(&self) -> impl Iterator<Item = ([u32; 2], Gone)> + '_ {
        self.gone.iter().flatten().map(|(talk, why)| ([talk << 1, talk << 1 | 1], *why))
    }

    /// They were written down.
    pub fn let_go(&mut self) {
        for (number, _) in self.gone.as_mut().map(std::mem::take).into_iter().flatten() {
            self.recycle(number);
        }
    }

    /// Conversations that are not over: the numbers of their two directions.
    pub fn conversations(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        let alive = (0..self.records() as u32).filter(|number| self.next_talk(*number).is_alive());
        alive.map(|number| [number << 1, number << 1 | 1])
    }

    /// Of one number after the other: those to come are brought near.
    #[inline]
    fn next_talk(&self, number: u32) -> &Talk {
        self.talks.get(number as usize + STRIDE).into_iter().for_each(near::fetch);
        self.talk(number)
    }

    /// Make room for one conversation; false when none may go.
    fn push_out(&mut self, now_ns: u64) -> bool {
        if self.limits.idle_ns.is_none() {
            return false;
        }
        let records = self.records();
        let mut stalest = None;
        for _ in 0..LOOK.min(records) {
            self.sweep = (self.sweep + 1) % records;
            let talk = self.talk(self.sweep as u32);
            if talk.is_alive() && stalest.is_none_or(|(last_ns, _)| talk.last_ns() < last_ns) {
                stalest = Some((talk.last_ns(), self.sweep));
            }
        }
        match stalest {
            Some((last_ns, number)) if last_ns.saturating_add(RECENT_NS) < now_ns => {
                self.forget(number as u32, Gone::NoRoom);
                true
            }
            _ => false,
        }
    }

    /// Follow bulk from now on, in up to `steps` steps.
    pub fn follow_paces(&mut self, steps: usize) {
        self.paces = Paces::of(steps);
    }

    /// The end: bulk of conversations that go on is followed to here. `look` at each of them, by the numbers of its directions, on the same
    /// way through the table.
    pub fn wind_up(&mut self, mut look: impl FnMut(&Self, [u32; 2])) {
        for number in 0..self.records() as u32 {
            if self.next_talk(number).is_alive() {
                self.paces.end(&self.talks[number as usize], number);
                look(self, [number << 1, number << 1 | 1]);
            }
        }
    }

    /// What was followed since this was asked last, of conversations that go on up to their last whole step, after [`Self::wind_up`] all of it;
    /// and steps that found no room.
    pub fn take_paces(&mut self) -> (Vec<(PaceKey, Pace)>, u64) {
        self.paces.hand_over()
    }

    fn forget(&mut self, number: u32, why: Gone) {
        self.paces.end(&self.talks[number as usize], number);
        self.talk_mut(number).end();
        let tag = self.hasher.tag(&self.talk(number).ends());
        self.index.remove(tag, number);
        match &mut self.gone {
            Some(gone) => gone.push((number, why)),
            None => self.recycle(number),
        }
    }

    fn recycle(&mut self, number: u32) {
        let talk = &self.talks[number as usize];
        self.found.release(self.health.rares.handles(talk).found);
        self.health.release(talk);
        self.free.push(number);
    }
}

/// Count a packet of a conversation, whose number this is. Returns the number of its flow, and what it counts as.
#[inline(always)]
fn count(
    talk: &mut Talk,
    health: &mut Health,
    paces: &mut Paces,
    number: u32,
    (ahead, point, packet): (&Ahead, u16, &Packet),
) -> (u32, TcpEvent) {
    let way = usize::from(ahead.way & 1);
    let number = number << 1 | way as u32;
    let last_ns = talk.ways[way].last_ns;
    if talk.ways[way].mark != packet.dscp {
        health.rares.other_mark(talk, way, packet);
    }
    if (last_ns ^ packet.ts_ns) >> PACE_STEP_BITS != 0 {
        paces.step(talk, number);
    }
    talk.ways[way].count(point, ahead.vlan(), packet);
    let mut event = TcpEvent::default();
    if packet.is_tcp() {
        if packet.tcp_flags & tcp_flag::SYN != 0 {
            talk.set_server(way, packet.tcp_flags & tcp_flag::ACK == 0);
        }
        event = health.observe(talk, way, packet);
    } else if packet.proto == proto::UDP {
        health.observe_udp(talk, way, packet, last_ns);
    } else if packet.too_big().is_some() {
        event = TcpEvent::too_big();
    }
    (number, event)
}

/// The mark of a conversation that is set apart by its tags; 0 is the one that is not.
fn apart(vlan: u32) -> u32 {
    vlan.wrapping_add(1).max(1)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
