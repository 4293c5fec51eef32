//! One RDMA flow: what its packets count as, and where they stand in its sequence.

use nc_decode::{has_aeth, opcode, Acknowledge, Packet, Tunnel};

use crate::dscp::{DscpCount, DscpSet};
use crate::near;
use crate::psn::{Psn, Stream};
use crate::roce_ends::RoceEnds;

/// An acknowledgement lies at most so far behind the newest request: far more than any adapter keeps in flight.
const IN_FLIGHT: i32 = 8_192;
/// A repeat after a silence this long was sent by a timeout: the shortest that adapters use is 4.096 us x 2^10 (IBA 9.7.6.1.3).
const SILENCE_NS: u64 = 4_000_000;
/// Number of a flow that is none.
pub const NO_QP: u32 = u32::MAX;
/// Mark of a flow of several.
const SEVERAL: u8 = u8::MAX;
/// Opcodes of reliable connections, which have counters of their own.
const RELIABLE: usize = 32;

/// Refusals by kind (AETH syndrome, IBA 9.7.5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    pub sequence: u64,
    pub rnr: u64,
    /// By code: 1 invalid request, 2 remote access, 3 remote operational, 4 invalid RD request; higher ones are counted as 0.
    pub other: [u64; 5],
}

impl Refusals {
    pub fn total(&self) -> u64 {
        self.sequence + self.rnr + self.other.iter().sum::<u64>()
    }
}

/// The measured life of one flow. `ecn`: of the packets that carry payload by their opcode, by codepoint. `acks`, `refusals`, `cnp`: what
/// this flow carries, which speaks about the other direction.
///
/// In the order of need: nearly every packet touches the first three cache lines and one of opcodes, no others.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct QpFlow {
    pub ends: RoceEnds,
    pub dest_qp: u32,
    pub peer: u32,
    pub payload_max: u32,
    pub frame_max: u32,
    pub first_ns: u64,
    pub last_ns: u64,
    pub packets: u64,
    pub bytes: u64,
    payload: u64,
    last_data_ns: u64,
    /// Repeats that came after a silence without a refusal.
    pub after_silence: u64,
    pub tunnel: Tunnel,
    pub pcp: u8,
    mark: u8,
    pub(crate) tries: u8,
    pub ecn: [u64; 4],
    pub requests: Stream,
    pub responses: Stream,
    reliable: [u64; RELIABLE],
    /// Of other transports.
    others: Vec<(u8, u64)>,
    dscp: DscpSet,
    pub acks: u64,
    pub refusals: Refusals,
    pub cnp: u64,
}

/// What the opcodes mean (IBA 9.2.1), a bit each, by opcode.
mod class {
    /// Payload in a numbered sequence: reliable, unreliable and extended connections.
    pub const DATA: u8 = 1;
    /// A number of its own in it: acknowledgements repeat those of others, datagrams are numbered by their sender.
    pub const PLACED: u8 = 2;
    /// The answer to a read.
    pub const RESPONSE: u8 = 4;
    pub const READ: u8 = 8;
    /// Begins the answer to a read; does not end it.
    pub const BEGINS: u8 = 16;
    pub const GOES_ON: u8 = 32;

    pub static OF: [u8; 256] = {
        let mut table = [0; 256];
        let mut code = 0;
        while code < 256 {
            table[code] = of(code as u8);
            code += 1;
        }
        table
    };

    const fn of(opcode: u8) -> u8 {
        let operation = opcode & 0x1f;
        let answer = match operation {
            0x0d => RESPONSE | BEGINS | GOES_ON,
            0x0e => RESPONSE | GOES_ON,
            0x0f => RESPONSE,
            0x10 => RESPONSE | BEGINS,
            _ => 0,
        };
        if !matches!(opcode >> 5, 0 | 1 | 5) {
            return answer;
        }
        let own = match operation {
            0x00..=0x0b | 0x0d..=0x10 | 0x16 | 0x17 => DATA | PLACED,
            0x0c => READ | PLACED,
            0x11 | 0x12 => 0,
            _ => PLACED,
        };
        own | answer
    }
}

impl QpFlow {
    pub(crate) fn new(ends: RoceEnds, packet: &Packet) -> Self {
        Self {
            ends,
            dest_qp: packet.dest_qp,
            peer: NO_QP,
            payload_max: 0,
            frame_max: 0,
            first_ns: packet.ts_ns,
            last_ns: packet.ts_ns,
            packets: 0,
            bytes: 0,
            payload: 0,
            last_data_ns: 0,
            tunnel: packet.tunnel,
            pcp: packet.pcp,
            mark: mark_of(packet).0,
            tries: 0,
            ecn: [0; 4],
            requests: Stream::default(),
            responses: Stream::default(),
            reliable: [0; RELIABLE],
            others: Vec::new(),
            dscp: DscpSet::default(),
            after_silence: 0,
            acks: 0,
            refusals: Refusals::default(),
            cnp: 0,
        }
    }

    /// Whether a packet of a point of this number and realm is one of it.
    #[inline]
    pub(crate) fn is_of(&self, (point, realm): (u16, u16), packet: &Packet) -> bool {
        let ends = &self.ends;
        self.dest_qp == packet.dest_qp
            && ends.src == packet.src
            && ends.dst == packet.dst
            && (ends.point, ends.realm, ends.version) == (point, realm, packet.version)
            && ends.tunnel == RoceEnds::tunnel_of(packet)
    }

    /// Bring near what a packet with this opcode will touch.
    #[inline]
    pub(crate) fn fetch(&self, opcode: u8) {
        near::fetch(&self.dest_qp);
        near::fetch(&self.first_ns);
        near::fetch(&self.requests.packets);
        near::fetch(&self.reliable[usize::from(opcode) % RELIABLE]);
    }

