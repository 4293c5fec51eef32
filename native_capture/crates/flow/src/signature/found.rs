//! Sightings of conversations: beside the flow table, for the few that show any.

/// Different signatures kept of one conversation.
const KINDS: usize = 4;
/// Conversations with sightings at once.
const ROOM: usize = 1 << 18;

/// Signature numbers and how many packets showed them; number 0 is an empty place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally([(u8, u32); KINDS]);

impl IntoIterator for Tally {
    type Item = (u8, u32);
    type IntoIter = std::iter::Filter<std::array::IntoIter<(u8, u32), KINDS>, fn(&(u8, u32)) -> bool>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().filter(|(number, _)| *number != 0)
    }
}

impl Tally {
    /// False when no place is left for another signature.
    fn add(&mut self, number: u8) -> bool {
        let Some((known, packets)) = self.0.iter_mut().find(|(known, _)| matches!(*known, 0) || *known == number)
        else {
            return false;
        };
        *known = number;
        *packets = packets.saturating_add(1);
        true
    }
}

/// Tallies by handle; handle 0 is none.
#[derive(Default)]
pub struct Found {
    tallies: Vec<Tally>,
    free: Vec<u32>,
    overflow: u64,
}

impl Found {
    /// One more sighting for the tally `handle`, or a new one; returns the handle from now on.
    pub fn add(&mut self, handle: u32, number: u8) -> u32 {
        let handle = if handle == 0 { self.begin() } else { handle };
        let kept = self.tallies.get_mut((handle as usize).wrapping_sub(1)).is_some_and(|tally| tally.add(number));
        self.overflow += u64::from(!kept);
        handle
    }

    fn begin(&mut self) -> u32 {
        if let Some(handle) = self.free.pop() {
            return handle;
        }
        if self.tallies.len() >= ROOM {
            return 0;
        }
        self.tallies.push(Tally::default());
        self.tallies.len() as u32
    }

    pub fn get(&self, handle: u32) -> Tally {
        self.tallies.get((handle as usize).wrapping_sub(1)).copied().unwrap_or_default()
    }

    /// The conversation is forgotten.
    pub fn release(&mut self, handle: u32) {
        if let Some(tally) = self.tallies.get_mut((handle as usize).wrapping_sub(1)) {
            *tally = Tally::default();
            self.free.push(handle);
        }
    }

    /// Sightings that found no room.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }
}
