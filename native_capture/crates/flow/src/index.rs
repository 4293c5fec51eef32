//! Hash to record number: flat, open addressing, eight bytes a slot. The records themselves hold the keys.

use crate::near::{fetch, LARGE_PAGE};
use crate::room::Room;

const EMPTY: u32 = u32::MAX;
const FIRST: usize = 1 << 10;

#[derive(Clone, Copy)]
#[repr(align(8))]
struct Slot {
    tag: u32,
    number: u32,
}

/// At most three quarters full: small, since looking something up misses the caches and the translation of addresses. A number may stand in it once.
pub(crate) struct Index {
    slots: Room<Slot>,
    used: usize,
}

impl Index {
    pub fn new() -> Self {
        Self { slots: empty(FIRST), used: 0 }
    }

    pub fn len(&self) -> usize {
        self.used
    }

    fn home(&self, tag: u32) -> usize {
        // the low bits choose the slot, all of them tell keys apart
        tag as usize & (self.slots.len() - 1)
    }

    /// The first number under `tag` that `is_it` accepts.
    #[inline]
    pub fn find(&self, tag: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = self.home(tag);
        loop {
            let slot = self.slots[at];
            if slot.number == EMPTY {
                return None;
            }
            if slot.tag == tag && is_it(slot.number) {
                return Some(slot.number);
            }
            at = (at + 1) & mask;
        }
    }

    pub fn insert(&mut self, tag: u32, number: u32) {
        if (self.used + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        self.used += 1;
        self.put(Slot { tag, number });
    }

    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = self.home(slot.tag);
        while self.slots[at].number != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// Fourfold while it is small, which touches little memory that is given up again.
    fn grow(&mut self) {
        let few = size_of::<Slot>() * self.slots.len() < LARGE_PAGE / 2;
        let wider = empty(self.slots.len() * if few { 4 } else { 2 });
        for slot in std::mem::replace(&mut self.slots, wider).iter().copied() {
            if slot.number != EMPTY {
                self.put(slot);
            }
        }
    }

    /// Take `number` out; those behind it move up, so that no search ends too early (Knuth, 6.4, algorithm R).
    pub fn remove(&mut self, tag: u32, number: u32) {
        let mask = self.slots.len() - 1;
        let mut hole = self.home(tag);
        while self.slots[hole].number != number {
            if self.slots[hole].number == EMPTY {
                return;
            }
            hole = (hole + 1) & mask;
        }
        self.used -= 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let slot = self.slots[at];
            if slot.number == EMPTY {
                break;
            }
            let from_home = at.wrapping_sub(self.home(slot.tag)) & mask;
            if from_home >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole].number = EMPTY;
    }

    /// Bring the slot of `tag` near.
    #[inline]
    pub fn fetch(&self, tag: u32) {
        fetch(&self.slots[self.home(tag)]);
    }
}

fn empty(slots: usize) -> Room<Slot> {
    let mut empty = Room::new(slots);
    while empty.push(Slot { tag: 0, number: EMPTY }) {}
    empty
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn it_holds_what_a_map_holds_whatever_comes_and_goes() {
        let (mut index, mut map) = (Index::new(), HashMap::new());
        let mut state = 7_u64;
        for step in 0..200_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (state >> 40) as u32 % 5_000;
            let tag = key.wrapping_mul(0x9e37_79b9) & 0xfff; // many keys share a tag
            match map.remove(&key) {
                Some(number) => index.remove(tag, number),
                None => {
                    index.insert(tag, step);
                    map.insert(key, step);
                }
            }
            let probe = (state >> 20) as u32 % 5_000;
            let tag = probe.wrapping_mul(0x9e37_79b9) & 0xfff;
            let expected = map.get(&probe).copied();
            assert_eq!(index.find(tag, |number| Some(number) == expected), expected);
            assert_eq!(index.len(), map.len());
        }
    }
}
