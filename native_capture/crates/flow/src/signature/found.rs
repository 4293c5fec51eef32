//! Sightings of conversations: beside the flow table, for the few that show any.

use crate::pool::Pool;

/// Different signatures kept of one conversation.
const KINDS: usize = 6;
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
pub struct Found {
    tallies: Pool<Tally>,
    full: u64,
}

impl Default for Found {
    fn default() -> Self {
        Self { tallies: Pool::new(ROOM), full: 0 }
    }
}

impl Found {
    /// One more sighting for the tally `handle`, or a new one whose handle is put there.
    pub fn add(&mut self, handle: &mut u32, number: u8) {
        let kept = self.tallies.of(handle).is_none_or(|tally| tally.add(number));
        self.full += u64::from(!kept);
    }

    /// As `add`, in a tally that has something.
    pub fn add_beside(&mut self, handle: u32, number: u8) {
        if handle != 0 {
            self.add(&mut { handle }, number);
        }
    }

    pub fn get(&self, handle: u32) -> Tally {
        self.tallies.get(handle).copied().unwrap_or_default()
    }

    /// The conversation is forgotten.
    pub fn release(&mut self, handle: u32) {
        self.tallies.release(handle);
    }

    /// Sightings that found no room.
    pub fn overflow(&self) -> u64 {
        self.full + self.tallies.overflow()
    }
}
