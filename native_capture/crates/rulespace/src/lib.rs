//! Exact algebra of ordered rule sets: which rules can never decide a packet, because of which others, and which could go.
//!
//! A rule is a union of boxes; a box is a product of one set per axis (addresses, ports, zones, marks). Every answer is exact,
//! or "undecided" when the budget of comparisons ended first; it is never a guess.

mod axis;
mod cover;
mod judge;
mod lookup;
mod space;
mod spans;

pub use axis::ValueSet;
pub use judge::{analyse, Answer, Options, State};
pub use lookup::{matching, Point};

/// What a rule does to the packets that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Permit,
    Deny,
    /// Evaluation goes on: such a rule decides nothing.
    Continue,
}

/// One rule in evaluation order.
#[derive(Clone, Debug)]
pub struct Rule {
    pub action: Action,
    /// Disabled rules neither cover nor are judged.
    pub enabled: bool,
    /// The boxes are exactly what it matches; else they are an upper bound, and the rule never covers another.
    pub exact: bool,
    /// Per box: the number of its set on every axis.
    pub boxes: Vec<Vec<u32>>,
}

/// The description of the rule set does not hold together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpaceError {
    Interval { low: u128, high: u128 },
    UnknownSet { rule: usize, axis: usize, set: u32 },
    Width { rule: usize, axes: usize, found: usize },
}

impl std::fmt::Display for SpaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Interval { low, high } => write!(f, "interval {low}..{high} is written backwards"),
            Self::UnknownSet { rule, axis, set } => write!(f, "rule {rule}: axis {axis} has no set {set}"),
            Self::Width { rule, axes, found } => write!(f, "rule {rule}: a box has {found} sets for {axes} axes"),
        }
    }
}

impl std::error::Error for SpaceError {}
