//! One dimension of the rule space: its distinct sets of values, compressed to cells, and which of them meet.

use crate::spans::{self, Cells, Span};
use crate::SpaceError;

/// A set of values: closed intervals inside one number space (IPv4 and IPv6 are two spaces of the same axis).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    pub space: u8,
    pub intervals: Vec<(u128, u128)>,
}

type Edge = (u8, u128);

/// The sets of one axis as cells between neighbouring interval edges: no set divides a cell.
pub(crate) struct Axis {
    edges: Vec<Edge>,
    pub sets: Vec<Cells>,
    /// Per set: all sets that share a cell with it, itself included.
    pub meeting: Vec<Vec<u32>>,
    tree: SpanTree,
}

impl Axis {
    pub fn new(values: &[ValueSet]) -> Result<Self, SpaceError> {
        let mut edges: Vec<Edge> = Vec::new();
        for set in values {
            for &(low, high) in &set.intervals {
                if low > high {
                    return Err(SpaceError::Interval { low, high });
                }
                edges.push((set.space, low));
                edges.push(after(set.space, high));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        let sets: Vec<Cells> = values.iter().map(|set| cells(&edges, set)).collect();
        let tree = SpanTree::new(&sets);
        let meeting = meeting_sets(&sets, &tree);
        Ok(Self { edges, sets, meeting, tree })
    }

    /// Whether a set meets every other: then nothing is learned by testing it.
    pub fn meets_all(&self, set: u32) -> bool {
        self.meeting[set as usize].len() == self.sets.len()
    }

    /// Whether a set holds every value that any set holds.
    pub fn is_whole(&self, set: u32) -> bool {
        let mine = &self.sets[set as usize];
        self.meets_all(set) && self.sets.iter().all(|other| spans::common(mine, other) == spans::size(other))
    }

    /// The sets that hold a value.
    pub fn holding(&self, value: (u8, u128)) -> Vec<u32> {
        let mut found = Vec::new();
        let after = self.edges.partition_point(|&edge| edge <= value);
        if after > 0 {
            let cell = after as u32 - 1;
            self.tree.meeting((cell, cell), &mut found);
        }
        found
    }

    /// The lowest value of a cell.
    pub fn value(&self, cell: u32) -> (u8, u128) {
        self.edges.get(cell as usize).copied().unwrap_or_default()
    }
}

fn after(space: u8, high: u128) -> Edge {
    high.checked_add(1).map_or((space.saturating_add(1), 0), |next| (space, next))
}

fn cells(edges: &[Edge], set: &ValueSet) -> Cells {
    let at = |edge: Edge| edges.partition_point(|&e| e < edge) as u32;
    let mut found: Vec<Span> =
        set.intervals.iter().map(|&(l, h)| (at((set.space, l)), at(after(set.space, h)) - 1)).collect();
    found.sort_unstable();
    let mut merged: Vec<Span> = Vec::with_capacity(found.len());
    for (low, high) in found {
        match merged.last_mut() {
            Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    merged.into()
}

fn meeting_sets(sets: &[Cells], tree: &SpanTree) -> Vec<Vec<u32>> {
    let mut seen = vec![u32::MAX; sets.len()];
    let mut hits = Vec::new();
    (0..sets.len() as u32)
        .map(|me| {
            let mut mine = Vec::new();
            for &span in sets[me as usize].iter() {
                hits.clear();
                tree.meeting(span, &mut hits);
                for &other in &hits {
                    if seen[other as usize] != me {
                        seen[other as usize] = me;
                        mine.push(other);
                    }
                }
            }
            mine
        })
        .collect()
}

/// Spans sorted by their start, with the largest end of every subtree: finds all that meet one span in O(log n + found).
struct SpanTree {
    spans: Vec<(u32, u32, u32)>,
    ends: Vec<u32>,
}

impl SpanTree {
    fn new(sets: &[Cells]) -> Self {
        let mut spans: Vec<(u32, u32, u32)> = Vec::new();
        for (owner, set) in sets.iter().enumerate() {
            spans.extend(set.iter().map(|&(low, high)| (low, high, owner as u32)));
        }
        spans.sort_unstable();
        let leaves = spans.len().next_power_of_two();
        let mut ends = vec![0; 2 * leaves];
        for (i, span) in spans.iter().enumerate() {
            ends[leaves + i] = span.1 + 1; // +1: an empty leaf is 0 and ends before every cell
        }
        for node in (1..leaves).rev() {
            ends[node] = ends[2 * node].max(ends[2 * node + 1]);
        }
        Self { spans, ends }
    }

    fn meeting(&self, (low, high): Span, out: &mut Vec<u32>) {
        let leaves = self.ends.len() / 2;
        let started = self.spans.partition_point(|span| span.0 <= high);
        let mut stack = vec![(1_usize, 0_usize, leaves)];
        while let Some((node, from, to)) = stack.pop() {
            if from >= started || self.ends[node] <= low {
                continue;
            }
            if to - from == 1 {
                out.push(self.spans[from].2);
                continue;
            }
            let middle = from.midpoint(to);
            stack.push((2 * node + 1, middle, to));
            stack.push((2 * node, from, middle));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(space: u8, intervals: &[(u128, u128)]) -> ValueSet {
        ValueSet { space, intervals: intervals.to_vec() }
    }

    #[test]
    fn families_never_meet_and_the_last_address_is_inside() -> Result<(), SpaceError> {
        let top = u128::MAX;
        let axis =
            Axis::new(&[set(0, &[(0, 255)]), set(1, &[(0, top)]), set(1, &[(top, top)]), set(0, &[(255, 300)])])?;
        let mut meeting = axis.meeting.clone();
        meeting.iter_mut().for_each(|list| list.sort_unstable());
        assert_eq!(meeting, vec![vec![0, 3], vec![1, 2], vec![1, 2], vec![0, 3]]);
        assert_eq!(spans::common(&axis.sets[1], &axis.sets[2]), 1);
        Ok(())
    }

    #[test]
    fn meeting_agrees_with_all_pairs() -> Result<(), SpaceError> {
        let mut seed = 11_u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let values: Vec<ValueSet> = (0..200)
            .map(|_| {
                let parts = 1 + next(4);
                let made = (0..parts).map(|_| {
                    let low = u128::from(next(5000));
                    (low, low + u128::from(next(60)))
                });
                set(0, &made.collect::<Vec<_>>())
            })
            .collect();
        let axis = Axis::new(&values)?;
        for (i, list) in axis.meeting.iter().enumerate() {
            for j in 0..values.len() {
                assert_eq!(list.contains(&(j as u32)), spans::meets(&axis.sets[i], &axis.sets[j]));
            }
        }
        Ok(())
    }

    #[test]
    fn an_interval_written_backwards_is_refused() {
        assert!(Axis::new(&[set(0, &[(5, 4)])]).is_err());
    }
}
