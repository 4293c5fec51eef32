//! Small random rule sets, every packet tried.
#![allow(clippy::unwrap_used, clippy::panic)]

use nc_rulespace::{analyse, Action, Answer, Options, Rule, State, ValueSet};

const SIDE: u128 = 6;
const AXES: usize = 3;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Sets of one axis as bit masks over 0..SIDE; the upper half of them lives in a second number space on axis 0.
struct Case {
    masks: Vec<u8>,
    rules: Vec<Rule>,
    default_action: Option<Action>,
}

fn case(dice: &mut Dice) -> Case {
    let mut masks: Vec<u8> = vec![0b11_1111];
    masks.extend((0..6).map(|_| 1 + dice.roll(62) as u8));
    let sets = masks.len() as u64;
    let actions = [Action::Permit, Action::Permit, Action::Deny, Action::Deny, Action::Continue];
    let rules = (0..3 + dice.roll(7))
        .map(|_| Rule {
            action: actions[dice.roll(5) as usize],
            enabled: dice.roll(10) > 0,
            exact: dice.roll(8) > 0,
            boxes: (0..1 + dice.roll(2)).map(|_| (0..AXES).map(|_| dice.roll(sets) as u32).collect()).collect(),
        })
        .collect();
    let default_action = [None, Some(Action::Deny), Some(Action::Permit)][dice.roll(3) as usize];
    Case { masks, rules, default_action }
}

fn values(masks: &[u8], axis: usize) -> Vec<ValueSet> {
    let set = |(i, mask): (usize, &u8)| ValueSet {
        space: u8::from(axis == 0 && i % 2 == 1),
        intervals: (0..SIDE).filter(|v| mask >> v & 1 == 1).map(|v| (v, v)).collect(),
    };
    masks.iter().enumerate().map(set).collect()
}

type Point = [(u8, u128); AXES];

fn points() -> Vec<Point> {
    let mut all = Vec::new();
    for space in 0..2 {
        for n in 0..SIDE.pow(AXES as u32) {
            all.push([(space, n % SIDE), (0, n / SIDE % SIDE), (0, n / SIDE / SIDE % SIDE)]);
        }
    }
    all
}

fn holds(case: &Case, rule: &Rule, point: &Point) -> bool {
    let inside = |axis: usize, set: u32| {
        let space = u8::from(axis == 0 && set % 2 == 1);
        point[axis].0 == space && case.masks[set as usize] >> point[axis].1 & 1 == 1
    };
    rule.boxes.iter().any(|b| b.iter().enumerate().all(|(axis, &set)| inside(axis, set)))
}

fn decides(rule: &Rule) -> bool {
    rule.enabled && rule.exact && rule.action != Action::Continue
}

/// First exact rule that takes the point.
fn decider(case: &Case, rules: &[Rule], point: &Point) -> Option<usize> {
    rules.iter().position(|rule| decides(rule) && holds(case, rule, point))
}

fn is_dead(case: &Case, number: usize) -> bool {
    let rule = &case.rules[number];
    points().iter().filter(|p| holds(case, rule, p)).all(|p| decider(case, &case.rules[..number], p).is_some())
}

fn covers(case: &Case, number: usize, by: &[u32]) -> bool {
    let rule = &case.rules[number];
    let held = |p: &Point| by.iter().any(|&other| holds(case, &case.rules[other as usize], p));
    points().iter().filter(|p| holds(case, rule, p)).all(held)
}

fn check_dead(case: &Case, number: usize, answer: &Answer) {
    let mine = case.rules[number].action;
    assert!(is_dead(case, number), "rule {number} is alive");
    assert!(covers(case, number, &answer.by), "the named rules do not cover rule {number}");
    for leave_out in 0..answer.by.len() {
        let mut fewer = answer.by.clone();
        fewer.remove(leave_out);
        assert!(!covers(case, number, &fewer), "rule {number}: a named rule is not needed");
    }
    let all_same = answer.by.iter().all(|&by| case.rules[by as usize].action == mine);
    assert_eq!(answer.state == State::Redundant, all_same, "rule {number}");
    assert!(answer.by.iter().all(|&by| (by as usize) < number && decides(&case.rules[by as usize])));
}

