//! What a capture says of itself: the packets that it lost, and lengths that cannot be.

/// Packets that never came into the capture. None: the capture does not say.
///
/// `received`, `interface`, `system`: of Interface Statistics Blocks (isb_ifrecv, isb_ifdrop, isb_osdrop: since the beginning of the
/// capture). `before`: lost before packets that are there (epb_dropcount, drops count of the obsolete Packet Block: by interface and
/// system together). `dropped`: of each interface the larger of both tellings, for they count the same losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    pub received: Option<u64>,
    pub interface: Option<u64>,
    pub system: Option<u64>,
    pub before: Option<u64>,
    pub dropped: Option<u64>,
}

impl Drops {
    /// Both together; what one of them does not say is no part of the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            received: sum(self.received, other.received),
            interface: sum(self.interface, other.interface),
            system: sum(self.system, other.system),
            before: sum(self.before, other.before),
            dropped: sum(self.dropped, other.dropped),
        }
    }

    /// Of one interface, whose `dropped` follows from the rest.
    pub(crate) fn settled(self) -> Self {
        Self { dropped: sum(self.interface, self.system).max(self.before), ..self }
    }
}

pub(crate) fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        _ => one.or(other),
    }
}

/// Frames whose length on the wire cannot be: `below_captured` is less than what was captured of them, `beyond_links` more than any
/// link carries. Both are taken to be as long as what was captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    pub below_captured: u64,
    pub beyond_links: u64,
}

/// No frame is longer: BIG TCP merges segments to 512 KiB (Linux GSO_MAX_SIZE), and no link carries more at once.
const LONGEST: u32 = 1 << 20;

impl Lengths {
    /// The length to believe of a frame said to have `wire` bytes, of which `captured` are there.
    #[inline]
    pub(crate) fn believe(&mut self, wire: u32, captured: u32) -> u32 {
        // Below zero is far above the limit, too.
        if wire.wrapping_sub(captured) <= LONGEST {
            return wire;
        }
        self.refuse(wire, captured);
        captured
    }

    #[cold]
    fn refuse(&mut self, wire: u32, captured: u32) {
        if wire < captured {
            self.below_captured += 1;
        } else {
            self.beyond_links += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lengths_that_can_be_are_believed() {
        let mut lengths = Lengths::default();
        let found = [(60, 60), (1_514, 96), (0, 60), (59, 60), (LONGEST + 60, 60), (LONGEST + 61, 60), (u32::MAX, 0)]
            .map(|(wire, captured)| lengths.believe(wire, captured));
        assert_eq!(found, [60, 1_514, 60, 60, LONGEST + 60, 60, 0]);
        assert_eq!(lengths, Lengths { below_captured: 2, beyond_links: 2 });
    }

    #[test]
    fn the_same_losses_told_twice_count_once() {
        let told = Drops { interface: Some(3), system: Some(4), before: Some(5), ..Drops::default() };
        assert_eq!(told.settled().dropped, Some(7));
        assert_eq!(Drops { before: Some(9), ..told }.settled().dropped, Some(9));
        assert_eq!(Drops::default().settled().dropped, None);
        assert_eq!(told.settled().plus(Drops::default()).plus(told.settled()).dropped, Some(14));
    }
}
