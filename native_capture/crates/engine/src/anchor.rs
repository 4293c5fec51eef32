//! Clocks of mirrors that count from an epoch of their own and come around: put onto the capture's clock by the least apparent delay.

use std::collections::HashMap;

use nc_decode::ErspanTime;

/// Mirrors (source, destination, session) that are followed.
const MOST: usize = 64;
/// Least delays are those of this long and of as long before: clocks drift apart.
const SPAN: u64 = 5_000_000_000;
/// No mirror takes this much longer than at its quickest: the clock was set, or began anew.
const FAR: i128 = 100_000_000;
/// So many in a row by the same new clock, and it is believed.
const ENOUGH: u32 = 8;

pub(crate) enum Anchored {
    /// `late_ns`: how much later the capture saw it.
    At {
        ns: u64,
        late_ns: i64,
    },
    Strange,
    NoRoom,
}

/// One mirror's clock. `ahead`: by how much the capture's is ahead at least, in the present span and the one before. `strange`: how many in a
/// row were by another clock, and by how much the capture's is ahead of that one.
#[derive(Debug)]
struct Clock {
    present: i128,
    before: Option<i128>,
    since: u64,
    strange: (u32, i128),
}

#[derive(Debug, Default)]
pub(crate) struct Anchors {
    clocks: HashMap<(u128, u128, u32), Clock>,
    change: u128,
    resets: u64,
}

impl Anchors {
    /// By how much least delays of one span and the next differed at most: drift, and delays that were never at their least.
    pub fn error_ns(&self) -> u64 {
        u64::try_from(self.change).unwrap_or(u64::MAX)
    }

    pub fn resets(&self) -> u64 {
        self.resets
    }

    /// `ns`: when the capture saw the frame.
    pub fn place(&mut self, key: (u128, u128, u32), stamp: &ErspanTime, ns: u64) -> Anchored {
        let seen = i128::from(ns);
        if self.clocks.len() >= MOST && !self.clocks.contains_key(&key) {
            return Anchored::NoRoom;
        }
        let clock = self.clocks.entry(key).or_insert_with(|| Clock::new(seen - stamp.ns, ns));
        let told = nearest(stamp, seen - clock.ahead());
        let ahead = seen - told;
        if (ahead - clock.ahead()).abs() > FAR {
            if clock.is_another(seen - nearest(stamp, seen - clock.strange.1)) {
                *clock = Clock::new(clock.strange.1, ns);
                self.resets += 1;
            } else {
                return Anchored::Strange;
            }
        }
        let told = nearest(stamp, seen - clock.ahead());
        clock.strange.0 = 0;
        if let Some(change) = clock.least(seen - told, ns) {
            self.change = self.change.max(change);
        }
        let at = told + clock.ahead();
        match u64::try_from(at) {
            Ok(at) => Anchored::At { ns: at, late_ns: i64::try_from(seen - i128::from(at)).unwrap_or(i64::MAX) },
            Err(_) => Anchored::Strange,
        }
    }
}

/// A clock that came around shows the same again: the moment meant is the one nearest to `expected`.
fn nearest(stamp: &ErspanTime, expected: i128) -> i128 {
    let around = stamp.around_ns;
    stamp.ns + (expected - stamp.ns + around / 2).div_euclid(around) * around
}

impl Clock {
    fn new(ahead: i128, ns: u64) -> Self {
        Self { present: ahead, before: None, since: ns, strange: (0, 0) }
    }

    fn ahead(&self) -> i128 {
        self.before.map_or(self.present, |before| before.min(self.present))
    }

    /// Take note of a delay; by how much the least one changed, where a span ended.
    fn least(&mut self, ahead: i128, ns: u64) -> Option<u128> {
        if ns.saturating_sub(self.since) < SPAN {
            self.present = self.present.min(ahead);
            return None;
        }
        let change = self.before.map(|before| before.abs_diff(self.present));
        // Of long ago it says nothing about now.
        self.before = (ns - self.since < 2 * SPAN).then_some(self.present);
        (self.present, self.since) = (ahead, ns);
        change
    }

    /// Whether a strange frame is one of enough that agree.
    fn is_another(&mut self, ahead: i128) -> bool {
        let (count, known) = self.strange;
        self.strange = match count > 0 && (ahead - known).abs() <= FAR {
            true => (count + 1, known.min(ahead)),
            false => (1, ahead),
        };
        self.strange.0 >= ENOUGH
    }
}
