//! RDMA over Converged Ethernet: the base transport header and what follows it, and the invariant CRC.
//!
//! InfiniBand Architecture Specification volume 1, chapter 9 (headers) and annexes A16 (RoCE), A17 (RoCEv2).

use crate::be32;
use crate::error::{DecodeError, Layer, Reason};
use crate::packet::Packet;

/// UDP destination port of RoCEv2 (IANA roce).
pub const ROCE_V2_PORT: u16 = 4_791;
const BTH: usize = 12;
const GRH: usize = 40;
/// The trailing invariant CRC.
const ICRC: usize = 4;

/// BTH opcodes named here (9.2.1). The upper three bits are the transport: 0 RC, 1 UC, 2 RD, 3 UD, 5 XRC; 4 is CNP.
pub mod opcode {
    pub const ACKNOWLEDGE: u8 = 0x11;
    pub const ATOMIC_ACKNOWLEDGE: u8 = 0x12;
    /// Congestion notification (A17.9.3).
    pub const CNP: u8 = 0x81;
}

/// What an AETH syndrome says (9.7.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    Ack,
    /// Receiver not ready.
    Rnr,
    /// PSN sequence error: packets are missing.
    SequenceError,
    /// Any other refusal, by its code.
    Nak(u8),
}

impl Acknowledge {
    pub fn of(syndrome: u8) -> Self {
        match (syndrome >> 5 & 3, syndrome & 0x1f) {
            (0, _) => Self::Ack,
            (1, _) => Self::Rnr,
            (_, 0) => Self::SequenceError,
            (_, code) => Self::Nak(code),
        }
    }
}

/// Base transport header at `at`; `length` counts to the end of the packet on the wire, ICRC included.
pub(crate) fn bth(bytes: &[u8], at: usize, length: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let fail = DecodeError::new(Layer::Bth, Reason::Short, at);
    let h: &[u8; BTH] = bytes.get(at..at + BTH).and_then(|h| h.try_into().ok()).ok_or(fail)?;
    packet.has_bth = true;
    packet.opcode = h[0];
    packet.dest_qp = u32::from_be_bytes([0, h[5], h[6], h[7]]);
    packet.seq = u32::from_be_bytes([0, h[9], h[10], h[11]]);
    packet.ack_requested = h[8] & 0x80 != 0;
    let (extended, aeth_at) = BEHIND[usize::from(h[0])];
    if let Some(syndrome_at) = aeth_at {
        let aeth = be32(bytes, at + BTH + usize::from(syndrome_at)).ok_or(fail)?;
        packet.syndrome = (aeth >> 24) as u8;
        packet.ack = aeth & 0x00ff_ffff;
    }
    let pad = usize::from(h[1] >> 4 & 3);
    packet.payload_len = length.saturating_sub(BTH + usize::from(extended) + pad + ICRC) as u32;
    Ok(())
}

/// RoCEv1 (EtherType 0x8915): a global route header, laid out like IPv6, then the BTH. Its traffic class is no DSCP of IP:
/// switches queue such frames by PCP. So no mark is filled in, and `version` stays 0; the global identifiers stand in `src` and `dst`.
pub(crate) fn v1(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let fail = DecodeError::new(Layer::Grh, Reason::Short, at);
    let next = *bytes.get(at + 6).ok_or(fail)?;
    packet.is_roce_v1 = true;
    packet.src = gid(bytes, at + 8).ok_or(fail)?;
    packet.dst = gid(bytes, at + 24).ok_or(fail)?;
    if next != 0x1b {
        return Ok(());
    }
    bth(bytes, at + GRH, (packet.frame_len as usize).saturating_sub(at + GRH), packet)
}

fn gid(bytes: &[u8], at: usize) -> Option<u128> {
    Some(u128::from_be_bytes(bytes.get(at..at + 16)?.try_into().ok()?))
}

