//! Matching by headers that no switch changes; TTL, DSCP, ECN and VLAN are free.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, Hasher};

use nc_decode::Packet;
use nc_flow::KeyedState;

/// With more than two points, how many packets alike are looked through for one that this point has not shown yet.
const LOOK: usize = 64;
const NONE: u64 = u64::MAX;

/// What identifies one packet on its way: realm, addresses, protocol, ports, IP id and fragment, sequence, length.
pub type PacketId = u128;

/// A packet that this point is the first to show, or one seen before elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    First,
    Again(Again),
}

/// What a device on the way may change. Tags as in [`Packet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub dscp: u8,
    pub ecn: u8,
    pub pcp: u8,
    pub vlan: u16,
}

impl Look {
    pub fn of(packet: &Packet) -> Self {
        Self { dscp: packet.dscp, ecn: packet.ecn, pcp: packet.pcp, vlan: packet.vlan }
    }
}

/// `from`: the point that showed it last, and how it looked there. `flow`: the number given when it was first seen. `first_dscp`:
/// its mark then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    pub flow: u32,
    pub from: u16,
    pub from_ns: u64,
    pub from_look: Look,
    pub first_dscp: u8,
    pub first_pcp: u8,
}

/// A packet whose window has passed. `points`: bit per point that showed it; `first` and `last` of them by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    pub flow: u32,
    pub first_ns: u64,
    pub first_dscp: u8,
    pub first_pcp: u8,
    pub first: u16,
    pub last: u16,
    pub points: u32,
}

struct Entry {
    id: PacketId,
    first_ns: u64,
    last_ns: u64,
    next: u64,
    flow: u32,
    points: u32,
    first_point: u16,
    last_point: u16,
    checksum: u16,
    first_dscp: u8,
    first_pcp: u8,
    last_look: Look,
    done: bool,
}

/// Packets of the last window, oldest first, chained by identity in the order seen.
pub struct Matcher {
    all_points: u32,
    window_ns: u64,
    capacity: usize,
    entries: VecDeque<Entry>,
    /// Number of the oldest entry; entries are numbered for ever.
    base: u64,
    chains: HashMap<PacketId, (u64, u64), KeyedState>,
    overflow: u64,
}

/// The identity of a packet within `realm`; `hashers` two independent keys, so that 128 bits stand for the headers.
pub fn identity_of(packet: &Packet, realm: u16, hashers: &(KeyedState, KeyedState)) -> PacketId {
    let half = |state: &KeyedState| {
        let mut hasher = state.build_hasher();
        (packet.src, packet.dst).hash(&mut hasher);
        hasher.write_u64(u64::from(packet.sport) << 48 | u64::from(packet.dport) << 32 | u64::from(packet.seq));
        hasher.write_u64(u64::from(packet.ip_id) << 32 | u64::from(packet.l3_len));
        let kind = u64::from(packet.frag_offset) << 32 | u64::from(realm) << 16 | u64::from(packet.icmp_type) << 8;
        hasher.write_u64(kind | u64::from(packet.proto));
        hasher.write_u8(packet.version);
        hasher.finish()
    };
    u128::from(half(&hashers.0)) << 64 | u128::from(half(&hashers.1))
}

impl Matcher {
    /// `points`: how many there are (2..=32); `window_ns`: longest time between first and last sighting.
    pub fn new(points: u32, window_ns: u64, capacity: usize) -> Self {
        Self {
            all_points: u32::MAX >> (32 - points.clamp(1, 32)),
            window_ns,
            capacity,
            entries: VecDeque::new(),
            base: 0,
            chains: HashMap::default(),
            overflow: 0,
        }
    }

    pub fn set_window(&mut self, window_ns: u64) {
        self.window_ns = window_ns;
    }

    /// Longest time between first and last sighting.
    pub fn window(&self) -> u64 {
        self.window_ns
    }

    /// Packets that found no room and could not be matched.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Look for a packet seen at another point. When this is the first sighting, call [`Matcher::remember`].
    pub fn sight(&mut self, id: PacketId, point: u16, packet: &Packet) -> Sighting {
        let Some(number) = self.find(id, point, packet) else { return Sighting::First };
        let all_points = self.all_points;
        let Some(entry) = self.entry(number) else { return Sighting::First };
        let again = Again {
            flow: entry.flow,
            from: entry.last_point,
            from_ns: entry.last_ns,
            from_look: entry.last_look,
            first_dscp: entry.first_dscp,
            first_pcp: entry.first_pcp,
        };
        entry.points |= 1 << point;
        (entry.last_ns, entry.last_point, entry.last_look) = (packet.ts_ns, point, Look::of(packet));
        if entry.points == all_points {
            entry.done = true;
            self.unlink(id, number);
        }
        Sighting::Again(again)
    }

    /// Of the packets alike that this point has not shown: the one with the same checksum, else the oldest.
    fn find(&mut self, id: PacketId, point: u16, packet: &Packet) -> Option<u64> {
        let (head, _) = *self.chains.get(&id)?;
        let (mut number, mut oldest) = (head, None);
        for _ in 0..LOOK {
            let Some(entry) = self.entry(number) else { break };
            if entry.points & 1 << point == 0 {
                if entry.checksum == packet.checksum {
                    return Some(number);
                }
                oldest = oldest.or(Some(number));
            } else if self.all_points == 3 {
                // With two points all packets in one chain wait for the same one.
                break;
            }
            number = self.entry(number).map_or(NONE, |entry| entry.next);
        }
        oldest
    }

