//! The headers of one packet as plain numbers.

use crate::error::DecodeError;

/// `vlan` and `inner_vlan` of a frame without that tag.
pub const NO_VLAN: u16 = u16::MAX;

/// IP protocol numbers used here (IANA protocol-numbers).
pub mod proto {
    pub const ICMP: u8 = 1;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const DCCP: u8 = 33;
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
    /// IPv4 addresses stand in the low 32 bits; `version` tells the two apart.
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
    /// TCP sequence number; for ICMP echo the identifier and sequence number.
    pub seq: u32,
    pub ack: u32,
    /// Identification of IPv4, or of the IPv6 fragment header.
    pub ip_id: u32,
    pub sport: u16,
    pub dport: u16,
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

    /// ICMP echo request or reply, of either version.
    pub fn is_echo(&self) -> bool {
        self.has_transport
            && match self.proto {
                proto::ICMP => matches!(self.icmp_type, 0 | 8),
                proto::ICMPV6 => matches!(self.icmp_type, 128 | 129),
                _ => false,
            }
    }

    pub fn is_icmp(&self) -> bool {
        matches!(self.proto, proto::ICMP | proto::ICMPV6)
    }
}
