//! Media over UDP: the fixed header of RTP (RFC 3550, 5.1). Nothing announces it: a packet that may be RTP is noted, and whoever
//! sees several of a flow knows.

use crate::be32;
use crate::packet::Packet;

const HEADER: usize = 12;
/// Ports below are services of their own.
const FIRST_PORT: u16 = 1_024;
/// Payload types that RTCP's packet types would be taken for (RFC 5761, 4).
const RTCP: std::ops::RangeInclusive<u8> = 64..=95;

/// UDP payload at `at`, `length` bytes on the wire.
pub(crate) fn note(bytes: &[u8], at: usize, length: usize, packet: &mut Packet) {
    let Some(first) = be32(bytes, at).filter(|first| first >> 30 == 2) else { return };
    let sources = (first >> 24 & 15) as usize;
    let payload_type = (first >> 16 & 127) as u8;
    let is_service = packet.sport < FIRST_PORT || packet.dport < FIRST_PORT;
    if is_service || RTCP.contains(&payload_type) || length < HEADER + sources * 4 {
        return;
    }
    if let (Some(timestamp), Some(source)) = (be32(bytes, at + 4), be32(bytes, at + 8)) {
        packet.may_be_rtp = true;
        packet.opcode = payload_type;
        packet.window = first as u16;
        packet.ack = timestamp;
        packet.tunnel_id = source;
    }
}
