//! The headers of one packet as plain numbers.

use crate::error::DecodeError;
use crate::pause::Stop;
use crate::tunnel::{Carried, Tunnel};

/// `vlan` and `inner_vlan` of a frame without that tag.
pub const NO_VLAN: u16 = u16::MAX;
/// `pcp` of a frame without a tag.
pub const NO_PCP: u8 = u8::MAX;

/// `inner_dscp` and `inner_ecn` of a packet that carries none.
pub const NO_MARK: u8 = u8::MAX;

/// IP protocol numbers used here (IANA protocol-numbers).
pub mod proto {
    pub const ICMP: u8 = 1;
    pub const IPV4: u8 = 4;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const DCCP: u8 = 33;
    pub const IPV6: u8 = 41;
    pub const GRE: u8 = 47;
    pub const ESP: u8 = 50;
    pub const AH: u8 = 51;
    pub const ICMPV6: u8 = 58;
    pub const SCTP: u8 = 132;
    pub const UDPLITE: u8 = 136;
}

/// TCP flag bits (RFC 9293, 3.1).
pub mod tcp_flag {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const PSH: u8 = 0x08;
    pub const ACK: u8 = 0x10;
}

/// One packet. Fields of a layer that was not there, or could not be read, keep their default (zero).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// IPv4 addresses stand in the low 32 bits; `version` tells the two apart. Without IP: the global identifiers of RoCEv1; of a
    /// pause frame `dst` holds the MAC address of its sender.
    pub src: u128,
    pub dst: u128,
    /// Nanoseconds since 1970 as the capture says.
    pub ts_ns: u64,
    /// Bytes on the wire without FCS.
    pub frame_len: u32,
    /// Bytes of the IP packet, header included.
    pub l3_len: u32,
    /// Bytes above the transport header.
    pub payload_len: u32,
    /// TCP, ESP or GRE sequence number; for ICMP echo the identifier and sequence number; for RoCE the PSN.
    pub seq: u32,
    /// TCP acknowledgement number; for RoCE the message number of an AETH; for RTP the timestamp; see [`Packet::too_big`].
    pub ack: u32,
    /// Identification of IPv4, or of the IPv6 fragment header.
    pub ip_id: u32,
    pub sport: u16,
    pub dport: u16,
    /// TCP window; for RTP the sequence number.
    pub window: u16,
    /// Fragment offset in bytes / 8.
    pub frag_offset: u16,
    /// Transport checksum as carried: a hint to tell equal packets apart, never proof.
    pub checksum: u16,
    /// Outermost tag, [`NO_VLAN`] when untagged or priority-tagged only.
    pub vlan: u16,
    pub inner_vlan: u16,
    /// 4, 6, or 0 when the frame carries no IP.
    pub version: u8,
    pub proto: u8,
    pub dscp: u8,
    pub ecn: u8,
    pub ttl: u8,
    pub tcp_flags: u8,
    pub icmp_type: u8,
    /// VNI, GRE key, ERSPAN session or tunnel endpoint id of what `tunnel` says; for RTP the synchronisation source.
    pub tunnel_id: u32,
    /// Destination queue pair of a RoCE packet.
    pub dest_qp: u32,
    /// Offset in the frame of the bytes above the transport header, 0 when not known.
    pub payload_at: u16,
    /// Where the carried packet begins in the frame, and what stands there.
    pub carried_at: u16,
    /// Priority of the outermost tag, [`NO_PCP`] without one.
    pub pcp: u8,
    pub tunnel: Tunnel,
    pub carried: Carried,
    /// Mark and congestion bits of the innermost IP header, [`NO_MARK`] when no packet is carried.
    pub inner_dscp: u8,
    pub inner_ecn: u8,
    /// BTH opcode and AETH syndrome, of the innermost packet; see `has_bth`. For RTP `opcode` is the payload type.
    pub opcode: u8,
    pub syndrome: u8,
    /// Number of the signature that the payload shows, 0 for none; filled in by who looks at payload.
    pub signature: u8,
    /// Number of the server's name that the payload shows, 0 for none; likewise.
    pub name: u16,
    pub stop: Stop,
    /// Priorities that a pause frame speaks about, bit 0 for priority 0.
    pub stop_classes: u8,
    pub has_bth: bool,
    pub is_roce_v1: bool,
    /// An LLDPDU stands at `carried_at`.
    pub is_lldp: bool,
    pub ack_requested: bool,
    /// A UDP payload that has the form of RTP.
    pub may_be_rtp: bool,
    pub more_fragments: bool,
    /// The transport ports (or ICMP type) were read.
    pub has_transport: bool,
    pub error: Option<DecodeError>,
}

