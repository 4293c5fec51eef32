//! Counters per mark in a flow, which has few; those of a point stand in `clock.rs`.

/// `matched`: seen again at a later point. `unmatched`: the window passed and no other point showed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DscpCount {
    pub packets: u64,
    pub bytes: u64,
    pub matched: u64,
    pub unmatched: u64,
}

/// The marks of one flow. Nearly all flows have one, whose packets and bytes are those of the flow; the second different mark
/// costs an allocation.
#[derive(Clone, Debug, Default)]
pub struct DscpSet {
    only: u8,
    seen: u8,
    matched: u32,
    unmatched: u32,
    #[allow(clippy::box_collection, reason = "eight bytes in every record, where a Vec takes 24")]
    many: Option<Box<Vec<Mark>>>,
}

#[derive(Clone, Debug, Default)]
struct Mark {
    dscp: u8,
    seen: u8,
    count: DscpCount,
}

/// What the judge has counted of a flow's mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Offence = 1,
    Rewrite = 2,
    Peak = 4,
    Hours = 8,
    Bulk = 16,
}

impl DscpSet {
    /// As long as there is one mark only, the flow knows it, and what the judge has counted of it.
    pub(crate) fn of_only(&mut self, only: u8, seen: u8) -> &mut Self {
        if self.many.is_none() {
            (self.only, self.seen) = (only, seen);
        }
        self
    }

    /// Count a packet of `bytes`; `before` are the flow's packets and bytes without it. The flow's only mark needs no counting: its totals
    /// are those of the flow.
    #[inline]
    pub fn add(&mut self, dscp: u8, bytes: u32, before: (u64, u64)) {
        if self.many.is_some() || self.only != dscp {
            self.add_other(dscp, bytes, before);
        }
    }

    fn add_other(&mut self, dscp: u8, bytes: u32, before: (u64, u64)) {
        if self.many.is_none() {
            if before.0 == 0 {
                self.only = dscp;
                return;
            }
            let first = DscpCount {
                packets: before.0,
                bytes: before.1,
                matched: u64::from(self.matched),
                unmatched: u64::from(self.unmatched),
            };
            self.many = Some(Box::new(vec![Mark { dscp: self.only, seen: self.seen, count: first }]));
        }
        let count = &mut self.entry(dscp).count;
        count.packets += 1;
        count.bytes += u64::from(bytes);
    }

    fn entry(&mut self, dscp: u8) -> &mut Mark {
        let many = self.many.get_or_insert_with(Default::default);
        let at = many.iter().position(|mark| mark.dscp == dscp).unwrap_or_else(|| {
            many.push(Mark { dscp, ..Mark::default() });
            many.len() - 1
        });
        &mut many[at]
    }

    /// Whether this is the first time that `what` is counted of the mark.
    pub fn first_time(&mut self, dscp: u8, what: Counted) -> bool {
        let seen = match self.many {
            Some(_) => &mut self.entry(dscp).seen,
            None => &mut self.seen,
        };
        let is_first = *seen & what as u8 == 0;
        *seen |= what as u8;
        is_first
    }

    /// A packet that left its sender with `dscp` was seen again.
    pub fn matched(&mut self, dscp: u8) {
        match self.many {
            Some(_) => self.entry(dscp).count.matched += 1,
            None => self.matched = self.matched.saturating_add(1),
        }
    }

    /// A packet with `dscp` was seen nowhere else.
    pub fn unmatched(&mut self, dscp: u8) {
        match self.many {
            Some(_) => self.entry(dscp).count.unmatched += 1,
            None => self.unmatched = self.unmatched.saturating_add(1),
        }
    }

    /// Whether any packet was seen again at a later point.
    pub fn was_matched(&self) -> bool {
        self.matched > 0 || self.many.iter().flat_map(|many| many.iter()).any(|mark| mark.count.matched > 0)
    }

    /// The one mark, where there is but one; `total` as for `counts`.
    pub fn only(&self, total: (u64, u64)) -> Option<(u8, DscpCount)> {
        let count = DscpCount {
            packets: total.0,
            bytes: total.1,
            matched: u64::from(self.matched),
            unmatched: u64::from(self.unmatched),
        };
        (self.many.is_none() && total.0 > 0).then_some((self.only, count))
    }

    /// Marks with packets, ascending; `total` are the flow's packets and bytes.
    pub fn counts(&self, total: (u64, u64)) -> Vec<(u8, DscpCount)> {
        let Some(many) = &self.many else { return self.only(total).into_iter().collect() };
        let given = many.iter().filter(|mark| mark.count.packets > 0);
        let mut all: Vec<_> = given.map(|mark| (mark.dscp, mark.count)).collect();
        all.sort_unstable_by_key(|(mark, _)| *mark);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_keeps_every_mark_it_used() {
        let mut set = DscpSet::default();
        let mut total = (0, 0);
        for (mark, bytes) in [(46, 10), (0, 20), (46, 5), (63, 1), (8, 2), (0, 3)] {
            set.add(mark, bytes, total);
            set.matched(mark);
            total = (total.0 + 1, total.1 + u64::from(bytes));
        }
        let found: Vec<_> = set.counts(total).iter().map(|(m, c)| (*m, c.packets, c.bytes, c.matched)).collect();
        assert_eq!(found, [(0, 2, 23, 2), (8, 1, 2, 1), (46, 2, 15, 2), (63, 1, 1, 1)]);
    }

    #[test]
    fn a_flow_of_one_mark_needs_no_room_of_its_own() {
        let mut set = DscpSet::default();
        for packet in 0..3 {
            set.add(46, 100, (packet, packet * 100));
        }
        set.matched(46);
        set.unmatched(46);
        assert!(set.many.is_none());
        let count = DscpCount { packets: 3, bytes: 300, matched: 1, unmatched: 1 };
        assert_eq!(set.counts((3, 300)), [(46, count)]);
    }
}
