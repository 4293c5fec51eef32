//! Link layers: Ethernet II and 802.3/SNAP with any stack of VLAN tags, PPPoE, MPLS, RoCEv1 and pause frames; Linux cooked
//! (SLL, SLL2), Cisco HDLC, PPP, frame relay, 802.11, raw IP, BSD loopback.

use crate::error::{DecodeError, Layer, Reason};
use crate::lldp::Lldp;
use crate::packet::{Packet, NO_PCP, NO_VLAN};
use crate::tunnel::Carried;
use crate::{be16, ip, pause, roce, wireless};

/// More tags than this are an attack or garbage; real stacks have at most three.
const MAX_TAGS: usize = 8;

#[inline(always)]
pub(crate) fn parse(link: u32, bytes: &[u8], packet: &mut Packet) -> Result<(), DecodeError> {
    match (link, bytes.get(12..14)) {
        // Nearly every frame of nearly every capture.
        (1, Some([0x08, 0x00])) => ip::parse_v4(bytes, 14, packet),
        _ => any(link, bytes, packet),
    }
}

fn any(link: u32, bytes: &[u8], packet: &mut Packet) -> Result<(), DecodeError> {
    match link {
        1 => ethertype(bytes, 12, packet),
        104 => ethertype(bytes, 2, packet),
        113 => ethertype(bytes, 14, packet),
        276 => by_ethertype(short(be16(bytes, 0), Layer::Link, 0)?, bytes, 20, packet),
        12 | 14 | 101 | 228 | 229 => raw_ip(bytes, 0, packet),
        0 | 108 => raw_ip(bytes, 4, packet),
        9 | 50 => ppp(bytes, packet),
        107 => frame_relay(bytes, packet),
        105 => wireless::ieee80211(bytes, 0, packet),
        127 => wireless::radiotap(bytes, packet),
        _ => Err(DecodeError::new(Layer::Link, Reason::UnknownLink, 0)),
    }
}

/// What a tunnel carries, from its first byte.
pub(crate) fn carried(kind: Carried, bytes: &[u8], packet: &mut Packet) -> Result<(), DecodeError> {
    match kind {
        Carried::Ip => raw_ip(bytes, 0, packet),
        Carried::Ethernet => ethertype(bytes, 12, packet),
        Carried::Mpls => mpls(bytes, 0, packet),
    }
}

/// Where the network header of a frame begins, behind tags and SNAP, and its EtherType (0 for raw IP); None for other link layers.
#[cold]
pub fn network_at(link: u32, bytes: &[u8]) -> Option<(usize, u16)> {
    let mut at = match link {
        1 => 12,
        113 => 14,
        12 | 14 | 101 | 228 | 229 => return Some((0, 0)),
        276 => return Some((20, be16(bytes, 0)?)),
        _ => return None,
    };
    for _ in 0..=MAX_TAGS {
        match be16(bytes, at)? {
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => at += 4,
            0..=0x05ff if bytes.get(at + 2..at + 8)? == [0xaa, 0xaa, 0x03, 0, 0, 0] => at += 8,
            kind => return Some((at + 2, kind)),
        }
    }
    None
}

/// PPP (RFC 1661), with or without the HDLC-like framing of RFC 1662; the protocol field may be compressed to one byte.
fn ppp(bytes: &[u8], packet: &mut Packet) -> Result<(), DecodeError> {
    let mut at = if matches!(bytes, [0xff, 0x03, ..]) { 2 } else { 0 };
    let first = *short(bytes.get(at), Layer::Link, at)?;
    let protocol = if first & 1 != 0 { u16::from(first) } else { short(be16(bytes, at), Layer::Link, at)? };
    at += if first & 1 != 0 { 1 } else { 2 };
    match protocol {
        0x0021 => ip::some_v4(bytes, at, packet),
        0x0057 => ip::parse_v6(bytes, at, packet),
        0x0281 | 0x0283 => mpls(bytes, at, packet),
        _ => Ok(()),
    }
}

