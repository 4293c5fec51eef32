//! Conservation: every packet is in exactly one place, whatever comes.

use std::sync::Arc;

use nc_decode::{proto, Packet};
use nc_detect::{Bundle, BundleError};
use proptest::prelude::*;

use crate::core::{Core, Size};
use crate::health_rows::Sums;
use crate::keeper::{sum_up, Keeper};
use crate::recording::{Sink, Stopped};

const SIZE: Size = Size {
    flows: 1_000,
    shards: 2,
    idle_ns: Some(5_000_000_000),
    sweep: 16_384,
    in_flight: 64,
    roce_flows: 8,
    observe: true,
    path: true,
};

fn bundle() -> Result<Arc<Bundle>, BundleError> {
    Bundle::parse(
        br#"{"schema": "flowguard.bundle/1", "version": "v", "priority_dscp": [46], "service_rank": {},
            "identities": [{"prefix": "0.0.0.0/30", "name": "few", "class": "non-core", "allowed_dscp": [0]}],
            "points": {}, "profile": {"name": "lab", "persistence_ms": 1000, "min_signals": 1}}"#,
    )
    .map(Arc::new)
}

fn names_of(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("p{n}")).collect()
}

/// Takes what comes.
struct Nobody;

impl Sink for Nobody {
    fn block(&mut self, _: &[u8]) -> Result<(), Stopped> {
        Ok(())
    }

    fn tick(&mut self, _: u64, _: u64) -> Result<(), Stopped> {
        Ok(())
    }
}

fn core(points: usize) -> Core {
    Core::new(&names_of(points), SIZE, Arc::default())
}

