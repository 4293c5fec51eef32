//! Whether a box lies inside a union of other boxes, decided depth first with a budget of comparisons.

use crate::space::Space;
use crate::spans::{self, Cells};

/// One part of a box that is still to be explained, and the boxes that may explain it.
struct Piece {
    sets: Vec<Cells>,
    by: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Covered,
    /// A point outside, as one cell per axis, when it was asked for and found within the budget.
    Free(Option<Vec<u32>>),
    Undecided,
}

/// Steps that may still be made; a step compares two spans.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(pub u64);

impl Budget {
    fn take(&mut self, steps: usize) -> bool {
        let enough = self.0 >= steps as u64;
        self.0 = self.0.saturating_sub(steps as u64);
        enough
    }
}

pub(crate) fn whole(space: &Space, index: u32) -> Vec<Cells> {
    space.axes.iter().zip(space.product(index)).map(|(axis, &set)| axis.sets[set as usize].clone()).collect()
}

/// Decides whether `by` together hold all of `target`; adds the boxes that were needed to `used`.
///
/// Largest overlap first, so that few pieces arise; a piece whose overlaps together are smaller than itself is free at once.
pub(crate) fn decide(
    space: &Space,
    target: Vec<Cells>,
    by: &[u32],
    budget: &mut Budget,
    used: &mut Vec<u32>,
    witness: bool,
) -> Outcome {
    let mut stack = vec![Piece { sets: target, by: by.to_vec() }];
    let mut certain = false;
    while let Some(piece) = stack.pop() {
        let view = View::of(space, &piece);
        if !budget.take(view.steps) {
            return if certain { Outcome::Free(None) } else { Outcome::Undecided };
        }
        if let Some(one) = view.container {
            push_new(used, one);
            continue;
        }
        let Some(largest) = view.largest else {
            return Outcome::Free(witness.then(|| corner(&piece.sets)));
        };
        if view.too_small {
            if !witness {
                return Outcome::Free(None);
            }
            certain = true;
            stack.clear();
        }
        push_new(used, largest);
        let rest: Vec<u32> = view.meeting.into_iter().filter(|&other| other != largest).collect();
        for sets in outside(space, &piece.sets, largest) {
            stack.push(Piece { sets, by: rest.clone() });
        }
    }
    Outcome::Covered
}

/// How the explaining boxes of a piece lie to it.
struct View {
    meeting: Vec<u32>,
    container: Option<u32>,
    largest: Option<u32>,
    too_small: bool,
    steps: usize,
}

impl View {
    fn of(space: &Space, piece: &Piece) -> Self {
        let sizes: Vec<u64> = piece.sets.iter().map(|set| spans::size(set)).collect();
        let mut view = Self { meeting: Vec::new(), container: None, largest: None, too_small: false, steps: 1 };
        let (mut best, mut total) = (0.0, 0.0);
        for &other in &piece.by {
            let share = overlap(space, &piece.sets, &sizes, other, &mut view.steps);
            if share <= 0.0 {
                continue;
            }
            if share >= 1.0 {
                view.container = Some(other);
                return view;
            }
            view.meeting.push(other);
            total += share;
            if share > best {
                best = share;
                view.largest = Some(other);
            }
        }
        view.too_small = total < 1.0 - 1e-9; // rounding of a sum of at most millions of shares stays far below
        view
    }
}

/// Share of the piece that a box takes: exactly 0.0 when they do not meet, exactly 1.0 when the box holds it all.
fn overlap(space: &Space, sets: &[Cells], sizes: &[u64], other: u32, steps: &mut usize) -> f64 {
    let (mut share, mut whole) = (1.0, true);
    for (axis, &set) in space.product(other).iter().enumerate() {
        let theirs = &space.axes[axis].sets[set as usize];
        *steps += sets[axis].len() + theirs.len();
        let common = spans::common(&sets[axis], theirs);
        if common == 0 {
            return 0.0;
        }
        if common < sizes[axis] {
            whole = false;
            share *= common as f64 / sizes[axis] as f64;
        }
    }
    if whole {
        1.0
    } else {
        share.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)
    }
}

/// The piece without a box, as disjoint pieces: one per axis.
pub(crate) fn outside(space: &Space, sets: &[Cells], other: u32) -> Vec<Vec<Cells>> {
    let mut rest = sets.to_vec();
    let mut pieces = Vec::new();
    for (axis, &set) in space.product(other).iter().enumerate() {
        let theirs = &space.axes[axis].sets[set as usize];
        let beyond = spans::minus(&rest[axis], theirs);
        if beyond.is_empty() {
            continue;
        }
        let mut piece = rest.clone();
        piece[axis] = beyond;
        pieces.push(piece);
        rest[axis] = spans::and(&rest[axis], theirs);
    }
    pieces
}

/// Drops rules that are not needed, until none can be dropped or the budget ends; the rest still covers all targets.
pub(crate) fn minimal(space: &Space, targets: &[u32], mut rules: Vec<u32>, budget: &mut Budget) -> Vec<u32> {
    let mut at = rules.len();
    while at > 0 && rules.len() > 1 {
        at -= 1;
        let mut fewer = rules.clone();
        fewer.remove(at);
        let by: Vec<u32> = fewer.iter().flat_map(|&rule| space.boxes_of(rule)).collect();
        let covered =
            |index: &u32| decide(space, whole(space, *index), &by, budget, &mut Vec::new(), false) == Outcome::Covered;
        if targets.iter().all(covered) {
            rules = fewer;
        }
    }
    rules
}

fn meets(space: &Space, sets: &[Cells], other: u32, steps: &mut usize) -> bool {
    space.product(other).iter().zip(&space.axes).zip(sets).all(|((&set, axis), mine)| {
        let theirs = &axis.sets[set as usize];
        *steps += mine.len() + theirs.len();
        spans::meets(mine, theirs)
    })
}

/// What the first box of an ordered list does to the part of a piece that it takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Takes its part away; the rest goes on.
    Absorb,
    /// Ends the walk.
    Stop,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    Stopped,
    /// All pieces were absorbed, or `left_over`: some fell off the end.
    Ended {
        left_over: bool,
    },
    Undecided,
}

/// Sends a box down an ordered list, as packets go down a policy.
pub(crate) fn walk(
    space: &Space,
    target: Vec<Cells>,
    order: &[(u32, Step)],
    budget: &mut Budget,
    used: &mut Vec<u32>,
) -> Walk {
    let mut stack = vec![(target, 0)];
    let mut left_over = false;
    while let Some((sets, from)) = stack.pop() {
        let mut steps = 1;
        let first = order[from..].iter().position(|&(other, _)| meets(space, &sets, other, &mut steps));
        if !budget.take(steps) {
            return Walk::Undecided;
        }
        let Some(skipped) = first else {
            left_over = true;
            continue;
        };
        let (other, step) = order[from + skipped];
        if step == Step::Stop {
            return Walk::Stopped;
        }
        push_new(used, other);
        stack.extend(outside(space, &sets, other).into_iter().map(|piece| (piece, from + skipped + 1)));
    }
    Walk::Ended { left_over }
}

fn push_new(used: &mut Vec<u32>, other: u32) {
    if !used.contains(&other) {
        used.push(other);
    }
}

fn corner(sets: &[Cells]) -> Vec<u32> {
    sets.iter().map(|set| set.first().map_or(0, |span| span.0)).collect()
}
