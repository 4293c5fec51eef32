//! RDMA flows of one direction, by destination queue pair, at each point.
//!
//! A packet names the queue pair it goes to and not the one it comes from (InfiniBand Architecture Specification volume 1, 9.2), so
//! the two directions of a connection are joined only where acknowledgements prove it: their PSN lies among those that one flow of
//! the other direction, and no other, has just sent (9.7.5.1).

use std::collections::HashMap;
use std::hash::BuildHasher;

use nc_decode::{opcode, Acknowledge, Packet};

use crate::index::Index;
use crate::key::KeyedState;
use crate::psn::Psn;
use crate::roce_ends::RoceEnds;
use crate::roce_flow::{QpFlow, NO_QP};

/// Acknowledgements after which a flow is taken for one that nobody can pair.
const TRIES: u8 = 64;
/// Flows of one pair of addresses that are looked through for the one that an acknowledgement belongs to.
const LOOK: usize = 64;

/// What one packet meant. `number`: its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoceEvent {
    pub number: u32,
    pub is_data: bool,
    pub psn: Psn,
    pub acknowledge: Option<Acknowledge>,
    pub is_cnp: bool,
}

/// All flows. Bounded: packets of flows that find no room are counted.
pub struct RoceTable {
    limit: usize,
    flows: Vec<QpFlow>,
    hasher: KeyedState,
    /// By ends and queue pair.
    by_key: Index,
    by_ends: HashMap<RoceEnds, Vec<u32>, KeyedState>,
    points: u16,
    overflow: u64,
}

