//! Bytes to headers. Total: any input gives a [`Packet`], never a panic; what could not be read is named in `error`.
//!
//! No allocation, no clock, no unsafe. Add a link layer in `link.rs`, a network layer in `ip.rs`, a transport in
//! `transport.rs`.

mod error;
mod erspan;
mod hosts;
mod ip;
mod link;
mod lldp;
mod names;
mod packet;
mod pause;
mod roce;
mod rtp;
mod transport;
mod tunnel;
mod wireless;

pub use error::{DecodeError, Layer, Reason};
pub use erspan::{Erspan, ErspanTime};
pub use hosts::{dns_answers, host, server_name, DnsName};
pub use ip::length_at;
pub use link::network_at;
pub use lldp::{Application, Dcbx, Ets, Identifier, Lldp, Pfc, Selector};
pub use names::protocol_name;
pub use packet::{proto, tcp_flag, Packet, NO_MARK, NO_PCP, NO_VLAN};
pub use pause::Stop;
pub use roce::{has_aeth, icrc_holds, opcode, Acknowledge, ROCE_V2_PORT};
pub use tunnel::{Carried, Tunnel};

/// Decode one frame.
///
/// `link` is the number in the capture file (LINKTYPE_*), `frame_len` the length on the wire without FCS, which may be
/// more than `bytes` holds; `ts_ns` is copied.
#[inline]
pub fn decode(link: u32, ts_ns: u64, frame_len: u32, bytes: &[u8]) -> Packet {
    let mut packet = Packet::default();
    decode_into(link, ts_ns, frame_len, bytes, &mut packet);
    packet
}

/// As [`decode`], into a `packet` that is as by default.
#[inline(always)]
pub fn decode_into(link: u32, ts_ns: u64, frame_len: u32, bytes: &[u8], packet: &mut Packet) {
    packet.ts_ns = ts_ns;
    packet.frame_len = frame_len;
    if let Err(error) = link::parse(link, bytes, packet) {
        packet.error = Some(error);
    }
    if packet.tunnel != Tunnel::None {
        packet.note_innermost(bytes);
    }
}

/// Big-endian 16 bit number at `at`.
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map(u16::from_be_bytes)
}

/// Big-endian 32 bit number at `at`.
fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes)
}
