//! Quantiles of delays in bounded memory.

/// A histogram of nanoseconds with logarithmic buckets, 2^BITS of them per power of two: values are kept to 1 part in 2^BITS. The
/// maximum is exact.
#[derive(Clone, Debug, Default)]
pub struct Delays<const BITS: u32 = 10> {
    buckets: Vec<u64>,
    count: u64,
    max: u64,
}

impl<const BITS: u32> Delays<BITS> {
    pub fn add(&mut self, ns: u64) {
        let bucket = bucket_of(ns, BITS);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.max = self.max.max(ns);
    }

    /// Take over the values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(sum, count)| *sum += count);
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact; None without a value.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The value at `percent` of the sorted values (nearest rank), to half a bucket; None without a value.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut sum = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            sum += count;
            if sum >= rank {
                return Some(value_of(bucket, BITS).min(self.max));
            }
        }
        None
    }
}

fn bucket_of(ns: u64, bits: u32) -> usize {
    let magnitude = (64 - ns.leading_zeros()).saturating_sub(bits + 1);
    ((u64::from(magnitude) << bits) + (ns >> magnitude)) as usize
}

/// The middle of a bucket.
fn value_of(bucket: usize, bits: u32) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 << bits {
        return bucket;
    }
    let magnitude = (bucket >> bits) - 1;
    let base = (bucket - (magnitude << bits)) << magnitude;
    base + (1 << magnitude) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_keep_order_and_one_part_in_a_thousand() {
        let mut last = 0;
        for ns in (0..4_000).chain((12..64).flat_map(|p| [(1_u64 << p) - 1, 1 << p, (1 << p) + (1 << p) / 3])) {
            let bucket = bucket_of(ns, 10);
            assert!(bucket >= last || ns < 4_096, "{ns}");
            last = bucket;
            assert!(value_of(bucket, 10).abs_diff(ns) as f64 <= ns as f64 / 1_000.0, "{ns} {}", value_of(bucket, 10));
        }
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut delays = Delays::<10>::default();
        assert_eq!((delays.percentile(50), delays.max()), (None, None));
        (1..=100).for_each(|ns| delays.add(ns));
        assert_eq!((delays.percentile(50), delays.percentile(99), delays.max()), (Some(50), Some(99), Some(100)));
    }
}
