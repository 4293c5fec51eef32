//! Bytes of each class per millisecond of packet time at one point; per tenth of one while a trigger lasts.

use serde::Serialize;

/// One class at one point. `peak_1ms_bytes`: most bytes in one millisecond of packet time, aligned to whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassTotals {
    pub packets: u64,
    pub bytes: u64,
    pub peak_1ms_bytes: u64,
}

/// Bytes of a class in one step of the clock. `step`: how many steps after 1970 it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick {
    pub class: u8,
    pub step: u64,
    pub bytes: u64,
}

/// Steps of the clock, in nanoseconds.
pub const STEP_NS: u64 = 1_000_000;
pub const FINE_STEP_NS: u64 = STEP_NS / FINE as u64;
const FINE: usize = 10;
/// How many milliseconds back a packet may come and still find its bucket.
const SPAN_MS: usize = 1_024;
/// Stamp of a bucket that was never used, and the bit of one that is kept in tenths as well: such a stamp equals no millisecond, so
/// that plain packets need no second question.
const NEVER: u64 = u64::MAX;
const IN_TENTHS: u64 = 1 << 63;
/// A trigger lasts so long.
const TRIGGERED_MS: u64 = 100;
/// Milliseconds kept in tenths, 80 bytes a class each, and ticks kept, 24 bytes each.
const MOST_FINE: usize = 2_000;
const MOST_TICKS: usize = 4 << 20;

/// `CLASSES`, a power of two, at one point, with a ring of milliseconds so that packets slightly out of order count right.
pub struct Clock<const CLASSES: usize> {
    totals: [ClassTotals; CLASSES],
    ring: Vec<[u64; CLASSES]>,
    stamps: Vec<u64>,
    /// Where the last packet was counted: the beginning of its bucket, its length (0: none, or it is kept in tenths), its slot.
    last: (u64, u64, usize),
    late: u64,
    record: Option<Box<Record<CLASSES>>>,
}

/// The marks of IP, and the priorities of VLAN tags.
pub type DscpClock = Clock<64>;
pub type PcpClock = Clock<8>;

/// What is kept of milliseconds that are over. `left_out`: milliseconds beyond the room for ticks, or for tenths.
struct Record<const CLASSES: usize> {
    ticks: Vec<Tick>,
    fine: Vec<(u64, Box<[[u64; CLASSES]; FINE]>)>,
    fine_until_ms: u64,
    left_out: (u64, u64),
}

impl<const CLASSES: usize> Default for Clock<CLASSES> {
    fn default() -> Self {
        Self {
            totals: [ClassTotals::default(); CLASSES],
            ring: vec![[0; CLASSES]; SPAN_MS],
            stamps: vec![NEVER; SPAN_MS],
            last: (0, 0, 0),
            late: 0,
            record: None,
        }
    }
}

impl<const CLASSES: usize> Clock<CLASSES> {
    #[inline]
    pub fn add(&mut self, ts_ns: u64, class: u8, bytes: u32) {
        let class = usize::from(class) & (CLASSES - 1);
        let totals = &mut self.totals[class];
        totals.packets += 1;
        totals.bytes += u64::from(bytes);
        let (begin, length, mut slot) = self.last;
        if ts_ns.wrapping_sub(begin) >= length {
            let Some(other) = self.slot(ts_ns, class, bytes) else { return };
            slot = other;
        }
        let bucket = &mut self.ring[slot][class];
        *bucket += u64::from(bytes);
        let totals = &mut self.totals[class];
        totals.peak_1ms_bytes = totals.peak_1ms_bytes.max(*bucket);
    }

    /// The slot of the bucket of a packet that is not of the last one's; None when it is gone.
    #[inline(never)]
    fn slot(&mut self, ts_ns: u64, class: usize, bytes: u32) -> Option<usize> {
        let ms = ts_ns / STEP_NS;
        let slot = ms as usize % SPAN_MS;
        if self.stamps[slot] != ms {
            self.last.1 = 0;
            if !self.turn(ts_ns, slot, class, bytes) {
                return None;
            }
        }
        if self.stamps[slot] == ms {
            self.last = (ms * STEP_NS, STEP_NS, slot);
        }
        Some(slot)
    }

