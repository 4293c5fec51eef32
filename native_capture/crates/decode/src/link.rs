//! Link layers: Ethernet II and 802.3/SNAP with any stack of VLAN tags, PPPoE and MPLS; Linux cooked (SLL, SLL2), Cisco
//! HDLC, raw IP, BSD loopback.

use crate::error::{DecodeError, Layer, Reason};
use crate::packet::{Packet, NO_VLAN};
use crate::{be16, ip};

/// More tags than this are an attack or garbage; real stacks have at most three.
const MAX_TAGS: usize = 8;

pub(crate) fn parse(link: u32, bytes: &[u8], packet: &mut Packet) -> Result<(), DecodeError> {
    match link {
        1 => ethertype(bytes, 12, packet),
        104 => ethertype(bytes, 2, packet),
        113 => ethertype(bytes, 14, packet),
        276 => by_ethertype(short(be16(bytes, 0), Layer::Link, 0)?, bytes, 20, packet),
        12 | 14 | 101 | 228 | 229 => raw_ip(bytes, 0, packet),
        0 | 108 => raw_ip(bytes, 4, packet),
        _ => Err(DecodeError::new(Layer::Link, Reason::UnknownLink, 0)),
    }
}

fn short<T>(value: Option<T>, layer: Layer, at: usize) -> Result<T, DecodeError> {
    value.ok_or(DecodeError::new(layer, Reason::Short, at))
}

/// BSD loopback and raw IP: the version nibble decides; anything else (e.g. another address family) is not IP.
fn raw_ip(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    match short(bytes.get(at), Layer::Link, at)? >> 4 {
        4 => ip::parse_v4(bytes, at, packet),
        6 => ip::parse_v6(bytes, at, packet),
        _ => Ok(()),
    }
}

/// `at` is where the first EtherType (or 802.3 length) stands.
fn ethertype(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let kind = short(be16(bytes, at), Layer::Link, 0)?;
    by_ethertype(kind, bytes, at + 2, packet)
}

/// `at` is the byte after the EtherType `kind`.
fn by_ethertype(mut kind: u16, bytes: &[u8], mut at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    for _ in 0..=MAX_TAGS {
        match kind {
            0x0800 => return ip::parse_v4(bytes, at, packet),
            0x86dd => return ip::parse_v6(bytes, at, packet),
            // PPPoE session (RFC 2516): six bytes, then the PPP protocol.
            0x8864 => match short(be16(bytes, at + 6), Layer::Link, at)? {
                0x0021 => return ip::parse_v4(bytes, at + 8, packet),
                0x0057 => return ip::parse_v6(bytes, at + 8, packet),
                _ => return Ok(()),
            },
            0x8847 | 0x8848 => return mpls(bytes, at, packet),
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                let tci = short(be16(bytes, at), Layer::Vlan, at)?;
                kind = short(be16(bytes, at + 2), Layer::Vlan, at)?;
                tag(packet, tci & 0x0fff);
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
fn tag(packet: &mut Packet, id: u16) {
    if id == 0 {
        return;
    }
    if packet.vlan == NO_VLAN {
        packet.vlan = id;
    } else if packet.inner_vlan == NO_VLAN {
        packet.inner_vlan = id;
    }
}
