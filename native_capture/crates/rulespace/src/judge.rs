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
    /// Steps (a step compares two spans) per rule and question. All rules together have fifty times this, and a little each.
    pub budget: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { default_action: None, below: true, witnesses: false, budget: 10_000_000 }
    }
}

/// What every rule may use even when the common pool is empty: enough for an ordinary rule.
const FLOOR: u64 = 20_000;
const POOL: u64 = 50;

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
    let (finder, answers) = (Finder::new(&space), Vec::with_capacity(rules.len()));
    let pool = options.budget.saturating_mul(POOL);
    let enabled = space.owner.iter().map(|&rule| rules[rule as usize].enabled).collect();
    let covering = vec![false; space.owner.len()];
    let mut judge = Judge { finder, space: &space, rules, options, answers, pool, covering, enabled };
    for rule in 0..rules.len() as u32 {
        let answer = judge.above(rule);
        judge.answers.push(answer);
        judge.note(rule);
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
    pool: u64,
    /// Per box: its rule is exact, alive and decides packets.
    covering: Vec<bool>,
    /// Per box: its rule is enabled.
    enabled: Vec<bool>,
}

impl Judge<'_> {
    fn rule(&self, number: u32) -> &Rule {
        &self.rules[number as usize]
    }

    fn action_of(&self, index: u32) -> Action {
        self.rule(self.space.owner[index as usize]).action
    }

    fn budget(&self) -> Budget {
        Budget(self.options.budget.min(self.pool.max(FLOOR)))
    }

    /// Takes what a question used from the common pool.
    fn settle(&mut self, left: Budget) {
        self.pool = self.pool.saturating_sub(self.budget().0 - left.0);
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
        self.finder.meeting(self.space, index, Side::Before(rule), &self.covering)
    }

    /// Keeps `covering` true to the newest answer.
    fn note(&mut self, rule: u32) {
        let r = &self.rules[rule as usize];
        let dead = matches!(self.answers[rule as usize].state, State::Shadowed | State::Redundant);
        let covers = r.enabled && r.exact && r.action != Action::Continue && !dead;
        for index in self.space.boxes_of(rule) {
            self.covering[index as usize] = covers;
        }
    }

    fn above(&mut self, rule: u32) -> Answer {
        let boxes: Vec<u32> = self.space.boxes_of(rule).collect();
        if !self.rule(rule).enabled || boxes.is_empty() {
            return Answer::new(State::Skipped);
        }
        let earlier: Vec<Vec<u32>> = boxes.iter().map(|&index| self.earlier(index)).collect();
        let (mut budget, mut used) = (self.budget(), Vec::new());
        let outcome = self.all_covered(&boxes, &earlier, &mut budget, &mut used, self.options.witnesses);
        let answer = match outcome {
            Outcome::Covered => self.why_dead(rule, &boxes, &earlier, used, &mut budget),
            Outcome::Undecided => Answer::new(State::Undecided),
            Outcome::Free(cells) => Answer { witness: cells.map(|c| self.point(&c)), ..Answer::new(State::Free) },
        };
        self.settle(budget);
        answer
    }

    /// Free when any box is free, else undecided when any is.
    fn all_covered(
        &self,
        boxes: &[u32],
        by: &[Vec<u32>],
        budget: &mut Budget,
        used: &mut Vec<u32>,
        witness: bool,
    ) -> Outcome {
        let mut outcome = Outcome::Covered;
        for (&index, list) in boxes.iter().zip(by) {
            match decide(self.space, whole(self.space, index), list, budget, used, witness) {
                Outcome::Covered => {}
                Outcome::Undecided => outcome = Outcome::Undecided,
                free => return free,
            }
        }
        outcome
    }

    fn point(&self, cells: &[u32]) -> Vec<(u8, u128)> {
        self.space.axes.iter().zip(cells).map(|(axis, &cell)| axis.value(cell)).collect()
    }

    fn why_dead(&self, rule: u32, boxes: &[u32], earlier: &[Vec<u32>], all: Vec<u32>, budget: &mut Budget) -> Answer {
        let mine = self.rule(rule).action;
        let (same, others) = self.split(earlier, mine);
        let (mut by_same, mut by_others) = (Vec::new(), Vec::new());
        let (state, used) = match self.all_covered(boxes, &same, budget, &mut by_same, false) {
            Outcome::Undecided => return Answer::new(State::Undecided),
            Outcome::Free(_) => (State::Shadowed, all),
            Outcome::Covered => match self.some_decided_by(boxes, earlier, mine, budget) {
                None => return Answer::new(State::Undecided),
                Some(true) => (State::Redundant, by_same),
                Some(false) => match self.all_covered(boxes, &others, budget, &mut by_others, false) {
                    Outcome::Covered => (State::Shadowed, by_others),
                    _ => return Answer::new(State::Undecided),
                },
            },
        };
        let by = minimal(self.space, boxes, self.rules_of(&used), budget);
        Answer { by, ..Answer::new(state) }
    }

    fn split(&self, earlier: &[Vec<u32>], mine: Action) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        earlier.iter().map(|list| list.iter().partition(|&&other| self.action_of(other) == mine)).unzip()
    }

    /// Whether, in order of evaluation, an earlier rule with this action decides some packet of the boxes; None: not decided.
    fn some_decided_by(&self, boxes: &[u32], earlier: &[Vec<u32>], mine: Action, budget: &mut Budget) -> Option<bool> {
        let mut certain = true;
        for (&index, list) in boxes.iter().zip(earlier) {
            let step = |&other: &u32| (other, if self.action_of(other) == mine { Step::Stop } else { Step::Absorb });
            let order: Vec<(u32, Step)> = list.iter().map(step).collect();
            match walk(self.space, whole(self.space, index), &order, budget, &mut Vec::new()) {
                Walk::Stopped => return Some(true),
                Walk::Undecided => certain = false,
                Walk::Ended { .. } => {}
            }
        }
        certain.then_some(false)
    }

    /// Marks a live rule whose packets would meet the same action further down.
    ///
    /// Rules already marked do not count as a reason, so all marked rules may go together.
    fn look_below(&mut self, rule: u32) {
        let mine = self.rule(rule).action;
        if self.answers[rule as usize].state != State::Free || mine == Action::Continue {
            return;
        }
        let (mut budget, mut used) = (self.budget(), Vec::new());
        let could_go = self.goes_unnoticed(rule, mine, &mut budget, &mut used);
        self.settle(budget);
        if let Some(by_default) = could_go {
            used.retain(|&index| self.space.owner[index as usize] > rule);
            let by = self.rules_of(&used);
            let answer = &mut self.answers[rule as usize];
            (answer.state, answer.by, answer.by_default) = (State::RedundantBelow, by, by_default);
        }
    }

    /// Whether all packets that reach the rule meet its action below; if so, whether the default is needed for that.
    fn goes_unnoticed(&mut self, rule: u32, mine: Action, budget: &mut Budget, used: &mut Vec<u32>) -> Option<bool> {
        let mut by_default = false;
        for index in self.space.boxes_of(rule) {
            let (earlier, later) = (self.earlier(index), self.later(index, mine));
            if !self.could_go(index, &earlier, &later, mine, budget) {
                return None;
            }
            let absorbed = earlier.iter().map(|&other| (other, Step::Absorb));
            let order: Vec<(u32, Step)> = absorbed.chain(later.iter().copied()).collect();
            match walk(self.space, whole(self.space, index), &order, budget, used) {
                Walk::Ended { left_over: false } => {}
                Walk::Ended { left_over: true } if self.options.default_action == Some(mine) => by_default = true,
                _ => return None,
            }
        }
        Some(by_default)
    }

    /// Later boxes in order: the same action takes its part, anything else that may decide stops.
    fn later(&mut self, index: u32, mine: Action) -> Vec<(u32, Step)> {
        let rule = self.space.owner[index as usize];
        let mut found = self.finder.meeting(self.space, index, Side::After(rule), &self.enabled);
        let (rules, answers, owner) = (self.rules, &self.answers, &self.space.owner);
        found.retain(|&other| {
            let number = owner[other as usize] as usize;
            rules[number].action != mine || (rules[number].exact && answers[number].state == State::Free)
        });
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
