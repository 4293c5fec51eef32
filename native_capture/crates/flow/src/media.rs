//! RTP streams (RFC 3550): known by two packets in a row with one source and the next number; then loss (A.3) and jitter (A.8).

use std::collections::HashMap;

use nc_decode::Packet;

use crate::flow::Talk;
use crate::key::{FlowKey, KeyedState};
use crate::pool::Pool;
use crate::tcp::{known, TcpDirection};

/// One of so many conversations may be media.
const MEDIA: usize = 8;
/// RFC 3550, A.1: a number further ahead than this begins anew; one not further behind is late.
const DROPOUT: u16 = 3_000;
const MISORDER: u16 = 100;
/// Fewer packets than this may have the form of RTP by chance.
const ENOUGH: u32 = 8;

/// Ticks per second of a static payload type (RFC 3551, 6); None for one that is agreed upon elsewhere.
fn clock_hz(payload_type: u8) -> Option<u64> {
    Some(match payload_type {
        0 | 3..=5 | 7..=9 | 12 | 13 | 15 | 18 => 8_000,
        6 => 16_000,
        10 | 11 => 44_100,
        16 => 11_025,
        17 => 22_050,
        14 | 25 | 26 | 28 | 31..=34 => 90_000,
        _ => return None,
    })
}

/// The media of one direction. `lost`: expected and not received, 0 at least; `late`: after one with a higher number, or twice.
/// `jitter_ns`, `max_jitter_ns`: None when the clock of the payload type is not known. `streams`: sources one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media {
    pub source: u32,
    pub payload_type: u8,
    pub streams: u32,
    pub packets: u64,
    pub expected: u64,
    pub lost: u64,
    pub late: u64,
    pub jitter_ns: Option<u64>,
    pub max_jitter_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    source: u32,
    base: u16,
    highest: u16,
    cycles: u32,
    received: u32,
    late: u32,
    /// Sums over earlier streams.
    earlier: (u64, u64, u64),
    streams: u32,
    payload_type: u8,
    has_last: bool,
    last_timestamp: u32,
    last_ns: u64,
    /// Sixteen times the jitter.
    jitter: u64,
    max_jitter: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Streams {
    ways: [Stream; 2],
}

pub(crate) fn pool(flows: usize) -> Pool<Streams> {
    Pool::new(flows / MEDIA + 1)
}

/// Account a packet of `way` that has the form of RTP.
pub(crate) fn observe(pool: &mut Pool<Streams>, talk: &mut Talk, way: usize, packet: &Packet) {
    let last = &talk.ways[way].tcp;
    let stream = pool.get_mut(talk.timing).map(|streams| &mut streams.ways[way]);
    if !stream.is_some_and(|stream| stream.goes_on(packet)) && follows(last, packet) {
        if let Some(streams) = pool.of(&mut talk.timing) {
            streams.ways[way].begin(last, packet);
        }
    }
    remember(&mut talk.ways[way].tcp, packet);
}

fn follows(last: &TcpDirection, packet: &Packet) -> bool {
    let next = last.window.wrapping_add(1) == packet.window;
    next && last.has(known::HIGHEST) && last.highest == packet.tunnel_id
}

/// One packet is remembered in the room that TCP would need: source, number, timestamp, and the low bits of its time.
fn remember(last: &mut TcpDirection, packet: &Packet) {
    last.highest = packet.tunnel_id;
    last.window = packet.window;
    last.isn = packet.ack;
    last.acked = packet.ts_ns as u32;
    last.know(known::HIGHEST);
}

/// The streams of one of several points, over all packets that it shows: of what is lost between them a flow that they share knows nothing.
pub struct MediaTracker {
    limit: usize,
    ways: HashMap<FlowKey, (TcpDirection, Stream), KeyedState>,
    overflow: u64,
}

impl MediaTracker {
    /// `flows`: conversations there may be; one of so many may be media.
    pub fn new(flows: usize) -> Self {
        Self { limit: flows / MEDIA + 1, ways: HashMap::default(), overflow: 0 }
    }

