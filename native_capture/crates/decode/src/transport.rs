//! TCP (RFC 9293), UDP (RFC 768), ICMP (RFC 792, 4443), and the ports of the protocols that put them first.

use crate::error::{DecodeError, Layer, Reason};
use crate::packet::{proto, Packet};
use crate::tunnel::Tunnel;
use crate::{be16, be32, roce, rtp, tunnel};

/// As [`parse`], where that stands in nobody's way.
#[inline(never)]
pub(crate) fn some(bytes: &[u8], at: usize, length: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    parse(bytes, at, length, packet)
}

/// `bytes` end where the IP packet ends; `length` is the number of transport bytes on the wire.
#[inline(always)]
pub(crate) fn parse(bytes: &[u8], at: usize, length: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    match packet.proto {
        proto::TCP => tcp(bytes, at, length, packet),
        proto::UDP | proto::UDPLITE => udp(bytes, at, length, packet),
        _ => other(bytes, at, length, packet),
    }
}

fn other(bytes: &[u8], at: usize, length: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    match packet.proto {
        proto::IPV4 | proto::IPV6 => {
            packet.payload_len = length as u32;
            tunnel::ip_in_ip(at, packet);
            Ok(())
        }
        proto::GRE => {
            packet.payload_len = length as u32;
            tunnel::gre(bytes, at, packet)
        }
        proto::ESP => {
            packet.seq = be32(bytes, at + 4).ok_or(DecodeError::new(Layer::Esp, Reason::Short, at))?;
            packet.payload_len = length.saturating_sub(8) as u32;
            Ok(())
        }
        proto::SCTP | proto::DCCP => {
            ports(bytes, at, Layer::Ports, packet)?;
            packet.payload_len = length.saturating_sub(12) as u32;
            Ok(())
        }
        proto::ICMP | proto::ICMPV6 => icmp(bytes, at, length, packet),
        _ => {
            packet.payload_len = length as u32;
            Ok(())
        }
    }
}

#[inline(always)]
fn udp(bytes: &[u8], at: usize, length: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let Some(h) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) else {
        ports(bytes, at, Layer::Udp, packet)?;
        return Err(DecodeError::new(Layer::Udp, Reason::Short, at));
    };
    packet.sport = u16::from_be_bytes([h[0], h[1]]);
    packet.dport = u16::from_be_bytes([h[2], h[3]]);
    packet.has_transport = true;
    packet.checksum = u16::from_be_bytes([h[6], h[7]]);
    let length = length.saturating_sub(8);
    packet.payload_len = length as u32;
    payload(at + 8, packet);
    if packet.dport == roce::ROCE_V2_PORT && packet.proto == proto::UDP {
        return roce::bth(bytes, at + 8, length, packet);
    }
    tunnel::udp(bytes, at + 8, packet);
    if packet.tunnel == Tunnel::None {
        rtp::note(bytes, at + 8, length, packet);
    }
    Ok(())
}

#[inline]
fn ports(bytes: &[u8], at: usize, layer: Layer, packet: &mut Packet) -> Result<(), DecodeError> {
    let both = be32(bytes, at).ok_or(DecodeError::new(layer, Reason::Short, at))?;
    packet.sport = (both >> 16) as u16;
    packet.dport = both as u16;
    packet.has_transport = true;
    Ok(())
}

#[inline(always)]
fn tcp(bytes: &[u8], at: usize, length: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let fail = |reason| DecodeError::new(Layer::Tcp, reason, at);
    let Some(h) = bytes.get(at..).and_then(|rest| rest.first_chunk::<20>()) else {
        ports(bytes, at, Layer::Tcp, packet)?;
        return Err(fail(Reason::Short));
    };
    packet.sport = u16::from_be_bytes([h[0], h[1]]);
    packet.dport = u16::from_be_bytes([h[2], h[3]]);
    packet.has_transport = true;
    packet.seq = u32::from_be_bytes([h[4], h[5], h[6], h[7]]);
    packet.ack = u32::from_be_bytes([h[8], h[9], h[10], h[11]]);
    packet.tcp_flags = h[13];
    packet.window = u16::from_be_bytes([h[14], h[15]]);
    packet.checksum = u16::from_be_bytes([h[16], h[17]]);
    let header = usize::from(h[12] >> 4) * 4;
    if header < 20 || header > length {
        return Err(fail(Reason::HeaderLength));
    }
    packet.payload_len = (length - header) as u32;
    payload(at + header, packet);
    Ok(())
}

