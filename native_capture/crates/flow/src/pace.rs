//! How bulk comes and goes: bytes of each pair of hosts and service in steps of 67 ms, of conversations with large packets only.

use std::collections::hash_map::Entry;
use std::collections::HashMap;

use crate::flow::{Flow, Talk};
use crate::key::{FlowKey, KeyedState};
use crate::services::is_known_service;

/// A step is 2^26 ns, 67 ms: one shift tells whether a packet begins another.
pub const PACE_STEP_BITS: u32 = 26;
/// A conversation counts from so many packets of one direction on, of so many bytes on the average.
const LEAST_PACKETS: u64 = 16;
const LEAST_SIZE: u64 = 700;
/// Payload of the largest segment of Ethernet with timestamps (RFC 7323), and headers of a packet that only acknowledges.
const SEGMENT: u64 = 1_448;
const HEADERS: u64 = 52;
/// Largest IP packet of Ethernet.
const PACKET: u64 = 1_500;
/// Conversations followed at once.
const FOLLOWED: usize = 1 << 16;
/// Ways told between two askings.
const KEYS: usize = 1 << 16;

/// One way between two hosts. `server_port`: 0 for one that only a client would have; `to_server`: it goes there; `dscp`: None for
/// conversations with several marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PaceKey {
    pub point: u16,
    pub realm: u16,
    pub version: u8,
    pub src: u128,
    pub dst: u128,
    pub proto: u8,
    pub server_port: u16,
    pub to_server: bool,
    pub dscp: Option<u8>,
}

/// Sums of all its conversations, however short each was. `bytes`: of IP packets, those sent again included. `steps`: number of the
/// step since 1970 and its bytes, ascending once [`FlowTable::take_paces`](crate::FlowTable) has handed it over.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    pub connections: u64,
    pub packets: u64,
    pub bytes: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub steps: Vec<(u64, u64)>,
    pub segments: u64,
}

impl Pace {
    /// How full packets with data are: mean payload by the largest that Ethernet carries, 1 at most. Within 0.07 of the share of full
    /// packets where it is above a half: transfers are cut into full segments and one rest.
    pub fn filled(&self) -> f64 {
        let (most, whole) = match self.segments {
            0 => (PACKET, self.bytes as f64 / self.packets.max(1) as f64),
            data => (SEGMENT, self.bytes.saturating_sub(HEADERS * self.packets) as f64 / data as f64),
        };
        (whole / most as f64).min(1.0)
    }

    pub fn merge(&mut self, other: Self) {
        self.first_ns = if self.packets == 0 { other.first_ns } else { self.first_ns.min(other.first_ns) };
        self.last_ns = self.last_ns.max(other.last_ns);
        self.connections += other.connections;
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.segments += other.segments;
        self.steps.extend(other.steps);
    }

    /// Steps in order, each once.
    pub fn settle(&mut self) {
        self.steps.sort_unstable();
        self.steps.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }
}

/// What was taken over of a conversation's direction.
#[derive(Clone, Copy, Default)]
struct Taken {
    packets: u64,
    bytes: u64,
    segments: u32,
}

/// Of one table. `is_on`: somebody will ask; `most`: steps kept between two askings, `room`: those
/// that still may be, `overflow`: those that were not.
#[derive(Default)]
pub(crate) struct Paces {
    is_on: bool,
    most: usize,
    room: usize,
    open: HashMap<u32, Taken, KeyedState>,
    all: HashMap<PaceKey, Pace, KeyedState>,
    pub overflow: u64,
}

impl Paces {
    pub fn of(room: usize) -> Self {
        Self { is_on: true, most: room, room, ..Self::default() }
    }

    /// A step of this direction is over, the one of its last packet.
    #[inline]
    pub fn step(&mut self, talk: &Talk, number: u32) {
        if self.is_on && talk.ways[(number & 1) as usize].packets() >= LEAST_PACKETS {
            self.take(talk, number);
        }
    }

    #[inline(never)]
    fn take(&mut self, talk: &Talk, number: u32) {
        let flow = &talk.ways[(number & 1) as usize];
        let (packets, bytes) = (flow.packets(), flow.ip_bytes());
        if packets < LEAST_PACKETS || bytes < LEAST_SIZE * packets {
            return;
        }
        let key = key_of(talk, flow, number);
        let is_full = self.open.len() >= FOLLOWED;
        let has_place = self.all.len() < KEYS || self.all.contains_key(&key);
        let (is_new, taken) = match self.open.entry(number) {
            Entry::Occupied(known) if has_place => (false, known.into_mut()),
            Entry::Vacant(new) if has_place && !is_full => (true, new.insert(Taken::default())),
            _ => {
                self.overflow += 1;
                return;
            }
        };
        let now = Taken { packets, bytes, segments: flow.data_segments };
        let more = Taken {
            packets: packets - taken.packets,
            bytes: bytes - taken.bytes,
            segments: now.segments.wrapping_sub(taken.segments),
        };
        *taken = now;
        if more.packets == 0 {
            return;
        }
        let pace = self.all.entry(key).or_default();
        pace.merge(Pace {
            connections: u64::from(is_new),
            packets: more.packets,
            bytes: more.bytes,
            first_ns: flow.first_ns,
            last_ns: flow.last_ns,
            steps: Vec::new(),
            segments: u64::from(more.segments),
        });
        if self.room > 0 {
            pace.steps.push((flow.last_ns >> PACE_STEP_BITS, more.bytes));
            self.room -= 1;
        } else {
            self.overflow += 1;
        }
    }

    /// The conversation is over: its number will be another's.
    #[inline]
    pub fn end(&mut self, talk: &Talk, number: u32) {
        // What was never bulk was never followed.
        let may_be_open = talk.ways[0].packets().max(talk.ways[1].packets()) >= LEAST_PACKETS;
        if !self.is_on || !may_be_open {
            return;
        }
        for way in [number << 1, number << 1 | 1] {
            self.take(talk, way);
            self.open.remove(&way);
        }
    }

    /// What was taken over since this was asked last; and steps that found no room then.
    pub fn hand_over(&mut self) -> (Vec<(PaceKey, Pace)>, u64) {
        self.room = self.most;
        (self.all.drain().collect(), std::mem::take(&mut self.overflow))
    }
}

fn key_of(talk: &Talk, flow: &Flow, number: u32) -> PaceKey {
    let key: FlowKey = if number & 1 == 0 { talk.key() } else { talk.key().reversed() };
    let server_port = talk.server_port();
    let is_known = is_known_service(server_port);
    PaceKey {
        point: flow.point,
        realm: key.realm,
        version: key.version,
        src: key.src,
        dst: key.dst,
        proto: key.proto,
        server_port: if is_known { server_port } else { 0 },
        to_server: is_known && key.dport == server_port,
        dscp: (!flow.has_several_marks()).then_some(flow.mark),
    }
}