impl RoceTable {
    pub fn new(limit: usize) -> Self {
        let (hasher, by_ends) = (KeyedState::default(), HashMap::default());
        Self { limit, flows: Vec::new(), hasher, by_key: Index::new(), by_ends, points: 0, overflow: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    fn tag(&self, ends: &RoceEnds, dest_qp: u32) -> u32 {
        (self.hasher.hash_one((ends, dest_qp)) >> 16) as u32
    }

    #[inline]
    fn find(&self, ends: &RoceEnds, dest_qp: u32) -> Option<u32> {
        let is_it = |number: u32| {
            let flow = &self.flows[number as usize];
            flow.dest_qp == dest_qp && flow.ends == *ends
        };
        self.by_key.find(self.tag(ends, dest_qp), is_it)
    }

    /// Bring near what a packet with this opcode will touch of the flow that may be its own.
    #[inline]
    pub fn fetch(&self, guess: u32, opcode: u8) {
        if let Some(flow) = self.flows.get(guess as usize) {
            flow.fetch(opcode);
        }
    }

    /// Account one packet with a base transport header, of a point of this number and realm; None (and one more overflow) when its flow
    /// finds no room. `guess`: the number that its flow may have.
    #[inline]
    pub fn observe(&mut self, place: (u16, u16), packet: &Packet, guess: u32) -> Option<RoceEvent> {
        let is_met = self.flows.get(guess as usize).is_some_and(|flow| flow.is_of(place, packet));
        let number = if is_met { guess } else { self.number(&RoceEnds::of(packet, place.0, place.1), packet)? };
        let (is_data, psn, acknowledge) = self.flows[number as usize].observe(packet);
        if acknowledge.is_some() {
            self.answers(number, packet.seq);
        }
        Some(RoceEvent { number, is_data, psn, acknowledge, is_cnp: packet.opcode == opcode::CNP })
    }

    #[inline(never)]
    fn number(&mut self, ends: &RoceEnds, packet: &Packet) -> Option<u32> {
        self.find(ends, packet.dest_qp).or_else(|| self.begin(*ends, packet))
    }

    /// Whose packets these acknowledgements speak about.
    fn answers(&mut self, number: u32, psn: u32) {
        let flow = &mut self.flows[number as usize];
        if flow.peer == NO_QP && flow.tries < TRIES {
            flow.tries += 1;
            self.pair(number, psn);
        } else {
            self.doubt(number, psn);
        }
    }

    fn begin(&mut self, ends: RoceEnds, packet: &Packet) -> Option<u32> {
        if self.flows.len() >= self.limit {
            self.overflow += 1;
            return None;
        }
        self.points = self.points.max(ends.point + 1);
        let number = self.flows.len() as u32;
        self.flows.push(QpFlow::new(ends, packet));
        self.by_key.insert(self.tag(&ends, packet.dest_qp), number);
        self.by_ends.entry(ends).or_default().push(number);
        Some(number)
    }

    /// The one flow of the other direction that has just sent what this acknowledges.
    fn pair(&mut self, number: u32, psn: u32) {
        let ends = self.flows[number as usize].ends;
        let others = self.by_ends.get(&ends.reversed()).map_or(&[][..], |list| &list[..list.len().min(LOOK)]);
        let mut fitting = others.iter().filter(|other| self.flows[**other as usize].sent(psn));
        if let (Some(other), None) = (fitting.next().copied(), fitting.next()) {
            if self.flows[other as usize].peer == NO_QP {
                self.flows[other as usize].peer = number;
                self.flows[number as usize].peer = other;
            }
        }
    }

    /// An acknowledgement of something that the paired flow did not send: it was the wrong one.
    fn doubt(&mut self, number: u32, psn: u32) {
        let peer = self.flows[number as usize].peer;
        if peer != NO_QP && !self.flows[peer as usize].sent(psn) {
            self.flows[peer as usize].peer = NO_QP;
            self.flows[number as usize].peer = NO_QP;
        }
    }

    pub fn flow(&self, number: u32) -> &QpFlow {
        &self.flows[number as usize]
    }

    /// The flow of the other direction, where acknowledgements proved it.
    pub fn peer(&self, flow: &QpFlow) -> Option<&QpFlow> {
        self.flows.get(flow.peer as usize)
    }

    pub fn iter(&self) -> impl Iterator<Item = &QpFlow> {
        self.flows.iter()
    }

    /// The flow at the point that showed it first.
    #[inline]
    pub fn origin(&self, number: u32) -> u32 {
        if self.points < 2 {
            return number;
        }
        self.first_of(number)
    }

    fn first_of(&self, number: u32) -> u32 {
        let flow = self.flow(number);
        let others = (0..self.points).filter(|point| *point != flow.ends.point);
        let others = others.filter_map(|point| self.find(&RoceEnds { point, ..flow.ends }, flow.dest_qp));
        others.chain([number]).min_by_key(|other| (self.flow(*other).first_ns, *other)).unwrap_or(number)
    }

    /// The one flow between these ends that sends data; None when several do, or none.
    pub fn only_sender(&self, ends: &RoceEnds) -> Option<u32> {
        let all = self.by_ends.get(ends)?;
        let mut senders = all.iter().take(LOOK).filter(|number| self.flows[**number as usize].data() > 0);
        senders.next().copied().filter(|_| senders.next().is_none())
    }

    /// Whether anything came from the other side, whatever its queue pair.
    pub fn is_answered(&self, ends: &RoceEnds) -> bool {
        self.by_ends.contains_key(&ends.reversed())
    }

    /// Packets of flows that found no room.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// When the table is full, forget flows without a packet since `ns`. Numbers change.
    pub fn forget(&mut self, ns: u64) {
        if self.flows.len() < self.limit {
            return;
        }
        self.flows.retain(|flow| flow.last_ns >= ns);
        self.by_key = Index::new();
        self.by_ends.clear();
        for number in 0..self.flows.len() {
            let flow = &mut self.flows[number];
            // Their acknowledgements pair them again.
            (flow.peer, flow.tries) = (NO_QP, 0);
            let flow = &self.flows[number];
            self.by_key.insert(self.tag(&flow.ends, flow.dest_qp), number as u32);
            self.by_ends.entry(flow.ends).or_default().push(number as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE_FIRST: u8 = 0x06;
    const WRITE_MIDDLE: u8 = 0x07;
    const WRITE_LAST: u8 = 0x08;
    const READ_REQUEST: u8 = 0x0c;

    fn packet(ways: (u128, u128), qp: u32, opcode: u8, seq: u32) -> Packet {
        let (src, dst) = ways;
        Packet {
            version: 4,
            src,
            dst,
            dest_qp: qp,
            opcode,
            seq,
            has_bth: true,
            frame_len: 1_082,
            payload_len: 1_024,
            ..Packet::default()
        }
    }

    fn see(table: &mut RoceTable, packet: &Packet) -> RoceEvent {
        table.observe((0, 0), packet, NO_QP).expect("room")
    }

    #[test]
    fn an_acknowledgement_pairs_the_one_flow_that_sent_its_number() {
        let mut table = RoceTable::new(100);
        for (qp, first) in [(17, 1_000), (18, 700_000)] {
            for at in 0..4 {
                see(&mut table, &packet((1, 2), qp, WRITE_MIDDLE, first + at));
            }
        }
        let ack = see(&mut table, &packet((2, 1), 99, opcode::ACKNOWLEDGE, 700_003));
        let flow = table.flow(ack.number);
        assert_eq!(table.peer(flow).map(|peer| peer.dest_qp), Some(18));
        assert_eq!(flow.acks, 1);
        // what neither of them sent
        let lost = see(&mut table, &packet((2, 1), 98, opcode::ACKNOWLEDGE, 5_000_000));
        assert!(table.peer(table.flow(lost.number)).is_none());
    }

    #[test]
    fn two_flows_that_fit_are_not_paired() {
        let mut table = RoceTable::new(100);
        for qp in [17, 18] {
            see(&mut table, &packet((1, 2), qp, WRITE_MIDDLE, 1_000));
        }
        let ack = see(&mut table, &packet((2, 1), 99, opcode::ACKNOWLEDGE, 1_000));
        assert!(table.peer(table.flow(ack.number)).is_none());
    }

    #[test]
    fn a_read_leaves_room_for_its_answer() {
        let mut table = RoceTable::new(100);
        let mut found = Vec::new();
        for (opcode, seq) in
            [(WRITE_FIRST, 10), (WRITE_LAST, 11), (READ_REQUEST, 12), (READ_REQUEST, 20), (WRITE_FIRST, 28)]
        {
            found.push(see(&mut table, &packet((1, 2), 17, opcode, seq)).psn);
        }
        assert_eq!(found, [Psn::Next; 5]);
        let answers = [(0x0d, 12), (0x0e, 13), (0x0f, 14), (0x0d, 20), (0x0e, 22)];
        let found: Vec<_> = answers.map(|(op, seq)| see(&mut table, &packet((2, 1), 99, op, seq)).psn).to_vec();
        assert_eq!(found, [Psn::Next, Psn::Next, Psn::Next, Psn::Next, Psn::Gap(1)]);
        assert_eq!(table.flow(1).peer, 0);
    }

    #[test]
    fn datagrams_and_notifications_have_no_sequence() {
        let mut table = RoceTable::new(100);
        for seq in [5, 900, 5] {
            assert_eq!(see(&mut table, &packet((1, 2), 1, 0x64, seq)).psn, Psn::None);
        }
        let cnp = see(&mut table, &packet((2, 1), 7, opcode::CNP, 0));
        assert!(cnp.is_cnp && cnp.psn == Psn::None && !cnp.is_data);
    }

    #[test]
    fn what_finds_no_room_is_counted_and_old_flows_make_some() {
        let mut table = RoceTable::new(2);
        for (qp, ts_ns) in [(1, 0), (2, 10), (3, 20)] {
            let packet = Packet { ts_ns, ..packet((1, 2), qp, WRITE_FIRST, 1) };
            table.observe((0, 0), &packet, NO_QP);
        }
        assert_eq!((table.iter().count(), table.overflow()), (2, 1));
        table.forget(5);
        let again = Packet { ts_ns: 30, ..packet((1, 2), 3, WRITE_FIRST, 1) };
        assert_eq!(see(&mut table, &again).number, 1);
        assert_eq!(table.iter().map(|flow| flow.dest_qp).collect::<Vec<_>>(), [2, 3]);
    }
}
