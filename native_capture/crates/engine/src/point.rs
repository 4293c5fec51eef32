//! What is counted of every frame at one observation point.

use nc_decode::Packet;
use nc_flow::{DscpClock, MediaTracker, TcpCounts, TcpEvent, TcpTracker};

use crate::layers::Layers;

const SECOND: u64 = 1_000_000_000;
/// How many seconds back the judge may ask.
const SECONDS: usize = 4;

/// Totals of one point. `tracker`, `media`: its own TCP states and RTP streams, when packets are matched with other points.
pub(crate) struct Point {
    pub name: String,
    pub realm: u16,
    pub packets: u64,
    pub bytes: u64,
    pub non_ip: u64,
    pub decode_errors: u64,
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
    pub clock: DscpClock,
    pub layers: Layers,
    pub tcp: TcpCounts,
    pub tracker: Option<TcpTracker>,
    pub media: Option<MediaTracker>,
    pub seconds: Seconds,
}

/// Bytes of each mark in the last whole seconds. `last`: where the last packet was counted: the beginning of its second, the length of
/// that (0: there was none), its slot.
pub(crate) struct Seconds {
    slots: [(u64, [u64; 64]); SECONDS],
    last: (u64, u64, usize),
}

impl Default for Seconds {
    fn default() -> Self {
        Self { slots: [(u64::MAX, [0; 64]); SECONDS], last: (0, 0, 0) }
    }
}

impl Seconds {
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        let (begin, length, _) = self.last;
        if packet.ts_ns.wrapping_sub(begin) >= length {
            self.turn(packet.ts_ns / SECOND);
        }
        self.slots[self.last.2 % SECONDS].1[usize::from(packet.dscp & 63)] += u64::from(packet.frame_len);
    }

    #[inline(never)]
    fn turn(&mut self, second: u64) {
        let at = second as usize % SECONDS;
        if self.slots[at].0 != second {
            self.slots[at] = (second, [0; 64]);
        }
        self.last = (second * SECOND, SECOND, at);
    }

    /// Of a mark in a whole second; None when that is too long ago.
    pub fn bytes(&self, second: u64, dscp: u8) -> Option<u64> {
        let (stamp, bytes) = &self.slots[second as usize % SECONDS];
        (*stamp == second).then(|| bytes[usize::from(dscp & 63)])
    }
}

impl Point {
    pub fn new(name: String, tracker: Option<TcpTracker>, media: Option<MediaTracker>) -> Self {
        Self {
            name,
            realm: 0,
            packets: 0,
            bytes: 0,
            non_ip: 0,
            decode_errors: 0,
            first_ns: None,
            last_ns: None,
            clock: DscpClock::default(),
            layers: Layers::default(),
            tcp: TcpCounts::default(),
            tracker,
            media,
            seconds: Seconds::default(),
        }
    }

    /// Its number, realm, and bytes of the last seconds.
    pub fn saw(&self, number: u16) -> (u16, u16, &Seconds) {
        (number, self.realm, &self.seconds)
    }

    /// Count one frame.
    #[inline(always)]
    pub fn count(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.frame_len);
        if self.first_ns.is_none_or(|ns| packet.ts_ns < ns) {
            self.first_ns = Some(packet.ts_ns);
        }
        if self.last_ns.is_none_or(|ns| packet.ts_ns > ns) {
            self.last_ns = Some(packet.ts_ns);
        }
        self.decode_errors += u64::from(packet.error.is_some());
        self.layers.count(packet);
        if !packet.is_ip() {
            self.non_ip += 1;
            return;
        }
        self.clock.add(packet.ts_ns, packet.dscp, packet.frame_len);
        self.seconds.add(packet);
    }

    pub fn count_tcp(&mut self, event: TcpEvent) {
        self.tcp.add(event);
    }
}