/// Of each opcode: [`extended`] and [`aeth_at`].
static BEHIND: [(u8, Option<u8>); 256] = {
    let mut table = [(0, None); 256];
    let mut code = 0;
    while code < 256 {
        table[code] = (extended(code as u8), aeth_at(code as u8));
        code += 1;
    }
    table
};

/// Bytes of the extended headers that follow the BTH (table 38).
const fn extended(opcode: u8) -> u8 {
    const DETH: u8 = 8;
    const RDETH: u8 = 4;
    const RETH: u8 = 16;
    const AETH: u8 = 4;
    const IMM: u8 = 4;
    const ATOMIC: u8 = 28;
    const XRCETH: u8 = 4;
    let (transport, operation) = (opcode >> 5, opcode & 0x1f);
    let own = match operation {
        0x03 | 0x05 | 0x09 | 0x16 | 0x17 => IMM,
        0x06 | 0x0c => RETH,
        0x0a => RETH,
        0x0b => RETH + IMM,
        0x0d | 0x0f | 0x10 | 0x11 => AETH,
        0x12 => AETH + 8,
        0x13 | 0x14 => ATOMIC,
        _ => 0,
    };
    match transport {
        0 | 1 => own,
        2 => own + RDETH + if matches!(operation, 0x0d..=0x12) { 0 } else { DETH },
        3 => DETH + if operation == 0x05 { IMM } else { 0 },
        5 => own + XRCETH,
        _ => 16, // CNP: sixteen reserved bytes
    }
}

/// Whether packets with this opcode acknowledge something: read responses and acknowledgements.
pub fn has_aeth(opcode: u8) -> bool {
    BEHIND[usize::from(opcode)].1.is_some()
}

/// Where the AETH stands after the BTH, for opcodes that have one.
const fn aeth_at(opcode: u8) -> Option<u8> {
    let has = matches!(opcode & 0x1f, 0x0d | 0x0f | 0x10 | 0x11 | 0x12);
    match opcode >> 5 {
        0 | 1 | 5 if has => Some(0),
        2 if has => Some(4),
        _ => None,
    }
}

/// Whether the invariant CRC of a RoCEv2 frame holds; None when the frame is no whole RoCEv2 frame.
///
/// `ip_at`: offset of the IP header. Fields that change on the way are taken as ones, and eight bytes of ones stand before (A17.3.3).
pub fn icrc_holds(bytes: &[u8], ip_at: usize) -> Option<bool> {
    let first = *bytes.get(ip_at)?;
    let (header, total) = match first >> 4 {
        4 => (usize::from(first & 0x0f) * 4, usize::from(crate::be16(bytes, ip_at + 2)?)),
        6 => (40, usize::from(crate::be16(bytes, ip_at + 4)?) + 40),
        _ => return None,
    };
    let whole = bytes.get(ip_at..ip_at + total)?;
    let udp = header;
    (whole.len() >= udp + 8 + BTH + ICRC && crate::be16(whole, udp + 2)? == ROCE_V2_PORT).then_some(())?;
    let masked = |at: usize| match first >> 4 {
        4 => matches!(at, 1 | 8 | 10 | 11),
        _ => matches!(at, 1..=3 | 7),
    };
    let mut crc = [0xff_u8; 8].iter().fold(u32::MAX, |crc, byte| step(crc, *byte));
    for (at, byte) in whole[..total - ICRC].iter().enumerate() {
        let byte = match at {
            0 if first >> 4 == 6 => byte | 0x0f,
            _ if masked(at) => 0xff,
            _ if at == udp + 6 || at == udp + 7 || at == udp + 8 + 4 => 0xff,
            _ => *byte,
        };
        crc = step(crc, byte);
    }
    let carried: [u8; 4] = whole[total - ICRC..].try_into().ok()?;
    Some(!crc == u32::from_le_bytes(carried))
}

/// One byte of CRC-32 (IEEE 802.3), reflected.
fn step(crc: u32, byte: u8) -> u32 {
    TABLE[usize::from((crc as u8) ^ byte)] ^ (crc >> 8)
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = at as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 != 0 { 0xedb8_8320 ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
};
