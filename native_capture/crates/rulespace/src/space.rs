//! Rules as unions of boxes (products of sets), and an inverted index that finds the boxes which may meet a given one.

use std::collections::HashMap;

use crate::axis::{Axis, ValueSet};
use crate::spans;
use crate::{Rule, SpaceError};

pub(crate) struct Space {
    pub axes: Vec<Axis>,
    /// Rule of each box; boxes stand in rule order.
    pub owner: Vec<u32>,
    /// First box of each rule, and one past the last.
    pub first_box: Vec<u32>,
    sets: Vec<u32>,
    /// Per axis and set: the boxes that have it there, ascending.
    pub holders: Vec<Vec<Vec<u32>>>,
    reach: Vec<Vec<usize>>,
}

impl Space {
    pub fn new(values: &[Vec<ValueSet>], rules: &[Rule]) -> Result<Self, SpaceError> {
        let axes = values.iter().map(|table| Axis::new(table)).collect::<Result<Vec<_>, _>>()?;
        let mut holders: Vec<Vec<Vec<u32>>> = axes.iter().map(|axis| vec![Vec::new(); axis.sets.len()]).collect();
        let (mut owner, mut sets, mut first_box) = (Vec::new(), Vec::new(), vec![0]);
        for (number, rule) in rules.iter().enumerate() {
            for product in &rule.boxes {
                if product.len() != axes.len() {
                    return Err(SpaceError::Width { rule: number, axes: axes.len(), found: product.len() });
                }
                for (axis, &set) in product.iter().enumerate() {
                    let list = holders[axis].get_mut(set as usize).ok_or(SpaceError::UnknownSet {
                        rule: number,
                        axis,
                        set,
                    })?;
                    list.push(owner.len() as u32);
                }
                sets.extend_from_slice(product);
                owner.push(number as u32);
            }
            first_box.push(owner.len() as u32);
        }
        let reach = reachable(&axes, &holders);
        Ok(Self { axes, owner, first_box, sets, holders, reach })
    }

    pub fn boxes_of(&self, rule: u32) -> std::ops::Range<u32> {
        self.first_box[rule as usize]..self.first_box[rule as usize + 1]
    }

    pub fn product(&self, index: u32) -> &[u32] {
        let width = self.axes.len();
        &self.sets[index as usize * width..(index as usize + 1) * width]
    }
}

fn reachable(axes: &[Axis], holders: &[Vec<Vec<u32>>]) -> Vec<Vec<usize>> {
    let per_axis = axes.iter().zip(holders);
    per_axis
        .map(|(axis, held)| {
            axis.meeting.iter().map(|list| list.iter().map(|&set| held[set as usize].len()).sum()).collect()
        })
        .collect()
}

/// Which boxes a search may return, by their rule.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Before(u32),
    After(u32),
}

/// Boxes of one popular set (such as "any"), by their set on a second axis.
type Split = HashMap<u32, Vec<u32>>;

/// From this many boxes on, a set's boxes are looked up by a second axis rather than tried one by one.
const POPULAR: usize = 128;

/// Finds the boxes that meet a given one; keeps its scratch memory between calls.
pub(crate) struct Finder {
    stamps: Vec<Vec<u32>>,
    turn: u32,
    splits: HashMap<(usize, u32, usize), Split>,
}

impl Finder {
    pub fn new(space: &Space) -> Self {
        let stamps = space.axes.iter().map(|axis| vec![0; axis.sets.len()]).collect();
        Self { stamps, turn: 0, splits: HashMap::new() }
    }

    /// Boxes on one side of `index`'s rule that meet it and are `wanted` (one flag per box), in rule order.
    pub fn meeting(&mut self, space: &Space, index: u32, side: Side, wanted: &[bool]) -> Vec<u32> {
        let product = space.product(index);
        let meeting = |axis: usize| space.axes[axis].meeting[product[axis] as usize].as_slice();
        let mut selective: Vec<usize> = (0..product.len()).collect();
        selective.sort_by_key(|&axis| space.reach[axis][product[axis] as usize]);
        let Some(&best) = selective.first() else {
            return Vec::new();
        };
        let second = selective.get(1).copied();
        let tests = self.prepare(space, product, best);
        let mut found = Vec::new();
        for &set in meeting(best) {
            let boxes = &space.holders[best][set as usize];
            match second {
                Some(axis) if boxes.len() >= POPULAR && meeting(axis).len() * 8 < boxes.len() => {
                    let split = self.splits.entry((best, set, axis)).or_insert_with(|| split_of(space, boxes, axis));
                    for list in meeting(axis).iter().filter_map(|other| split.get(other)) {
                        found.extend_from_slice(slice_of(list, &space.owner, side));
                    }
                }
                _ => found.extend_from_slice(slice_of(boxes, &space.owner, side)),
            }
        }
        found.retain(|&other| {
            let theirs = space.product(other);
            wanted[other as usize] && tests.iter().all(|test| self.passes(space, test, product, theirs))
        });
        found.sort_unstable();
        found
    }

    fn prepare(&mut self, space: &Space, product: &[u32], best: usize) -> Vec<Test> {
        self.turn = self.turn.wrapping_add(1);
        let expected = space.reach[best][product[best] as usize];
        let mut tests = Vec::new();
        for (axis, &set) in product.iter().enumerate() {
            if axis == best || space.axes[axis].meets_all(set) {
                continue;
            }
            let list = &space.axes[axis].meeting[set as usize];
            if list.len() <= expected {
                list.iter().for_each(|&other| self.stamps[axis][other as usize] = self.turn);
                tests.push(Test::Stamped(axis));
            } else {
                tests.push(Test::Compared(axis));
            }
        }
        tests
    }

    fn passes(&self, space: &Space, test: &Test, mine: &[u32], theirs: &[u32]) -> bool {
        match *test {
            Test::Stamped(axis) => self.stamps[axis][theirs[axis] as usize] == self.turn,
            Test::Compared(axis) => {
                let sets = &space.axes[axis].sets;
                spans::meets(&sets[mine[axis] as usize], &sets[theirs[axis] as usize])
            }
        }
    }
}

enum Test {
    Stamped(usize),
    Compared(usize),
}

fn split_of(space: &Space, boxes: &[u32], axis: usize) -> Split {
    let mut split = Split::new();
    for &index in boxes {
        split.entry(space.product(index)[axis]).or_default().push(index);
    }
    split
}

fn slice_of<'a>(boxes: &'a [u32], owner: &[u32], side: Side) -> &'a [u32] {
    match side {
        Side::Before(rule) => &boxes[..boxes.partition_point(|&b| owner[b as usize] < rule)],
        Side::After(rule) => &boxes[boxes.partition_point(|&b| owner[b as usize] <= rule)..],
    }
}
