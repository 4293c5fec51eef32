//! The conversations of an engine in one table or several: logical shards, so that threads can share the work. Which shard a
//! conversation belongs to depends on its endpoints alone, never on how many threads there are.

use std::collections::BTreeMap;
use std::ops::Range;

use nc_decode::Packet;
use nc_flow::{Ahead, Counted, Flow, FlowKey, FlowTable, Limits, Pace, PaceKey, ResponseTimes, Service};

use crate::core::NO_FLOW;

/// Tables where a capture may be shared out: more than threads, so that one large flow does not make all of them wait.
pub(crate) const SHARDS: usize = 8;

/// By key, ascending; and steps that found no room.
#[derive(Clone, Default)]
pub(crate) struct Paces {
    pub all: Vec<(PaceKey, Pace)>,
    pub overflow: u64,
}

impl Paces {
    pub fn joined(parts: impl Iterator<Item = (Vec<(PaceKey, Pace)>, u64)>) -> Self {
        let (mut all, mut overflow) = (BTreeMap::<PaceKey, Pace>::new(), 0);
        for (paces, lost) in parts {
            paces.into_iter().for_each(|(key, pace)| all.entry(key).or_default().merge(pace));
            overflow += lost;
        }
        all.values_mut().for_each(Pace::settle);
        Self { all: all.into_iter().collect(), overflow }
    }
}

/// A flow's number here is its number in its table with the number of the table put in above the bit of the direction.
pub(crate) struct Flows {
    tables: Vec<FlowTable>,
    bits: u32,
}

impl Flows {
    /// `limits`: of all `shards` together, which are a power of two.
    pub fn new(limits: Limits, shards: usize) -> Self {
        let each = Limits { flows: limits.flows / shards, ..limits };
        Self { tables: (0..shards).map(|_| FlowTable::new(each)).collect(), bits: shards.trailing_zeros() }
    }

    /// What is known of a packet before it is counted, where nothing was brought near.
    pub fn look_up(&self, key: &FlowKey) -> Ahead {
        let shard = shard_of(key, self.tables.len());
        let mut ahead = self.tables[shard].look_up(key);
        ahead.set_place(shard);
        ahead
    }

    pub fn tables(&self) -> &[FlowTable] {
        &self.tables
    }

    pub fn tables_mut(&mut self) -> &mut [FlowTable] {
        &mut self.tables
    }

    /// Lend all tables to other threads; until they are given back there is none here.
    pub fn lend(&mut self) -> Vec<FlowTable> {
        std::mem::take(&mut self.tables)
    }

    pub fn give_back(&mut self, tables: Vec<FlowTable>) {
        self.tables = tables;
    }

    /// [`NO_FLOW`] is none in any table.
    #[inline]
    pub fn number(&self, shard: usize, number: u32) -> u32 {
        if number == NO_FLOW {
            return number;
        }
        ((number >> 1 << self.bits) | shard as u32) << 1 | number & 1
    }

    /// The table that holds a flow, and its number there.
    #[inline]
    pub fn at(&self, number: u32) -> (&FlowTable, u32) {
        let (shard, number) = self.place(number);
        (&self.tables[shard], number)
    }

    #[inline]
    fn place(&self, number: u32) -> (usize, u32) {
        let shard = (number >> 1) as usize & (self.tables.len() - 1);
        (shard, (number >> 1 >> self.bits) << 1 | number & 1)
    }

    pub fn flow(&self, number: u32) -> &Flow {
        let (table, number) = self.at(number);
        table.flow(number)
    }

    fn at_mut(&mut self, number: u32) -> (&mut FlowTable, u32) {
        let (shard, number) = self.place(number);
        (&mut self.tables[shard], number)
    }

    pub fn first_time(&mut self, number: u32, dscp: u8, what: Counted) -> bool {
        let (table, number) = self.at_mut(number);
        table.first_time(number, dscp, what)
    }

    pub fn matched(&mut self, number: u32, dscp: u8) {
        let (table, number) = self.at_mut(number);
        table.matched(number, dscp);
    }

    pub fn unmatched(&mut self, number: u32, dscp: u8) -> bool {
        let (table, number) = self.at_mut(number);
        table.unmatched(number, dscp)
    }

    pub fn sender(&self, number: u32) -> u32 {
        let (table, number) = self.at(number);
        table.sender(number)
    }

    pub fn key(&self, number: u32) -> FlowKey {
        let (table, number) = self.at(number);
        table.key(number)
    }

    pub fn server_port(&self, number: u32) -> u16 {
        let (table, number) = self.at(number);
        table.server_port(number)
    }