    /// Packets of directions that found no room.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Account a packet that has the form of RTP.
    pub fn observe(&mut self, key: FlowKey, packet: &Packet) {
        if self.ways.len() >= self.limit && !self.ways.contains_key(&key) {
            self.overflow += 1;
            return;
        }
        let (last, stream) = self.ways.entry(key).or_default();
        if !stream.goes_on(packet) && follows(last, packet) {
            stream.begin(last, packet);
        }
        remember(last, packet);
    }

    /// Every direction with media, in no order.
    pub fn streams(&self) -> impl Iterator<Item = (FlowKey, Media)> + '_ {
        self.ways.iter().filter_map(|(key, (_, stream))| Some((*key, stream.media()?)))
    }
}

impl Stream {
    /// Whether the packet belongs to this stream; then it is accounted.
    fn goes_on(&mut self, packet: &Packet) -> bool {
        self.source == packet.tunnel_id && self.streams > 0 && self.take(packet)
    }

    /// A new stream, whose first packet is remembered and whose second is this.
    fn begin(&mut self, first: &TcpDirection, packet: &Packet) {
        let earlier = (
            self.earlier.0 + u64::from(self.received),
            self.earlier.1 + self.expected(),
            self.earlier.2 + u64::from(self.late),
        );
        let first_ns = packet.ts_ns.wrapping_sub(u64::from((packet.ts_ns as u32).wrapping_sub(first.acked)));
        *self = Self {
            source: packet.tunnel_id,
            base: first.window,
            highest: first.window,
            received: 1,
            earlier,
            streams: self.streams + 1,
            payload_type: packet.opcode,
            has_last: true,
            last_timestamp: first.isn,
            last_ns: first_ns,
            ..Self::default()
        };
        self.take(packet);
    }

    /// False when the number is so far away that the source may have begun anew.
    fn take(&mut self, packet: &Packet) -> bool {
        let ahead = packet.window.wrapping_sub(self.highest);
        if ahead == 0 || ahead > u16::MAX - MISORDER {
            self.late = self.late.saturating_add(1);
        } else if ahead < DROPOUT {
            self.cycles += u32::from(packet.window < self.highest);
            self.highest = packet.window;
        } else {
            return false;
        }
        self.received = self.received.saturating_add(1);
        self.jitter(packet);
        true
    }

    /// Comfort noise, telephone events and the like keep another time: no difference is taken across them.
    fn jitter(&mut self, packet: &Packet) {
        let Some(hz) = clock_hz(self.payload_type).filter(|_| packet.opcode == self.payload_type) else {
            self.has_last = false;
            return;
        };
        if self.has_last {
            let ticks = packet.ack.wrapping_sub(self.last_timestamp) as i32;
            let sent = i64::from(ticks) * 1_000_000_000 / hz as i64;
            let came = packet.ts_ns.wrapping_sub(self.last_ns) as i64;
            let difference = came.saturating_sub(sent).unsigned_abs();
            self.jitter = self.jitter.saturating_add(difference).saturating_sub(self.jitter.saturating_add(8) >> 4);
            self.max_jitter = self.max_jitter.max(self.jitter);
        }
        self.has_last = true;
        self.last_timestamp = packet.ack;
        self.last_ns = packet.ts_ns;
    }

    fn expected(&self) -> u64 {
        if self.received == 0 {
            return 0;
        }
        (u64::from(self.cycles) << 16 | u64::from(self.highest)).saturating_sub(u64::from(self.base)) + 1
    }

    /// None when what was seen may have the form by chance.
    fn media(&self) -> Option<Media> {
        let packets = self.earlier.0 + u64::from(self.received);
        let expected = self.earlier.1 + self.expected();
        let known = clock_hz(self.payload_type).is_some();
        let sure = self.received >= ENOUGH && u64::from(self.received) * 2 >= self.expected();
        sure.then_some(Media {
            source: self.source,
            payload_type: self.payload_type,
            streams: self.streams,
            packets,
            expected,
            lost: expected.saturating_sub(packets),
            late: self.earlier.2 + u64::from(self.late),
            jitter_ns: known.then_some(self.jitter >> 4),
            max_jitter_ns: known.then_some(self.max_jitter >> 4),
        })
    }
}

