//! Records that few flows need, beside the flow table: reached by handle, bounded, given back when the conversation is forgotten.

use crate::near;
use crate::room::Pieces;

/// Records in pieces of this many, as in the flow table.
const PIECE: usize = 1 << 18;

/// Handle 0 is none.
pub(crate) struct Pool<T> {
    pieces: Pieces<T, PIECE>,
    free: Vec<u32>,
    room: usize,
    overflow: u64,
}

impl<T: Default> Pool<T> {
    /// `room`: most records at once.
    pub fn new(room: usize) -> Self {
        Self { pieces: Pieces::new(), free: Vec::new(), room, overflow: 0 }
    }

    /// The record of `handle`, or a new one whose handle is put there; None (and one more overflow) when there is no room.
    pub fn of(&mut self, handle: &mut u32) -> Option<&mut T> {
        if *handle == 0 {
            *handle = self.begin();
        }
        let found = at(*handle).and_then(|number| self.pieces.get_mut(number));
        if found.is_none() {
            self.overflow += 1;
        }
        found
    }

    #[cold]
    fn begin(&mut self) -> u32 {
        if let Some(handle) = self.free.pop() {
            return handle;
        }
        if self.pieces.len() >= self.room {
            return 0;
        }
        self.pieces.push(T::default());
        self.pieces.len() as u32
    }

    pub fn get(&self, handle: u32) -> Option<&T> {
        self.pieces.get(at(handle)?)
    }

    /// Bring the record of `handle` near.
    #[inline]
    pub fn fetch(&self, handle: u32) {
        if let Some(record) = self.get(handle) {
            near::fetch(record);
        }
    }

    pub fn get_mut(&mut self, handle: u32) -> Option<&mut T> {
        self.pieces.get_mut(at(handle)?)
    }

    /// The conversation is forgotten.
    pub fn release(&mut self, handle: u32) {
        if let Some(record) = self.get_mut(handle) {
            *record = T::default();
            self.free.push(handle);
        }
    }

    /// Events that found no record and no room for one.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }
}

fn at(handle: u32) -> Option<usize> {
    Some(handle.checked_sub(1)? as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted_and_a_record_given_back_is_new_again() {
        let mut pool = Pool::<u64>::new(2);
        let mut handles = [0; 3];
        for (number, handle) in handles.iter_mut().enumerate() {
            if let Some(record) = pool.of(handle) {
                *record += 10 + number as u64;
            }
        }
        assert_eq!((handles, pool.overflow()), ([1, 2, 0], 1));
        pool.release(1);
        assert_eq!(pool.of(&mut handles[2]).copied(), Some(0));
        assert_eq!((handles[2], pool.get(2).copied(), pool.get(0)), (1, Some(11), None));
    }
}