/// Two address bytes (RFC 2427): NLPID 0xcc is IPv4, 0x8e IPv6, 0x80 SNAP.
fn frame_relay(bytes: &[u8], packet: &mut Packet) -> Result<(), DecodeError> {
    match bytes.get(2..) {
        Some([0x03, 0xcc, ..]) => ip::some_v4(bytes, 4, packet),
        Some([0x03, 0x8e, ..]) => ip::parse_v6(bytes, 4, packet),
        Some([0x03, 0x00, 0x80, 0, 0, 0, ..]) => ethertype(bytes, 8, packet),
        Some([0x08, 0x00, ..] | [0x86, 0xdd, ..]) => ethertype(bytes, 2, packet),
        Some(_) => Ok(()),
        None => Err(DecodeError::new(Layer::Link, Reason::Short, 0)),
    }
}

pub(crate) fn short<T>(value: Option<T>, layer: Layer, at: usize) -> Result<T, DecodeError> {
    value.ok_or(DecodeError::new(layer, Reason::Short, at))
}

/// BSD loopback and raw IP: the version nibble decides; anything else (e.g. another address family) is not IP.
fn raw_ip(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    match short(bytes.get(at), Layer::Link, at)? >> 4 {
        4 => ip::some_v4(bytes, at, packet),
        6 => ip::parse_v6(bytes, at, packet),
        _ => Ok(()),
    }
}

/// `at` is where the first EtherType (or 802.3 length) stands.
pub(crate) fn ethertype(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let kind = short(be16(bytes, at), Layer::Link, 0)?;
    by_ethertype(kind, bytes, at + 2, packet)
}

/// `at` is the byte after the EtherType `kind`.
fn by_ethertype(mut kind: u16, bytes: &[u8], mut at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    for _ in 0..=MAX_TAGS {
        match kind {
            0x0800 => return ip::some_v4(bytes, at, packet),
            0x86dd => return ip::parse_v6(bytes, at, packet),
            // PPPoE session (RFC 2516): six bytes, then the PPP protocol.
            0x8864 => match short(be16(bytes, at + 6), Layer::Link, at)? {
                0x0021 => return ip::some_v4(bytes, at + 8, packet),
                0x0057 => return ip::parse_v6(bytes, at + 8, packet),
                _ => return Ok(()),
            },
            0x8847 | 0x8848 => return mpls(bytes, at, packet),
            0x8915 => return roce::v1(bytes, at, packet),
            0x8808 => return pause::parse(bytes, at, packet),
            0x88cc => return lldp(bytes, at, packet),
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                let tci = short(be16(bytes, at), Layer::Vlan, at)?;
                kind = short(be16(bytes, at + 2), Layer::Vlan, at)?;
                tag(packet, tci);
                at += 4;
            }
            0..=0x05ff => match bytes.get(at..at + 6) {
                // 802.3 with LLC/SNAP and a zero OUI (RFC 1042): the EtherType follows.
                Some([0xaa, 0xaa, 0x03, 0, 0, 0]) => {
                    kind = short(be16(bytes, at + 6), Layer::Link, at)?;
                    at += 8;
                    if kind < 0x0600 {
                        return Ok(());
                    }
                }
                _ => return Ok(()),
            },
            _ => return Ok(()),
        }
    }
    Err(DecodeError::new(Layer::Vlan, Reason::TooDeep, at))
}

/// Neighbours are few and rare: what they say is read again by who wants it.
#[cold]
fn lldp(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    packet.carried_at = u16::try_from(at).unwrap_or(0);
    packet.is_lldp = true;
    Lldp::read(bytes, at).1
}

/// Label stack (RFC 3032). What follows the bottom label is not told; the version nibble says whether it is IP.
fn mpls(bytes: &[u8], mut at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    for _ in 0..MAX_TAGS {
        let bottom = short(bytes.get(at + 2), Layer::Link, at)? & 1 != 0;
        at += 4;
        if bottom {
            return raw_ip(bytes, at, packet);
        }
    }
    Err(DecodeError::new(Layer::Link, Reason::TooDeep, at))
}

/// VLAN id 0 is a priority tag and names no VLAN (802.1Q, 9.6).
fn tag(packet: &mut Packet, tci: u16) {
    if packet.pcp == NO_PCP {
        packet.pcp = (tci >> 13) as u8;
    }
    let id = tci & 0x0fff;
    if id == 0 {
        return;
    }
    if packet.vlan == NO_VLAN {
        packet.vlan = id;
    } else if packet.inner_vlan == NO_VLAN {
        packet.inner_vlan = id;
    }
}
