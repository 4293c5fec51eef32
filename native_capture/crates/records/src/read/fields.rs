//! Fields of one data record, by what they mean, to one record or two: the other direction may be told with it.

use std::borrow::Cow;

use super::templates::{Cache, Field, Key};
use super::{Envelope, Heard};
use crate::bytes::{number, wide};
use crate::elements::{id, own, ENTERPRISE, REVERSE, REVERSE_BIT, UNKNOWN};
use crate::record::{End, Mark, Marks, Record, TCP_COUNTS};

const SECOND_NS: u64 = 1_000_000_000;
/// Seconds from 1900 to 1970 (RFC 5905, section 6).
const NTP_EPOCH_S: u64 = 2_208_988_800;

/// What a message says about time. `uptime_ms`: of the exporter at `export_ns`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub export_ns: u64,
    pub uptime_ms: Option<u32>,
}

/// A time told as milliseconds of uptime, which wraps after 49.7 days.
pub(super) fn by_uptime(export_ns: u64, uptime_ms: u32, at_ms: u32) -> u64 {
    let behind = i64::from(uptime_ms.wrapping_sub(at_ms) as i32);
    export_ns.saturating_add_signed(-behind * 1_000_000)
}

/// A point in time in one of many notations; the finest one counts.
#[derive(Clone, Copy, Default)]
struct Time {
    rank: u8,
    value: u64,
}

const RANK_UPTIME: u8 = 1;
const RANK_DELTA: u8 = 2;
const RANK_S: u8 = 3;
const RANK_MS: u8 = 4;
const RANK_US: u8 = 5;
const RANK_NS: u8 = 6;

impl Time {
    fn offer(&mut self, rank: u8, value: u64) {
        if rank > self.rank {
            *self = Self { rank, value };
        }
    }

    fn ns(self, clock: Clock, boot_ms: Option<u64>) -> Option<u64> {
        match self.rank {
            RANK_UPTIME => match (clock.uptime_ms, boot_ms) {
                (Some(uptime), _) => Some(by_uptime(clock.export_ns, uptime, self.value as u32)),
                (None, Some(boot)) => boot.checked_add(self.value)?.checked_mul(1_000_000),
                (None, None) => None,
            },
            RANK_DELTA => clock.export_ns.checked_sub(self.value.checked_mul(1_000)?),
            RANK_S => self.value.checked_mul(SECOND_NS),
            RANK_MS => self.value.checked_mul(1_000_000),
            RANK_US | RANK_NS => ntp(self.value),
            _ => None,
        }
    }
}

/// The 64 bit time format of NTP; its second era begins in 2036.
fn ntp(value: u64) -> Option<u64> {
    let (seconds, fraction) = (value >> 32, value & 0xffff_ffff);
    let seconds = if seconds < 1 << 31 { seconds + (1 << 32) } else { seconds };
    seconds.checked_sub(NTP_EPOCH_S)?.checked_mul(SECOND_NS)?.checked_add((fraction * SECOND_NS) >> 32)
}

/// What one direction has of its own.
#[derive(Default)]
struct Side {
    packets: Option<u64>,
    ip_bytes: Option<u64>,
    bytes: Option<u64>,
    class: Option<u8>,
    vlan: Option<u16>,
    inner_vlan: Option<u16>,
    first: Time,
    last: Time,
    marks: Vec<Mark>,
    tcp: [Option<u64>; TCP_COUNTS],
}

#[derive(Default)]
pub(super) struct Raw<'a> {
    src: Option<(u8, u128)>,
    dst: Option<(u8, u128)>,
    sport: u16,
    dport: u16,
    proto: u8,
    server_port: Option<u16>,
    ended: Option<End>,
    sampler: Option<u64>,
    one_in: Option<u64>,
    interval: (Option<u64>, Option<u64>),
    boot_ms: Option<u64>,
    point: &'a [u8],
    realm: &'a [u8],
    names: [&'a [u8]; 2],
    signatures: &'a [u8],
    sides: [Side; 2],
}

impl<'a> Raw<'a> {
    /// Take one field over.
    pub fn take(&mut self, field: &Field, value: &'a [u8]) {
        match (field.enterprise, field.id) {
            (ENTERPRISE, id) => self.take_own(id, value),
            (0 | REVERSE, id) => {
                let [forward, reverse] = &mut self.sides;
                let side = if field.enterprise == REVERSE { reverse } else { forward };
                if !side.take(id, value) && field.enterprise == 0 {
                    self.take_key(id, value);
                }
            }
            _ => {}
        }
    }

