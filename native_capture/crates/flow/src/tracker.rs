//! TCP counts of one point, over all packets that it shows.

use std::collections::HashMap;

use nc_decode::Packet;

use crate::key::{FlowKey, KeyedState};
use crate::tcp::{TcpDirection, TcpEvent};

/// When the table is full, directions silent for this long are forgotten.
const IDLE_NS: u64 = 300_000_000_000;
/// And not more often than this, so that a full table costs no time.
const AGAIN_NS: u64 = 10_000_000_000;

/// Sequence states without the rest of a flow record.
pub struct TcpTracker {
    limit: usize,
    directions: HashMap<FlowKey, (TcpDirection, u64), KeyedState>,
    cleaned_ns: u64,
    overflow: u64,
}

impl TcpTracker {
    pub fn new(limit: usize) -> Self {
        Self { limit, directions: HashMap::default(), cleaned_ns: 0, overflow: 0 }
    }

    /// Segments of directions that found no room.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// What this TCP segment counts as; nothing when the table is full.
    pub fn observe(&mut self, key: FlowKey, packet: &Packet) -> TcpEvent {
        if self.directions.len() >= self.limit && !self.directions.contains_key(&key) && !self.clean(packet.ts_ns) {
            self.overflow += 1;
            return TcpEvent::default();
        }
        let (direction, last_ns) = self.directions.entry(key).or_default();
        *last_ns = packet.ts_ns;
        direction.observe(packet)
    }

    fn clean(&mut self, now_ns: u64) -> bool {
        if now_ns.saturating_sub(self.cleaned_ns) < AGAIN_NS {
            return false;
        }
        self.cleaned_ns = now_ns;
        self.directions.retain(|_, (_, last_ns)| now_ns.saturating_sub(*last_ns) < IDLE_NS);
        self.directions.len() < self.limit
    }
}
