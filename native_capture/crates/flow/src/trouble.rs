//! What went wrong in a TCP conversation: segments sent again and why, disorder, duplicate acknowledgements, closed windows.

use crate::stuck::Stuck;
use crate::tcp::after;

/// A gap that is filled sooner than this is disorder, when no round trip is known (tshark takes the same).
const DISORDER_NS: u64 = 3_000_000;
/// A segment sent again this soon after a duplicate acknowledgement is a fast retransmission, when no round trip is longer (likewise).
const FAST_NS: u64 = 20_000_000;
/// Duplicate acknowledgements that ask for one: RFC 5681 (3.2) wants three, of which one may have been missed at the point.
const DUPLICATES: u32 = 2;
/// Gaps remembered of a direction.
const GAPS: usize = 4;

/// Of one direction. Each segment that the contract calls retransmitted is one of `fast`, `timeout`, `spurious` and `out_of_order`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Troubles {
    pub retransmitted: u32,
    pub syn_retransmitted: u32,
    pub fin_retransmitted: u32,
    pub zero_window: u32,
    pub fast: u32,
    pub timeout: u32,
    pub spurious: u32,
    pub out_of_order: u32,
    /// Sent by this direction.
    pub duplicate_acks: u32,
    /// Time for which this direction offered no window.
    pub zero_window_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    from: u32,
    to: u32,
    at_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Way {
    counts: Troubles,
    /// Duplicate acknowledgements in a row, and when the last one came.
    run: u32,
    last_ns: u64,
    closed_ns: Option<u64>,
    gaps: [Gap; GAPS],
    stuck: Stuck,
}

/// Both directions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trouble {
    ways: [Way; 2],
}

/// A segment sent again: its place, and what its receiver has acknowledged (None when nothing yet).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    pub seq: u32,
    pub end: u32,
    pub acked: Option<u32>,
    pub handshake_ns: Option<u64>,
    pub ts_ns: u64,
}

impl Trouble {
    pub fn counts(&mut self, way: usize) -> &mut Troubles {
        &mut self.ways[way].counts
    }

    /// The counts of `way` at the end, when a window that is still closed has been so until `end_ns`.
    pub fn at_end(&self, way: usize, end_ns: u64) -> Troubles {
        let Way { counts, closed_ns, .. } = self.ways[way];
        let still = closed_ns.map_or(0, |closed| end_ns.saturating_sub(closed));
        Troubles { zero_window_ns: counts.zero_window_ns.saturating_add(still), ..counts }
    }

    /// The segment of `way` that is sent again and again, and the duplicate acknowledgements in a row that ask for it.
    pub fn stuck(&mut self, way: usize) -> (&mut Stuck, u32) {
        let run = self.ways[way ^ 1].run;
        (&mut self.ways[way].stuck, run)
    }

    /// Bytes of `way` between `from` and `to` were not seen.
    pub fn gap(&mut self, way: usize, from: u32, to: u32, at_ns: u64) {
        let gaps = &mut self.ways[way].gaps;
        gaps.rotate_right(1);
        gaps[0] = Gap { from, to, at_ns };
    }

    /// A segment of `way` that ends within what was seen; says why it came.
    pub fn again(&mut self, way: usize, again: &Again) {
        let young = self.fill(way, again);
        let asked = &self.ways[way ^ 1];
        let soon = again.ts_ns.saturating_sub(asked.last_ns) < FAST_NS.max(again.handshake_ns.unwrap_or(0));
        let is_asked = asked.run >= DUPLICATES && soon;
        let counts = &mut self.ways[way].counts;
        counts.retransmitted = counts.retransmitted.saturating_add(1);
        let kind = match again.acked {
            Some(acked) if !after(again.end, acked) => &mut counts.spurious,
            Some(acked) if is_asked && !after(acked, again.seq) => &mut counts.fast,
            _ if young => &mut counts.out_of_order,
            _ => &mut counts.timeout,
        };
        *kind = kind.saturating_add(1);
    }

    /// Close the gap that the segment fills; true when the gap is so young that the segment was merely overtaken.
    fn fill(&mut self, way: usize, again: &Again) -> bool {
        let limit = again.handshake_ns.unwrap_or(DISORDER_NS);
        let inside = |gap: &&mut Gap| !after(gap.from, again.seq) && !after(again.end, gap.to) && gap.from != gap.to;
        let Some(gap) = self.ways[way].gaps.iter_mut().find(inside) else { return false };
        gap.from = again.end;
        again.ts_ns.saturating_sub(gap.at_ns) < limit
    }

    /// `way` acknowledged once more what it had acknowledged before.
    pub fn duplicate(&mut self, way: usize, ts_ns: u64) {
        let way = &mut self.ways[way];
        way.counts.duplicate_acks = way.counts.duplicate_acks.saturating_add(1);
        way.run = way.run.saturating_add(1);
        way.last_ns = ts_ns;
    }

    /// `way` acknowledged something new.
    pub fn goes_on(&mut self, way: usize) {
        self.ways[way].run = 0;
    }

    /// `way` offers no window.
    pub fn closes(&mut self, way: usize, ts_ns: u64) {
        let way = &mut self.ways[way];
        way.counts.zero_window = way.counts.zero_window.saturating_add(1);
        way.closed_ns.get_or_insert(ts_ns);
    }

    /// And offers one again, or ends.
    pub fn opens(&mut self, way: usize, ts_ns: u64) {
        let way = &mut self.ways[way];
        if let Some(closed_ns) = way.closed_ns.take() {
            let closed = ts_ns.saturating_sub(closed_ns);
            way.counts.zero_window_ns = way.counts.zero_window_ns.saturating_add(closed);
        }
    }
}
