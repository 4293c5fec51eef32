//! IPv4 (RFC 791) with options and fragments, IPv6 (RFC 8200) with extension headers.

use crate::error::{DecodeError, Layer, Reason};
use crate::packet::{proto, Packet};
use crate::{be16, be32, transport};

/// Longest chain of IPv6 extension headers that is followed.
const MAX_EXTENSIONS: usize = 16;

/// As [`parse_v4`], where that stands in nobody's way.
#[inline(never)]
pub(crate) fn some_v4(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    parse_v4(bytes, at, packet)
}

#[inline(always)]
pub(crate) fn parse_v4(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let fail = |reason| DecodeError::new(Layer::Ipv4, reason, at);
    let h: &[u8; 20] = bytes.get(at..at + 20).and_then(|h| h.try_into().ok()).ok_or(fail(Reason::Short))?;
    if h[0] >> 4 != 4 {
        return Err(fail(Reason::Version));
    }
    traffic_class(packet, 4, h[1]);
    packet.ip_id = u32::from(u16::from_be_bytes([h[4], h[5]]));
    let fragment = u16::from_be_bytes([h[6], h[7]]);
    packet.more_fragments = fragment & 0x2000 != 0;
    packet.frag_offset = fragment & 0x1fff;
    packet.ttl = h[8];
    packet.proto = h[9];
    packet.src = u128::from(u32::from_be_bytes([h[12], h[13], h[14], h[15]]));
    packet.dst = u128::from(u32::from_be_bytes([h[16], h[17], h[18], h[19]]));
    let header = usize::from(h[0] & 0x0f) * 4;
    if header < 20 {
        return Err(fail(Reason::HeaderLength));
    }
    let total = usize::from(u16::from_be_bytes([h[2], h[3]]));
    let on_wire = (packet.frame_len as usize).saturating_sub(at);
    // Length 0: segmentation offload, the frame says how much there is (as tshark infers).
    let total = if total == 0 { on_wire } else { total };
    packet.l3_len = total as u32;
    if total < header {
        return Err(fail(Reason::TotalLength));
    }
    if packet.frag_offset != 0 {
        return Ok(());
    }
    let end = bytes.len().min(at + total);
    let bytes = bytes.get(..end).unwrap_or(bytes);
    if packet.proto == proto::AH {
        return authentication(bytes, at + header, total - header, packet);
    }
    transport::parse(bytes, at + header, total - header, packet)
}

/// IPv4 with an authentication header (RFC 4302): its length is in units of 4, minus 2.
#[cold]
fn authentication(bytes: &[u8], at: usize, left: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let fail = |reason| DecodeError::new(Layer::Authentication, reason, at);
    let h: [u8; 2] = bytes.get(at..at + 2).and_then(|h| h.try_into().ok()).ok_or(fail(Reason::Short))?;
    let length = usize::from(h[1]) * 4 + 8;
    if length > left {
        return Err(fail(Reason::HeaderLength));
    }
    packet.proto = h[0];
    transport::some(bytes, at + length, left - length, packet)
}

pub(crate) fn parse_v6(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let fail = |reason| DecodeError::new(Layer::Ipv6, reason, at);
    let h: &[u8; 40] = bytes.get(at..at + 40).and_then(|h| h.try_into().ok()).ok_or(fail(Reason::Short))?;
    if h[0] >> 4 != 6 {
        return Err(fail(Reason::Version));
    }
    traffic_class(packet, 6, h[0] << 4 | h[1] >> 4);
    packet.ttl = h[7];
    packet.proto = h[6];
    packet.src = address(&h[8..24]);
    packet.dst = address(&h[24..40]);
    let announced = usize::from(u16::from_be_bytes([h[4], h[5]]));
    let on_wire = (packet.frame_len as usize).saturating_sub(at + 40);
    // Payload length 0: jumbogram (RFC 2675) or offload; the frame says how much there is.
    let payload = if announced == 0 { on_wire } else { announced };
    packet.l3_len = (payload + 40) as u32;
    let end = bytes.len().min(at + 40 + payload);
    extensions(bytes.get(..end).unwrap_or(bytes), at + 40, payload, packet)
}

/// Walk the extension headers; `left` is the number of bytes on the wire from `at` to the end of the packet.
fn extensions(bytes: &[u8], mut at: usize, mut left: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    for _ in 0..MAX_EXTENSIONS {
        let fail = |reason| DecodeError::new(Layer::Ipv6Extension, reason, at);
        let length = match packet.proto {
            // hop-by-hop, routing, destination, mobility, HIP, shim6: length in units of 8, first not counted
            0 | 43 | 60 | 135 | 139 | 140 => usize::from(*bytes.get(at + 1).ok_or(fail(Reason::Short))?) * 8 + 8,
            // authentication header: units of 4, minus 2 (RFC 4302)
            51 => usize::from(*bytes.get(at + 1).ok_or(fail(Reason::Short))?) * 4 + 8,
            44 => {
                let word = be16(bytes, at + 2).ok_or(fail(Reason::Short))?;
                packet.ip_id = be32(bytes, at + 4).ok_or(fail(Reason::Short))?;
                packet.frag_offset = word >> 3;
                packet.more_fragments = word & 1 != 0;
                8
            }
            _ => return transport::some(bytes, at, left, packet),
        };
        packet.proto = *bytes.get(at).ok_or(fail(Reason::Short))?;
        if length > left {
            return Err(fail(Reason::HeaderLength));
        }
        at += length;
        left -= length;
        if packet.frag_offset != 0 {
            return Ok(());
        }
    }
    Err(DecodeError::new(Layer::Ipv6Extension, Reason::TooDeep, at))
}

/// Length of the IP packet at `at` as its header says; None without one, and where it says 0 (offload, jumbogram).
#[cold]
pub fn length_at(bytes: &[u8], at: usize) -> Option<usize> {
    let (head, told) = match bytes.get(at)? >> 4 {
        4 => (0, be16(bytes, at + 2)?),
        6 => (40, be16(bytes, at + 4)?),
        _ => return None,
    };
    (told > 0).then_some(head + usize::from(told))
}

fn traffic_class(packet: &mut Packet, version: u8, class: u8) {
    packet.version = version;
    packet.dscp = class >> 2;
    packet.ecn = class & 3;
}

fn address(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}
