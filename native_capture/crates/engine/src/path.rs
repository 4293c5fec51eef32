//! What happens between points: delays, losses, what was changed on the way.

use std::collections::HashMap;

use nc_correlate::{Again, Gone, Look};
use nc_flow::{Delays, KeyedState};

/// Most different changes, ways and ends that are told apart.
const MOST: usize = 1 << 20;

/// One direction between two points.
pub(crate) struct Hop {
    pub delays: Delays,
    pub by_dscp: [Option<Box<Delays>>; 64],
    /// By the priority of the tag at the first point.
    pub by_pcp: [u64; 8],
}

impl Default for Hop {
    fn default() -> Self {
        Self { delays: Delays::default(), by_dscp: [const { None }; 64], by_pcp: [0; 8] }
    }
}

/// A field that a device between two points rewrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Field {
    Dscp,
    Ecn,
    Pcp,
    Vlan,
}

/// `hop`: flow, from and to.
pub(crate) type Change = ((u32, u16, u16), Field, u16, u16);

/// Packets of one kind that not every point showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct End {
    pub flow: u32,
    pub points: u32,
    pub first: u16,
    pub last: u16,
    pub dscp: u8,
    pub pcp: u8,
}

/// All hops, every way that a flow takes, and every change by flow.
pub(crate) struct Path {
    points: usize,
    hops: Vec<Hop>,
    pub ways: HashMap<(u32, u16, u16), u64, KeyedState>,
    pub ends: HashMap<End, u64, KeyedState>,
    pub changes: HashMap<Change, u64, KeyedState>,
    /// Packets whose time some other capture did not cover: it says nothing about them.
    pub outside: u64,
    pub overflow: u64,
}

impl Path {
    pub fn new(points: usize) -> Self {
        let hops = (0..points * points).map(|_| Hop::default()).collect();
        let (ways, ends, changes) = Default::default();
        Self { points, hops, ways, ends, changes, outside: 0, overflow: 0 }
    }

    pub fn hop(&self, from: usize, to: usize) -> &Hop {
        &self.hops[from * self.points + to]
    }

    /// A packet seen before, now at `to`.
    pub fn passed(&mut self, again: &Again, to: u16, delay_ns: u64) {
        let hop = &mut self.hops[usize::from(again.from) * self.points + usize::from(to)];
        hop.delays.add(delay_ns);
        hop.by_dscp[usize::from(again.first_dscp & 63)].get_or_insert_default().add(delay_ns);
        if let Some(count) = hop.by_pcp.get_mut(usize::from(again.first_pcp)) {
            *count += 1;
        }
        bump(&mut self.ways, (again.flow, again.from, to), &mut self.overflow);
    }

    /// `hop`: flow, from and to.
    pub fn changed(&mut self, hop: (u32, u16, u16), before: Look, now: Look) {
        let fields = [
            (Field::Dscp, u16::from(before.dscp), u16::from(now.dscp)),
            (Field::Ecn, u16::from(before.ecn), u16::from(now.ecn)),
            (Field::Pcp, u16::from(before.pcp), u16::from(now.pcp)),
            (Field::Vlan, before.vlan, now.vlan),
        ];
        for (field, old, new) in fields.into_iter().filter(|(_, old, new)| old != new) {
            bump(&mut self.changes, (hop, field, old, new), &mut self.overflow);
        }
    }

    /// The time of a packet is over. A point whose capture did not run then is no place where it was lost.
    pub fn ended(&mut self, gone: &Gone, running: u32) {
        let asleep = ((1_u64 << self.points) - 1) as u32 & !running & !gone.points;
        self.outside += u64::from(asleep != 0);
        let points = gone.points | asleep;
        if points.count_ones() as usize == self.points {
            return;
        }
        let end = End {
            flow: gone.flow,
            points,
            first: gone.first,
            last: gone.last,
            dscp: gone.first_dscp,
            pcp: gone.first_pcp,
        };
        bump(&mut self.ends, end, &mut self.overflow);
    }
}

fn bump<K: Eq + std::hash::Hash>(map: &mut HashMap<K, u64, KeyedState>, key: K, overflow: &mut u64) {
    if map.len() < MOST || map.contains_key(&key) {
        *map.entry(key).or_default() += 1;
    } else {
        *overflow += 1;
    }
}
