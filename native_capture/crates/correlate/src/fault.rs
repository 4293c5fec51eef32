//! Where packets are lost: between which points, in which class, while the other classes on the same way are the control group.

/// Fewer lost packets than this are no fault.
const LEAST_LOST: u64 = 3;
/// Least share of a class that is lost.
const LEAST_SHARE: f64 = 1e-4;
/// A claim that only one class loses must have at most this chance of being luck.
const CHANCE: f64 = 0.01;
/// From this fill on a queue is called full, and nearly full (a microburst of the contract).
const FULL_PCT: f64 = 99.0;
const NEARLY_PCT: f64 = 75.0;
/// Nobody is surer than this.
const MOST_SURE: f64 = 0.999;
/// Without a measured queue, a class that waits this many times longer than the control group is called delayed.
const LONGER: f64 = 5.0;

/// One class on one way between two points. Delays in nanoseconds. `fill_pct`: its queue's fullest, measured; None when unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassFigures {
    pub matched: u64,
    pub lost: u64,
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub fill_pct: Option<f64>,
    pub share_over_90: Option<f64>,
}

impl ClassFigures {
    pub fn sent(&self) -> u64 {
        self.matched + self.lost
    }

    pub fn share(&self) -> f64 {
        self.lost as f64 / (self.sent().max(1)) as f64
    }
}

/// What else loses packets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The control group loses nothing, or so much less that luck does not explain it.
    ClassOnly,
    /// The control group loses as well.
    OthersToo,
    /// Too few packets of other classes to tell.
    NoControl,
}

/// What the losses look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The class's own queue was measured full.
    QueueFull,
    /// The queue was nearly full, or packets of the class wait, and those of others do not.
    QueueLikely,
    /// Packets vanish without having waited: a policer, a filter, or a mirror that misses them.
    NoWaiting,
    Unknown,
}

/// `class`: index of the figures given. `control`: the sum of all other classes. `chance`: that the control group would show as few
/// losses as it did if it lost as often as the class; None without a control group. `confidence`: 0..1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    pub class: usize,
    pub scope: Scope,
    pub cause: Cause,
    pub control: ClassFigures,
    pub chance: Option<f64>,
    pub confidence: f64,
}

/// Faults of the classes of one way, worst first.
pub fn locate(classes: &[ClassFigures]) -> Vec<Fault> {
    let lossy = |(_, figures): &(usize, &ClassFigures)| figures.lost >= LEAST_LOST && figures.share() >= LEAST_SHARE;
    let mut faults: Vec<Fault> =
        classes.iter().enumerate().filter(lossy).map(|(class, _)| judge(classes, class)).collect();
    faults.sort_by_key(|fault| std::cmp::Reverse(classes[fault.class].lost));
    faults
}

fn judge(classes: &[ClassFigures], class: usize) -> Fault {
    let own = &classes[class];
    let control = control(classes, class);
    let expected = own.share() * control.sent() as f64;
    let chance = (control.sent() > 0).then(|| at_most(control.lost, expected));
    let scope = match chance {
        Some(chance) if chance <= CHANCE => Scope::ClassOnly,
        Some(_) if control.share() >= own.share() / 2.0 && control.lost >= LEAST_LOST => Scope::OthersToo,
        _ => Scope::NoControl,
    };
    let confidence = match scope {
        Scope::ClassOnly => (1.0 - chance.unwrap_or(1.0)).min(MOST_SURE),
        Scope::OthersToo => 0.9,
        Scope::NoControl => 0.5,
    };
    Fault { class, scope, cause: cause(own, &control), control, chance, confidence }
}

/// The other classes together; the longest of their waits, the fullest of their queues.
fn control(classes: &[ClassFigures], class: usize) -> ClassFigures {
    let others = classes.iter().enumerate().filter(|(number, _)| *number != class).map(|(_, figures)| figures);
    others.fold(ClassFigures::default(), |sum, other| ClassFigures {
        matched: sum.matched + other.matched,
        lost: sum.lost + other.lost,
        p50_ns: sum.p50_ns.max(other.p50_ns),
        p99_ns: sum.p99_ns.max(other.p99_ns),
        fill_pct: most(sum.fill_pct, other.fill_pct),
        share_over_90: most(sum.share_over_90, other.share_over_90),
    })
}

fn most(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

fn cause(own: &ClassFigures, control: &ClassFigures) -> Cause {
    let waits = own.p99_ns.zip(control.p99_ns).map(|(own, other)| own as f64 > LONGER * other as f64);
    match (own.fill_pct, waits) {
        (Some(fill), _) if fill >= FULL_PCT => Cause::QueueFull,
        (Some(fill), _) if fill >= NEARLY_PCT => Cause::QueueLikely,
        (_, Some(true)) => Cause::QueueLikely,
        (Some(_), _) | (_, Some(false)) => Cause::NoWaiting,
        (None, None) => Cause::Unknown,
    }
}

/// Probability of at most `seen` events where `expected` are expected (Poisson).
fn at_most(seen: u64, expected: f64) -> f64 {
    let mut term = -expected;
    let mut sum = term.exp();
    for k in 1..=seen.min(100_000) {
        term += expected.ln() - (k as f64).ln();
        sum += term.exp();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(matched: u64, lost: u64) -> ClassFigures {
        ClassFigures { matched, lost, p99_ns: Some(1_000), ..ClassFigures::default() }
    }

    #[test]
    fn a_class_that_loses_alone_is_told_from_a_way_that_loses() {
        let alone = locate(&[class(40_000, 6_000), class(5_000, 0), class(13_000, 0)]);
        assert_eq!((alone.len(), alone[0].class, alone[0].scope), (1, 0, Scope::ClassOnly));
        assert!(alone[0].confidence > 0.99 && alone[0].control.sent() == 18_000);
        let all = locate(&[class(900, 100), class(1_800, 200)]);
        assert_eq!(
            all.iter().map(|fault| (fault.class, fault.scope)).collect::<Vec<_>>(),
            [(1, Scope::OthersToo), (0, Scope::OthersToo)]
        );
    }

    #[test]
    fn without_enough_other_packets_nothing_is_said_of_them() {
        let few = locate(&[class(97, 3), class(20, 0)]);
        assert_eq!((few[0].scope, few[0].confidence), (Scope::NoControl, 0.5));
        assert_eq!(locate(&[class(97, 3)])[0].chance, None);
        assert!(locate(&[class(1_000, 2), class(10, 0)]).is_empty());
    }

    #[test]
    fn a_full_queue_a_longer_wait_and_losses_without_waiting_are_told_apart() {
        let own = |fill, p99| ClassFigures { fill_pct: fill, p99_ns: Some(p99), ..class(90, 10) };
        let causes = [own(Some(100.0), 1), own(Some(91.0), 1), own(Some(30.0), 1), own(None, 50_000), own(None, 1_000)];
        let found = causes.map(|own| locate(&[own, class(1_000, 0)])[0].cause);
        assert_eq!(
            found,
            [Cause::QueueFull, Cause::QueueLikely, Cause::NoWaiting, Cause::QueueLikely, Cause::NoWaiting]
        );
    }

    #[test]
    fn poisson_sums_agree_with_tables() {
        assert!((at_most(0, 2.0) - 0.135_335).abs() < 1e-6);
        assert!((at_most(3, 2.0) - 0.857_123).abs() < 1e-6);
        assert!((at_most(0, 0.0) - 1.0).abs() < 1e-12);
    }
}
