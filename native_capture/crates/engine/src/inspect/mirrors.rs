//! ERSPAN sessions of one capture, and its frames between the readings of counters.

use std::collections::BTreeMap;

use nc_decode::{Erspan, Packet, Tunnel};
use serde::Serialize;

/// A sequence number this far behind is late; further, the sender began anew.
const LATE: u32 = 1_024;
const MOST: usize = 1_024;

/// Sessions by (source, destination, id). Type I has no sequence numbers (draft-foschiano-erspan, 4.1).
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Mirrors {
    pub frames: u64,
    /// Sequence numbers that never came, and that came late; None without any number.
    missing: Option<u64>,
    late: u64,
    sessions: usize,
    #[serde(skip)]
    next: BTreeMap<(u128, u128, u32), u32>,
}

impl Mirrors {
    /// The mirrored frame where this one is ERSPAN, else itself.
    pub fn unpack(&mut self, packet: &Packet, bytes: &[u8]) -> Packet {
        if !matches!(packet.tunnel, Tunnel::Erspan1 | Tunnel::Erspan2 | Tunnel::Erspan3) {
            return *packet;
        }
        self.count(packet, bytes);
        packet.inner(bytes).unwrap_or(*packet)
    }

    /// A wrapped frame.
    pub fn count(&mut self, packet: &Packet, bytes: &[u8]) {
        self.frames += 1;
        if packet.tunnel == Tunnel::Erspan1 {
            return;
        }
        if let Some(sequence) = Erspan::of(packet, bytes).and_then(|erspan| erspan.sequence) {
            self.number((packet.src, packet.dst, packet.tunnel_id), sequence);
        }
    }

    /// Of other sessions.
    pub fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.late += other.late;
        self.sessions += other.sessions;
        self.missing = match (self.missing, other.missing) {
            (Some(one), Some(more)) => Some(one + more),
            (one, more) => one.or(more),
        };
    }

    fn number(&mut self, key: (u128, u128, u32), sequence: u32) {
        if self.next.len() >= MOST && !self.next.contains_key(&key) {
            return;
        }
        let missing = self.missing.get_or_insert(0);
        let next = self.next.entry(key).or_insert(sequence);
        let ahead = sequence.wrapping_sub(*next);
        if ahead < u32::MAX / 2 {
            *missing += u64::from(ahead);
            *next = sequence.wrapping_add(1);
        } else if next.wrapping_sub(sequence) <= LATE {
            self.late += 1;
            *missing = missing.saturating_sub(1);
        } else {
            *next = sequence.wrapping_add(1);
        }
        self.sessions = self.next.len();
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Interval {
    start_ns: u64,
    end_ns: u64,
    packets: u64,
    bytes: u64,
}

pub(super) struct Intervals {
    pub rows: Vec<Interval>,
}

impl Intervals {
    pub fn new(marks: &[u64]) -> Self {
        let row = |pair: &[u64]| Interval { start_ns: pair[0], end_ns: pair[1], packets: 0, bytes: 0 };
        Self { rows: marks.windows(2).map(row).collect() }
    }

    /// Frames of the interval [start, end).
    pub fn count(&mut self, ns: u64, bytes: u32) {
        let after = self.rows.partition_point(|row| row.start_ns <= ns);
        if let Some(row) = after.checked_sub(1).and_then(|at| self.rows.get_mut(at)).filter(|row| ns < row.end_ns) {
            row.packets += 1;
            row.bytes += u64::from(bytes);
        }
    }
}
