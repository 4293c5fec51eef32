//! ERSPAN sessions of one capture, and its frames between the readings of counters.

use std::collections::BTreeMap;

use nc_decode::{Packet, Tunnel};
use serde::Serialize;

/// A sequence number this far behind is late; further, the sender began anew.
const LATE: u32 = 1_024;
const MOST: usize = 1_024;

/// Sessions by (source, destination, id). Type I has no sequence numbers (draft-foschiano-erspan, 4.1).
#[derive(Default, Serialize)]
pub(super) struct Mirrors {
    frames: u64,
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
        self.frames += 1;
        if packet.tunnel != Tunnel::Erspan1 {
            self.number(packet);
        }
        packet.inner(bytes).unwrap_or(*packet)
    }

    fn number(&mut self, packet: &Packet) {
        let key = (packet.src, packet.dst, packet.tunnel_id);
        if self.next.len() >= MOST && !self.next.contains_key(&key) {
            return;
        }
        let missing = self.missing.get_or_insert(0);
        let next = self.next.entry(key).or_insert(packet.seq);
        let ahead = packet.seq.wrapping_sub(*next);
        if ahead < u32::MAX / 2 {
            *missing += u64::from(ahead);
            *next = packet.seq.wrapping_add(1);
        } else if next.wrapping_sub(packet.seq) <= LATE {
            self.late += 1;
            *missing = missing.saturating_sub(1);
        } else {
            *next = packet.seq.wrapping_add(1);
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
