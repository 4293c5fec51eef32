//! A large segment that is sent again and again while small ones get through: it does not fit the way, and nobody tells its sender.

use nc_decode::Packet;

use crate::flow::Flow;
use crate::tcp::{known, TcpEvent};

/// The same packet so many times again, and nothing newer: it does not get through.
pub const STUCK_ROUNDS: u32 = 3;
/// Frames up to here pass everywhere where IPv6 does (RFC 8200, 5: 1280 bytes, with an Ethernet header).
pub const PASSES_EVERYWHERE: u32 = 1_294;
/// Frames beyond jumbo frames were not cut into segments yet: what their size on the wire is, nobody knows.
const LONGEST: u32 = 9_234;
/// Copies of a mirror come at once; a sender waits before it sends once more (RFC 6298, 2.4: 1 s; Linux: 200 ms at least).
const WAIT_NS: u64 = 100_000_000;
/// So many duplicate acknowledgements in a row at most: with more, large segments behind this one arrive, and it was lost by chance
/// (RFC 5681, 3.2: three ask for it; one more for the probe of RFC 8985, 7).
const FEW: u32 = 3;

/// The first segment that its receiver waits for. `rounds`: how often it was sent again, between `first_ns` and `last_ns`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stuck {
    seq: u32,
    len: u32,
    rounds: u8,
    first_ns: u64,
    last_ns: u64,
}

impl Stuck {
    /// One more of `mine` is sent again; `run`: duplicate acknowledgements in a row of the other end.
    pub fn again(&mut self, packet: &Packet, mine: &Flow, theirs: &Flow, run: u32, event: &mut TcpEvent) {
        let waits_for = |seq| theirs.tcp.has(known::ACKED) && theirs.tcp.acked == seq;
        if !waits_for(packet.seq) || !self.counts(packet) {
            return;
        }
        let is_large = (PASSES_EVERYWHERE + 1..=LONGEST).contains(&packet.frame_len);
        if !is_large || u32::from(self.rounds) < STUCK_ROUNDS || theirs.tcp.window == 0 {
            return;
        }
        // Less than one such segment was ever acknowledged: none as large got through. And the other end is there.
        let acked = packet.seq.wrapping_sub(mine.tcp.isn).wrapping_sub(1);
        let none_as_large = mine.tcp.has(known::ISN) && acked < packet.payload_len;
        let small_ones_pass = run > 0 || theirs.last_ns >= self.first_ns;
        event.stuck(self.rounds, none_as_large && small_ones_pass && run <= FEW);
    }

    /// Whether this is a further round, or the first of another segment.
    fn counts(&mut self, packet: &Packet) -> bool {
        if (self.seq, self.len) != (packet.seq, packet.payload_len) || self.rounds == 0 {
            let (first_ns, last_ns) = (packet.ts_ns, packet.ts_ns);
            *self = Self { seq: packet.seq, len: packet.payload_len, rounds: 1, first_ns, last_ns };
            return true;
        }
        let is_later = packet.ts_ns.saturating_sub(self.last_ns) >= WAIT_NS;
        if is_later {
            self.rounds = self.rounds.saturating_add(1);
            self.last_ns = packet.ts_ns;
        }
        is_later
    }
}
