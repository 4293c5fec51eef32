//! What IP protocols are called.

/// Common name of an IP protocol (IANA protocol-numbers); None where only the number is used.
pub fn protocol_name(number: u8) -> Option<&'static str> {
    Some(match number {
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
        _ => return None,
    })
}
