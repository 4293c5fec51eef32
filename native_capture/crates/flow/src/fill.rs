//! How full a queue was: per millisecond of packet time, with the intervals in which it was nearly full and who filled it.

use std::collections::{HashMap, VecDeque};

const MS: u64 = 1_000_000;
/// Nearly full: three quarters of the buffer (contract, Microburst).
const NEARLY: (u64, u64) = (3, 4);
/// Intervals closer than this are one.
const MERGE_NS: u64 = 50 * MS;
/// Bursts kept; more are counted.
const MOST: usize = 10_000;
/// Flows named per interval, the largest.
const NAMED: usize = 10;
/// An interval that lasts is told in pieces of this.
const SLICE_NS: u64 = 1_000 * MS;

/// One maximal interval with the queue nearly full. `fillers`: flow number, packets and bytes that stood or came in while it lasted.
#[derive(Clone, Debug, PartialEq)]
pub struct Burst {
    pub start_ns: u64,
    pub end_ns: u64,
    pub peak: u64,
    pub bytes: u64,
    pub fillers: Vec<(u32, u64, u64)>,
}

impl Burst {
    pub fn length_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// A piece of such an interval, a second at most, so that what goes on for long is told while it goes on. `start_ns`: of the interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    pub start_ns: u64,
    pub from_ns: u64,
    pub end_ns: u64,
    pub is_last: bool,
    pub peak: u64,
    pub fillers: Vec<(u32, u64, u64)>,
}

type Fillers = HashMap<u32, (u64, u64)>;

struct Open {
    start_ns: u64,
    from_ns: u64,
    /// Since when it is below the threshold again; None while it is nearly full.
    below_ns: Option<u64>,
    peak: u64,
    /// Of this slice, and of those before it.
    fillers: Fillers,
    before: Fillers,
}

/// Statistics over whole milliseconds, each taken at its fullest moment. Units are packets, or bytes where the buffer counts bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fill {
    pub milliseconds: u64,
    pub max_pct: f64,
    pub p95_pct: f64,
    pub mean_pct: f64,
    pub share_over_90: f64,
}

/// Follows one queue. Changes must come in order of time.
pub struct FillMeter {
    limit: u64,
    by_bytes: bool,
    level: u64,
    ms: Option<u64>,
    fullest: u64,
    histogram: Vec<u64>,
    sum: u64,
    inside: VecDeque<(u32, u32)>,
    open: Option<Open>,
    start_ms: u64,
    series: Option<Vec<u16>>,
    pub bursts: Vec<Burst>,
    /// Taken away by the owner.
    pub slices: Vec<Slice>,
    keeps: bool,
    /// Bursts beyond the number kept.
    pub more: u64,
}

impl FillMeter {
    /// `limit`: packets, or bytes when `by_bytes`.
    pub fn new(limit: u64, by_bytes: bool) -> Self {
        Self {
            limit: limit.max(1),
            by_bytes,
            level: 0,
            ms: None,
            fullest: 0,
            histogram: vec![0; 1_001],
            sum: 0,
            inside: VecDeque::new(),
            open: None,
            start_ms: 0,
            series: None,
            bursts: Vec::new(),
            slices: Vec::new(),
            keeps: true,
            more: 0,
        }
    }

    /// Keep every millisecond, two bytes each.
    pub fn record(&mut self) {
        self.series = Some(Vec::new());
    }

    /// Tell intervals by their slices only: a running engine has no end at which to report them.
    pub fn forget_bursts(&mut self) {
        self.keeps = false;
    }

    /// Whether an interval with the queue nearly full is going on.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Nothing more happens up to `ns`: end what is over, tell what goes on.
    pub fn settle(&mut self, ns: u64) {
        self.close_if_over(ns);
        self.cut_if_long(ns);
    }

    /// First millisecond since 1970, and per millisecond how many thousandths of the buffer were full at the fullest moment.
    pub fn series(&self) -> Option<(u64, &[u16])> {
        self.series.as_deref().map(|series| (self.start_ms, series))
    }

    pub fn level(&self) -> u64 {
        self.level
    }

    /// Watching begins, or goes on, at `ns`: milliseconds without a change count as they were.
    pub fn advance(&mut self, ns: u64) {
        let ms = ns / MS;
        let Some(now) = self.ms else {
            self.ms = Some(ms);
            self.start_ms = ms;
            self.fullest = self.level;
            return;
        };
        if ms <= now {
            return;
        }
        self.book(self.fullest, 1);
        self.book(self.level, ms - now - 1);
        self.fullest = self.level;
        self.ms = Some(ms);
    }

    fn book(&mut self, level: u64, milliseconds: u64) {
        let per_mille = (level * 1_000 / self.limit).min(1_000);
        self.histogram[per_mille as usize] += milliseconds;
        self.sum += per_mille * milliseconds;
        if let Some(series) = &mut self.series {
            series.extend(std::iter::repeat_n(per_mille as u16, milliseconds as usize));
        }
    }

