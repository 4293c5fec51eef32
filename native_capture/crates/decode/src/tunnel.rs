//! Where a packet carries another one: IP-in-IP (RFC 2003, 2473, 4213), GRE (RFC 2784, 2890) with ERSPAN I, II and III,
//! VXLAN (RFC 7348) and its GPE form, Geneve (RFC 8926), GTP-U (3GPP TS 29.281), Teredo (RFC 4380), MPLS in UDP (RFC 7510).
//!
//! Nothing is followed here: [`Packet::carried`] says where the carried packet begins, and `Packet::inner` decodes it.

use crate::error::{DecodeError, Layer, Reason};
use crate::packet::Packet;
use crate::{be16, be32};

/// How a packet is carried in another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tunnel {
    #[default]
    None,
    IpInIp,
    Gre,
    Erspan1,
    Erspan2,
    Erspan3,
    Vxlan,
    Geneve,
    Gtp,
    Teredo,
    Mpls,
}

/// What stands at the beginning of the carried bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    #[default]
    Ip,
    Ethernet,
    Mpls,
}

/// UDP ports that announce a tunnel (IANA service names).
const VXLAN: u16 = 4_789;
const VXLAN_GPE: u16 = 4_790;
const GENEVE: u16 = 6_081;
const GTP: u16 = 2_152;
const TEREDO: u16 = 3_544;
const MPLS: u16 = 6_635;

pub(crate) fn ip_in_ip(at: usize, packet: &mut Packet) {
    note(packet, Tunnel::IpInIp, 0, at, Carried::Ip);
}

/// UDP payload at `at`. A port is only a hint: where the header does not fit the port, it is plain UDP.
pub(crate) fn udp(bytes: &[u8], at: usize, packet: &mut Packet) {
    let either = |port| packet.dport == port || packet.sport == port;
    let found = match packet.dport {
        VXLAN => vxlan(bytes, at),
        VXLAN_GPE => vxlan_gpe(bytes, at),
        GENEVE => geneve(bytes, at),
        MPLS => Some((Tunnel::Mpls, 0, at, Carried::Mpls)),
        _ if either(GTP) => gtp(bytes, at),
        _ if either(TEREDO) => teredo(bytes, at),
        _ => None,
    };
    if let Some((tunnel, id, inner, carried)) = found {
        note(packet, tunnel, id, inner, carried);
    }
}

fn note(packet: &mut Packet, tunnel: Tunnel, id: u32, at: usize, carried: Carried) {
    packet.tunnel = tunnel;
    packet.tunnel_id = id;
    packet.carried_at = u16::try_from(at).unwrap_or(0);
    packet.carried = carried;
}

type Found = Option<(Tunnel, u32, usize, Carried)>;

fn vxlan(bytes: &[u8], at: usize) -> Found {
    let flags = *bytes.get(at)?;
    (flags & 0x08 != 0).then_some(())?;
    Some((Tunnel::Vxlan, be32(bytes, at + 4)? >> 8, at + 8, Carried::Ethernet))
}

fn vxlan_gpe(bytes: &[u8], at: usize) -> Found {
    let (flags, next) = (*bytes.get(at)?, *bytes.get(at + 3)?);
    (flags & 0x0c == 0x0c).then_some(())?;
    let carried = match next {
        1 | 2 => Carried::Ip,
        3 => Carried::Ethernet,
        5 => Carried::Mpls,
        _ => return None,
    };
    Some((Tunnel::Vxlan, be32(bytes, at + 4)? >> 8, at + 8, carried))
}

fn geneve(bytes: &[u8], at: usize) -> Found {
    let first = *bytes.get(at)?;
    (first >> 6 == 0).then_some(())?;
    let carried = by_ethertype(be16(bytes, at + 2)?)?;
    let options = usize::from(first & 0x3f) * 4;
    Some((Tunnel::Geneve, be32(bytes, at + 4)? >> 8, at + 8 + options, carried))
}

