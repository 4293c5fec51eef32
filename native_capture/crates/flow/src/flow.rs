//! One conversation: what is counted of its two directions.

use nc_decode::Packet;

use crate::ahead::Ahead;
use crate::ends::{whole, Ends};
use crate::key::FlowKey;
use crate::responses::Service;
use crate::tcp::TcpDirection;
use crate::totals::Totals;

/// Bit of [`Flow::mark`]: there are several, which stand beside.
const SEVERAL: u8 = 128;

/// The measured life of one direction, in one cache line. `point`: where it was seen first. `vlan`: its tags. `mark`: its only one.
/// `seen`: what the judge has counted of that.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    pub first_ns: u64,
    pub last_ns: u64,
    totals: Totals,
    pub(crate) vlan: u32,
    pub(crate) data_segments: u32,
    /// Of UDP, the media stream that may be in it: see [`crate::rtp`].
    pub(crate) tcp: TcpDirection,
    pub point: u16,
    pub(crate) mark: u8,
    pub(crate) seen: u8,
}

impl Flow {
    pub fn packets(&self) -> u64 {
        self.totals.packets()
    }

    /// Of frames.
    pub fn bytes(&self) -> u64 {
        self.totals.bytes()
    }

    /// From the IP header on.
    pub fn ip_bytes(&self) -> u64 {
        self.totals.ip_bytes()
    }

    pub(crate) fn has_several_marks(&self) -> bool {
        self.mark & SEVERAL != 0
    }

    /// From now on its marks stand beside.
    pub(crate) fn begin_several_marks(&mut self) {
        self.mark |= SEVERAL;
    }

    #[inline]
    pub(crate) fn count(&mut self, point: u16, vlan: u32, packet: &Packet) {
        if self.packets() == 0 {
            (self.first_ns, self.point, self.vlan) = (packet.ts_ns, point, vlan);
        }
        self.first_ns = self.first_ns.min(packet.ts_ns);
        self.last_ns = self.last_ns.max(packet.ts_ns);
        self.totals.add(packet.frame_len, packet.l3_len);
    }
}

/// Flags of a conversation. The last is one of two, for the direction 0 and, one further, 1.
const ALIVE: u8 = 1;
const ANSWERED: u8 = 2;
const SERVER_IS_SOURCE: u8 = 4;
const SENDER_KNOWN: u8 = 8;

/// Both directions of one conversation, in three cache lines: what is common, then each of them. The key is as [`FlowKey::conversation`]
/// gives it, as in [`Ends`].
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Talk {
    src: [u64; 2],
    dst: [u64; 2],
    ports: u32,
    vlan: u32,
    kind: u32,
    /// Handles of its times (of UDP: its media) and of what few conversations have ([`crate::rare`]); 0 for none.
    pub timing: u32,
    pub rare: u32,
    senders: [u32; 2],
    /// The bundle whose numbers `senders` are; the low bits are kept, for no flow sleeps through 65,536 bundles.
    generation: u16,
    flags: u8,
    pub ways: [Flow; 2],
}

impl Talk {
    /// `way`: of the first packet, which goes to the server as far as is known.
    pub fn new(ends: &Ends, way: usize) -> Self {
        let Ends { src, dst, ports, vlan, kind } = *ends;
        Self {
            src,
            dst,
            ports,
            vlan,
            kind,
            timing: 0,
            rare: 0,
            senders: [0; 2],
            generation: 0,
            flags: if way == 0 { ALIVE } else { ALIVE | SERVER_IS_SOURCE },
            ways: Default::default(),
        }
    }

    #[inline]
    pub fn ends(&self) -> Ends {
        let Self { src, dst, ports, vlan, kind, .. } = *self;
        Ends { src, dst, ports, vlan, kind }
    }

    #[inline]
    pub fn key(&self) -> FlowKey {
        self.ends().key()
    }

    /// Without a branch for each part.
    #[inline]
    pub fn has_ends(&self, ends: &Ends) -> bool {
        let Ends { src, dst, ports, vlan, kind } = *ends;
        let addresses =
            (self.src[0] ^ src[0]) | (self.src[1] ^ src[1]) | (self.dst[0] ^ dst[0]) | (self.dst[1] ^ dst[1]);
        let rest = (self.ports ^ ports) | (self.vlan ^ vlan) | (self.kind ^ kind);
        addresses | u64::from(rest) == 0
    }

    #[inline]
    pub fn proto(&self) -> u8 {
        (self.kind >> 8) as u8
    }

    /// Whether this is the conversation of the packet.
    #[inline]
    pub fn is_of(&self, ahead: &Ahead) -> bool {
        self.has_ends(&ahead.both()) && self.is_alive() && self.fits(ahead)
    }

    /// Whether a packet of these endpoints belongs here by its tags.
    #[inline]
    pub fn fits(&self, ahead: &Ahead) -> bool {
        let flow = &self.ways[usize::from(ahead.way & 1)];
        flow.vlan == ahead.vlan() || flow.packets() == 0
    }