    fn take_key(&mut self, id: u16, value: &'a [u8]) {
        let n = number(value);
        match id {
            id::PROTOCOL => self.proto = n as u8,
            id::SOURCE_PORT => self.sport = n as u16,
            id::DESTINATION_PORT => self.dport = n as u16,
            id::SOURCE_V4 if value.len() == 4 => self.src = Some((4, wide(value))),
            id::DESTINATION_V4 if value.len() == 4 => self.dst = Some((4, wide(value))),
            // Templates that hold both kinds fill the one that does not apply with zero.
            id::SOURCE_V6 if value.len() == 16 && (n != 0 || self.src.is_none()) => self.src = Some((6, wide(value))),
            id::DESTINATION_V6 if value.len() == 16 && (n != 0 || self.dst.is_none()) => {
                self.dst = Some((6, wide(value)))
            }
            id::END_REASON => self.ended = End::of(n),
            id::SAMPLER | id::SELECTOR => self.sampler = Some(n),
            id::SAMPLING_INTERVAL | id::SAMPLER_INTERVAL => self.one_in = Some(n),
            id::PACKET_INTERVAL | id::SAMPLING_SIZE => self.interval.0 = Some(n),
            id::PACKET_SPACE => self.interval.1 = Some(self.interval.0.unwrap_or(1).saturating_add(n)),
            id::SAMPLING_POPULATION => self.interval.1 = Some(n),
            id::BOOT_MS => self.boot_ms = Some(n),
            id::DOMAIN_NAME => self.point = value,
            id::RESPONDER_OCTETS => self.sides[1].ip_bytes = Some(n),
            id::RESPONDER_PACKETS => self.sides[1].packets = Some(n),
            _ => {}
        }
    }

    fn take_own(&mut self, id: u16, value: &'a [u8]) {
        let side = &mut self.sides[usize::from(id & REVERSE_BIT != 0)];
        match id & !REVERSE_BIT {
            own::MARKS => side.marks = read_marks(value),
            own::SIGNATURES => self.signatures = value,
            own::SOURCE_NAME => self.names[0] = value,
            own::DESTINATION_NAME => self.names[1] = value,
            own::REALM => self.realm = value,
            own::SERVER_PORT => self.server_port = u16::try_from(number(value)).ok(),
            id => {
                let at = usize::from(id.wrapping_sub(own::TCP));
                if let Some(count) = side.tcp.get_mut(at) {
                    *count = Some(number(value)).filter(|n| *n != UNKNOWN);
                }
            }
        }
    }

    /// An options record: samplers, and when the exporter was started.
    pub fn about_exporter(&self, cache: &mut Cache, domain: u32) {
        if let Some(one_in) = self.sampling().filter(|one_in| *one_in > 0) {
            cache.set_sampling(domain, self.sampler, one_in);
        }
        if let Some(boot_ms) = self.boot_ms {
            cache.set_boot(domain, boot_ms);
        }
    }

    fn sampling(&self) -> Option<u32> {
        let ratio = match self.interval {
            (Some(of @ 1..), Some(all)) => Some(all / of),
            (Some(one_in), None) => Some(one_in),
            _ => None,
        };
        self.one_in.or(ratio).and_then(|n| u32::try_from(n).ok())
    }

