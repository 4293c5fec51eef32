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
    nc_decode::protocol_name(number).map_or_else(|| Cow::Owned(number.to_string()), Cow::Borrowed)
}
