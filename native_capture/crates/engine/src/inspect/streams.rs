//! TCP conversations of one capture: is the other direction there, and is there data that was acknowledged but never seen?

use std::collections::HashMap;

use nc_decode::{tcp_flag, Packet, NO_PCP};
use nc_flow::{FlowKey, KeyedState};
use serde::Serialize;

/// Most conversations looked at, and most gaps remembered of one direction.
const MOST: usize = 1 << 18;
const GAPS: usize = 16;
/// Conversations shorter than this say nothing about their other direction.
const LEAST_PACKETS: u64 = 4;

/// `conversations`: of TCP with four packets or more. `one_way`: of these without a packet of the other direction although it is
/// acknowledged. `mixed_tags`: tagged one way only. `segments`, `bytes`: of data. `gaps`: holes in the sequence; `unseen`, `unseen_bytes`:
/// of these, that the receiver acknowledged although the data never passed here: the network delivered it, the mirror did not.
#[derive(Default, Serialize)]
pub(super) struct Streams {
    conversations: u64,
    one_way: u64,
    mixed_tags: u64,
    segments: u64,
    bytes: u64,
    gaps: u64,
    unseen: u64,
    unseen_bytes: u64,
    others: u64,
    #[serde(skip)]
    ways: HashMap<FlowKey, Way, KeyedState>,
}

#[derive(Default)]
struct Way {
    packets: u64,
    tagged: u64,
    acks: u64,
    next: Option<u32>,
    gaps: Vec<(u32, u32)>,
}

/// Whether `a` stands before `b` in the sequence space (RFC 9293, 3.4).
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Way {
    /// Holes that this segment opens.
    fn data(&mut self, from: u32, to: u32) -> u64 {
        let Some(next) = self.next else {
            self.next = Some(to);
            return 0;
        };
        if before(next, from) {
            self.next = Some(to);
            if self.gaps.len() < GAPS {
                self.gaps.push((next, from));
                return 1;
            }
            return 0;
        }
        if self.gaps.iter().any(|gap| before(gap.0, to) && before(from, gap.1)) {
            let rest = |gap: &(u32, u32)| match before(gap.0, to) && before(from, gap.1) {
                true => [(gap.0, from), (to, gap.1)],
                false => [*gap, (0, 0)],
            };
            self.gaps = self.gaps.iter().flat_map(rest).filter(|gap| before(gap.0, gap.1)).collect();
        }
        if before(next, to) {
            self.next = Some(to);
        }
        0
    }

    /// Bytes acknowledged of holes, and how many holes.
    fn acknowledged(&mut self, ack: u32) -> (u64, u64) {
        let mut unseen = (0, 0);
        self.gaps.retain(|(from, to)| {
            let told = !before(ack, *to);
            if told {
                unseen = (unseen.0 + 1, unseen.1 + u64::from(to.wrapping_sub(*from)));
            }
            !told
        });
        unseen
    }
}

impl Streams {
    pub fn count(&mut self, packet: &Packet) {
        if !packet.is_tcp() {
            return;
        }
        let key = FlowKey { vlan: 0, ..FlowKey::of(packet, 0, (packet.sport, packet.dport)) };
        if self.ways.len() >= MOST && !self.ways.contains_key(&key) {
            self.others += 1;
            return;
        }
        let has = |flag: u8| packet.tcp_flags & flag != 0;
        let way = self.ways.entry(key).or_default();
        way.packets += 1;
        way.tagged += u64::from(packet.pcp != NO_PCP);
        way.acks += u64::from(has(tcp_flag::ACK));
        if has(tcp_flag::RST) {
            return;
        }
        let takes = u32::from(has(tcp_flag::SYN)) + u32::from(has(tcp_flag::FIN));
        if has(tcp_flag::SYN) {
            (way.next, way.gaps) = (None, Vec::new());
        }
        if packet.payload_len + takes > 0 {
            let end = packet.seq.wrapping_add(packet.payload_len + takes);
            self.segments += u64::from(packet.payload_len > 0);
            self.bytes += u64::from(packet.payload_len);
            self.gaps += way.data(packet.seq, end);
        }
        if has(tcp_flag::ACK) {
            if let Some(other) = self.ways.get_mut(&key.reversed()) {
                let (holes, bytes) = other.acknowledged(packet.ack);
                self.unseen += holes;
                self.unseen_bytes += bytes;
            }
        }
    }

    pub fn finish(&mut self) {
        for (key, way) in &self.ways {
            let back = self.ways.get(&key.reversed());
            let is_counted = back.is_none() || (key.src, key.sport) < (key.dst, key.dport);
            if !is_counted || way.packets + back.map_or(0, |back| back.packets) < LEAST_PACKETS {
                continue;
            }
            self.conversations += 1;
            self.one_way += u64::from(back.is_none() && way.acks >= LEAST_PACKETS / 2);
            self.mixed_tags += u64::from(back.is_some_and(|back| (back.tagged > 0) != (way.tagged > 0)));
        }
    }
}
