//! Remembers the ports of first fragments, so that the rest of the packet is counted in the same flow.

use std::hash::BuildHasher;

use nc_decode::Packet;

use crate::key::KeyedState;

/// Places for keys of one hash, and hashes.
const WAYS: usize = 4;
const SETS: usize = 1_024;
/// A fragment this much later than the first one belongs to another packet (hosts reassemble for 30 s at most).
const LIFE_NS: u64 = 30_000_000_000;

type Key = (u128, u128, u32, u8);

#[derive(Clone, Copy, Default)]
struct Slot {
    key: Key,
    ts_ns: u64,
    ports: (u16, u16),
}

/// A fixed number of packets in flight; an older one gives way. Which one does must be the same in every run, so strangers can know it,
/// too: what they gain is that later fragments are counted without their ports.
pub struct Fragments {
    slots: Vec<[Slot; WAYS]>,
    hash: KeyedState,
}

impl Default for Fragments {
    fn default() -> Self {
        Self { slots: vec![Default::default(); SETS], hash: KeyedState::same_in_every_run() }
    }
}

impl Fragments {
    /// Source and destination port of the packet's flow; (0, 0) where the protocol has none or none are known.
    #[inline]
    pub fn ports(&mut self, packet: &Packet) -> (u16, u16) {
        match packet.is_fragment() {
            true => self.of_fragment(packet),
            false => ports(packet),
        }
    }

    fn of_fragment(&mut self, packet: &Packet) -> (u16, u16) {
        let own = ports(packet);
        let key = (packet.src, packet.dst, packet.ip_id, packet.proto);
        let set = &mut self.slots[self.hash.hash_one(key) as usize % SETS];
        let known = set.iter().position(|slot| slot.key == key);
        if packet.frag_offset == 0 {
            let oldest = || (0..WAYS).min_by_key(|way| set[*way].ts_ns).unwrap_or(0);
            set[known.unwrap_or_else(oldest)] = Slot { key, ts_ns: packet.ts_ns, ports: own };
            return own;
        }
        let known = known.map(|way| &set[way]).filter(|slot| packet.ts_ns.abs_diff(slot.ts_ns) < LIFE_NS);
        known.map_or((0, 0), |slot| slot.ports)
    }
}

/// Of a whole packet.
#[inline]
pub fn ports(packet: &Packet) -> (u16, u16) {
    match packet.is_icmp() {
        true => (0, 0),
        false => (packet.sport, packet.dport),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_fragments_belong_to_the_flow_of_the_first() {
        let first = Packet {
            src: 1,
            dst: 2,
            ip_id: 7,
            proto: 17,
            sport: 5,
            dport: 53,
            more_fragments: true,
            ..Packet::default()
        };
        let next = Packet { sport: 0, dport: 0, frag_offset: 185, ..first };
        let mut fragments = Fragments::default();
        assert_eq!(fragments.ports(&next), (0, 0));
        assert_eq!(fragments.ports(&first), (5, 53));
        assert_eq!(fragments.ports(&next), (5, 53));
        assert_eq!(fragments.ports(&Packet { ip_id: 8, ..next }), (0, 0));
    }

    #[test]
    fn when_there_are_too_many_the_same_ones_are_remembered_in_every_run() {
        let first = |ip_id| Packet { src: 1, dst: 2, ip_id, sport: 5, more_fragments: true, ..Packet::default() };
        let remembered = || {
            let mut fragments = Fragments::default();
            for id in 0..9_000 {
                fragments.ports(&Packet { ts_ns: id.into(), ..first(id) });
            }
            let mut known = |id: &u32| fragments.ports(&Packet { frag_offset: 9, ..first(*id) }) == (5, 0);
            (0..9_000).filter(|id| known(id)).collect::<Vec<u32>>()
        };
        let once = remembered();
        assert!((3_000..=SETS * WAYS).contains(&once.len()) && once == remembered());
    }
}
