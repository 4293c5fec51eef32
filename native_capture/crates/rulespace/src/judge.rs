//! Judges every rule of an ordered list: first downwards (dead or alive), then upwards (could it go?).

use crate::cover::{decide, minimal, walk, whole, Budget, Outcome, Step, Walk};
use crate::space::{Finder, Side, Space};
use crate::{Action, Rule, SpaceError, ValueSet};

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What happens to packets that no rule matches; None when it is not known.
    pub default_action: Option<Action>,
    /// Look for rules that could go because later ones do the same.
    pub below: bool,
    /// Give a point that the rule decides, for every free rule.
    pub witnesses: bool,
    /// Comparisons of two boxes per rule and question.
    pub budget: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { default_action: None, below: true, witnesses: false, budget: 400_000 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Disabled or without any box: not judged.
    Skipped,
    /// Some packet reaches it.
    Free,
    /// No packet reaches it, and what decides instead acts otherwise (at least for a part that nothing like it says).
    Shadowed,
    /// No packet reaches it, and earlier rules of the same action say all of it.
    Redundant,
    /// Packets reach it, and without it they would meet the same action further down.
    RedundantBelow,
    /// The budget ended before the answer.
    Undecided,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub state: State,
    /// The rules that cause it: no one of them can be left out (unless the budget ended while trying).
    pub by: Vec<u32>,
    /// RedundantBelow: the default action is one of the causes.
    pub by_default: bool,
    /// Of a live rule: one value (space, number) per axis that reaches it.
    pub witness: Option<Vec<(u8, u128)>>,
}

impl Answer {
    fn new(state: State) -> Self {
        Self { state, by: Vec::new(), by_default: false, witness: None }
    }
}

/// One answer per rule, in order.
///
/// # Errors
/// `SpaceError` when a box names a set or axis that does not exist, or an interval is written backwards.
pub fn analyse(axes: &[Vec<ValueSet>], rules: &[Rule], options: &Options) -> Result<Vec<Answer>, SpaceError> {
    let space = Space::new(axes, rules)?;
    let mut judge =
        Judge { finder: Finder::new(&space), space: &space, rules, options, answers: Vec::with_capacity(rules.len()) };
    for rule in 0..rules.len() as u32 {
        let answer = judge.above(rule);
        judge.answers.push(answer);
    }
    if options.below {
        for rule in (0..rules.len() as u32).rev() {
            judge.look_below(rule);
        }
    }
    Ok(judge.answers)
}

struct Judge<'a> {
    space: &'a Space,
    finder: Finder,
    rules: &'a [Rule],
    options: &'a Options,
    answers: Vec<Answer>,
}

