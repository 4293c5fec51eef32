//! Counters per mark: in a flow (few marks), at a point (all 64, and per millisecond).

/// `matched`: seen again at a later point. `unmatched`: the window passed and no other point showed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DscpCount {
    pub packets: u64,
    pub bytes: u64,
    pub matched: u64,
    pub unmatched: u64,
}

/// The marks of one flow. Nearly all flows have one; the third different mark costs one allocation for all 64.
#[derive(Clone, Debug, Default)]
pub struct DscpSet {
    few: [(u8, DscpCount); 2],
    used: u8,
    many: Option<Box<[DscpCount; 64]>>,
}

impl DscpSet {
    /// The counter of `dscp` (0..=63), made when missing.
    pub fn entry(&mut self, dscp: u8) -> &mut DscpCount {
        let used = usize::from(self.used);
        if self.many.is_none() {
            let found = self.few[..used].iter().position(|(mark, _)| *mark == dscp);
            if let Some(at) = found {
                return &mut self.few[at].1;
            }
            if used < self.few.len() {
                self.used += 1;
                self.few[used].0 = dscp;
                return &mut self.few[used].1;
            }
        }
        let few = &self.few;
        let many = self.many.get_or_insert_with(|| {
            let mut many = Box::new([DscpCount::default(); 64]);
            for (mark, count) in few {
                many[usize::from(*mark & 63)] = *count;
            }
            many
        });
        &mut many[usize::from(dscp & 63)]
    }

    /// Marks with packets, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u8, DscpCount)> + '_ {
        (0..64_u8).filter_map(|mark| {
            let count = match &self.many {
                Some(many) => many[usize::from(mark)],
                None => self.few[..usize::from(self.used)].iter().find(|(m, _)| *m == mark)?.1,
            };
            (count.packets > 0).then_some((mark, count))
        })
    }
}

/// One mark at one point. `peak_1ms_bytes`: most bytes in one millisecond of packet time, aligned to whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DscpTotals {
    pub packets: u64,
    pub bytes: u64,
    pub peak_1ms_bytes: u64,
}

/// How many milliseconds back a packet may come and still find its bucket.
const SPAN_MS: usize = 1_024;

/// All marks of one point, with a ring of milliseconds so that packets slightly out of order count right.
pub struct DscpClock {
    totals: [DscpTotals; 64],
    ring: Vec<[u64; 64]>,
    stamps: Vec<u64>,
    late: u64,
}

impl Default for DscpClock {
    fn default() -> Self {
        Self {
            totals: [DscpTotals::default(); 64],
            ring: vec![[0; 64]; SPAN_MS],
            stamps: vec![u64::MAX; SPAN_MS],
            late: 0,
        }
    }
}

impl DscpClock {
    pub fn add(&mut self, ts_ns: u64, dscp: u8, bytes: u32) {
        let mark = usize::from(dscp & 63);
        let totals = &mut self.totals[mark];
        totals.packets += 1;
        totals.bytes += u64::from(bytes);
        let ms = ts_ns / 1_000_000;
        let slot = ms as usize % SPAN_MS;
        if self.stamps[slot] != ms {
            if self.stamps[slot] != u64::MAX && self.stamps[slot] > ms {
                self.late += 1;
                return;
            }
            self.stamps[slot] = ms;
            self.ring[slot] = [0; 64];
        }
        let bucket = &mut self.ring[slot][mark];
        *bucket += u64::from(bytes);
        totals.peak_1ms_bytes = totals.peak_1ms_bytes.max(*bucket);
    }

    pub fn totals(&self) -> &[DscpTotals; 64] {
        &self.totals
    }

    /// Packets more than a second behind: in the totals, not in the peaks.
    pub fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_keeps_every_mark_it_used() {
        let mut set = DscpSet::default();
        for (mark, bytes) in [(46, 10), (0, 20), (46, 5), (63, 1), (8, 2), (0, 3)] {
            let count = set.entry(mark);
            count.packets += 1;
            count.bytes += bytes;
        }
        let found: Vec<_> = set.iter().map(|(mark, count)| (mark, count.packets, count.bytes)).collect();
        assert_eq!(found, [(0, 2, 23), (8, 1, 2), (46, 2, 15), (63, 1, 1)]);
    }

    #[test]
    fn the_peak_is_that_of_whole_milliseconds_also_out_of_order() {
        let mut clock = DscpClock::default();
        for (us, bytes) in [(1_000, 100), (1_999, 100), (2_000, 150), (1_500, 30), (2_001_000, 10)] {
            clock.add(us * 1_000, 46, bytes);
        }
        assert_eq!(clock.totals()[46], DscpTotals { packets: 5, bytes: 390, peak_1ms_bytes: 230 });
        assert_eq!(clock.late(), 0);
        clock.add(977_000_000, 46, 1);
        assert_eq!(clock.late(), 1);
    }
}