/// Only T-PDUs (message 255) carry packets. Optional fields stand there when any of E, S, PN is set (5.1).
fn gtp(bytes: &[u8], at: usize) -> Found {
    let flags = *bytes.get(at)?;
    (flags >> 5 == 1 && flags & 0x10 != 0 && *bytes.get(at + 1)? == 255).then_some(())?;
    let id = be32(bytes, at + 4)?;
    let mut inner = at + 8;
    if flags & 0x07 != 0 {
        let mut next = *bytes.get(inner + 3)?;
        inner += 4;
        for _ in 0..8 {
            if flags & 0x04 == 0 || next == 0 {
                break;
            }
            let length = usize::from(*bytes.get(inner)?) * 4;
            (length > 0).then_some(())?;
            next = *bytes.get(inner + length - 1)?;
            inner += length;
        }
    }
    matches!(bytes.get(inner)? >> 4, 4 | 6).then_some((Tunnel::Gtp, id, inner, Carried::Ip))
}

/// Authentication and origin indications may stand before the IPv6 packet (RFC 4380, 5.1.1).
fn teredo(bytes: &[u8], at: usize) -> Found {
    let mut inner = at;
    if be16(bytes, inner)? == 1 {
        inner += 13 + usize::from(*bytes.get(inner + 2)?) + usize::from(*bytes.get(inner + 3)?);
    }
    if be16(bytes, inner)? == 0 {
        inner += 8;
    }
    (bytes.get(inner)? >> 4 == 6).then_some((Tunnel::Teredo, 0, inner, Carried::Ip))
}

/// GRE at `at`. Version 1 (PPTP) and unknown payloads carry nothing that is followed.
pub(crate) fn gre(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let short = DecodeError::new(Layer::Gre, Reason::Short, at);
    let flags = be16(bytes, at).ok_or(short)?;
    let kind = be16(bytes, at + 2).ok_or(short)?;
    if flags & 0x0007 != 0 {
        return Ok(());
    }
    let has = |bit: u16| usize::from(flags & bit != 0);
    let key_at = at + 4 + has(0x8000) * 4;
    let sequence_at = key_at + has(0x2000) * 4;
    let inner = sequence_at + has(0x1000) * 4;
    if bytes.len() < inner {
        return Err(short);
    }
    let key = if flags & 0x2000 != 0 { be32(bytes, key_at).unwrap_or(0) } else { 0 };
    if flags & 0x1000 != 0 {
        packet.seq = be32(bytes, sequence_at).unwrap_or(0);
    }
    match kind {
        0x88be if flags & 0x1000 == 0 => note(packet, Tunnel::Erspan1, key, inner, Carried::Ethernet),
        0x88be => erspan(bytes, inner, Tunnel::Erspan2, 8, packet)?,
        0x22eb => erspan3(bytes, inner, packet)?,
        // WCCP: a redirect header stands before the packet in version 2 (draft-mclaggan-wccp, 4.4)
        0x883e if bytes.get(inner).is_some_and(|first| first >> 4 == 4) => {
            note(packet, Tunnel::Gre, key, inner, Carried::Ip)
        }
        0x883e => note(packet, Tunnel::Gre, key, inner + 4, Carried::Ip),
        _ => {
            if let Some(carried) = by_ethertype(kind) {
                note(packet, Tunnel::Gre, key, inner, carried);
            }
        }
    }
    Ok(())
}

/// Session id: the low ten bits of the second half word (draft-foschiano-erspan, 4.2).
fn erspan(bytes: &[u8], at: usize, tunnel: Tunnel, length: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let short = DecodeError::new(Layer::Erspan, Reason::Short, at);
    let session = be16(bytes, at + 2).ok_or(short)? & 0x03ff;
    note(packet, tunnel, u32::from(session), at + length, Carried::Ethernet);
    Ok(())
}

/// Twelve bytes, eight more when the O bit announces a platform sub-header; frame type 2 is an IP packet (4.3).
fn erspan3(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let short = DecodeError::new(Layer::Erspan, Reason::Short, at);
    let flags = be16(bytes, at + 10).ok_or(short)?;
    let length = if flags & 1 != 0 { 20 } else { 12 };
    erspan(bytes, at, Tunnel::Erspan3, length, packet)?;
    if flags >> 10 & 0x1f == 2 {
        packet.carried = Carried::Ip;
    }
    Ok(())
}

fn by_ethertype(kind: u16) -> Option<Carried> {
    match kind {
        0x0800 | 0x86dd => Some(Carried::Ip),
        0x6558 => Some(Carried::Ethernet),
        0x8847 | 0x8848 => Some(Carried::Mpls),
        _ => None,
    }
}
