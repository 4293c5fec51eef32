//! TCP health of one direction, by the counting rules of the contract.

use nc_decode::{tcp_flag, Packet};

/// All zero for what is not TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    pub data_segments: u64,
    pub retransmitted: u64,
    pub syn_retransmitted: u64,
    pub fin_retransmitted: u64,
    pub zero_window: u64,
}

/// What one segment counts as, a bit each: [`TcpEvent::default`] is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpEvent(u32);

impl TcpEvent {
    pub const DATA: u32 = 1;
    pub const RETRANSMITTED: u32 = 2;
    pub const SYN_RETRANSMITTED: u32 = 4;
    pub const FIN_RETRANSMITTED: u32 = 8;
    pub const ZERO_WINDOW: u32 = 16;
    /// What [`TcpCounts`] counts.
    pub const COUNTED: u32 = 31;
    /// A large segment was sent again, for the third time or more, and the other end waits for it: [`crate::stuck`].
    pub const STUCK: u32 = 32;
    /// And small ones get through, of which none was as large.
    pub const VANISHES: u32 = 64;
    /// No segment, but what a router says of one that was too large.
    pub const TOO_BIG: u32 = 128;
    const ROUNDS: u32 = 24;

    /// How often the segment was sent again, of one that is stuck.
    pub fn rounds(self) -> u32 {
        self.0 >> Self::ROUNDS
    }

    pub(crate) fn stuck(&mut self, rounds: u8, vanishes: bool) {
        self.0 |= Self::STUCK | if vanishes { Self::VANISHES } else { 0 } | u32::from(rounds) << Self::ROUNDS;
    }

    pub(crate) fn too_big() -> Self {
        Self(Self::TOO_BIG)
    }

    #[inline]
    fn note(&mut self, what: u32, is_so: bool) {
        self.0 |= if is_so { what } else { 0 };
    }

    #[inline]
    pub fn is(self, what: u32) -> bool {
        self.0 & what != 0
    }
}

impl TcpCounts {
    pub fn merge(&mut self, other: &Self) {
        self.data_segments += other.data_segments;
        self.retransmitted += other.retransmitted;
        self.syn_retransmitted += other.syn_retransmitted;
        self.fin_retransmitted += other.fin_retransmitted;
        self.zero_window += other.zero_window;
    }

    #[inline]
    pub fn add(&mut self, event: TcpEvent) {
        self.data_segments += u64::from(event.is(TcpEvent::DATA));
        if event.0 <= TcpEvent::DATA {
            return; // as nearly all are
        }
        self.retransmitted += u64::from(event.is(TcpEvent::RETRANSMITTED));
        self.syn_retransmitted += u64::from(event.is(TcpEvent::SYN_RETRANSMITTED));
        self.fin_retransmitted += u64::from(event.is(TcpEvent::FIN_RETRANSMITTED));
        self.zero_window += u64::from(event.is(TcpEvent::ZERO_WINDOW));
    }
}

/// What is known of a direction.
pub(crate) mod known {
    pub const HIGHEST: u8 = 1;
    pub const ISN: u8 = 2;
    pub const FIN: u8 = 4;
    pub const ACKED: u8 = 8;
    /// A segment is being timed.
    pub const TIMED: u8 = 16;
    /// And it is the SYN.
    pub const SYN: u8 = 32;
    /// The client's question waits for an answer.
    pub const ASKED: u8 = 64;
    /// The last acknowledgement was a repeated one.
    pub const REPEATS: u8 = 128;
}

/// Sequence state of one direction of one connection. Sequence numbers are compared modulo 2^32 (RFC 9293, 3.4).
/// `acked`: the highest acknowledgement sent, `window`: the last one offered, `resets`: sent, 255 at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpDirection {
    pub(crate) highest: u32,
    pub(crate) isn: u32,
    fin: u32,
    pub(crate) acked: u32,
    pub(crate) window: u16,
    known: u8,
    pub(crate) resets: u8,
}

impl TcpDirection {
    /// Account one segment, in the order seen.
    ///
    /// Retransmitted: data whose end does not go beyond the highest end seen. A SYN with the same initial number is
    /// repeated, with another it begins a new connection. A FIN seen before is repeated. A zero window counts without
    /// SYN, FIN and RST.
    #[inline]
    pub fn observe(&mut self, packet: &Packet) -> TcpEvent {
        let flags = packet.tcp_flags;
        let mut event = TcpEvent::default();
        let mut first = packet.seq;
        if flags & tcp_flag::SYN != 0 {
            event.note(TcpEvent::SYN_RETRANSMITTED, self.has(known::ISN) && self.isn == packet.seq);
            first = first.wrapping_add(1);
            if !event.is(TcpEvent::SYN_RETRANSMITTED) {
                *self = Self { isn: packet.seq, highest: first, resets: self.resets, ..Self::default() };
                self.know(known::ISN | known::HIGHEST);
            }
        }
        let end = first.wrapping_add(packet.payload_len);
        if packet.payload_len > 0 {
            event.note(TcpEvent::DATA, true);
            event.note(TcpEvent::RETRANSMITTED, self.has(known::HIGHEST) && !after(end, self.highest));
            if !event.is(TcpEvent::RETRANSMITTED) {
                self.highest = end;
                self.know(known::HIGHEST);
            }
        }
        if flags & tcp_flag::FIN != 0 {
            event.note(TcpEvent::FIN_RETRANSMITTED, self.has(known::FIN) && self.fin == end);
            self.fin = end;
            self.know(known::FIN);
        }
        let control = tcp_flag::SYN | tcp_flag::FIN | tcp_flag::RST;
        event.note(TcpEvent::ZERO_WINDOW, packet.window == 0 && flags & control == 0);
        event
    }

