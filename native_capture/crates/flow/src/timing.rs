//! Round trips of one TCP conversation, seen from the point: from its handshake, and from acknowledgements of data.

use crate::span::Span;

/// Samples after which the median moves in its smallest steps.
const STEADY: u8 = 64;

/// Least, middle and greatest of any number of spans. The middle is the median of the first three; then each sample moves it
/// towards itself by its n-th part, at last by a 64th: a stochastic approximation (Robbins, Monro 1951) in units of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    least: Span,
    middle: Span,
    greatest: Span,
}

impl Spread {
    /// `before`: samples until now, as far as they are counted.
    fn add(&mut self, span: Span, before: u8) {
        match before {
            0 => *self = Self { least: span, middle: span, greatest: span },
            1 => self.middle = self.least.min(span),
            2 => self.middle = span.clamp(self.least, self.greatest),
            _ => self.step(span, before),
        }
        self.least = self.least.min(span);
        self.greatest = self.greatest.max(span);
    }

    fn step(&mut self, span: Span, before: u8) {
        let (Some(middle), Some(ns)) = (self.middle.ns(), span.ns()) else { return };
        let step = middle / u64::from(before.min(STEADY)) + 1;
        // Never past the sample: equal samples leave it where it is.
        let moved = if ns > middle { (middle + step).min(ns) } else { middle.saturating_sub(step).max(ns) };
        self.middle = Span::of(moved);
    }
}

/// Round trips to one end of a conversation and back to the point, ns. `median_ns` is exact for up to three samples, later within some percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    pub handshake_ns: Option<u64>,
    pub min_ns: Option<u64>,
    pub median_ns: Option<u64>,
    pub max_ns: Option<u64>,
}

/// A time of which 48 bits are kept, in little room: three days until it comes again.
#[derive(Clone, Copy, Debug, Default)]
struct Moment([u16; 3]);

impl Moment {
    fn at(ns: u64) -> Self {
        Self([ns as u16, (ns >> 16) as u16, (ns >> 32) as u16])
    }

    /// None when `ns` is earlier.
    fn until(self, ns: u64) -> Option<u64> {
        let [low, middle, high] = self.0.map(u64::from);
        let gone = ns.wrapping_sub(high << 32 | middle << 16 | low) & ((1 << 48) - 1);
        (gone < 1 << 47).then_some(gone)
    }
}

/// One direction's data, acknowledged by the other end.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    spread: Spread,
    handshake: Span,
    /// End of the segment that is being timed.
    end: u32,
}

/// One segment of each direction is timed at a time; none that was sent again (Karn, Partridge 1987; RFC 6298, 3).
/// `number`: of the service, as [`crate::responses::Responses`] knows it; `name`: of the server, as who reads payload knows it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Timing {
    ways: [Way; 2],
    sent: [Moment; 2],
    asked: Moment,
    samples: [u8; 2],
    pub number: u16,
    pub name: u16,
}

impl Timing {
    /// A segment of `way` that ends here was sent.
    pub fn start(&mut self, way: usize, end: u32, ts_ns: u64) {
        self.ways[way].end = end;
        self.sent[way] = Moment::at(ts_ns);
    }

    /// The end of the segment of `way` that is being timed.
    pub fn end(&self, way: usize) -> u32 {
        self.ways[way].end
    }

    /// The timed segment of `way` is acknowledged. `handshake`: it is a SYN.
    pub fn stop(&mut self, way: usize, ts_ns: u64, handshake: bool) {
        let Some(ns) = self.sent[way].until(ts_ns) else { return };
        if handshake {
            self.ways[way].handshake = Span::of(ns);
        } else {
            let before = self.samples[way];
            self.ways[way].spread.add(Span::of(ns), before);
            self.samples[way] = before.saturating_add(1);
        }
    }

    /// The client sent a part of a request.
    pub fn ask(&mut self, ts_ns: u64) {
        self.asked = Moment::at(ts_ns);
    }

    /// The server begins its answer: time since the last byte of the request.
    pub fn answer(&self, ts_ns: u64) -> Option<u64> {
        self.asked.until(ts_ns)
    }

    /// Of the whole handshake: both halves.
    pub fn handshake_ns(&self) -> Option<u64> {
        Some(self.ways[0].handshake.ns()? + self.ways[1].handshake.ns()?)
    }

    /// To the receiver of what `way` carries.
    pub fn round_trips(&self, way: usize) -> RoundTrips {
        let Way { spread, handshake, .. } = self.ways[way];
        RoundTrips {
            handshake_ns: handshake.ns(),
            min_ns: spread.least.ns(),
            median_ns: spread.middle.ns(),
            max_ns: spread.greatest.ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(samples: impl IntoIterator<Item = u64>) -> Timing {
        let mut timing = Timing::default();
        for (number, ns) in samples.into_iter().enumerate() {
            let sent = number as u64 * 1_000_000_000;
            timing.start(0, 0, sent);
            timing.stop(0, sent + ns, false);
        }
        timing
    }

    #[test]
    fn a_conversation_keeps_its_times_in_64_bytes() {
        assert_eq!(std::mem::size_of::<Timing>(), 64);
    }

    #[test]
    fn three_samples_are_exact_in_any_order() {
        for order in [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
            let trips = spread(order).round_trips(0);
            assert_eq!((trips.min_ns, trips.median_ns, trips.max_ns), (Some(1), Some(2), Some(3)), "{order:?}");
        }
        assert_eq!(spread([5, 9]).round_trips(0).median_ns, Some(5));
        assert_eq!(spread([]).round_trips(0), RoundTrips::default());
    }

    #[test]
    fn many_samples_come_near_their_median_whatever_came_first() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        for first in [1_000, 400_000, 90_000_000] {
            // 200 to 600 µs, one in ten after 40 ms of delayed acknowledgement
            let usual: Vec<u64> = (0..2_000)
                .map(|_| 200_000 + random() % 400_000 + if random() % 10 == 0 { 40_000_000 } else { 0 })
                .collect();
            let mut sorted = usual.clone();
            sorted.sort_unstable();
            let median = spread(std::iter::once(first).chain(usual)).round_trips(0).median_ns.unwrap_or(0);
            let exact = sorted[1_000];
            assert!(median.abs_diff(exact) * 100 < exact * 15, "{first}: {median} {exact}");
        }
    }

    #[test]
    fn times_may_be_years_after_1970_and_go_back() {
        let mut timing = Timing::default();
        let now = 1_796_003_878_246_987_801;
        timing.start(1, 7, now);
        timing.stop(1, now - 5, false);
        assert_eq!(timing.round_trips(1), RoundTrips::default());
        timing.stop(1, now + 123_456_789, true);
        assert_eq!(timing.round_trips(1).handshake_ns.map(|ns| ns / 4), Some(123_456_789 / 4));
    }
}