    /// Packets that carry payload by their opcode.
    pub fn data(&self) -> u64 {
        self.ecn.iter().sum()
    }

    /// None inside a tunnel: the length read is that of the tunnel's packet.
    pub fn payload_bytes(&self) -> Option<u64> {
        (self.tunnel == Tunnel::None).then_some(self.payload)
    }

    /// Opcodes and how many packets had them.
    pub fn opcodes(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        let reliable = (0..).zip(self.reliable).filter(|(_, count)| *count > 0);
        reliable.chain(self.others.iter().copied())
    }

    /// Packets and bytes of each mark, ascending.
    pub fn marks(&self) -> Vec<(u8, DscpCount)> {
        let mut marks = self.dscp.clone();
        if self.mark != SEVERAL {
            marks.of_only(self.mark, 0);
        }
        marks.counts((self.packets, self.bytes))
    }

    /// Account one packet. Returns whether it carries numbered payload, where it stands, and what it says of the other direction.
    #[inline]
    pub(crate) fn observe(&mut self, packet: &Packet) -> (bool, Psn, Option<Acknowledge>) {
        let class = class::OF[usize::from(packet.opcode)];
        self.count(packet, class);
        let psn = if class & class::PLACED != 0 { self.place(packet, class) } else { Psn::None };
        let acknowledge = has_aeth(packet.opcode).then(|| Acknowledge::of(packet.syndrome));
        if let Some(acknowledge) = acknowledge {
            self.acknowledge(acknowledge, class);
        }
        (class & class::DATA != 0, psn, acknowledge)
    }

    #[inline]
    fn count(&mut self, packet: &Packet, class: u8) {
        let (dscp, ecn) = mark_of(packet);
        if self.mark != dscp {
            self.other_mark(dscp, packet.frame_len);
        }
        self.first_ns = self.first_ns.min(packet.ts_ns);
        self.last_ns = self.last_ns.max(packet.ts_ns);
        self.packets += 1;
        self.bytes += u64::from(packet.frame_len);
        self.frame_max = self.frame_max.max(packet.frame_len);
        self.payload += u64::from(packet.payload_len);
        self.payload_max = self.payload_max.max(packet.payload_len);
        match self.reliable.get_mut(usize::from(packet.opcode)) {
            Some(count) => *count += 1,
            None => self.other_opcode(packet.opcode),
        }
        self.ecn[usize::from(ecn & 3)] += u64::from(class & class::DATA);
    }

    #[inline(never)]
    fn other_mark(&mut self, dscp: u8, bytes: u32) {
        if self.mark != SEVERAL {
            self.dscp.of_only(self.mark, 0);
            self.mark = SEVERAL;
        }
        self.dscp.add(dscp, bytes, (self.packets, self.bytes));
    }

    #[inline(never)]
    fn other_opcode(&mut self, opcode: u8) {
        match self.others.iter_mut().find(|(known, _)| *known == opcode) {
            Some((_, count)) => *count += 1,
            None => self.others.push((opcode, 1)),
        }
        self.cnp += u64::from(opcode == opcode::CNP);
    }

    #[inline]
    fn place(&mut self, packet: &Packet, class: u8) -> Psn {
        let psn = if class & class::RESPONSE != 0 {
            let begins = class & class::BEGINS != 0 && !self.responses.is_open;
            let psn = self.responses.place(packet.seq, begins);
            if matches!(psn, Psn::Next | Psn::Gap(_)) {
                self.responses.is_open = class & class::GOES_ON != 0;
            }
            psn
        } else {
            let free = self.requests.is_open;
            let psn = self.requests.place(packet.seq, free);
            if psn != Psn::Repeated {
                // A read takes as many numbers as its answer has packets.
                self.requests.is_open = class & class::READ != 0;
            }
            psn
        };
        if psn == Psn::Repeated {
            let silence = packet.ts_ns.saturating_sub(self.last_data_ns);
            self.after_silence += u64::from(silence >= SILENCE_NS);
        }
        if class & (class::DATA | class::READ) != 0 {
            self.last_data_ns = packet.ts_ns;
        }
        psn
    }

    fn acknowledge(&mut self, acknowledge: Acknowledge, class: u8) {
        match acknowledge {
            Acknowledge::Ack => self.acks += u64::from(class & class::RESPONSE == 0),
            Acknowledge::Rnr => self.refusals.rnr += 1,
            Acknowledge::SequenceError => self.refusals.sequence += 1,
            Acknowledge::Nak(code) => {
                let code = usize::from(code);
                self.refusals.other[if code < 5 { code } else { 0 }] += 1;
            }
        }
    }

    /// Whether this flow has lately sent a request with this number.
    pub(crate) fn sent(&self, psn: u32) -> bool {
        let Some(behind) = self.requests.behind(psn) else { return false };
        // After a read the answers' numbers run ahead of the request's own.
        let ahead = if self.requests.is_open { -IN_FLIGHT } else { 0 };
        (ahead..IN_FLIGHT).contains(&behind) && i64::from(behind) <= self.requests.span() as i64
    }
}

/// Mark and congestion bits; inside of a tunnel those of the innermost packet.
#[inline]
fn mark_of(packet: &Packet) -> (u8, u8) {
    match packet.tunnel {
        Tunnel::None => (packet.dscp, packet.ecn),
        _ => (packet.inner_dscp & 63, packet.inner_ecn & 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_what_a_packet_touches_first() {
        use std::mem::offset_of;
        assert_eq!([offset_of!(QpFlow, first_ns), offset_of!(QpFlow, ecn)], [64, 128]);
        assert!(offset_of!(QpFlow, requests) + offset_of!(Stream, is_open) < 192);
    }
}
