//! How addresses and protocols are written.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Dotted or RFC 5952 form of an address as [`nc_decode::Packet`] keeps it.
pub fn address(version: u8, value: u128) -> String {
    match version {
        6 => Ipv6Addr::from(value).to_string(),
        _ => Ipv4Addr::from(value as u32).to_string(),
    }
}

/// Name of an IP protocol; its number where it has no common one.
pub fn protocol(number: u8) -> Cow<'static, str> {
    Cow::Borrowed(match number {
        1 => "icmp",
        2 => "igmp",
        4 => "ipip",
        6 => "tcp",
        17 => "udp",
        33 => "dccp",
        41 => "ipv6",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        58 => "icmpv6",
        89 => "ospf",
        103 => "pim",
        112 => "vrrp",
        132 => "sctp",
        136 => "udplite",
        _ => return Cow::Owned(number.to_string()),
    })
}