    /// A packet of `flow` came in.
    pub fn enter(&mut self, ns: u64, flow: u32, bytes: u32) {
        self.advance(ns);
        self.level += if self.by_bytes { u64::from(bytes) } else { 1 };
        self.fullest = self.fullest.max(self.level);
        self.inside.push_back((flow, bytes));
        let nearly = self.is_nearly_full();
        self.close_if_over(ns);
        match &mut self.open {
            Some(open) => {
                open.below_ns = if nearly { None } else { open.below_ns };
                open.peak = open.peak.max(self.level);
                add(&mut open.fillers, flow, bytes);
                self.cut_if_long(ns);
            }
            None if nearly => {
                let mut fillers = HashMap::new();
                self.inside.iter().for_each(|(flow, bytes)| add(&mut fillers, *flow, *bytes));
                let before = HashMap::new();
                self.open = Some(Open { start_ns: ns, from_ns: ns, below_ns: None, peak: self.level, fillers, before });
            }
            None => {}
        }
    }

    /// The oldest packet left.
    pub fn leave(&mut self, ns: u64) {
        self.advance(ns);
        let Some((_, bytes)) = self.inside.pop_front() else { return };
        self.level = self.level.saturating_sub(if self.by_bytes { u64::from(bytes) } else { 1 });
        let nearly = self.is_nearly_full();
        if let Some(open) = &mut self.open {
            if !nearly && open.below_ns.is_none() {
                // A replayed queue reckons in steps of 256 ns, and may let go a little before the packet came that filled it.
                open.below_ns = Some(ns.max(open.start_ns));
            }
        }
        self.close_if_over(ns);
    }

    fn is_nearly_full(&self) -> bool {
        self.level * NEARLY.1 >= self.limit * NEARLY.0
    }

    fn close_if_over(&mut self, ns: u64) {
        let over = self.open.as_ref().and_then(|open| open.below_ns).is_some_and(|below| ns >= below + MERGE_NS);
        if over {
            self.close(ns);
        }
    }

    /// Tell the last second of an interval that goes on.
    fn cut_if_long(&mut self, ns: u64) {
        let keeps = self.keeps;
        let Some(open) = self.open.as_mut().filter(|open| ns >= open.from_ns + SLICE_NS) else { return };
        let (start_ns, from_ns, peak) = (open.start_ns, open.from_ns, open.peak);
        let fillers = std::mem::take(&mut open.fillers);
        if keeps {
            fillers.iter().for_each(|(flow, sum)| join(&mut open.before, *flow, *sum));
        }
        open.from_ns = ns;
        self.slices.push(Slice { start_ns, from_ns, end_ns: ns, is_last: false, peak, fillers: largest(&fillers) });
    }

    fn close(&mut self, ns: u64) {
        let Some(mut open) = self.open.take() else { return };
        let end_ns = open.below_ns.unwrap_or(ns).max(open.from_ns);
        let (start_ns, from_ns, peak) = (open.start_ns, open.from_ns, open.peak);
        self.slices.push(Slice { start_ns, from_ns, end_ns, is_last: true, peak, fillers: largest(&open.fillers) });
        if !self.keeps {
            return;
        }
        if self.bursts.len() >= MOST {
            self.more += 1;
            return;
        }
        let last = std::mem::take(&mut open.fillers);
        last.iter().for_each(|(flow, sum)| join(&mut open.before, *flow, *sum));
        let mut fillers = largest(&open.before);
        let bytes = fillers.iter().map(|(_, _, bytes)| bytes).sum();
        fillers.truncate(NAMED);
        let end_ns = open.below_ns.unwrap_or(ns);
        self.bursts.push(Burst { start_ns: open.start_ns, end_ns, peak: open.peak, bytes, fillers });
    }

    /// The capture ended at `ns`.
    pub fn finish(&mut self, ns: u64) {
        self.advance(ns);
        if self.ms.is_some() {
            self.book(self.fullest, 1);
            self.ms = None;
        }
        self.close(ns);
    }

    pub fn percent(&self, level: u64) -> f64 {
        (level as f64 * 100.0 / self.limit as f64).min(100.0)
    }

    /// None before anything was watched.
    pub fn fill(&self) -> Option<Fill> {
        let total: u64 = self.histogram.iter().sum();
        (total > 0).then(|| {
            let over: u64 = self.histogram[901..].iter().sum();
            let top = self.histogram.iter().rposition(|count| *count > 0).unwrap_or(0);
            Fill {
                milliseconds: total,
                max_pct: top as f64 / 10.0,
                p95_pct: self.percentile(total) as f64 / 10.0,
                mean_pct: self.sum as f64 / total as f64 / 10.0,
                share_over_90: over as f64 / total as f64,
            }
        })
    }

    fn percentile(&self, total: u64) -> usize {
        let mut seen = 0;
        let reached = self.histogram.iter().position(|count| {
            seen += count;
            seen * 100 >= total * 95
        });
        reached.unwrap_or(0)
    }
}

fn add(fillers: &mut Fillers, flow: u32, bytes: u32) {
    join(fillers, flow, (1, u64::from(bytes)));
}

fn join(fillers: &mut Fillers, flow: u32, more: (u64, u64)) {
    let sum = fillers.entry(flow).or_default();
    sum.0 += more.0;
    sum.1 += more.1;
}

