//! What the packets themselves say about the clocks of several points: a packet is never seen before it was sent.
//!
//! The offset of two clocks lies between the largest apparent delay one way, negated, and the smallest the other way
//! (F. Cristian, Probabilistic clock synchronization, 1989). Bounds over several points are shortest paths of difference constraints.

const FAR: i64 = i64::MAX;

/// How far one clock is ahead of another, in nanoseconds. None: nothing bounds it on this side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    pub at_least: Option<i64>,
    pub at_most: Option<i64>,
}

impl Bounds {
    pub fn holds(&self, ns: i64) -> bool {
        self.at_least.is_none_or(|least| least <= ns) && self.at_most.is_none_or(|most| ns <= most)
    }

    /// The middle, or the only side there is.
    pub fn middle(&self) -> Option<i64> {
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) => Some(least + (most - least) / 2),
            (least, most) => least.or(most),
        }
    }

    /// How far from `ns` the truth may be; None when a side is open.
    pub fn error(&self, ns: i64) -> Option<u64> {
        Some(self.at_least?.abs_diff(ns).max(self.at_most?.abs_diff(ns)))
    }
}

/// Bounds between the clocks of `points` points, and of each against true time.
#[derive(Clone, Debug)]
pub struct Clocks {
    nodes: usize,
    reach: Vec<i64>,
}

impl Clocks {
    pub fn new(points: usize) -> Self {
        let nodes = points + 1;
        let reach = (0..nodes * nodes).map(|at| if at / nodes == at % nodes { 0 } else { FAR }).collect();
        Self { nodes, reach }
    }

    /// The node of true time.
    pub fn truth(&self) -> usize {
        self.nodes - 1
    }

    /// The clock of `to` is at most `ns` ahead of the clock of `from`.
    pub fn at_most(&mut self, from: usize, to: usize, ns: i64) {
        let held = &mut self.reach[from * self.nodes + to];
        *held = (*held).min(ns);
    }

    /// Tighten every bound by all others; false when they contradict each other (a clock drifts, or an error was given too small).
    pub fn settle(&mut self) -> bool {
        let nodes = self.nodes;
        for via in 0..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    let (first, then) = (self.reach[from * nodes + via], self.reach[via * nodes + to]);
                    if first != FAR && then != FAR {
                        self.at_most(from, to, first.saturating_add(then));
                    }
                }
            }
        }
        (0..nodes).all(|node| self.reach[node * nodes + node] >= 0)
    }

    /// How far `to` is ahead of `from`.
    pub fn between(&self, from: usize, to: usize) -> Bounds {
        let side = |from: usize, to: usize| Some(self.reach[from * self.nodes + to]).filter(|ns| *ns != FAR);
        Bounds { at_least: side(to, from).map(|ns| -ns), at_most: side(from, to) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_bound_an_offset_and_the_middle_is_off_by_half_their_sum_at_most() {
        let mut clocks = Clocks::new(2);
        clocks.at_most(0, 1, 1_000_000 + 3_000);
        clocks.at_most(1, 0, -1_000_000 + 5_000);
        assert!(clocks.settle());
        let bounds = clocks.between(0, 1);
        assert_eq!(bounds, Bounds { at_least: Some(995_000), at_most: Some(1_003_000) });
        let middle = bounds.middle().unwrap_or_default();
        assert_eq!((middle, bounds.error(middle)), (999_000, Some(4_000)));
        assert!(bounds.holds(1_000_000) && !bounds.holds(0));
    }

    #[test]
    fn bounds_add_up_along_a_chain() {
        let mut clocks = Clocks::new(3);
        for (from, to, ns) in [(0, 1, 10), (1, 0, 5), (1, 2, 20), (2, 1, 7)] {
            clocks.at_most(from, to, ns);
        }
        assert!(clocks.settle());
        assert_eq!(clocks.between(0, 2), Bounds { at_least: Some(-12), at_most: Some(30) });
    }

    #[test]
    fn one_direction_leaves_a_side_open_and_a_contradiction_is_seen() {
        let mut clocks = Clocks::new(2);
        clocks.at_most(0, 1, 9);
        assert!(clocks.settle());
        assert_eq!(clocks.between(0, 1), Bounds { at_least: None, at_most: Some(9) });
        assert_eq!(clocks.between(0, 1).error(9), None);
        clocks.at_most(1, 0, -10);
        assert!(!clocks.settle());
    }

    #[test]
    fn errors_against_true_time_bound_two_clocks() {
        let mut clocks = Clocks::new(2);
        let truth = clocks.truth();
        for (point, error) in [(0, 100), (1, 50)] {
            clocks.at_most(truth, point, error);
            clocks.at_most(point, truth, error);
        }
        assert!(clocks.settle());
        assert_eq!(clocks.between(0, 1), Bounds { at_least: Some(-150), at_most: Some(150) });
    }
}
