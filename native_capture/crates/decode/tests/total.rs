//! The decoder is total: any bytes under any link type give a packet.

use nc_decode::{decode, dns_answers, host, proto, server_name, Layer, Packet, Reason, Stop, Tunnel, NO_VLAN};
use proptest::prelude::*;

const LINKS: [u32; 18] = [0, 1, 9, 12, 14, 50, 101, 104, 105, 107, 108, 113, 127, 147, 228, 229, 276, u32::MAX];

/// Frames that begin like real ones, so that every layer is reached.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let ethernet = prop_oneof![
        Just(vec![0x08, 0x00]),
        Just(vec![0x86, 0xdd]),
        Just(vec![0x81, 0x00, 0, 5, 0x08, 0x00]),
        Just(vec![0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64]),
        Just(vec![0x88, 0x64, 0x11, 0, 0, 1, 0, 9, 0, 0x57]),
        Just(vec![0x88, 0xa8, 0, 5, 0x81, 0x00, 0, 6, 0x86, 0xdd]),
        proptest::collection::vec(any::<u8>(), 0..8),
    ];
    let first = prop_oneof![0x40_u8..0x50, 0x60_u8..0x70, any::<u8>()];
    (ethernet, first, proptest::collection::vec(any::<u8>(), 0..200))
        .prop_map(|(kind, first, rest)| [vec![0; 12], kind, vec![first], rest].concat())
}

fn check(packet: &Packet, given: &[u8]) {
    assert!(matches!(packet.version, 0 | 4 | 6));
    assert!(packet.dscp < 64 && packet.ecn < 4);
    assert!(packet.vlan == NO_VLAN || packet.vlan < 4_096);
    if let Some(error) = packet.error {
        assert!(error.at as usize <= given.len() + 2_100, "{error}");
    }
}