impl Streams {
    pub fn media(&self, way: usize) -> Option<Media> {
        self.ways[way].media()
    }
}

#[cfg(test)]
mod tests {
    use nc_decode::proto;

    use super::*;
    use crate::{FlowKey, FlowTable, Limits};

    const MS: u64 = 1_000_000;

    /// Packets of 20 ms of G.711: (number, payload type, time of arrival in ms).
    fn media(packets: impl IntoIterator<Item = (u16, u8, u64)>) -> Option<Media> {
        let mut table = FlowTable::new(Limits { flows: 10, idle_ns: None });
        let udp = Packet { version: 4, proto: proto::UDP, src: 1, dst: 2, has_transport: true, ..Packet::default() };
        for (number, payload_type, ms) in packets {
            let packet = Packet {
                sport: 16_400,
                dport: 16_402,
                window: number,
                ack: u32::from(number).wrapping_mul(160),
                tunnel_id: 77,
                opcode: payload_type,
                may_be_rtp: true,
                ts_ns: 1_700_000_000_000 * MS + ms * MS,
                ..udp
            };
            table.observe(FlowKey::of(&packet, 0, (packet.sport, packet.dport)), 0, &packet);
        }
        table.media(0)
    }

    fn even(numbers: impl IntoIterator<Item = u16>) -> Vec<(u16, u8, u64)> {
        numbers.into_iter().map(|number| (number, 0, u64::from(number) * 20)).collect()
    }

    #[test]
    fn an_even_stream_has_neither_loss_nor_jitter_and_numbers_wrap() {
        let found = media((0..200_u64).map(|n| ((65_500 + n) as u16, 0, n * 20)));
        let expected = (200, 200, 0, 0);
        assert_eq!(found.map(|m| (m.packets, m.expected, m.lost, m.late)), Some(expected));
        // the timestamps of this test jump where the number wraps
        assert_eq!(media(even(0..100)).map(|m| (m.jitter_ns, m.max_jitter_ns)), Some((Some(0), Some(0))));
    }

    #[test]
    fn what_is_missing_is_lost_and_what_comes_late_or_twice_is_not() {
        let found = media(even((0..40).filter(|n| *n != 10 && *n != 20)));
        assert_eq!(found.map(|m| (m.packets, m.expected, m.lost)), Some((38, 40, 2)));
        let late = media(even([0, 1, 2, 4, 3, 5, 6, 7, 8, 8, 9]));
        assert_eq!(late.map(|m| (m.expected, m.lost, m.late)), Some((10, 0, 2)));
    }

    #[test]
    fn jitter_is_that_of_the_standard() {
        // 8 ms late, then on time: the differences are 8 and -8 ms
        let mut packets = even(0..12);
        packets[10].2 += 8;
        let after = |jitter: f64, difference: f64| jitter + (difference - jitter) / 16.0;
        let expected = after(after(0.0, 8e6), 8e6);
        let found = media(packets).and_then(|m| m.jitter_ns).unwrap_or(0);
        assert!((found as f64 - expected).abs() < 2.0, "{found} {expected}");
    }

    #[test]
    fn events_between_do_not_count_as_jitter_and_unknown_clocks_give_none() {
        let mut packets = even(0..30);
        packets[15] = (15, 101, 15 * 20 + 300);
        assert_eq!(media(packets).and_then(|m| m.jitter_ns), Some(0));
        let dynamic = even(0..30).into_iter().map(|(number, _, ms)| (number, 111, ms));
        assert_eq!(media(dynamic).map(|m| (m.payload_type, m.jitter_ns)), Some((111, None)));
    }

    #[test]
    fn a_few_packets_or_jumping_numbers_are_no_media() {
        assert_eq!(media(even(0..7)), None);
        assert_eq!(media((0..100_u16).map(|n| (n.wrapping_mul(4_001), 0, u64::from(n)))), None);
        assert_eq!(media(even((0..200).step_by(5))), None);
    }
}