    /// Directions with packets.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Flow)> {
        let each = |(shard, table): (usize, _)| FlowTable::iter(table).map(move |(number, flow)| (shard, number, flow));
        self.tables.iter().enumerate().flat_map(each).map(|(shard, number, flow)| (self.number(shard, number), flow))
    }

    /// Look at up to `steps` records in all and forget those that are idle.
    pub fn expire(&mut self, now_ns: u64, steps: usize) {
        let each = steps >> self.bits;
        self.tables.iter_mut().for_each(|table| table.expire(now_ns, each));
    }

    pub fn hold_gone(&mut self) {
        self.tables.iter_mut().for_each(FlowTable::hold_gone);
    }

    /// Times from request to first response of a service; None when it answered nothing.
    pub fn responses(&self, service: &Service) -> Option<ResponseTimes> {
        let mut found = self.tables.iter().filter_map(|table| table.responses(service));
        let mut all = found.next()?.clone();
        found.for_each(|times| all.merge(times));
        Some(all)
    }

    /// Follow bulk, in up to `steps` steps of all pairs of hosts.
    pub fn follow_paces(&mut self, steps: usize) {
        let each = steps / self.tables.len();
        self.tables.iter_mut().for_each(|table| table.follow_paces(each));
    }

    /// How bulk came and went since this was asked last.
    pub fn take_paces(&mut self) -> Paces {
        Paces::joined(self.tables.iter_mut().map(FlowTable::take_paces))
    }

    /// Packets of flows that found no room.
    pub fn overflow(&self) -> u64 {
        self.tables.iter().map(FlowTable::overflow).sum()
    }

    pub fn sightings_overflow(&self) -> u64 {
        self.tables.iter().map(FlowTable::sightings_overflow).sum()
    }

    pub fn health_overflow(&self) -> u64 {
        self.tables.iter().map(FlowTable::health_overflow).sum()
    }
}

/// Packets that come near together, and turns before they are accounted: memory has the time of so many packets to come.
const GROUP: usize = 8;
const STEPS: usize = 3;

/// Turns in which so many packets are accounted.
pub(crate) fn turns(packets: usize) -> Range<usize> {
    0..packets.div_ceil(GROUP) + STEPS
}

/// The packets, of so many, that are accounted after this turn of [`look_ahead`].
#[inline]
pub(crate) fn accounted(turn: usize, packets: usize) -> Range<usize> {
    group(turn, STEPS, packets)
}

/// The packets with which each step is taken in this turn.
#[inline]
pub(crate) fn stages(turn: usize, packets: usize) -> [Range<usize>; STEPS] {
    std::array::from_fn(|step| group(turn, step, packets))
}

#[inline]
fn group(turn: usize, back: usize, packets: usize) -> Range<usize> {
    let begin = |turn: usize| (turn.saturating_sub(back) * GROUP).min(packets);
    begin(turn)..begin(turn + 1)
}

/// Packets of one realm: bring near what a group of them will need in these tables, in steps of which each needs what the one before has
/// brought; each turn takes one step with each of three groups, while another one is accounted. `ahead`: what was worked out of each packet.
#[inline]
pub(crate) fn look_ahead(tables: &[FlowTable], realm: u16, packets: &[Packet], turn: usize, ahead: &mut Vec<Ahead>) {
    if ahead.len() < packets.len() {
        ahead.resize(packets.len(), Ahead::NOTHING);
    }
    let [begun, met, more] = stages(turn, packets.len());
    for (packet, one) in packets[begun.clone()].iter().zip(&mut ahead[begun]) {
        if !Ahead::is_for(packet) {
            *one = Ahead::NOTHING;
            continue;
        }
        *one = Ahead::of_packet(packet, realm);
        let place = share(one.sums(), tables.len());
        one.set_place(place);
        tables[place].ahead(one);
    }
    for one in ahead[met].iter_mut().filter(|one| one.is_something()) {
        tables[one.place()].meet(one);
    }
    for one in ahead[more].iter().filter(|one| one.is_something()) {
        tables[one.place()].meet_more(one);
    }
}

/// Which of `shards`, a power of two. The sum of both ends, so that either direction gives the same; ports are in it, so that the
/// connections of two busy hosts are shared out. Strangers can choose it: they make threads wait for each other then, and change nothing
/// in what comes out.
#[inline]
pub(crate) fn shard_of(key: &FlowKey, shards: usize) -> usize {
    let low = (key.src as u64).wrapping_add(key.dst as u64);
    let high = ((key.src >> 64) as u64).wrapping_add((key.dst >> 64) as u64);
    share((low, high, u64::from(key.sport) + u64::from(key.dport)), shards)
}

#[inline]
fn share((low, high, ports): (u64, u64, u64), shards: usize) -> usize {
    ((low ^ high.rotate_left(29) ^ ports << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize & (shards - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(src: u128, dst: u128, sport: u16, dport: u16) -> FlowKey {
        FlowKey { src, dst, sport, dport, vlan: 9, realm: 0, proto: 6, version: 4 }
    }

    #[test]
    fn a_conversation_is_in_one_shard_and_all_shards_get_their_share() {
        let flows = Flows::new(Limits { flows: 800, idle_ns: None }, SHARDS);
        let mut counts = [0; SHARDS];
        for host in 0..4_000_u32 {
            let key = key(u128::from(0x0a00_0000 + host), 0x0a01_0001, 40_000 + (host % 7) as u16, 443);
            let shard = flows.look_up(&key).place();
            assert_eq!(shard, flows.look_up(&FlowKey { vlan: 3, ..key.reversed() }).place());
            counts[shard] += 1;
        }
        assert!(counts.iter().all(|count| (350..650).contains(count)), "{counts:?}");
    }

    #[test]
    fn numbers_lead_to_the_table_and_back() {
        let flows = Flows::new(Limits { flows: 800, idle_ns: None }, SHARDS);
        for (shard, number) in [(0, 0), (7, 1), (3, 12_345), (5, (1 << 20) + 1)] {
            let all = flows.number(shard, number);
            assert_eq!(flows.place(all), (shard, number));
            assert_eq!(flows.place(all ^ 1), (shard, number ^ 1));
        }
        let one = Flows::new(Limits { flows: 8, idle_ns: None }, 1);
        assert_eq!((one.number(0, 77), one.place(77)), (77, (0, 77)));
    }
}
