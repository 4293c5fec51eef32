//! A length of time in 32 bits.

/// Bits of the number; the rest is how far it is shifted.
const BITS: u32 = 26;

/// Nanoseconds: exact below 67 ms, beyond that to one part in 33 million. The order of spans is that of the times; the default
/// means not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span(u32);

impl Span {
    /// A span of nothing is kept as one nanosecond.
    pub fn of(ns: u64) -> Self {
        let ns = ns.max(1);
        // A shifted number keeps its leading one: shift and number together are ascending.
        let shift = (64 - ns.leading_zeros()).saturating_sub(BITS);
        Self(shift << BITS | (ns >> shift) as u32)
    }

    pub fn ns(self) -> Option<u64> {
        (self.0 != 0).then(|| u64::from(self.0 & ((1 << BITS) - 1)) << (self.0 >> BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_exact_below_67_ms_and_close_beyond_and_keep_their_order() {
        assert_eq!((Span::default().ns(), Span::of(0).ns()), (None, Some(1)));
        let mut last = Span::default();
        for power in 0..63_u32 {
            for ns in [1_u64 << power, (1 << power) + (1 << power) / 3, (2 << power) - 1] {
                let span = Span::of(ns);
                let back = span.ns().unwrap_or(0);
                assert!(back <= ns && ns - back <= ns >> 25, "{ns} {back}");
                assert!(ns >= 1 << BITS || back == ns);
                assert!(span >= last, "{ns}");
                last = span;
            }
        }
    }
}