impl Default for Packet {
    fn default() -> Self {
        Self {
            src: 0,
            dst: 0,
            ts_ns: 0,
            frame_len: 0,
            l3_len: 0,
            payload_len: 0,
            seq: 0,
            ack: 0,
            ip_id: 0,
            sport: 0,
            dport: 0,
            window: 0,
            frag_offset: 0,
            checksum: 0,
            vlan: NO_VLAN,
            inner_vlan: NO_VLAN,
            version: 0,
            proto: 0,
            dscp: 0,
            ecn: 0,
            ttl: 0,
            tcp_flags: 0,
            icmp_type: 0,
            tunnel_id: 0,
            dest_qp: 0,
            payload_at: 0,
            carried_at: 0,
            pcp: NO_PCP,
            tunnel: Tunnel::None,
            carried: Carried::Ip,
            inner_dscp: NO_MARK,
            inner_ecn: NO_MARK,
            opcode: 0,
            syndrome: 0,
            signature: 0,
            name: 0,
            stop: Stop::None,
            stop_classes: 0,
            has_bth: false,
            is_roce_v1: false,
            is_lldp: false,
            ack_requested: false,
            may_be_rtp: false,
            more_fragments: false,
            has_transport: false,
            error: None,
        }
    }
}

impl Packet {
    pub fn is_ip(&self) -> bool {
        self.version != 0
    }

    /// A TCP segment whose 20 fixed bytes were all read.
    pub fn is_tcp(&self) -> bool {
        self.proto == proto::TCP && self.has_transport && self.error.is_none()
    }

    pub fn is_fragment(&self) -> bool {
        self.more_fragments || self.frag_offset != 0
    }

    /// The packet that this one carries, decoded from the same frame bytes; None when it carries none.
    pub fn inner(&self, bytes: &[u8]) -> Option<Packet> {
        if self.tunnel == Tunnel::None || self.carried_at == 0 {
            return None;
        }
        let at = usize::from(self.carried_at);
        let carried = bytes.get(at..)?;
        let frame_len = self.frame_len.saturating_sub(u32::from(self.carried_at));
        let mut inner = Packet { ts_ns: self.ts_ns, frame_len, ..Packet::default() };
        if let Err(error) = crate::link::carried(self.carried, carried, &mut inner) {
            inner.error = Some(DecodeError { at: error.at.saturating_add(u32::from(self.carried_at)), ..error });
        }
        Some(inner)
    }

    /// The packet at the bottom of all tunnels; None when this one carries none. At most eight levels are followed.
    pub fn innermost(&self, bytes: &[u8]) -> Option<Packet> {
        let mut found = self.inner(bytes)?;
        let mut skipped = usize::from(self.carried_at);
        for _ in 0..7 {
            let Some(next) = bytes.get(skipped..).and_then(|rest| found.inner(rest)) else { break };
            skipped += usize::from(found.carried_at);
            found = next;
        }
        Some(found)
    }

    /// Take over what is counted of the innermost packet. Called once, for packets with a tunnel.
    pub(crate) fn note_innermost(&mut self, bytes: &[u8]) {
        let Some(inner) = self.innermost(bytes) else { return };
        if inner.is_ip() {
            self.inner_dscp = inner.dscp;
            self.inner_ecn = inner.ecn;
        }
        if inner.has_bth {
            self.has_bth = true;
            self.opcode = inner.opcode;
            self.syndrome = inner.syndrome;
            self.dest_qp = inner.dest_qp;
            self.ack_requested = inner.ack_requested;
            self.seq = inner.seq;
            self.ack = inner.ack;
        }
    }

    /// Pause quanta (512 bit times each) of the eight priorities; zero lets a priority send again.
    pub fn quanta(&self) -> [u16; 8] {
        std::array::from_fn(|class| if self.stop == Stop::None { 0 } else { (self.src >> (class * 16)) as u16 })
    }

    /// A pause frame has no addresses of IP: their room is used.
    pub(crate) fn set_quanta(&mut self, quanta: &[u16; 8]) {
        self.src = quanta.iter().rev().fold(0, |all, value| all << 16 | u128::from(*value));
    }

    /// ICMP echo request or reply, of either version.
    pub fn is_echo(&self) -> bool {
        self.has_transport
            && match self.proto {
                proto::ICMP => matches!(self.icmp_type, 0 | 8),
                proto::ICMPV6 => matches!(self.icmp_type, 128 | 129),
                _ => false,
            }
    }

    /// What a router says of a TCP segment of `dst` that did not fit its next link: source and destination port (in the high and low
    /// half), and the largest IP packet that does, 0 when it does not say. ICMP "fragmentation needed" (RFC 1191, 4) or "packet too
    /// big" (RFC 4443, 3.2).
    pub fn too_big(&self) -> Option<(u32, u16)> {
        let is_told = self.is_icmp() && !self.is_echo() && self.ack != 0;
        is_told.then_some((self.ack, self.window))
    }

    pub fn is_icmp(&self) -> bool {
        matches!(self.proto, proto::ICMP | proto::ICMPV6)
    }
}
