//! Memory for values that stay where they are: begun on a cache line, large ones on a large page.

// Beside `near.rs` the only unsafe code of this crate.
#![allow(unsafe_code)]

use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::ops::{Deref, DerefMut};
use std::ptr::{drop_in_place, slice_from_raw_parts_mut, NonNull};
use std::slice::{from_raw_parts, from_raw_parts_mut};

use crate::near::{fetch_at, in_large_pages, LARGE_PAGE, LINE};

/// Room for so many values, which come one after the other; what is not used of it costs nothing. Never moved, never copied.
pub(crate) struct Room<T> {
    first: NonNull<T>,
    used: usize,
    layout: Layout,
}

// SAFETY: it owns its values, as a Vec does.
unsafe impl<T: Send> Send for Room<T> {}
// SAFETY: shared, it gives away shared references only.
unsafe impl<T: Sync> Sync for Room<T> {}

impl<T> Room<T> {
    const SIZE: usize = {
        assert!(size_of::<T>() > 0, "no values without bytes");
        size_of::<T>()
    };

    /// `most`: values that find room, one at least.
    pub fn new(most: usize) -> Self {
        let bytes = most.max(1).saturating_mul(Self::SIZE);
        let align = if bytes >= LARGE_PAGE { LARGE_PAGE } else { LINE };
        let Ok(layout) = Layout::from_size_align(bytes, align.max(align_of::<T>())) else {
            handle_alloc_error(Layout::new::<T>())
        };
        // SAFETY: the layout has bytes, since `most` and the size of a value are not zero.
        let Some(first) = NonNull::new(unsafe { alloc(layout) }.cast::<T>()) else { handle_alloc_error(layout) };
        in_large_pages(first.as_ptr().cast(), bytes);
        Self { first, used: 0, layout }
    }

    /// False when it is full.
    #[inline]
    pub fn push(&mut self, value: T) -> bool {
        if (self.used + 1) * Self::SIZE > self.layout.size() {
            return false;
        }
        // SAFETY: the place lies within the allocation, and nothing stands there.
        unsafe { self.first.add(self.used).write(value) };
        self.used += 1;
        true
    }

    /// Bring near the place of the value that comes after so many others.
    #[inline]
    fn fetch_place(&self, others: usize) {
        fetch_at(self.first.as_ptr().wrapping_add(self.used + others));
    }
}

impl<T> Deref for Room<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: so many values were written, and nobody holds them otherwise.
        unsafe { from_raw_parts(self.first.as_ptr(), self.used) }
    }
}

impl<T> DerefMut for Room<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { from_raw_parts_mut(self.first.as_ptr(), self.used) }
    }
}

impl<T> Drop for Room<T> {
    fn drop(&mut self) {
        // SAFETY: the values are ours, and the allocation was made with this layout.
        unsafe {
            drop_in_place(slice_from_raw_parts_mut(self.first.as_ptr(), self.used));
            dealloc(self.first.as_ptr().cast(), self.layout);
        }
    }
}

/// Values in rooms of `PIECE`: growing copies nothing. The first room is a small one, for the little that small captures need.
pub(crate) struct Pieces<T, const PIECE: usize> {
    rooms: Vec<Room<T>>,
    used: usize,
}

/// Values of the first room.
const SMALL: usize = 1 << 11;
/// Values that come before the one whose place is brought near.
const SOON: usize = 2;

impl<T, const PIECE: usize> Pieces<T, PIECE> {
    pub const fn new() -> Self {
        Self { rooms: Vec::new(), used: 0 }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.used
    }

    #[inline]
    fn place(number: usize) -> (usize, usize) {
        match number.checked_sub(SMALL) {
            None => (0, number),
            Some(beyond) => (1 + beyond / PIECE, beyond % PIECE),
        }
    }

    #[inline]
    pub fn get(&self, number: usize) -> Option<&T> {
        let (room, place) = Self::place(number);
        self.rooms.get(room)?.get(place)
    }

    #[inline]
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let (room, place) = Self::place(number);
        self.rooms.get_mut(room)?.get_mut(place)
    }

    /// Its number is the length before. The place of one that comes soon is brought near: who writes a value reads it at once, which would
    /// wait for memory.
    pub fn push(&mut self, value: T) {
        let (room, _) = Self::place(self.used);
        if room == self.rooms.len() {
            self.rooms.push(Room::new(if room == 0 { SMALL } else { PIECE }));
        }
        self.used += usize::from(self.rooms[room].push(value));
        self.rooms[room].fetch_place(SOON);
    }

    /// In the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.rooms.iter().flat_map(|room| room.iter())
    }
}

impl<T, const PIECE: usize> std::ops::Index<usize> for Pieces<T, PIECE> {
    type Output = T;

    #[inline]
    fn index(&self, number: usize) -> &T {
        let (room, place) = Self::place(number);
        &self.rooms[room][place]
    }
}

impl<T, const PIECE: usize> std::ops::IndexMut<usize> for Pieces<T, PIECE> {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut T {
        let (room, place) = Self::place(number);
        &mut self.rooms[room][place]
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn values_stay_where_they_are_and_are_dropped_once() {
        let counted = Rc::new(());
        let mut pieces = Pieces::<(usize, Rc<()>), 4_096>::new();
        pieces.push((0, Rc::clone(&counted)));
        let first = std::ptr::from_ref(&pieces[0]);
        for number in 1..SMALL + 3 * 4_096 + 5 {
            pieces.push((number, Rc::clone(&counted)));
        }
        assert!(pieces.iter().enumerate().all(|(number, value)| value.0 == number && pieces[number].0 == number));
        assert_eq!((pieces.get(pieces.len()).is_none(), std::ptr::from_ref(&pieces[0])), (true, first));
        assert_eq!(Rc::strong_count(&counted), 1 + pieces.len());
        drop(pieces);
        assert_eq!(Rc::strong_count(&counted), 1);
    }

    #[test]
    fn a_room_begins_on_a_line_or_a_large_page_and_takes_no_more_than_it_has() {
        for (most, align) in [(1, LINE), (100, LINE), (LARGE_PAGE / 8, LARGE_PAGE)] {
            let mut room = Room::new(most);
            assert_eq!(room.first.as_ptr() as usize % align, 0);
            assert!((0..most as u64).all(|value| room.push(value)) && !room.push(0));
            assert!(room.iter().enumerate().all(|(at, value)| at as u64 == *value));
        }
    }
}