    /// Keep the packet just sighted first at `point`, as part of `flow`.
    pub fn remember(&mut self, id: PacketId, point: u16, packet: &Packet, flow: u32) {
        if self.entries.len() >= self.capacity {
            self.overflow += 1;
            return;
        }
        let number = self.base + self.entries.len() as u64;
        self.entries.push_back(Entry {
            id,
            first_ns: packet.ts_ns,
            last_ns: packet.ts_ns,
            next: NONE,
            flow,
            points: 1 << point,
            first_point: point,
            last_point: point,
            checksum: packet.checksum,
            first_dscp: packet.dscp,
            first_pcp: packet.pcp,
            last_look: Look::of(packet),
            done: false,
        });
        match self.chains.get_mut(&id) {
            None => {
                self.chains.insert(id, (number, number));
            }
            Some(chain) => {
                let tail = chain.1;
                chain.1 = number;
                if let Some(entry) = self.entry(tail) {
                    entry.next = number;
                }
            }
        }
    }

    /// Let go of packets older than the window at `now_ns` (all of them: `u64::MAX`), telling `gone` of each.
    pub fn expire(&mut self, now_ns: u64, mut gone: impl FnMut(Gone)) {
        while let Some(entry) = self.entries.front() {
            if now_ns != u64::MAX && entry.first_ns.saturating_add(self.window_ns) >= now_ns {
                break;
            }
            let (id, done) = (entry.id, entry.done);
            gone(Gone {
                flow: entry.flow,
                first_ns: entry.first_ns,
                first_dscp: entry.first_dscp,
                first_pcp: entry.first_pcp,
                first: entry.first_point,
                last: entry.last_point,
                points: entry.points,
            });
            if !done {
                self.unlink(id, self.base);
            }
            self.entries.pop_front();
            self.base += 1;
        }
    }

    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let index = number.checked_sub(self.base)?;
        self.entries.get_mut(usize::try_from(index).ok()?)
    }

    fn unlink(&mut self, id: PacketId, number: u64) {
        let Some((head, tail)) = self.chains.get(&id).copied() else { return };
        let next = self.entry(number).map_or(NONE, |entry| entry.next);
        if head == number {
            if next == NONE {
                self.chains.remove(&id);
            } else {
                self.chains.insert(id, (next, tail));
            }
            return;
        }
        let mut before = head;
        while let Some(entry) = self.entry(before) {
            if entry.next == number {
                entry.next = next;
                break;
            }
            before = entry.next;
        }
        if tail == number {
            self.chains.insert(id, (head, before));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ts_ns: u64, dscp: u8, checksum: u16) -> Packet {
        Packet { version: 4, proto: 17, ts_ns, dscp, checksum, ..Packet::default() }
    }

    fn run(points: u32, window: u64, packets: &[(u16, Packet)]) -> (Vec<Option<(u64, u8)>>, Vec<u32>) {
        let mut matcher = Matcher::new(points, window, 100);
        let mut lost = Vec::new();
        let mut found = Vec::new();
        for (point, packet) in packets {
            matcher.expire(packet.ts_ns, |gone| lost.push(gone.points));
            found.push(match matcher.sight(1, *point, packet) {
                Sighting::Again(again) => Some((again.from_ns, again.from_look.dscp)),
                Sighting::First => {
                    matcher.remember(1, *point, packet, 0);
                    None
                }
            });
        }
        matcher.expire(u64::MAX, |gone| lost.push(gone.points));
        (found, lost)
    }

    #[test]
    fn equal_packets_are_matched_in_order_within_the_window_only() {
        let (found, lost) = run(2, 10, &[(0, at(0, 46, 0)), (0, at(2, 46, 0)), (1, at(5, 0, 0)), (1, at(30, 0, 0))]);
        assert_eq!(found, [None, None, Some((0, 46)), None]);
        assert_eq!(lost, [3, 1, 2]);
    }

    #[test]
    fn the_checksum_tells_equal_packets_apart_when_one_was_lost() {
        let (found, lost) = run(2, 10, &[(0, at(0, 46, 7)), (0, at(2, 46, 8)), (1, at(5, 46, 8))]);
        assert_eq!(found, [None, None, Some((2, 46))]);
        assert_eq!(lost, [1, 3]);
    }

    #[test]
    fn three_points_show_one_packet_three_times() {
        let hop = |point, ns| (point, at(ns, point as u8, 0));
        let (found, lost) = run(3, 100, &[hop(0, 0), hop(0, 1), hop(1, 2), hop(1, 3), hop(2, 4), hop(2, 5)]);
        assert_eq!(found, [None, None, Some((0, 0)), Some((1, 0)), Some((2, 1)), Some((3, 1))]);
        assert_eq!(lost, [7, 7]);
    }

    #[test]
    fn a_full_window_counts_what_it_cannot_remember() {
        let mut matcher = Matcher::new(2, 10, 1);
        matcher.remember(1, 0, &at(0, 0, 0), 0);
        matcher.remember(2, 0, &at(0, 0, 0), 0);
        assert_eq!((matcher.overflow(), matcher.sight(2, 1, &at(1, 0, 0))), (1, Sighting::First));
    }
}