fn largest(fillers: &Fillers) -> Vec<(u32, u64, u64)> {
    let mut all: Vec<_> = fillers.iter().map(|(flow, sum)| (*flow, sum.0, sum.1)).collect();
    all.sort_unstable_by_key(|(flow, _, bytes)| (std::cmp::Reverse(*bytes), *flow));
    all
}

/// Entry and exit times of packets that two points showed, as changes of one queue in order of time.
///
/// A queue is first in, first out: when a packet that entered at `e` has left, all that entered before it have left or are lost,
/// so everything up to `e` is known.
#[derive(Default)]
pub struct Passages {
    entries: VecDeque<(u64, u32, u32)>,
    exits: VecDeque<u64>,
}

impl Passages {
    /// Exits come in order of time; entries may be a little out of order.
    pub fn passed(&mut self, entry_ns: u64, exit_ns: u64, flow: u32, bytes: u32, meter: &mut FillMeter) {
        let behind = self.entries.iter().rev().take_while(|(ns, ..)| *ns > entry_ns).count();
        self.entries.insert(self.entries.len() - behind, (entry_ns, flow, bytes));
        self.exits.push_back(exit_ns);
        self.drain(entry_ns, meter);
    }

    fn drain(&mut self, known_ns: u64, meter: &mut FillMeter) {
        loop {
            let entry = self.entries.front().map_or(u64::MAX, |(ns, ..)| *ns);
            let exit = self.exits.front().copied().unwrap_or(u64::MAX);
            if entry.min(exit) > known_ns || entry == u64::MAX && exit == u64::MAX {
                return;
            }
            // At the same moment the one that leaves goes first, unless nothing is inside.
            if entry < exit || entry == exit && meter.level() == 0 {
                if let Some((ns, flow, bytes)) = self.entries.pop_front() {
                    meter.enter(ns, flow, bytes);
                }
            } else {
                self.exits.pop_front();
                meter.leave(exit);
            }
        }
    }

    /// No packet that entered before `ns` will be told any more.
    pub fn settle(&mut self, ns: u64, meter: &mut FillMeter) {
        self.drain(ns, meter);
        meter.settle(ns);
    }

    pub fn finish(&mut self, ns: u64, meter: &mut FillMeter) {
        self.drain(u64::MAX - 1, meter);
        meter.finish(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_millisecond_counts_at_its_fullest_moment() {
        let mut meter = FillMeter::new(10, false);
        meter.advance(0);
        for ns in [100, 200, 300] {
            meter.enter(ns, 1, 100);
        }
        meter.leave(400);
        meter.leave(500);
        meter.finish(4 * MS);
        let fill = meter.fill();
        assert_eq!(fill.map(|f| (f.milliseconds, f.max_pct, f.mean_pct)), Some((5, 30.0, (30.0 + 4.0 * 10.0) / 5.0)));
    }

    #[test]
    fn intervals_close_to_each_other_are_one_burst_and_name_who_filled_it() {
        let mut meter = FillMeter::new(4, false);
        let mut now = 0;
        for round in 0..2 {
            for flow in [7, 7, 8] {
                now += MS;
                meter.enter(now, flow, 100 * (1 + round));
            }
            for _ in 0..3 {
                now += MS;
                meter.leave(now);
            }
            now += 20 * MS;
        }
        meter.finish(now + 200 * MS);
        assert_eq!(meter.bursts.len(), 1);
        let burst = &meter.bursts[0];
        assert_eq!((burst.start_ns, burst.end_ns, burst.peak), (3 * MS, 30 * MS, 3));
        assert_eq!(burst.fillers, [(7, 4, 600), (8, 2, 300)]);
    }

    #[test]
    fn intervals_far_apart_are_two() {
        let mut meter = FillMeter::new(1, false);
        for start in [0, 100 * MS] {
            meter.enter(start, 1, 1);
            meter.leave(start + MS);
        }
        meter.finish(300 * MS);
        assert_eq!(meter.bursts.iter().map(Burst::length_ns).collect::<Vec<_>>(), [MS, MS]);
    }

    #[test]
    fn an_interval_never_ends_before_it_begins() {
        let mut meter = FillMeter::new(1, false);
        meter.enter(1_000 * MS, 1, 100);
        meter.leave(1_000 * MS - 200);
        meter.finish(2_000 * MS);
        assert_eq!(meter.bursts.iter().map(Burst::length_ns).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn passages_give_the_level_between_entry_and_exit() {
        let (mut passages, mut meter) = (Passages::default(), FillMeter::new(10, false));
        for (entry, exit) in [(0, 5 * MS), (MS, 6 * MS), (2 * MS, 7 * MS), (20 * MS, 20 * MS)] {
            passages.passed(entry, exit, 1, 100, &mut meter);
        }
        passages.finish(21 * MS, &mut meter);
        let fill = meter.fill();
        assert_eq!(fill.map(|f| (f.milliseconds, f.max_pct)), Some((22, 30.0)));
        assert_eq!(meter.level(), 0);
    }
}