    /// A packet of a millisecond that has no bucket yet, or is kept in tenths; false when its bucket is gone.
    #[cold]
    fn turn(&mut self, ts_ns: u64, slot: usize, class: usize, bytes: u32) -> bool {
        let ms = ts_ns / STEP_NS;
        let stamp = self.stamps[slot];
        if stamp == NEVER || stamp & !IN_TENTHS < ms {
            self.flush(slot);
            let in_tenths = self.record.as_mut().is_some_and(|record| record.begins_fine(ms));
            self.stamps[slot] = if in_tenths { ms | IN_TENTHS } else { ms };
            self.ring[slot] = [0; CLASSES];
        } else if stamp & !IN_TENTHS > ms {
            self.late += 1;
            return false;
        }
        if let Some(record) = self.record.as_mut().filter(|_| self.stamps[slot] & IN_TENTHS != 0) {
            let tenths = record.fine.iter_mut().rev().find(|(known, _)| *known == ms);
            if let Some((_, tenths)) = tenths {
                tenths[(ts_ns / FINE_STEP_NS) as usize % FINE][class] += u64::from(bytes);
            }
        }
        true
    }

    /// Note down a bucket that is over.
    fn flush(&mut self, slot: usize) {
        let Some(record) = self.record.as_mut().filter(|_| self.stamps[slot] != NEVER) else { return };
        if record.ticks.len() + CLASSES > MOST_TICKS {
            record.left_out.0 += 1;
            return;
        }
        record.ticks.extend(ticks(&self.ring[slot], self.stamps[slot] & !IN_TENTHS));
    }

    /// Keep every millisecond from now on, up to four million ticks of a class.
    pub fn record(&mut self) {
        self.record =
            Some(Box::new(Record { ticks: Vec::new(), fine: Vec::new(), fine_until_ms: 0, left_out: (0, 0) }));
    }

    pub fn is_recorded(&self) -> bool {
        self.record.is_some()
    }

    /// Something happens at `ts_ns`: milliseconds that begin within the next tenth of a second are kept in tenths as well.
    pub fn trigger(&mut self, ts_ns: u64) {
        if let Some(record) = &mut self.record {
            record.fine_until_ms = record.fine_until_ms.max(ts_ns / STEP_NS + TRIGGERED_MS);
        }
    }

    /// The end: what was recorded is put in order.
    pub fn finish(&mut self) {
        self.last.1 = 0;
        for slot in 0..SPAN_MS {
            self.flush(slot);
            self.stamps[slot] = NEVER;
        }
        if let Some(record) = &mut self.record {
            record.ticks.sort_unstable();
        }
    }

    pub fn totals(&self) -> &[ClassTotals; CLASSES] {
        &self.totals
    }

    /// Classes with packets, ascending.
    pub fn seen(&self) -> impl Iterator<Item = (u8, &ClassTotals)> {
        (0..).zip(&self.totals).filter(|(_, sum)| sum.packets > 0)
    }

    /// Packets more than a second behind: in the totals, not in the peaks.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// After [`Self::finish`]: by class and time, those without bytes left out. Empty unless recorded.
    pub fn ticks(&self) -> &[Tick] {
        self.record.as_ref().map_or(&[], |record| &record.ticks)
    }

    /// The same in steps of [`FINE_STEP_NS`], of the milliseconds that a trigger covered; their sums are the ticks.
    pub fn fine_ticks(&self) -> Vec<Tick> {
        let mut all = Vec::new();
        for (ms, tenths) in self.record.iter().flat_map(|record| &record.fine) {
            all.extend((ms * FINE as u64..).zip(tenths.iter()).flat_map(|(step, sums)| ticks(sums, step)));
        }
        all.sort_unstable();
        all
    }

    /// Milliseconds that found no room: among the ticks, and in tenths.
    pub fn left_out(&self) -> (u64, u64) {
        self.record.as_ref().map_or((0, 0), |record| record.left_out)
    }
}

/// Of classes with bytes.
fn ticks(sums: &[u64], step: u64) -> impl Iterator<Item = Tick> + '_ {
    (0..).zip(sums).filter(|(_, bytes)| **bytes > 0).map(move |(class, bytes)| Tick { class, step, bytes: *bytes })
}