fn check_free(case: &Case, number: usize, answer: &Answer) {
    let witness = answer.witness.as_ref().unwrap();
    let point: Point = [witness[0], witness[1], witness[2]];
    assert!(holds(case, &case.rules[number], &point), "the witness of rule {number} is outside");
    assert_eq!(decider(case, &case.rules[..number], &point), None, "the witness of rule {number} never reaches it");
}

/// Whatever the inexact rules do, taking all marked rules away changes no packet's fate.
fn check_all_may_go(case: &Case, answers: &[Answer], dice: &mut Dice) {
    let goes = |n: usize| matches!(answers[n].state, State::RedundantBelow | State::Redundant);
    for point in points() {
        let inexact_takes: Vec<bool> = case.rules.iter().map(|_| dice.roll(2) == 0).collect();
        let fate = |kept: &dyn Fn(usize) -> bool| {
            let hit = case.rules.iter().enumerate().position(|(n, r)| {
                kept(n)
                    && r.enabled
                    && r.action != Action::Continue
                    && holds(case, r, &point)
                    && (r.exact || inexact_takes[n])
            });
            hit.map_or(case.default_action, |n| Some(case.rules[n].action))
        };
        assert_eq!(fate(&|_| true), fate(&|n| !goes(n)));
    }
}

#[test]
fn every_answer_agrees_with_trying_every_packet() {
    let mut dice = Dice(20_261_130);
    let mut seen = [0; 4];
    for _ in 0..1500 {
        let case = case(&mut dice);
        let axes: Vec<Vec<ValueSet>> = (0..AXES).map(|axis| values(&case.masks, axis)).collect();
        let options = Options { default_action: case.default_action, witnesses: true, ..Options::default() };
        let answers = analyse(&axes, &case.rules, &options).unwrap();
        for (number, answer) in answers.iter().enumerate() {
            match answer.state {
                State::Skipped => assert!(!case.rules[number].enabled),
                State::Undecided => panic!("no budget ends on so small a case"),
                State::Shadowed | State::Redundant => check_dead(&case, number, answer),
                State::Free => check_free(&case, number, answer),
                State::RedundantBelow => assert!(!is_dead(&case, number)),
            }
            match answer.state {
                State::Free => seen[0] += 1,
                State::Shadowed => seen[1] += 1,
                State::Redundant => seen[2] += 1,
                State::RedundantBelow => seen[3] += 1,
                _ => {}
            }
        }
        check_all_may_go(&case, &answers, &mut dice);
    }
    assert!(seen.iter().all(|&n| n > 50), "too few of some kind: {seen:?}");
}

#[test]
fn a_budget_too_small_is_said_and_not_guessed() {
    let mut dice = Dice(5);
    let mut undecided = 0;
    for _ in 0..200 {
        let case = case(&mut dice);
        let axes: Vec<Vec<ValueSet>> = (0..AXES).map(|axis| values(&case.masks, axis)).collect();
        let answers = analyse(&axes, &case.rules, &Options { budget: 3, ..Options::default() }).unwrap();
        for (number, answer) in answers.iter().enumerate() {
            match answer.state {
                State::Undecided => undecided += 1,
                State::Shadowed | State::Redundant => assert!(is_dead(&case, number)),
                State::Free | State::RedundantBelow => assert!(!is_dead(&case, number)),
                State::Skipped => {}
            }
        }
    }
    assert!(undecided > 20);
}

#[test]
fn a_box_that_names_no_set_is_refused() {
    let rule = Rule { action: Action::Permit, enabled: true, exact: true, boxes: vec![vec![1]] };
    let axes = vec![vec![ValueSet { space: 0, intervals: vec![(0, 1)] }]];
    assert!(analyse(&axes, &[rule], &Options::default()).is_err());
}