/// Ethernet and IPv4 with the beginning of something that carries or controls other packets.
fn carrier() -> impl Strategy<Value = Vec<u8>> {
    let udp = |port: u16, head: &[u8]| {
        (proto::UDP, [&[0x10, 0, (port >> 8) as u8, port as u8, 0, 0, 0, 0][..], head].concat())
    };
    let inside = prop_oneof![
        Just((proto::IPV4, vec![])),
        Just((proto::IPV6, vec![])),
        Just((proto::GRE, vec![0xb0, 0, 0x88, 0xbe, 0, 0, 0, 1, 0, 0, 0, 2])),
        Just((proto::GRE, vec![0x10, 0, 0x22, 0xeb, 0, 0, 0, 1])),
        Just((proto::GRE, vec![0, 0, 0x65, 0x58])),
        Just((proto::AH, vec![proto::UDP, 4])),
        Just(udp(4_789, &[8, 0, 0, 0, 0, 0, 5, 0])),
        Just(udp(6_081, &[2, 0, 0x65, 0x58, 0, 0, 5, 0])),
        Just(udp(2_152, &[0x34, 0xff])),
        Just(udp(3_544, &[0, 0])),
        Just(udp(6_635, &[0, 1, 65, 64])),
        (any::<u8>()).prop_map(move |code| udp(4_791, &[code])),
    ];
    (inside, proptest::collection::vec(any::<u8>(), 0..160))
        .prop_map(|((proto, head), rest)| v4(proto, 0, (24 + head.len() + rest.len()) as u16, &[head, rest].concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn carried_packets_are_read_wherever_they_end(bytes in carrier(), cut in 0_usize..260) {
        let kept = &bytes[..cut.min(bytes.len())];
        let packet = decode(1, 0, bytes.len() as u32, kept);
        check(&packet, kept);
        if let Some(inner) = packet.innermost(kept) {
            check(&inner, kept);
            prop_assert!(inner.frame_len < packet.frame_len);
        }
    }

    #[test]
    fn any_bytes_give_a_packet(link in prop::sample::select(&LINKS[..]), bytes in proptest::collection::vec(any::<u8>(), 0..300), more in 0_u32..70_000) {
        check(&decode(link, 0, bytes.len() as u32 + more, &bytes), &bytes);
    }

    #[test]
    fn frames_like_real_ones_give_a_packet_wherever_they_are_cut(bytes in frame(), cut in 0_usize..230) {
        let kept = &bytes[..cut.min(bytes.len())];
        let packet = decode(1, 0, bytes.len() as u32, kept);
        check(&packet, kept);
        // What a shorter capture shows of addresses and mark is what the longer one shows.
        let whole = decode(1, 0, bytes.len() as u32, &bytes);
        if packet.is_ip() {
            prop_assert_eq!((packet.src, packet.dst, packet.dscp, packet.version), (whole.src, whole.dst, whole.dscp, whole.version));
        }
    }
}

/// Ethernet, IPv4 with four bytes of options, and what follows.
fn v4(proto: u8, fragment: u16, total: u16, rest: &[u8]) -> Vec<u8> {
    let head = [0x46, 46 << 2 | 1, (total >> 8) as u8, total as u8, 0x12, 0x34];
    let tail = [64, proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 1, 1, 0];
    [&[0; 12][..], &[0x08, 0x00], &head, &fragment.to_be_bytes(), &tail, rest].concat()
}

#[test]
fn ipv4_with_options_reads_to_the_udp_ports() {
    let bytes = v4(proto::UDP, 0, 24 + 8 + 2, &[0, 7, 0, 9, 0, 10, 0xab, 0xcd, 1, 2]);
    let packet = decode(1, 5, bytes.len() as u32, &bytes);
    assert_eq!((packet.sport, packet.dport, packet.payload_len, packet.checksum), (7, 9, 2, 0xabcd));
    assert_eq!((packet.dscp, packet.ecn, packet.ip_id, packet.l3_len, packet.ts_ns), (46, 1, 0x1234, 34, 5));
    assert_eq!((packet.src, packet.dst, packet.error), (0x0a00_0001, 0x0a00_0002, None));
}

#[test]
fn later_fragments_have_no_ports() {
    let bytes = v4(proto::UDP, 0x2001, 24 + 8, &[0, 7, 0, 9, 0, 8, 0, 0]);
    let packet = decode(1, 0, bytes.len() as u32, &bytes);
    assert_eq!((packet.has_transport, packet.sport, packet.frag_offset, packet.more_fragments), (false, 0, 1, true));
}

#[test]
fn ethernet_padding_is_no_payload() {
    let mut bytes = v4(proto::UDP, 0, 24 + 8, &[0, 7, 0, 9, 0, 8, 0, 0]);
    bytes.extend_from_slice(&[0; 10]);
    assert_eq!(decode(1, 0, bytes.len() as u32, &bytes).payload_len, 0);
}

#[test]
fn a_tcp_header_cut_by_the_snap_length_keeps_its_ports_and_says_short() {
    let bytes = v4(proto::TCP, 0, 24 + 20, &[0, 7, 0, 9, 1, 1]);
    let packet = decode(1, 0, 58, &bytes);
    assert_eq!((packet.sport, packet.dport, packet.is_tcp()), (7, 9, false));
    assert_eq!(packet.error.map(|e| (e.layer, e.reason, e.at)), Some((Layer::Tcp, Reason::Short, 14 + 24)));
}

#[test]
fn impossible_lengths_are_named_and_the_mark_is_kept() {
    let bytes = v4(proto::UDP, 0, 20, &[0; 8]);
    let packet = decode(1, 0, bytes.len() as u32, &bytes);
    assert_eq!(packet.error.map(|e| (e.layer, e.reason, e.at)), Some((Layer::Ipv4, Reason::TotalLength, 14)));
    assert_eq!((packet.version, packet.dscp), (4, 46));
}

#[test]
fn length_zero_of_offloaded_frames_is_taken_from_the_frame() {
    let bytes = v4(proto::TCP, 0, 0, &[0, 7, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    let packet = decode(1, 0, 80_000, &bytes);
    assert_eq!((packet.l3_len, packet.payload_len), (79_986, 79_986 - 24 - 20));
}

#[test]
fn ipv6_extension_headers_are_walked() {
    let hop_by_hop = [44, 0, 0, 0, 0, 0, 0, 0];
    let first_fragment = [proto::UDP, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef];
    let udp = [0, 7, 0, 9, 0, 8, 0, 0];
    let head = [0x6b, 0x80, 0, 0, 0, 24, 0, 64];
    let addresses = [[0; 15].as_slice(), &[1], &[0; 15], &[2]].concat();
    let bytes = [&head[..], &addresses, &hop_by_hop, &first_fragment, &udp].concat();
    let packet = decode(101, 0, bytes.len() as u32, &bytes);
    assert_eq!((packet.dscp, packet.src, packet.dst, packet.ip_id), (46, 1, 2, 0xdead_beef));
    assert_eq!((packet.proto, packet.sport, packet.dport, packet.more_fragments), (proto::UDP, 7, 9, true));
}

#[test]
fn priority_tags_name_no_vlan_and_stacks_keep_the_outer_two() {
    let ip = [&v4(proto::UDP, 0, 32, &[0, 7, 0, 9, 0, 8, 0, 0])[14..]].concat();
    let tags = |list: &[(u16, u16)]| {
        let tags: Vec<u8> =
            list.iter().flat_map(|(kind, tci)| [kind.to_be_bytes(), tci.to_be_bytes()].concat()).collect();
        let bytes = [&[0; 12][..], &tags, &[0x08, 0x00], &ip].concat();
        let packet = decode(1, 0, bytes.len() as u32, &bytes);
        (packet.vlan, packet.inner_vlan, packet.dport)
    };
    assert_eq!(tags(&[(0x8100, 0xa000)]), (NO_VLAN, NO_VLAN, 9));
    assert_eq!(tags(&[(0x88a8, 0x6005), (0x8100, 7)]), (5, 7, 9));
    assert_eq!(tags(&[(0x9100, 1), (0x8100, 2), (0x8100, 3)]), (1, 2, 9));
}

#[test]
fn a_packet_fits_two_cache_lines() {
    assert!(std::mem::size_of::<Packet>() <= 128);
}

#[test]
fn a_vxlan_packet_keeps_the_outer_mark_and_tells_the_inner_one() {
    let inner = [&[0; 12][..], &[0x08, 0x00], &v4(proto::UDP, 0, 32, &[0, 7, 0, 9, 0, 8, 0, 0])[14..]].concat();
    let head = [0x30, 0x39, 0x12, 0xb5, 0, 0, 0, 0, 0x08, 0, 0, 0, 0, 0x13, 0x89, 0];
    let mut bytes = v4(proto::UDP, 0, (24 + head.len() + inner.len()) as u16, &[&head[..], &inner].concat());
    bytes[15] = 26 << 2;
    let packet = decode(1, 0, bytes.len() as u32, &bytes);
    assert_eq!((packet.tunnel, packet.tunnel_id, packet.dscp, packet.inner_dscp), (Tunnel::Vxlan, 5_001, 26, 46));
    let inner = packet.inner(&bytes).map(|inner| (inner.sport, inner.dport, inner.frame_len));
    assert_eq!(inner, Some((7, 9, 14 + 32)));
}

#[test]
fn plain_udp_on_a_tunnels_port_is_plain_udp() {
    let bytes =
        v4(proto::UDP, 0, 24 + 16, &[0, 7, 0x12, 0xb5, 0, 16, 0, 0, b'n', b'o', b' ', b'v', b'x', b'l', b'a', b'n']);
    let plain = bytes.iter().map(|byte| if *byte == b'n' { 0 } else { *byte }).collect::<Vec<_>>();
    assert_eq!(decode(1, 0, bytes.len() as u32, &plain).tunnel, Tunnel::None);
}

#[test]
fn a_pfc_frame_tells_which_priorities_stop_and_which_go_on() {
    let quanta = [0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
    let bytes = [&[0; 12][..], &[0x88, 0x08, 0x01, 0x01, 0, 0x18], &quanta, &[0; 26]].concat();
    let packet = decode(1, 0, bytes.len() as u32, &bytes);
    assert_eq!((packet.stop, packet.stop_classes, packet.is_ip()), (Stop::Pfc, 0x18, false));
    assert_eq!(packet.quanta(), [0, 0, 0, 0xffff, 0, 0, 0, 0]);
}

/// Payloads that begin like those that hold names.
fn named() -> impl Strategy<Value = Vec<u8>> {
    let hello =
        [&[22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3][..], &[7; 32], &[0, 0, 2, 19, 1, 1, 0, 0, 20, 0, 0, 0, 9]].concat();
    let dns =
        vec![0, 1, 0x81, 0x80, 0, 1, 0, 2, 0, 0, 0, 0, 1, b'a', 2, b'b', b'c', 0, 0, 1, 0, 1, 0xc0, 12, 0, 1, 0, 1];
    let starts = prop_oneof![Just(hello), Just(dns), Just(b"GET / HTTP/1.1\r\nHost: ".to_vec()), Just(Vec::new())];
    (starts, proptest::collection::vec(any::<u8>(), 0..120)).prop_map(|(start, rest)| [start, rest].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn names_are_read_or_not_from_any_bytes(bytes in named(), cut in 0_usize..200, flip in 0_usize..60, value in any::<u8>()) {
        let mut bytes = bytes[..bytes.len().min(cut)].to_vec();
        if let Some(byte) = bytes.get_mut(flip) {
            *byte = value;
        }
        for name in [server_name(&bytes), host(&bytes)].into_iter().flatten() {
            prop_assert!(name.is_ascii() && !name.is_empty() && name.len() < 256);
        }
        let mut found = 0;
        let name = dns_answers(&bytes, |version, _| found += usize::from(version == 4 || version == 6));
        prop_assert!(found <= 64 && name.is_none_or(|name| !name.as_str().is_empty()));
    }
}

#[test]
fn names_stand_where_the_standards_put_them() {
    let extensions = [&[0, 23, 0, 0][..], &[0, 0, 0, 12, 0, 10, 0, 0, 7], b"a.b.com"].concat();
    let hello =
        [&[22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3][..], &[7; 32], &[2, 9, 9, 0, 2, 19, 1, 1, 0, 0, 20], &extensions]
            .concat();
    assert_eq!(server_name(&hello), Some("a.b.com"));
    assert_eq!(server_name(&hello[..hello.len() - 1]), None);
    assert_eq!(host(b"GET /Host: HTTP/1.1\r\nAccept: *\r\nhOST:  a.b:8080 \r\n\r\n"), Some("a.b"));
    assert_eq!(host(b"GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n"), Some("[2001:db8::1]"));
    assert_eq!(host(b"GET / HTTP/1.1\r\n\r\nHost: body\r\n"), None);
    assert_eq!(host(b"GET / HTTP/1.1\r\nHost: cut.exam"), None);
    let answer =
        |kind: u8, data: &[u8]| [&[0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 9, 0, data.len() as u8][..], data].concat();
    let head = [&[0, 1, 0x81, 0x80, 0, 1, 0, 3, 0, 0, 0, 0][..], &[1, b'a', 2, b'b', b'c', 0, 0, 1, 0, 1]].concat();
    let dns = [head, answer(5, &[1, b'x', 0]), answer(1, &[10, 0, 0, 7]), answer(28, &[1; 16])].concat();
    let mut found = Vec::new();
    let name = dns_answers(&dns, |version, address| found.push((version, address)));
    assert_eq!(name.map(|name| name.as_str().to_owned()).as_deref(), Some("a.bc"));
    assert_eq!(found, [(4, 0x0a00_0007), (6, u128::from_be_bytes([1; 16]))]);
}

#[test]
fn what_has_the_form_of_rtp_is_noted_and_what_has_not_is_not() {
    let udp = |first: u8, kind: u8| {
        [&[0x40, 0, 0x50, 0, 0, 20, 0, 0][..], &[first, kind, 1, 2, 0, 0, 0, 9, 0xaa, 0xbb, 0xcc, 0xdd]].concat()
    };
    let seen = |first, kind| decode(1, 0, 58, &v4(proto::UDP, 0, 44, &udp(first, kind)));
    let packet = seen(0x80, 0x88);
    assert!(packet.may_be_rtp);
    assert_eq!((packet.opcode, packet.window, packet.ack, packet.tunnel_id), (8, 0x0102, 9, 0xaabb_ccdd));
    assert!(!seen(0x80, 200).may_be_rtp && !seen(0x40, 8).may_be_rtp && !seen(0x8f, 8).may_be_rtp);
}
