//! What is written as IPFIX is read back the same; no bytes, however damaged, end in a panic.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};

use nc_records::{End, Heard, IpfixWriter, Mark, Reader, Record, Source, TCP_COUNTS};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

const EXPORTER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
/// 2100: beyond the first era of NTP.
const LAST_NS: u64 = 4_102_444_800_000_000_000;

fn text() -> impl Strategy<Value = Cow<'static, str>> {
    "[a-zA-Z0-9中 _.-]{1,30}".prop_map(Cow::Owned)
}

fn counts(record: Record<'static>) -> impl Strategy<Value = Record<'static>> {
    let marks = btree_map(0..64_u8, (1..1_u64 << 40, 0..1_u64 << 50), 1..70);
    let tags = (option::of(1..4_095_u16), option::of(1..4_095_u16));
    (marks, tags, 0..LAST_NS, 0..LAST_NS, 0..1_u64 << 60, vec(option::of(0..u64::MAX), TCP_COUNTS)).prop_map(
        move |(marks, (vlan, inner_vlan), first, last, ip_bytes, tcp)| {
            let mark = |(dscp, (packets, bytes))| Mark { dscp, packets, bytes: Some(bytes) };
            let marks: Vec<Mark> = marks.into_iter().map(mark).collect();
            Record {
                packets: Some(marks.iter().map(|mark| mark.packets).sum()),
                bytes: Some(marks.iter().filter_map(|mark| mark.bytes).sum()),
                ip_bytes: Some(ip_bytes),
                marks: marks.into(),
                vlan,
                inner_vlan,
                first_ns: Some(first),
                last_ns: Some(last),
                tcp: tcp.try_into().unwrap(),
                ..record.clone()
            }
        },
    )
}

/// One conversation: its first direction, and perhaps the other.
fn conversation() -> impl Strategy<Value = (Record<'static>, Option<Record<'static>>)> {
    let keys = (any::<bool>(), any::<u128>(), any::<u128>(), any::<(u16, u16, u8, Option<u16>)>());
    let names = (text(), text(), option::of(text()), option::of(text()), vec("[a-z]{1,9}".prop_map(Cow::Owned), 0..3));
    (keys, names).prop_flat_map(|((is_v6, src, dst, ports), (point, realm, src_name, dst_name, signatures))| {
        let narrow = |address| if is_v6 { address } else { address & 0xffff_ffff };
        let record = Record {
            source: Source::Ipfix,
            exporter: Some(EXPORTER),
            point,
            realm,
            version: if is_v6 { 6 } else { 4 },
            src: narrow(src) | 1,
            dst: narrow(dst) | 1,
            sport: ports.0,
            dport: ports.1,
            proto: ports.2,
            server_port: ports.3,
            signatures,
            src_name,
            dst_name,
            ended: Some(End::Idle),
            ..Record::default()
        };
        let back = Record {
            src: record.dst,
            dst: record.src,
            sport: record.dport,
            dport: record.sport,
            src_name: record.dst_name.clone(),
            dst_name: record.src_name.clone(),
            ..record.clone()
        };
        (counts(record), option::of(counts(back)))
    })
}

fn write(all: &[(Record<'_>, Option<Record<'_>>)], limit: usize) -> Vec<u8> {
    let mut writer = IpfixWriter::new(7, limit);
    let mut out = Vec::new();
    writer.templates(0, &mut out);
    for (forward, reverse) in all {
        writer.add(forward, reverse.as_ref(), &mut out);
    }
    writer.flush(&mut out);
    out
}

fn messages(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while bytes.len() >= 4 {
        let len = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
        let (message, rest) = bytes.split_at(len);
        all.push(message);
        bytes = rest;
    }
    all
}

fn read(reader: &mut Reader, message: &[u8]) -> (Vec<Record<'static>>, bool) {
    let mut found = Vec::new();
    let result = reader.message(EXPORTER, 1, message, &mut |heard| {
        if let Heard::Flow(record) = heard {
            found.push(owned(&record));
        }
    });
    (found, result.is_ok())
}

fn owned(r: &Record<'_>) -> Record<'static> {
    let own = |text: &Cow<'_, str>| Cow::Owned(text.to_string());
    Record {
        point: own(&r.point),
        realm: own(&r.realm),
        signatures: r.signatures.iter().map(own).collect(),
        src_name: r.src_name.as_ref().map(own),
        dst_name: r.dst_name.as_ref().map(own),
        marks: r.marks.clone(),
        ..*r
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn conversations_come_back_as_they_were(all in vec(conversation(), 1..20), limit in 3_000..65_535_usize) {
        let bytes = write(&all, limit);
        let mut reader = Reader::default();
        let mut found = Vec::new();
        for message in messages(&bytes) {
            prop_assert!(message.len() <= limit);
            let (records, is_good) = read(&mut reader, message);
            prop_assert!(is_good);
            found.extend(records);
        }
        let told: Vec<_> = all.iter().flat_map(|(one, other)| std::iter::once(one).chain(other)).collect();
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), told);
        let tally = reader.exporters().next().unwrap().1.tally.clone();
        prop_assert_eq!((tally.lost, tally.waiting, tally.records), (0, 0, found.len() as u64));
    }

    #[test]
    fn a_lost_message_is_counted_by_its_records(all in vec(conversation(), 12..20)) {
        let bytes = write(&all, 4_000);
        let parts = messages(&bytes);
        prop_assume!(parts.len() > 3);
        let mut reader = Reader::default();
        let mut lost = 0;
        for (number, message) in parts.iter().enumerate() {
            match number {
                2 => {
                    let mut other = Reader::default();
                    read(&mut other, parts[0]);
                    // A data record of an answered conversation becomes two.
                    let (records, _) = read(&mut other, message);
                    lost = records.len() - answered(&records);
                }
                _ => drop(read(&mut reader, message)),
            }
        }
        prop_assert_eq!(reader.exporters().next().unwrap().1.tally.lost, lost as u64);
    }

    #[test]
    fn data_waits_for_its_template(all in vec(conversation(), 1..10)) {
        let bytes = write(&all, 60_000);
        let parts = messages(&bytes);
        let mut reader = Reader::default();
        prop_assert_eq!(read(&mut reader, parts[1]).0.len(), 0);
        prop_assert!(reader.exporters().next().unwrap().1.tally.waiting > 0);
        let (found, _) = read(&mut reader, parts[0]);
        prop_assert_eq!(found.len(), all.iter().map(|(_, other)| 1 + usize::from(other.is_some())).sum::<usize>());
        prop_assert_eq!(reader.exporters().next().unwrap().1.tally.waiting, 0);
    }

    #[test]
    fn any_bytes_end_in_records_or_an_error_that_names_a_byte(
        version in prop_oneof![Just(vec![0, 5]), Just(vec![0, 9]), Just(vec![0, 10]), Just(vec![0, 0, 0, 5]), Just(vec![])],
        rest in vec(any::<u8>(), 0..600),
        small in any::<bool>(),
    ) {
        let mut bytes = version;
        // Small numbers find their way further into a message than random ones do.
        bytes.extend(rest.iter().map(|byte| if small { byte % 6 } else { *byte }));
        let mut reader = Reader::default();
        for _ in 0..2 {
            if let Err(error) = reader.message(EXPORTER, 1, &bytes, &mut |_| ()) {
                prop_assert!(error.at <= bytes.len());
            }
        }
    }

    #[test]
    fn damaged_messages_end_in_no_panic(all in vec(conversation(), 1..4), hits in vec((any::<usize>(), any::<u8>()), 1..9)) {
        let mut bytes = write(&all, 2_000);
        let len = bytes.len();
        for (at, byte) in hits {
            bytes[at % len] = byte;
        }
        let mut reader = Reader::default();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let claimed = rest.get(2..4).map_or(0, |b| usize::from(u16::from_be_bytes([b[0], b[1]])));
            let (message, after) = rest.split_at(claimed.clamp(1, rest.len()));
            let _ = reader.message(EXPORTER, 1, message, &mut |_| ());
            rest = after;
        }
    }
}

/// How many of these are the other direction of the one before.
fn answered(records: &[Record<'_>]) -> usize {
    let is_back = |pair: &&[Record<'_>]| {
        (pair[0].src, pair[0].sport) == (pair[1].dst, pair[1].dport)
            && (pair[0].dst, pair[0].dport) == (pair[1].src, pair[1].sport)
    };
    records.windows(2).filter(is_back).count()
}