impl<const CLASSES: usize> Record<CLASSES> {
    /// Whether the millisecond that begins now is kept in tenths. Decided once, with its first packet, all of them are in it.
    fn begins_fine(&mut self, ms: u64) -> bool {
        if ms >= self.fine_until_ms || ms + TRIGGERED_MS < self.fine_until_ms {
            return false;
        }
        let has_room = self.fine.len() < MOST_FINE;
        match has_room {
            true => self.fine.push((ms, Box::new([[0; CLASSES]; FINE]))),
            false => self.left_out.1 += 1,
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_peak_is_that_of_whole_milliseconds_also_out_of_order() {
        let mut clock = DscpClock::default();
        for (us, bytes) in [(1_000, 100), (1_999, 100), (2_000, 150), (1_500, 30), (2_001_000, 10)] {
            clock.add(us * 1_000, 46, bytes);
        }
        assert_eq!(clock.totals()[46], ClassTotals { packets: 5, bytes: 390, peak_1ms_bytes: 230 });
        assert_eq!(clock.late(), 0);
        clock.add(977_000_000, 46, 1);
        assert_eq!(clock.late(), 1);
    }

    /// Packets a few microseconds apart with pauses, some out of order; a trigger now and then.
    fn run(packets: u64, every: u64) -> (PcpClock, BTreeMap<(u8, u64), u64>) {
        let (mut clock, mut truth) = (PcpClock::default(), BTreeMap::new());
        clock.record();
        let mut now_ns = 5_000_000_000;
        for number in 0..packets {
            let dice = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            now_ns += if dice % 1_000 == 0 { 300_000_000 } else { dice % 40_000 };
            let (ts_ns, class) = (now_ns - dice % 7 * 250_000, (dice % 8) as u8);
            clock.add(ts_ns, class, dice as u32 % 1_500);
            *truth.entry((class, ts_ns / FINE_STEP_NS)).or_default() += dice % (1 << 32) % 1_500;
            if number % every == 0 {
                clock.trigger(now_ns);
            }
        }
        clock.finish();
        truth.retain(|_, bytes| *bytes > 0);
        (clock, truth)
    }

    #[test]
    fn every_byte_is_in_its_millisecond_and_tenths_add_up_to_it() {
        let (clock, truth) = run(40_000, 4_000);
        let mut wanted = BTreeMap::new();
        truth.iter().for_each(|((class, step), bytes)| *wanted.entry((*class, step / 10)).or_insert(0) += bytes);
        let found: BTreeMap<_, _> = clock.ticks().iter().map(|tick| ((tick.class, tick.step), tick.bytes)).collect();
        assert_eq!((found.len(), clock.late(), clock.left_out()), (clock.ticks().len(), 0, (0, 0)));
        assert_eq!(found, wanted);
        let fine = clock.fine_ticks();
        assert!(fine.len() > 1_000 && fine.len() < truth.len() / 2, "{} of {}", fine.len(), truth.len());
        let mut sums = BTreeMap::new();
        for tick in &fine {
            assert_eq!(truth.get(&(tick.class, tick.step)), Some(&tick.bytes));
            *sums.entry((tick.class, tick.step / 10)).or_insert(0) += tick.bytes;
        }
        assert!(sums.iter().all(|(key, bytes)| wanted[key] == *bytes));
    }

    #[test]
    fn without_end_memory_has_one_and_what_is_left_out_is_counted() {
        let mut clock = PcpClock::default();
        clock.record();
        for ms in 0..MOST_FINE as u64 + 50 {
            clock.trigger(ms * STEP_NS);
            clock.add(ms * STEP_NS, 3, 100);
        }
        clock.finish();
        assert_eq!((clock.ticks().len(), clock.fine_ticks().len()), (MOST_FINE + 50, MOST_FINE));
        assert_eq!(clock.left_out(), (0, 50));
    }

    #[test]
    fn nothing_is_kept_that_nobody_asked_for() {
        let mut clock = DscpClock::default();
        clock.trigger(0);
        clock.add(0, 46, 100);
        clock.finish();
        assert!(clock.ticks().is_empty() && clock.fine_ticks().is_empty());
    }
}