impl Judge<'_> {
    fn rule(&self, number: u32) -> &Rule {
        &self.rules[number as usize]
    }

    fn action_of(&self, index: u32) -> Action {
        self.rule(self.space.owner[index as usize]).action
    }

    fn budget(&self) -> Budget {
        Budget(self.options.budget)
    }

    fn rules_of(&self, boxes: &[u32]) -> Vec<u32> {
        let mut found: Vec<u32> = boxes.iter().map(|&index| self.space.owner[index as usize]).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Boxes of earlier rules that decide packets and meet this box. Dead rules are left out: live ones cover them too.
    fn earlier(&mut self, index: u32) -> Vec<u32> {
        let rule = self.space.owner[index as usize];
        let (rules, answers) = (self.rules, &self.answers);
        let decides = |other: u32| {
            let r = &rules[other as usize];
            let dead = matches!(answers[other as usize].state, State::Shadowed | State::Redundant);
            r.enabled && r.exact && r.action != Action::Continue && !dead
        };
        self.finder.meeting(self.space, index, Side::Before(rule), decides)
    }

    fn above(&mut self, rule: u32) -> Answer {
        let boxes: Vec<u32> = self.space.boxes_of(rule).collect();
        if !self.rule(rule).enabled || boxes.is_empty() {
            return Answer::new(State::Skipped);
        }
        let earlier: Vec<Vec<u32>> = boxes.iter().map(|&index| self.earlier(index)).collect();
        let (mut budget, mut used, mut undecided) = (self.budget(), Vec::new(), false);
        for (&index, by) in boxes.iter().zip(&earlier) {
            match decide(self.space, whole(self.space, index), by, &mut budget, &mut used, self.options.witnesses) {
                Outcome::Covered => {}
                Outcome::Undecided => undecided = true,
                Outcome::Free(cells) => {
                    return Answer { witness: cells.map(|c| self.point(&c)), ..Answer::new(State::Free) }
                }
            }
        }
        if undecided {
            return Answer::new(State::Undecided);
        }
        self.why_dead(rule, &boxes, &earlier, used)
    }

    fn point(&self, cells: &[u32]) -> Vec<(u8, u128)> {
        self.space.axes.iter().zip(cells).map(|(axis, &cell)| axis.value(cell)).collect()
    }

    fn why_dead(&self, rule: u32, boxes: &[u32], earlier: &[Vec<u32>], all: Vec<u32>) -> Answer {
        let mine = self.rule(rule).action;
        let mut budget = self.budget();
        let (same, others) = self.split(earlier, mine);
        let (state, used) = match self.covered_by(boxes, &same, &mut budget) {
            Some(used) if self.some_decided_by(boxes, earlier, mine, &mut budget) => (State::Redundant, used),
            Some(_) => (State::Shadowed, self.covered_by(boxes, &others, &mut budget).unwrap_or(all)),
            None => (State::Shadowed, all),
        };
        let by = minimal(self.space, boxes, self.rules_of(&used), &mut budget);
        Answer { by, ..Answer::new(state) }
    }

    fn split(&self, earlier: &[Vec<u32>], mine: Action) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        earlier.iter().map(|list| list.iter().partition(|&&other| self.action_of(other) == mine)).unzip()
    }

    fn covered_by(&self, boxes: &[u32], by: &[Vec<u32>], budget: &mut Budget) -> Option<Vec<u32>> {
        let mut used = Vec::new();
        for (&index, list) in boxes.iter().zip(by) {
            if decide(self.space, whole(self.space, index), list, budget, &mut used, false) != Outcome::Covered {
                return None;
            }
        }
        Some(used)
    }

    /// Whether, in order of evaluation, an earlier rule with this action decides some packet of the boxes.
    fn some_decided_by(&self, boxes: &[u32], earlier: &[Vec<u32>], mine: Action, budget: &mut Budget) -> bool {
        boxes.iter().zip(earlier).any(|(&index, list)| {
            let step = |&other: &u32| (other, if self.action_of(other) == mine { Step::Stop } else { Step::Absorb });
            let order: Vec<(u32, Step)> = list.iter().map(step).collect();
            walk(self.space, whole(self.space, index), &order, budget, &mut Vec::new()) == Walk::Stopped
        })
    }

    /// Marks a live rule whose packets would meet the same action further down.
    ///
    /// Rules already marked do not count as a reason, so all marked rules may go together.
    fn look_below(&mut self, rule: u32) {
        let mine = self.rule(rule).action;
        if self.answers[rule as usize].state != State::Free || mine == Action::Continue {
            return;
        }
        let (mut budget, mut used, mut by_default) = (self.budget(), Vec::new(), false);
        for index in self.space.boxes_of(rule) {
            let (earlier, later) = (self.earlier(index), self.later(index, mine));
            if !self.could_go(index, &earlier, &later, mine, &mut budget) {
                return;
            }
            let order: Vec<(u32, Step)> =
                earlier.iter().map(|&other| (other, Step::Absorb)).chain(later.iter().copied()).collect();
            match walk(self.space, whole(self.space, index), &order, &mut budget, &mut used) {
                Walk::Ended { left_over: false } => {}
                Walk::Ended { left_over: true } if self.options.default_action == Some(mine) => by_default = true,
                _ => return,
            }
        }
        used.retain(|&index| self.space.owner[index as usize] > rule);
        let by = self.rules_of(&used);
        let answer = &mut self.answers[rule as usize];
        (answer.state, answer.by, answer.by_default) = (State::RedundantBelow, by, by_default);
    }

    /// Later boxes in order: the same action takes its part, anything else that may decide stops.
    fn later(&mut self, index: u32, mine: Action) -> Vec<(u32, Step)> {
        let rule = self.space.owner[index as usize];
        let (rules, answers) = (self.rules, &self.answers);
        let matters = |other: u32| {
            let r = &rules[other as usize];
            let free = matches!(answers[other as usize].state, State::Free);
            r.enabled && (r.action != mine || (r.exact && free))
        };
        let found = self.finder.meeting(self.space, index, Side::After(rule), matters);
        found
            .into_iter()
            .map(|other| (other, if self.action_of(other) == mine { Step::Absorb } else { Step::Stop }))
            .collect()
    }

    /// A quick look before the ordered walk: with another default, rules must hold the whole box.
    fn could_go(&self, index: u32, earlier: &[u32], later: &[(u32, Step)], mine: Action, budget: &mut Budget) -> bool {
        if self.options.default_action == Some(mine) {
            return true;
        }
        let same = later.iter().filter(|&&(_, step)| step == Step::Absorb).map(|&(other, _)| other);
        let by: Vec<u32> = earlier.iter().copied().chain(same).collect();
        decide(self.space, whole(self.space, index), &by, budget, &mut Vec::new(), false) == Outcome::Covered
    }
}