    pub fn last_ns(&self) -> u64 {
        self.ways[0].last_ns.max(self.ways[1].last_ns)
    }

    #[inline]
    pub fn is_alive(&self) -> bool {
        self.flags & ALIVE != 0
    }

    pub fn end(&mut self) {
        self.flags &= !ALIVE;
    }

    /// An answer of the server was timed.
    pub fn is_answered(&self) -> bool {
        self.flags & ANSWERED != 0
    }

    pub fn answer(&mut self) {
        self.flags |= ANSWERED;
    }

    #[inline]
    pub fn server_port(&self) -> u16 {
        let shift = if self.flags & SERVER_IS_SOURCE != 0 { 16 } else { 0 };
        (self.ports >> shift) as u16
    }

    /// The service that `way` talks to or answers for; of equal ports the receiver's.
    #[inline]
    pub fn service(&self, way: usize) -> Service {
        let port = self.server_port();
        let (to, to_port) =
            if way & 1 == 0 { (self.dst, self.ports as u16) } else { (self.src, (self.ports >> 16) as u16) };
        let from = if way & 1 == 0 { self.src } else { self.dst };
        let address = whole(if to_port == port { to } else { from });
        Service::new(address, (self.kind >> 16) as u16, port, self.proto(), self.kind as u8)
    }

    /// Packets of `way` go to the server, or come from it.
    pub fn set_server(&mut self, way: usize, is_to_server: bool) {
        let is_source = (way == 0) != is_to_server;
        self.flags = self.flags & !SERVER_IS_SOURCE | if is_source { SERVER_IS_SOURCE } else { 0 };
    }

    /// The number of the sender of `way`, whatever bundle it was looked up in; 0 before.
    pub fn sender(&self, way: usize) -> u32 {
        self.senders[way & 1]
    }

    /// The same; None unless it was looked up in the bundle of this generation.
    #[inline]
    pub fn sender_in(&self, way: usize, generation: u16) -> Option<u32> {
        let is_known = self.generation == generation && self.flags & SENDER_KNOWN << (way & 1) != 0;
        is_known.then(|| self.sender(way))
    }

    pub fn set_sender(&mut self, way: usize, generation: u16, sender: u32) {
        if self.generation != generation {
            self.generation = generation;
            self.flags &= !(SENDER_KNOWN | SENDER_KNOWN << 1);
        }
        self.senders[way & 1] = sender;
        self.flags |= SENDER_KNOWN << (way & 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(key: &FlowKey) -> Ends {
        Ends { vlan: key.vlan, ..Ends::of(key).0 }
    }

    fn begun(key: &FlowKey, way: usize) -> Talk {
        Talk::new(&ends(key), way)
    }

    #[test]
    fn a_conversation_is_three_cache_lines_of_which_each_direction_is_one() {
        let talk = begun(&FlowKey { src: 1, dst: 2, sport: 3, dport: 4, vlan: 5, realm: 6, proto: 7, version: 4 }, 0);
        assert_eq!((size_of_val(&talk), size_of_val(&talk.ways)), (192, 128));
        assert_eq!(&raw const talk.ways as usize - &raw const talk as usize, 64);
    }

    #[test]
    fn a_conversation_tells_its_key_and_no_other_and_where_its_server_is() {
        let key = FlowKey {
            src: 0xfe80 << 112 | 9,
            dst: u128::MAX,
            sport: 51_000,
            dport: 443,
            vlan: u32::MAX - 1,
            realm: 77,
            proto: 6,
            version: 6,
        };
        let mut talk = begun(&key, 0);
        assert_eq!((talk.key(), talk.has_ends(&ends(&key)), talk.server_port()), (key, true, 443));
        assert_eq!(begun(&key, 1).server_port(), 51_000);
        talk.set_server(0, false);
        assert_eq!(talk.server_port(), 51_000);
        talk.set_server(1, false);
        assert_eq!(talk.server_port(), 443);
        let others = [
            FlowKey { src: 9, ..key },
            FlowKey { dst: key.dst - 1, ..key },
            FlowKey { sport: 1, ..key },
            FlowKey { dport: 1, ..key },
            FlowKey { vlan: 1, ..key },
            FlowKey { realm: 1, ..key },
            FlowKey { proto: 17, ..key },
            FlowKey { version: 4, ..key },
        ];
        assert!(others.iter().all(|other| !talk.has_ends(&ends(other))));
    }

    #[test]
    fn senders_are_known_for_one_bundle_and_each_direction() {
        let mut talk =
            begun(&FlowKey { src: 1, dst: 2, sport: 3, dport: 4, vlan: 0, realm: 0, proto: 6, version: 4 }, 0);
        assert_eq!(talk.sender_in(0, 0), None);
        talk.set_sender(0, 7, 11);
        assert_eq!((talk.sender_in(0, 7), talk.sender_in(1, 7), talk.sender_in(0, 8)), (Some(11), None, None));
        talk.set_sender(1, 8, 12);
        assert_eq!((talk.sender_in(0, 8), talk.sender(0), talk.sender_in(1, 8)), (None, 11, Some(12)));
    }
}
