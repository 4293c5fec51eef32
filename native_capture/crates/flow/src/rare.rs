//! What few conversations have beside their record: signatures, troubles, several marks, and marks that other points showed as well.

use nc_decode::Packet;

use crate::dscp::{Counted, DscpCount, DscpSet};
use crate::flow::{Flow, Talk};
use crate::pool::Pool;
use crate::trouble::Trouble;

/// One of so many conversations may be in trouble.
const TROUBLED: usize = 4;

/// Handles, 0 for none: of a tally of signatures, of troubles, of marks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rare {
    pub found: u32,
    trouble: u32,
    marks: u32,
}

/// A record of handles stands in no conversation's way: there is room for all of them. So it is with marks.
pub(crate) struct Rares {
    handles: Pool<Rare>,
    troubles: Pool<Trouble>,
    marks: Pool<[DscpSet; 2]>,
}

impl Rares {
    /// `flows`: most conversations at once.
    pub fn new(flows: usize) -> Self {
        let troubles = Pool::new(flows / TROUBLED + 1);
        Self { handles: Pool::new(usize::MAX), troubles, marks: Pool::new(usize::MAX) }
    }

    /// Of the conversation, none when it has nothing rare.
    pub fn handles(&self, talk: &Talk) -> Rare {
        self.handles.get(talk.rare).copied().unwrap_or_default()
    }

    pub fn handles_mut(&mut self, talk: &mut Talk) -> Option<&mut Rare> {
        self.handles.of(&mut talk.rare)
    }

    /// The conversation is forgotten.
    pub fn release(&mut self, talk: &Talk) {
        let Rare { trouble, marks, .. } = self.handles(talk);
        self.troubles.release(trouble);
        self.marks.release(marks);
        self.handles.release(talk.rare);
    }

    /// Troubles that found no room.
    pub fn overflow(&self) -> u64 {
        self.troubles.overflow()
    }

    pub fn has_trouble(&self, talk: &Talk) -> bool {
        self.handles(talk).trouble != 0
    }

    pub fn trouble(&self, talk: &Talk) -> Option<&Trouble> {
        self.troubles.get(self.handles(talk).trouble)
    }

    pub fn trouble_mut(&mut self, talk: &Talk) -> Option<&mut Trouble> {
        let trouble = self.handles(talk).trouble;
        self.troubles.get_mut(trouble)
    }

    /// Its troubles, the first of them now; None (and one more overflow) when there is no room.
    pub fn new_trouble(&mut self, talk: &mut Talk) -> Option<&mut Trouble> {
        self.troubles.of(&mut self.handles.of(&mut talk.rare)?.trouble)
    }

    /// A packet of `way`, not yet counted, whose mark is not the one that the flow is known by: its first one, or one more.
    #[inline(never)]
    pub fn other_mark(&mut self, talk: &mut Talk, way: usize, packet: &Packet) {
        let flow = &mut talk.ways[way];
        let before = (flow.packets(), flow.bytes());
        if before.0 == 0 {
            flow.mark = packet.dscp;
        } else if let Some(set) = self.set_mut(talk, way) {
            set.add(packet.dscp, packet.frame_len, before);
            talk.ways[way].begin_several_marks();
        }
    }

    fn set(&self, talk: &Talk, way: usize) -> Option<&DscpSet> {
        Some(&self.marks.get(self.handles(talk).marks)?[way & 1])
    }

    /// The marks of a flow, beside it from now on.
    fn set_mut(&mut self, talk: &mut Talk, way: usize) -> Option<&mut DscpSet> {
        let sets = self.marks.of(&mut self.handles.of(&mut talk.rare)?.marks)?;
        let Flow { mark, seen, .. } = talk.ways[way & 1];
        Some(sets[way & 1].of_only(mark, seen))
    }

    /// Whether this is the first time that `what` is counted of the mark.
    pub fn first_time(&mut self, talk: &mut Talk, way: usize, dscp: u8, what: Counted) -> bool {
        if talk.ways[way & 1].has_several_marks() {
            return self.set_mut(talk, way).is_some_and(|set| set.first_time(dscp, what));
        }
        let seen = &mut talk.ways[way & 1].seen;
        let is_first = *seen & what as u8 == 0;
        *seen |= what as u8;
        is_first
    }

    /// A packet that left its sender with `dscp` was seen again.
    pub fn matched(&mut self, talk: &mut Talk, way: usize, dscp: u8) {
        self.set_mut(talk, way).into_iter().for_each(|set| set.matched(dscp));
    }

    /// A packet with `dscp` was seen nowhere else. Returns whether any other was seen again at a later point.
    pub fn unmatched(&mut self, talk: &mut Talk, way: usize, dscp: u8) -> bool {
        let Some(set) = self.set_mut(talk, way) else { return false };
        set.unmatched(dscp);
        set.was_matched()
    }

    /// The one mark, where there is but one; None where there are several, or no packets.
    #[inline]
    pub fn only_mark(&self, talk: &Talk, way: usize) -> Option<(u8, DscpCount)> {
        let flow = &talk.ways[way & 1];
        let total = (flow.packets(), flow.bytes());
        match if talk.rare == 0 { None } else { self.set(talk, way) } {
            Some(set) => set.clone().of_only(flow.mark, flow.seen).only(total),
            None => {
                let count = DscpCount { packets: total.0, bytes: total.1, ..DscpCount::default() };
                (total.0 > 0).then_some((flow.mark, count))
            }
        }
    }

    /// Packets and bytes of each mark, ascending.
    pub fn marks(&self, talk: &Talk, way: usize) -> Vec<(u8, DscpCount)> {
        let several = self.set(talk, way).filter(|_| talk.ways[way & 1].has_several_marks());
        match several {
            Some(set) => set.counts((0, 0)),
            None => self.only_mark(talk, way).into_iter().collect(),
        }
    }
}
