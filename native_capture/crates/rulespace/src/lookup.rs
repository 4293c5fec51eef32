//! Which rules a packet may be decided by.

use crate::space::Space;
use crate::{Action, Rule, SpaceError, ValueSet};

/// One value per axis as (space, number); None where it is not known: then every set of that axis may hold it.
pub type Point = Vec<Option<(u8, u128)>>;

/// Per point, in order: the rules that match it, up to the first whose match is certain. Rules that decide nothing are left out.
///
/// A match is certain when the rule is exact and the point is known on every axis where the rule does not hold everything.
///
/// # Errors
/// As `analyse`; also `Width` with the point's number when it has another number of axes.
pub fn matching(axes: &[Vec<ValueSet>], rules: &[Rule], points: &[Point]) -> Result<Vec<Vec<u32>>, SpaceError> {
    let space = Space::new(axes, rules)?;
    let mut stamps: Vec<Vec<usize>> = space.axes.iter().map(|axis| vec![0; axis.sets.len()]).collect();
    let mut all = Vec::with_capacity(points.len());
    for (number, point) in points.iter().enumerate() {
        if point.len() != space.axes.len() {
            return Err(SpaceError::Width { rule: number, axes: space.axes.len(), found: point.len() });
        }
        all.push(decided_by(&space, rules, point, &mut stamps, number + 1));
    }
    Ok(all)
}

fn decided_by(space: &Space, rules: &[Rule], point: &Point, stamps: &mut [Vec<usize>], turn: usize) -> Vec<u32> {
    let held: Vec<Option<Vec<u32>>> =
        point.iter().zip(&space.axes).map(|(value, axis)| value.map(|known| axis.holding(known))).collect();
    for (sets, marks) in held.iter().zip(stamps.iter_mut()) {
        sets.iter().flatten().for_each(|&set| marks[set as usize] = turn);
    }
    let inside = |index: u32| {
        let mut product = space.product(index).iter().zip(&held).zip(stamps.iter());
        product.all(|((&set, known), marks)| known.is_none() || marks[set as usize] == turn)
    };
    let mut boxes: Vec<u32> = candidates(space, &held).into_iter().filter(|&index| inside(index)).collect();
    boxes.sort_unstable();
    let mut found: Vec<u32> = Vec::new();
    for index in boxes {
        let number = space.owner[index as usize];
        let rule = &rules[number as usize];
        if !rule.enabled || rule.action == Action::Continue {
            continue;
        }
        if found.last() != Some(&number) {
            found.push(number);
        }
        if rule.exact && is_certain(space, index, &held) {
            break;
        }
    }
    found
}

/// Boxes that hold the point on the axis where the fewest do.
fn candidates(space: &Space, held: &[Option<Vec<u32>>]) -> Vec<u32> {
    let lists =
        |axis: usize, sets: &[u32]| -> usize { sets.iter().map(|&set| space.holders[axis][set as usize].len()).sum() };
    let known = held.iter().enumerate().filter_map(|(axis, sets)| sets.as_ref().map(|sets| (axis, sets)));
    match known.min_by_key(|(axis, sets)| lists(*axis, sets)) {
        Some((axis, sets)) => sets.iter().flat_map(|&set| space.holders[axis][set as usize].iter().copied()).collect(),
        None => (0..space.owner.len() as u32).collect(),
    }
}

fn is_certain(space: &Space, index: u32, held: &[Option<Vec<u32>>]) -> bool {
    let mut product = space.product(index).iter().zip(held).zip(&space.axes);
    product.all(|((&set, known), axis)| known.is_some() || axis.is_whole(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(intervals: &[(u128, u128)]) -> ValueSet {
        ValueSet { space: 0, intervals: intervals.to_vec() }
    }

    fn rule(action: Action, exact: bool, boxes: &[[u32; 2]]) -> Rule {
        Rule { action, enabled: true, exact, boxes: boxes.iter().map(|b| b.to_vec()).collect() }
    }

    #[test]
    fn stops_at_the_first_certain_match_and_lists_possible_ones_before_it() -> Result<(), SpaceError> {
        let axes = vec![vec![set(&[(0, 99)]), set(&[(5, 9)])], vec![set(&[(0, 99)]), set(&[(80, 80)])]];
        let rules = [
            rule(Action::Permit, true, &[[1, 1]]),
            rule(Action::Permit, false, &[[0, 1]]),
            rule(Action::Continue, true, &[[0, 0]]),
            rule(Action::Deny, true, &[[1, 0], [0, 0]]),
            rule(Action::Permit, true, &[[0, 0]]),
        ];
        let points: Vec<Point> = vec![
            vec![Some((0, 7)), Some((0, 80))],
            vec![Some((0, 4)), Some((0, 80))],
            vec![Some((0, 7)), None],
            vec![Some((0, 100)), None],
        ];
        assert_eq!(matching(&axes, &rules, &points)?, vec![vec![0], vec![1, 3], vec![0, 1, 3], vec![]]);
        Ok(())
    }
}
