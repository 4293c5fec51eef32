//! LLDP and DCBX: what stands in a frame is read, what is wrong is named with its byte.

use nc_decode::{decode, Application, Layer, Lldp, Reason, Selector};
use proptest::prelude::*;

fn tlv(kind: u8, value: &[u8]) -> Vec<u8> {
    [&((u16::from(kind) << 9 | value.len() as u16).to_be_bytes())[..], value].concat()
}

fn ieee(subtype: u8, body: &[u8]) -> Vec<u8> {
    tlv(127, &[&[0x00, 0x80, 0xc2, subtype][..], body].concat())
}

fn cee(features: &[Vec<u8>]) -> Vec<u8> {
    tlv(127, &[&[0x00, 0x1b, 0x21, 2][..], &features.concat()].concat())
}

fn head() -> Vec<u8> {
    [tlv(1, &[4, 0, 0x1b, 0x21, 1, 2, 3]), tlv(2, b"\x05Ethernet1/7"), tlv(3, &[0, 120])].concat()
}

fn frame(tlvs: &[Vec<u8>]) -> Vec<u8> {
    [&[1, 0x80, 0xc2, 0, 0, 0x0e, 0, 0x1b, 0x21, 1, 2, 9, 0x88, 0xcc][..], &tlvs.concat()].concat()
}

#[test]
fn both_dialects_are_read_and_kept_apart() {
    let ets = [&[0x83, 0x01, 0x23, 0x45, 0x67][..], &[20, 30, 50, 0, 0, 0, 0, 0], &[2, 2, 2, 0, 0, 0, 0, 255]].concat();
    let features = [
        tlv(1, &[0; 10]),
        tlv(2, &[&[0, 0, 0xc0, 0, 0, 0, 0, 0x1f][..], &[50, 50, 0, 0, 0, 0, 0, 0], &[2]].concat()),
        tlv(3, &[0, 0, 0x80, 0, 0x18, 2]),
        tlv(4, &[0, 0, 0xc0, 0, 0x89, 0x06, 0, 0x1b, 0x21, 0x08, 0x12, 0xb7, 1, 0x1b, 0x21, 0x10]),
    ];
    let said = [
        ieee(9, &ets),
        ieee(10, &[&[0][..], &ets[1..]].concat()),
        ieee(11, &[0x88, 0x08]),
        ieee(12, &[0, 3 << 5 | 3, 0x12, 0xb7, 6 << 5 | 5, 0, 46]),
        cee(&features),
    ];
    let bytes = frame(&[head(), tlv(5, b"leaf-7"), said.concat(), tlv(0, &[]), vec![0xff; 9]]);
    let packet = decode(1, 0, bytes.len() as u32, &bytes);
    assert_eq!((packet.is_lldp, packet.error, packet.carried_at), (true, None, 14));
    let (lldp, result) = Lldp::read(&bytes, 14);
    let lldp = lldp.expect("complete");
    assert_eq!(
        (result, lldp.ttl_s, lldp.system_name, lldp.port.bytes),
        (Ok(()), 120, Some(&b"leaf-7"[..]), &b"Ethernet1/7"[..])
    );
    let pfc = |pfc: Option<nc_decode::Pfc>| pfc.map(|pfc| (pfc.enabled, pfc.willing, pfc.classes));
    assert_eq!((pfc(lldp.ieee.pfc), pfc(lldp.cee.pfc)), (Some((8, true, 8)), Some((0x18, false, 2))));
    let ours = lldp.ieee.ets.expect("configured");
    assert_eq!((ours.class_of, ours.willing, ours.classes), ([0, 1, 2, 3, 4, 5, 6, 7], Some(true), Some(3)));
    assert_eq!((ours.percent[2], ours.algorithm.map(|all| (all[0], all[7]))), (50, Some((2, 255))));
    let asked = lldp.ieee.recommended.expect("recommended");
    assert_eq!((asked.class_of, asked.willing, asked.classes), (ours.class_of, None, None));
    let groups = lldp.cee.ets.expect("groups");
    assert_eq!((groups.class_of, groups.percent[1], groups.willing), ([0, 0, 0, 0, 0, 0, 1, 15], 50, Some(true)));
    let app = |selector, protocol, priorities| Application { selector, protocol, priorities };
    let wanted = [app(Selector::UdpPort, 4_791, 8), app(Selector::Dscp, 46, 64)];
    assert_eq!(lldp.ieee.applications().collect::<Vec<_>>(), wanted);
    let wanted = [app(Selector::EtherType, 0x8906, 8), app(Selector::Port, 4_791, 16)];
    assert_eq!(lldp.cee.applications().collect::<Vec<_>>(), wanted);
}

#[test]
fn what_is_wrong_is_named_with_its_byte_and_what_came_before_is_kept() {
    let at = 14 + head().len();
    for (tlvs, reason, byte) in [
        (vec![tlv(2, &[5, 1])], Reason::Order, 14),
        (vec![tlv(1, &[4])], Reason::HeaderLength, 14),
        (vec![head(), vec![0x0a, 9, b'x']], Reason::Short, at),
        (vec![head(), ieee(11, &[0])], Reason::HeaderLength, at),
        (vec![head(), tlv(127, &[0, 0x80])], Reason::HeaderLength, at),
        (vec![head(), ieee(9, &[0; 20])], Reason::HeaderLength, at),
        (vec![head(), cee(&[tlv(3, &[0, 0, 0x80, 0, 8, 8]), tlv(3, &[0, 0, 0, 0, 8])])], Reason::HeaderLength, at + 14),
        (vec![head(), cee(&[vec![0x06, 200, 0]])], Reason::HeaderLength, at + 6),
    ] {
        let bytes = frame(&tlvs);
        let error = decode(1, 0, bytes.len() as u32, &bytes).error.expect("wrong");
        assert_eq!((error.layer, error.reason, error.at as usize), (Layer::Lldp, reason, byte), "{error}");
        assert_eq!(Lldp::read(&bytes, 14).0.is_some(), tlvs.len() > 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn any_tlvs_are_read_wherever_they_end(
        tlvs in proptest::collection::vec((prop_oneof![Just(127_u8), 0_u8..10], proptest::collection::vec(any::<u8>(), 0..40)), 0..8),
        owner in prop_oneof![Just([0x00, 0x80, 0xc2]), Just([0x00, 0x1b, 0x21])], subtype in 1_u8..14, cut in 0_usize..260,
    ) {
        let said = tlvs.iter().map(|(kind, value)| match kind {
            127 => tlv(127, &[&owner[..], &[subtype], value].concat()),
            kind => tlv(*kind, value),
        });
        let bytes = frame(&[head(), said.collect::<Vec<_>>().concat()]);
        let kept = &bytes[..cut.min(bytes.len())];
        let packet = decode(1, 0, bytes.len() as u32, kept);
        if let Some(error) = packet.error {
            prop_assert!(error.at as usize <= kept.len());
        }
        if let (Some(lldp), _) = Lldp::read(kept, 14) {
            prop_assert!(lldp.ieee.applications().count() <= 170 && lldp.cee.applications().count() <= 85);
        }
    }
}