    /// Hand over a record for each direction; false when it describes no IP flow.
    pub fn tell(
        &mut self,
        key: &Key,
        envelope: Envelope,
        clock: Clock,
        cache: &Cache,
        heard: &mut dyn FnMut(Heard<'_>),
    ) -> bool {
        let (Some((version, src)), Some((_, dst))) = (self.src, self.dst) else { return false };
        let sampling = self.sampling().filter(|n| *n > 0).or_else(|| cache.sampling(key.1, self.sampler));
        let boot_ms = self.boot_ms.or_else(|| cache.boot_ms.get(&key.1).copied());
        let text = |bytes: &'a [u8]| String::from_utf8_lossy(bytes);
        let name = |bytes: &'a [u8]| Some(text(bytes)).filter(|name| !name.is_empty());
        let record = Record {
            source: key.0,
            exporter: Some(envelope.exporter),
            point: text(self.point),
            realm: text(self.realm),
            version,
            src,
            dst,
            sport: self.sport,
            dport: self.dport,
            proto: self.proto,
            server_port: self.server_port,
            sampling,
            signatures: split(self.signatures),
            src_name: name(self.names[0]),
            dst_name: name(self.names[1]),
            ended: self.ended,
            ..Record::default()
        };
        let [forward, reverse] = std::mem::take(&mut self.sides);
        if reverse.packets.or(reverse.ip_bytes).is_some_and(|n| n > 0) {
            let back = Record {
                src: dst,
                dst: src,
                sport: record.dport,
                dport: record.sport,
                src_name: record.dst_name.clone(),
                dst_name: record.src_name.clone(),
                ..record.clone()
            };
            heard(Heard::Flow(forward.fill(record, clock, boot_ms)));
            heard(Heard::Flow(reverse.fill(back, clock, boot_ms)));
        } else {
            heard(Heard::Flow(forward.fill(record, clock, boot_ms)));
        }
        true
    }
}

impl Side {
    /// Take a field over that each direction has of its own; false when it is none.
    fn take(&mut self, id: u16, value: &[u8]) -> bool {
        let n = number(value);
        let tag = Some(n as u16 & 0xfff).filter(|tag| *tag != 0);
        match id {
            id::PACKETS | id::PACKETS_TOTAL | id::INITIATOR_PACKETS => self.packets = Some(n),
            id::OCTETS | id::OCTETS_TOTAL | id::INITIATOR_OCTETS => self.ip_bytes = Some(n),
            // Egress accounting counts behind the device only.
            id::OUT_PACKETS => self.packets = self.packets.or(Some(n)),
            id::OUT_OCTETS => self.ip_bytes = self.ip_bytes.or(Some(n)),
            id::LAYER2_OCTETS | id::LAYER2_TOTAL => self.bytes = Some(n),
            id::CLASS => self.class = Some(n as u8),
            id::DIP_CLASS => self.class = self.class.or(Some((n as u8) << 2)),
            id::VLAN | id::DOT1Q_VLAN => self.vlan = self.vlan.or(tag),
            id::DOT1Q_CUSTOMER => self.inner_vlan = tag,
            id::FIRST_UPTIME => self.first.offer(RANK_UPTIME, n),
            id::LAST_UPTIME => self.last.offer(RANK_UPTIME, n),
            id::FIRST_DELTA_US => self.first.offer(RANK_DELTA, n),
            id::LAST_DELTA_US => self.last.offer(RANK_DELTA, n),
            id::FIRST_S => self.first.offer(RANK_S, n),
            id::LAST_S => self.last.offer(RANK_S, n),
            id::FIRST_MS => self.first.offer(RANK_MS, n),
            id::LAST_MS => self.last.offer(RANK_MS, n),
            id::FIRST_US => self.first.offer(RANK_US, n),
            id::LAST_US => self.last.offer(RANK_US, n),
            id::FIRST_NS => self.first.offer(RANK_NS, n),
            id::LAST_NS => self.last.offer(RANK_NS, n),
            _ => return false,
        }
        true
    }

    fn fill<'r>(self, record: Record<'r>, clock: Clock, boot_ms: Option<u64>) -> Record<'r> {
        let marks = match (self.class, self.packets) {
            _ if !self.marks.is_empty() => self.marks.into(),
            (Some(class), Some(packets)) => Marks::One(Mark { dscp: class >> 2, packets, bytes: self.bytes }),
            _ => Marks::default(),
        };
        Record {
            packets: self.packets,
            bytes: self.bytes,
            ip_bytes: self.ip_bytes,
            vlan: self.vlan,
            inner_vlan: self.inner_vlan,
            first_ns: self.first.ns(clock, boot_ms),
            last_ns: self.last.ns(clock, boot_ms),
            marks,
            tcp: self.tcp,
            ..record
        }
    }
}

fn read_marks(bytes: &[u8]) -> Vec<Mark> {
    let mark = |bytes: &[u8]| Mark {
        dscp: bytes[0] & 63,
        packets: number(&bytes[1..9]),
        bytes: Some(number(&bytes[9..17])).filter(|n| *n != UNKNOWN),
    };
    bytes.chunks_exact(17).map(mark).collect()
}

fn split(names: &[u8]) -> Vec<Cow<'static, str>> {
    let all = String::from_utf8_lossy(names);
    all.split(',').filter(|name| !name.is_empty()).map(|name| Cow::Owned(name.to_owned())).collect()
}
