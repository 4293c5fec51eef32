//! What happens between points: delays, marks changed.

use std::collections::HashMap;

use nc_flow::Delays;
use nc_flow::{FlowKey, KeyedState};

/// Most different (flow, from, to) changes that are told apart.
const MAX_REWRITES: usize = 100_000;

/// One direction between two points.
pub(crate) struct Hop {
    pub delays: Delays,
    pub by_dscp: [Option<Box<Delays>>; 64],
}

impl Default for Hop {
    fn default() -> Self {
        Self { delays: Delays::default(), by_dscp: [const { None }; 64] }
    }
}

/// All hops, and every change of a mark by flow.
pub(crate) struct Path {
    points: usize,
    hops: Vec<Hop>,
    pub rewrites: HashMap<(FlowKey, u8, u8), u64, KeyedState>,
    pub rewrites_overflow: u64,
}

impl Path {
    pub fn new(points: usize) -> Self {
        let hops = (0..points * points).map(|_| Hop::default()).collect();
        Self { points, hops, rewrites: HashMap::default(), rewrites_overflow: 0 }
    }

    pub fn hop(&self, from: usize, to: usize) -> &Hop {
        &self.hops[from * self.points + to]
    }

    /// `dscp`: the mark at the first point.
    pub fn passed(&mut self, from: u16, to: u16, dscp: u8, delay_ns: u64) {
        let hop = &mut self.hops[usize::from(from) * self.points + usize::from(to)];
        hop.delays.add(delay_ns);
        hop.by_dscp[usize::from(dscp & 63)].get_or_insert_default().add(delay_ns);
    }

    pub fn rewritten(&mut self, key: FlowKey, from: u8, to: u8) {
        if self.rewrites.len() >= MAX_REWRITES && !self.rewrites.contains_key(&(key, from, to)) {
            self.rewrites_overflow += 1;
            return;
        }
        *self.rewrites.entry((key, from, to)).or_default() += 1;
    }
}
