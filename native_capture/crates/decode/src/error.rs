//! What could not be decoded: the layer, the byte, the reason.

use std::fmt;

/// The header that was being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    Link,
    Vlan,
    Ipv4,
    Ipv6,
    Ipv6Extension,
    Tcp,
    Udp,
    Icmp,
    Ports,
    Authentication,
    Esp,
    Gre,
    Erspan,
    Grh,
    Bth,
    Pause,
    Lldp,
    Radiotap,
    Ieee80211,
}

/// Why it could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Fewer bytes captured than the header has.
    Short,
    /// The version nibble is not the one announced.
    Version,
    /// A header length below the minimum or beyond the packet.
    HeaderLength,
    /// The total length is smaller than the header.
    TotalLength,
    /// What must stand first, or here, does not.
    Order,
    /// More nested headers than any real packet has.
    TooDeep,
    /// No decoder for this link type.
    UnknownLink,
}

/// `at`: offset in the frame of the header that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecodeError {
    pub layer: Layer,
    pub reason: Reason,
    pub at: u32,
}

impl DecodeError {
    pub(crate) fn new(layer: Layer, reason: Reason, at: usize) -> Self {
        Self { layer, reason, at: u32::try_from(at).unwrap_or(u32::MAX) }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.reason {
            Reason::Short => "captured bytes end inside the header",
            Reason::Version => "wrong version",
            Reason::HeaderLength => "impossible header length",
            Reason::TotalLength => "total length smaller than the header",
            Reason::Order => "a field that must stand here is missing",
            Reason::TooDeep => "too many nested headers",
            Reason::UnknownLink => "no decoder for this link type",
        };
        write!(f, "{:?} at byte {}: {why}", self.layer, self.at)
    }
}

impl std::error::Error for DecodeError {}