    #[inline]
    pub(crate) fn has(&self, what: u8) -> bool {
        self.known & what == what
    }

    #[inline]
    pub(crate) fn know(&mut self, what: u8) {
        self.known |= what;
    }

    #[inline]
    pub(crate) fn forget(&mut self, what: u8) {
        self.known &= !what;
    }

    /// Of what is not TCP: the RDMA flow of its last packet, a guess until it is compared.
    #[inline]
    pub(crate) fn qp(&self) -> u32 {
        self.fin
    }

    pub(crate) fn set_qp(&mut self, number: u32) {
        self.fin = number;
    }

    /// Data was sent beyond `ack`.
    #[inline]
    pub(crate) fn awaits(&self, ack: u32) -> bool {
        self.has(known::HIGHEST) && after(self.highest, ack)
    }
}

pub(crate) fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u32, payload_len: u32, tcp_flags: u8) -> Packet {
        Packet { seq, payload_len, tcp_flags, window: 1, proto: 6, has_transport: true, ..Packet::default() }
    }

    fn count(segments: &[Packet]) -> TcpCounts {
        let (mut direction, mut counts) = (TcpDirection::default(), TcpCounts::default());
        for segment in segments {
            counts.add(direction.observe(segment));
        }
        counts
    }

    #[test]
    fn data_that_ends_at_or_below_the_highest_end_is_retransmitted() {
        let counts = count(&[segment(100, 50, 0), segment(150, 50, 0), segment(150, 50, 0), segment(100, 60, 0)]);
        assert_eq!((counts.data_segments, counts.retransmitted), (4, 2));
    }

    #[test]
    fn a_segment_that_overlaps_but_goes_further_is_new() {
        assert_eq!(count(&[segment(100, 50, 0), segment(120, 50, 0)]).retransmitted, 0);
    }

    #[test]
    fn sequence_numbers_wrap() {
        let near = u32::MAX - 10;
        assert_eq!(count(&[segment(near, 50, 0), segment(near.wrapping_add(50), 5, 0)]).retransmitted, 0);
        assert_eq!(count(&[segment(near, 50, 0), segment(near, 50, 0)]).retransmitted, 1);
    }

    #[test]
    fn the_same_initial_number_again_is_a_repeated_syn_another_a_new_connection() {
        let syn = |seq| segment(seq, 0, tcp_flag::SYN);
        let counts = count(&[syn(9), syn(9), segment(10, 1_000, 0), syn(5_000_000), segment(5_000_001, 10, 0)]);
        assert_eq!((counts.syn_retransmitted, counts.retransmitted), (1, 0));
        assert_eq!(count(&[syn(9), segment(10, 1_000, 0), syn(3), segment(4, 10, 0)]).retransmitted, 0);
    }

    #[test]
    fn a_syn_that_comes_once_more_after_the_fin_is_repeated_all_the_same() {
        let syn = segment(9, 0, tcp_flag::SYN);
        let counts = count(&[syn, segment(10, 0, tcp_flag::FIN), syn]);
        assert_eq!((counts.syn_retransmitted, counts.fin_retransmitted), (1, 0));
    }

    #[test]
    fn a_fin_seen_before_is_repeated_also_with_data() {
        let fin = segment(100, 0, tcp_flag::FIN | tcp_flag::ACK);
        assert_eq!(count(&[fin, fin, fin]).fin_retransmitted, 2);
        let with_data = segment(50, 50, tcp_flag::FIN);
        let counts = count(&[with_data, with_data, segment(100, 0, tcp_flag::FIN)]);
        assert_eq!((counts.fin_retransmitted, counts.retransmitted), (2, 1));
    }

    #[test]
    fn a_zero_window_counts_only_without_syn_fin_rst() {
        let zero = |flags| Packet { window: 0, ..segment(1, 0, flags) };
        assert_eq!(count(&[zero(tcp_flag::ACK), zero(tcp_flag::RST), zero(tcp_flag::FIN)]).zero_window, 1);
    }
}