fn payload(at: usize, packet: &mut Packet) {
    packet.payload_at = u16::try_from(at).unwrap_or(0);
}

fn icmp(bytes: &[u8], at: usize, length: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let fail = || DecodeError::new(Layer::Icmp, Reason::Short, at);
    packet.icmp_type = *bytes.get(at).ok_or_else(fail)?;
    packet.has_transport = true;
    packet.checksum = be16(bytes, at + 2).ok_or_else(fail)?;
    packet.payload_len = length.saturating_sub(8) as u32;
    if packet.is_echo() {
        packet.seq = be32(bytes, at + 4).ok_or_else(fail)?;
    } else {
        too_big(bytes, at, packet);
    }
    Ok(())
}

/// Keep what a router says of a segment that was too large; the beginning of the segment's packet stands behind eight bytes.
fn too_big(bytes: &[u8], at: usize, packet: &mut Packet) {
    const FRAGMENTATION_NEEDED: (u8, u8) = (3, 4);
    const PACKET_TOO_BIG: u8 = 2;
    let Some(h) = bytes.get(at..).and_then(|rest| rest.first_chunk::<28>()) else { return };
    let quoted = at + 8;
    let (ports_at, mtu) = match packet.proto {
        proto::ICMP if (h[0], h[1]) == FRAGMENTATION_NEEDED && h[8] >> 4 == 4 && h[17] == proto::TCP => {
            (quoted + usize::from(h[8] & 15) * 4, u32::from(u16::from_be_bytes([h[6], h[7]])))
        }
        proto::ICMPV6 if h[0] == PACKET_TOO_BIG && h[8] >> 4 == 6 && h[14] == proto::TCP => {
            (quoted + 40, u32::from_be_bytes([h[4], h[5], h[6], h[7]]))
        }
        _ => return,
    };
    packet.ack = be32(bytes, ports_at).unwrap_or(0);
    packet.window = u16::try_from(mtu).unwrap_or(u16::MAX);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(proto: u8, bytes: &[u8]) -> Option<(u32, u16)> {
        let mut packet = Packet { proto, ..Packet::default() };
        parse(bytes, 0, bytes.len(), &mut packet).ok().and(packet.too_big())
    }

    #[test]
    fn a_router_tells_which_segment_was_too_large_and_what_would_fit() {
        let ports = [0x9c, 0x40, 0x01, 0xbb];
        let v4 = |kind: u8, code: u8, carried: u8, words: u8| {
            let mut quoted = vec![0x40 | words, 0, 5, 220, 0, 1, 0x40, 0, 64, carried];
            quoted.resize(usize::from(words) * 4, 0);
            [&[kind, code, 0, 0, 0, 0, 0x05, 0x14], quoted.as_slice(), &ports, &[0; 4]].concat()
        };
        assert_eq!(told(proto::ICMP, &v4(3, 4, proto::TCP, 5)), Some((0x9c40_01bb, 1_300)));
        assert_eq!(told(proto::ICMP, &v4(3, 4, proto::TCP, 15)), Some((0x9c40_01bb, 1_300)));
        for (kind, code, carried) in [(3, 3, proto::TCP), (11, 4, proto::TCP), (3, 4, proto::UDP), (8, 4, proto::TCP)] {
            assert_eq!(told(proto::ICMP, &v4(kind, code, carried, 5)), None);
        }
        let mut v6 = vec![2, 0, 0, 0, 0, 0, 0x05, 0x00, 0x60, 0, 0, 0, 5, 180, proto::TCP, 64];
        v6.resize(48, 0);
        v6.extend_from_slice(&ports);
        assert_eq!(told(proto::ICMPV6, &v6), Some((0x9c40_01bb, 1_280)));
        assert_eq!(told(proto::ICMPV6, &v6[..50]), None);
        v6[14] = proto::UDP;
        assert_eq!(told(proto::ICMPV6, &v6), None);
    }
}
