//! Packet sequence numbers of one stream of RoCE packets: 24 bits, compared modulo 2^24 (IBA volume 1, 9.7.1).

/// A jump farther than this, in either direction, is another connection on the same queue pair.
const FAR: i32 = 1 << 16;
/// Gaps remembered, so that a packet that comes late is told from one that was sent twice.
const HOLES: usize = 4;
const MASK: u32 = 0x00ff_ffff;

/// Where a packet stands. `Gap`: so many before it were not seen; `Filled`: it belongs into an earlier gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Psn {
    /// Not part of a sequence.
    None,
    Next,
    Gap(u32),
    Filled,
    Repeated,
}

/// `missing`: numbers that were jumped over; `filled`: of these, seen later; `repeated`: numbers seen before; `restarts`: jumps
/// that no connection makes. `is_open`: the caller's, about the message that goes on.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Stream {
    pub packets: u64,
    span: u64,
    next: u32,
    pub is_open: bool,
    pub gaps: u64,
    pub missing: u64,
    pub filled: u64,
    pub repeated: u64,
    pub restarts: u64,
    holes: [(u32, u32); HOLES],
}

impl Stream {
    /// `free`: this packet may jump ahead without leaving a gap.
    #[inline]
    pub fn place(&mut self, psn: u32, free: bool) -> Psn {
        self.packets += 1;
        match psn == self.next {
            true => self.step(psn),
            false => self.jump(psn, free),
        }
    }

    #[inline(never)]
    fn jump(&mut self, psn: u32, free: bool) -> Psn {
        let ahead = distance(psn, self.next);
        if self.packets == 1 || ahead.abs() > FAR {
            self.restarts += u64::from(self.packets > 1);
            (self.holes, self.span) = (Default::default(), 0);
            self.next = psn;
            return self.step(psn);
        }
        match ahead {
            1.. if free => self.step(psn),
            1.. => {
                let missed = ahead as u32;
                self.gaps += 1;
                self.missing += u64::from(missed);
                self.holes.rotate_right(1);
                self.holes[0] = (self.next, missed);
                self.step(psn);
                Psn::Gap(missed)
            }
            _ if self.fill(psn) => {
                self.filled += 1;
                Psn::Filled
            }
            _ => {
                self.repeated += 1;
                Psn::Repeated
            }
        }
    }

    #[inline]
    fn step(&mut self, psn: u32) -> Psn {
        self.span += 1 + u64::from(psn.wrapping_sub(self.next) & MASK);
        self.next = psn.wrapping_add(1) & MASK;
        Psn::Next
    }

    /// Take a number out of the gap that holds it. Gaps fill from their beginning; what comes from the middle splits none, its
    /// beginning is given up.
    fn fill(&mut self, psn: u32) -> bool {
        for (start, length) in &mut self.holes {
            let at = distance(psn, *start);
            if at >= 0 && (at as u32) < *length {
                *length -= at as u32 + 1;
                *start = psn.wrapping_add(1) & MASK;
                return true;
            }
        }
        false
    }

    /// How far `psn` lies behind the newest number; None before the first packet.
    pub fn behind(&self, psn: u32) -> Option<i32> {
        (self.packets > 0).then(|| distance(self.next, psn) - 1)
    }

    /// How many numbers this connection has used so far.
    pub fn span(&self) -> u64 {
        self.span
    }
}

/// a - b as a signed number of 24 bits.
fn distance(a: u32, b: u32) -> i32 {
    (a.wrapping_sub(b) << 8) as i32 >> 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(numbers: &[u32]) -> (Vec<Psn>, Stream) {
        let mut stream = Stream::default();
        let found = numbers.iter().map(|psn| stream.place(*psn, false)).collect();
        (found, stream)
    }

    #[test]
    fn numbers_wrap_at_24_bits() {
        let (found, stream) = run(&[MASK - 1, MASK, 0, 2, MASK]);
        assert_eq!(found, [Psn::Next, Psn::Next, Psn::Next, Psn::Gap(1), Psn::Repeated]);
        assert_eq!(stream.behind(2), Some(0));
        assert_eq!(stream.behind(MASK), Some(3));
    }

    #[test]
    fn going_back_fills_what_was_lost_and_repeats_the_rest() {
        let (found, stream) = run(&[10, 11, 14, 15, 12, 13, 14, 15, 16]);
        use Psn::{Filled, Gap, Next, Repeated};
        assert_eq!(found, [Next, Next, Gap(2), Next, Filled, Filled, Repeated, Repeated, Next]);
        assert_eq!((stream.missing, stream.filled, stream.repeated, stream.gaps), (2, 2, 2, 1));
    }

    #[test]
    fn a_jump_that_no_connection_makes_begins_anew() {
        let (found, stream) = run(&[10, 10 + (1 << 20), 11 + (1 << 20)]);
        assert_eq!(found, [Psn::Next; 3]);
        assert_eq!((stream.restarts, stream.missing), (1, 0));
    }
}