fn packet() -> impl Strategy<Value = (u16, u64, Packet)> {
    let marks = prop::sample::select(vec![0_u8, 8, 46]);
    let kinds = prop::sample::select(vec![proto::TCP, proto::UDP, proto::ICMP, 0]);
    ((0_u16..3, 0_u64..2_000_000_000, marks, kinds), (0_u128..6, 0_u128..6, 0_u16..3, 0_u32..4, any::<u8>(), 0_u32..3))
        .prop_map(|((point, step, dscp, proto), (src, dst, sport, ip_id, tcp_flags, seq))| {
            let version = if proto == 0 { 0 } else { 4 };
            let packet = Packet {
                src,
                dst,
                sport,
                dport: 9,
                dscp,
                proto,
                version,
                ip_id,
                tcp_flags,
                seq,
                frame_len: 60,
                ..Packet::default()
            };
            (point, step, Packet { has_transport: true, payload_len: seq, icmp_type: tcp_flags % 12, ..packet })
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_packet_is_counted_once_and_judged_at_most_once(points in 1_u16..4, packets in proptest::collection::vec(packet(), 0..400)) {
        let mut core = core(usize::from(points));
        core.set_bundle(bundle().map_err(|e| TestCaseError::fail(e.to_string()))?);
        let (mut now, mut ip, mut rows) = (0, 0, 0);
        for (point, step, packet) in &packets {
            now += step;
            ip += u64::from(packet.is_ip());
            core.packet(point % points, &Packet { ts_ns: now, ..*packet });
            rows += core.observations.drain(..).flat_map(|row| row.sources).map(|source| source.packets).sum::<u64>();
        }
        core.finish();
        let all: u64 = core.points.iter().map(|point| point.packets).sum();
        prop_assert_eq!(all, packets.len() as u64);
        let marked: u64 = core.points.iter().flat_map(|point| point.clock.totals()).map(|mark| mark.packets).sum();
        prop_assert_eq!(marked, ip);
        prop_assert!(rows <= ip);
        for verdict in &core.verdicts {
            prop_assert!(verdict.packets <= ip && verdict.first_ns <= verdict.last_ns);
        }
        if now < 5_000_000_000 {
            let first: u64 = core.flows.iter().map(|(_, flow)| flow.packets()).sum();
            let again = core.path.as_ref().map_or(0, |path| {
                (0..usize::from(points)).flat_map(|a| (0..usize::from(points)).map(move |b| path.hop(a, b).delays.count())).sum()
            });
            prop_assert_eq!(first + again, ip);
        }
    }
}

/// Segments and media of a few conversations, with any numbers, flags and times.
fn conversing() -> impl Strategy<Value = Packet> {
    let numbers = prop::sample::select(vec![0_u32, 1, 100, 101, 200, u32::MAX - 50, u32::MAX, 1 << 31]);
    let times = prop_oneof![0_u64..5_000_000_000, Just(u64::MAX), any::<u64>()];
    ((numbers.clone(), numbers, 0_u32..3, 0_u16..2), (any::<u8>(), times, any::<bool>(), any::<bool>(), 0_u16..3))
        .prop_map(|((seq, ack, payload, window), (tcp_flags, ts_ns, is_udp, way, name))| {
            let proto = if is_udp { proto::UDP } else { proto::TCP };
            let (src, dst, sport, dport) = if way { (1, 2, 40_000, 53) } else { (2, 1, 53, 40_000) };
            let packet = Packet { src, dst, sport, dport, proto, ts_ns, seq, ack, tcp_flags, window, name, ..echo(0) };
            let may_be_rtp = is_udp && tcp_flags & 1 == 1;
            Packet { payload_len: payload * 100, may_be_rtp, tunnel_id: ack & 1, opcode: tcp_flags >> 6, ..packet }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn whatever_comes_each_segment_sent_again_is_of_one_kind(packets in proptest::collection::vec(conversing(), 0..200)) {
        let mut core = core(1);
        packets.iter().for_each(|packet| core.packet(0, packet));
        for (number, flow) in core.flows.iter() {
            let (table, number) = core.flows.at(number);
            let health = table.health(number).troubles;
            prop_assert_eq!(health.retransmitted, health.fast + health.timeout + health.spurious + health.out_of_order);
            prop_assert!(u64::from(health.duplicate_acks) <= flow.packets());
            let media = table.media(number);
            prop_assert!(media.is_none_or(|media| media.packets <= flow.packets()));
        }
        let mut keepers = Keeper::for_each(2, None, None);
        let chosen = sum_up(1, &mut keepers, &mut core, None, &mut Nobody).expect("nobody stops it");
        let sums = keepers.into_iter().map(|keeper| keeper.sums).collect();
        let rows = Sums::rows(sums, &chosen, &core);
        let streams = core.flows.tables().iter().flat_map(|table| table.iter().filter(|(number, _)| table.media(*number).is_some()));
        prop_assert_eq!((rows.points.len(), rows.directions), (1, core.flows.iter().count()));
        prop_assert_eq!(rows.media.len(), streams.count());
        prop_assert!(rows.services.len() <= 4);
    }
}

fn echo(icmp_type: u8) -> Packet {
    let packet =
        Packet { version: 4, proto: proto::ICMP, dscp: 46, src: 1, dst: 2, frame_len: 60, ..Packet::default() };
    Packet { has_transport: true, icmp_type, ..packet }
}

#[test]
fn icmp_errors_are_not_judged_echo_is() -> Result<(), BundleError> {
    for (icmp_type, verdicts) in [(3, 0), (11, 0), (5, 0), (8, 1), (0, 1)] {
        let mut core = core(1);
        core.set_bundle(bundle()?);
        core.packet(0, &echo(icmp_type));
        assert_eq!(core.verdicts.len(), verdicts, "type {icmp_type}");
    }
    Ok(())
}

#[test]
fn a_mark_that_only_a_later_point_saw_is_judged_as_seen() -> Result<(), BundleError> {
    let mut core = core(2);
    core.set_bundle(bundle()?);
    core.packet(1, &Packet { dscp: 0, ..echo(8) });
    assert!(core.verdicts.is_empty());
    core.packet(1, &Packet { ip_id: 5, ..echo(8) });
    assert_eq!(
        core.verdicts.iter().map(|v| (v.name.as_str(), v.point.as_str())).collect::<Vec<_>>(),
        [("class-not-allowed", "p1")]
    );
    Ok(())
}

#[test]
fn rows_are_handed_out_when_the_second_is_over_and_say_when_packets_were_dropped() -> Result<(), BundleError> {
    let mut core = core(2);
    core.set_bundle(bundle()?);
    core.packet(0, &Packet { ts_ns: 1_900_000_000, ..echo(8) });
    core.dropped(1, 1_950_000_000);
    assert!(core.observations.is_empty());
    core.packet(1, &Packet { ts_ns: 3_000_000_000, ip_id: 9, ..echo(8) });
    let rows: Vec<_> = core
        .observations
        .iter()
        .map(|row| (row.point.as_str(), row.start_ns, row.complete, row.sources.len()))
        .collect();
    assert_eq!(rows, [("p0", 1_000_000_000, true, 1), ("p1", 1_000_000_000, false, 0)]);
    Ok(())
}

fn limited(identity: &str) -> Result<Arc<Bundle>, BundleError> {
    let text = format!(
        r#"{{"schema": "flowguard.bundle/1", "version": "v", "priority_dscp": [46], "points": {{}},
            "identities": [{{"prefix": "0.0.0.0/30", "name": "few", "class": "core", "allowed_dscp": null, {identity}}}],
            "profile": {{"name": "lab", "persistence_ms": 1000, "min_signals": 1}}}}"#
    );
    Bundle::parse(text.as_bytes()).map(Arc::new)
}

/// Verdicts of one flow that sends `bytes` every 100 ms from second `from` to `to` of 1970-01-01, a Thursday.
fn told(identity: &str, (from, to): (u64, u64), bytes: u32) -> Result<Vec<(String, u64)>, BundleError> {
    let mut core = core(1);
    core.set_bundle(limited(identity)?);
    for step in from * 10..to * 10 {
        let packet = Packet { version: 4, proto: proto::UDP, src: 1, dst: 2, sport: 9, dport: 9, ..Packet::default() };
        core.packet(0, &Packet { ts_ns: step * 100_000_000, frame_len: bytes, ..packet });
    }
    core.finish();
    let mut last = std::collections::BTreeMap::new();
    core.verdicts.iter().for_each(|v| {
        last.insert(v.name.as_str().to_owned(), v.packets);
    });
    Ok(last.into_iter().collect())
}

#[test]
fn a_sender_beyond_its_peak_is_told_by_the_packets_beyond_it() -> Result<(), BundleError> {
    let peak = r#""peak_mbps": 0.08"#; // 10,000 bytes a second
    assert_eq!(told(peak, (0, 3), 1_000)?, []);
    assert_eq!(told(peak, (0, 3), 1_250)?, [("over-peak".to_owned(), 6)]);
    Ok(())
}

#[test]
fn outside_its_hours_more_than_upkeep_is_told_and_a_long_transfer_is_bulk() -> Result<(), BundleError> {
    let hours = r#""active_window": "00:00-00:01""#;
    assert_eq!(told(hours, (0, 60), 1_500_000)?, []);
    assert_eq!(told(hours, (60, 120), 1_000)?, []);
    assert_eq!(told(hours, (60, 61), 500_000)?, [("outside-window".to_owned(), 8)]);
    assert_eq!(told(hours, (55, 61), 5_000_000)?, [("bulk-into-business-hours".to_owned(), 10)]);
    Ok(())
}

#[test]
fn the_speed_of_a_port_is_that_of_its_pauses_and_a_storm_is_more_than_a_pause() {
    let queues =
        br#"{"observation_points": {}, "link_mbps": 1000, "classes": {"all": {"dscp": "rest", "rate_mbps": 1000}},
        "ports": {"p": {"point": "p0", "arrivals_from": "p1"}}}"#;
    for (quanta, names) in [(100_u16, vec!["pfc-pause"]), (60_000, vec!["pfc-pause", "pfc-storm"])] {
        let mut core = core(2);
        core.set_queues(crate::queues::Queues::parse(queues, &names_of(2)).expect("valid"));
        for at in 0..20 {
            let stop = Packet {
                stop: nc_decode::Stop::Pfc,
                stop_classes: 8,
                src: u128::from(quanta) << 48,
                ..Packet::default()
            };
            core.packet(0, &Packet { ts_ns: at * 10_000_000, dst: 0x0050_5600_00aa, frame_len: 60, ..stop });
        }
        core.finish();
        let found: Vec<_> = core.verdicts.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(found, names);
        assert!(core.verdicts.iter().all(|v| v.src == "fe80::250:56ff:fe00:aa" && v.proto == "mac-control"));
    }
}
