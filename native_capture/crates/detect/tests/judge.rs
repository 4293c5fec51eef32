//! Verdicts over time: identity, revisions, closing, signals, severity.

use std::sync::Arc;

use nc_detect::{Bundle, BundleError, Judge, Name, Offence, Place, Verdict};
use nc_flow::{FlowKey, Signatures};

const SECOND: u64 = 1_000_000_000;
const KEY: FlowKey = FlowKey {
    src: 0x0a01_0203,
    dst: 0x0a05_0607,
    sport: 40_000,
    dport: 443,
    vlan: u32::MAX,
    realm: 0,
    proto: 6,
    version: 4,
};

fn bundle() -> Result<Arc<Bundle>, BundleError> {
    Bundle::parse(
        br#"{"schema": "flowguard.bundle/1", "version": "v1", "priority_dscp": [46], "service_rank": {},
            "identities": [{"prefix": "10.1.0.0/16", "name": "job", "class": "non-core", "allowed_dscp": [0, 8]},
                           {"prefix": "10.2.0.0/16", "name": "call", "class": "core", "allowed_dscp": [46]}],
            "points": {"p": {"realm": "r"}}, "profile": {"name": "lab", "persistence_ms": 1000, "min_signals": 1}}"#,
    )
    .map(Arc::new)
}

fn judge() -> Result<Judge, BundleError> {
    let mut judge = Judge::new(vec![Place { name: "p".into(), realm: String::new() }]);
    judge.set_bundle(bundle()?);
    Ok(judge)
}

fn offence(ts_ns: u64) -> Offence<'static> {
    Offence {
        name: Name::ClassNotAllowed,
        key: &KEY,
        server_port: 443,
        who: 1,
        dscp: 46,
        point: 0,
        ts_ns,
        frame_len: 100,
        ip_id: 7,
        new_flow: false,
        changed_to: None,
        told: None,
        carrier: None,
    }
}

/// Every revision of offences at these times, and of a last tick.
fn run(times: &[u64], last_tick: u64) -> Result<Vec<Verdict>, BundleError> {
    let (mut judge, mut out) = (judge()?, Vec::new());
    for ts_ns in times {
        judge.tick(*ts_ns, &mut out);
        judge.offend(&offence(*ts_ns), std::iter::empty(), |_| Some(1_000_000), &mut out);
    }
    judge.tick(last_tick, &mut out);
    Ok(out)
}

#[test]
fn the_first_packet_is_told_at_once_and_then_once_a_second() -> Result<(), BundleError> {
    let times: Vec<u64> = (0..250).map(|n| n * SECOND / 100).collect();
    let out = run(&times, 2 * SECOND + SECOND * 3 / 4)?;
    let told: Vec<_> = out.iter().map(|v| (v.revision, v.packets)).collect();
    assert_eq!(told, [(1, 1), (2, 100), (3, 200)]);
    assert!(out.iter().all(|v| v.id == out[0].id && v.first_ns == 0 && !v.closed));
    Ok(())
}

#[test]
fn packets_after_the_last_revision_are_told_when_time_goes_on() -> Result<(), BundleError> {
    let out = run(&[0, SECOND / 2, SECOND * 3 / 4], 5 * SECOND)?;
    assert_eq!(out.last().map(|v| (v.revision, v.packets, v.last_ns)), Some((2, 3, SECOND * 3 / 4)));
    Ok(())
}

#[test]
fn a_minute_of_silence_closes_and_the_next_packet_opens_another() -> Result<(), BundleError> {
    let out = run(&[0, 59 * SECOND, 119 * SECOND], 119 * SECOND)?;
    let told: Vec<_> = out.iter().map(|v| (v.first_ns / SECOND, v.packets, v.closed)).collect();
    assert_eq!(told, [(0, 1, false), (0, 2, false), (0, 2, true), (119, 1, false)]);
    assert_ne!(out[0].id, out[3].id);
    Ok(())
}

#[test]
fn the_id_is_a_hash_of_key_and_first_time() -> Result<(), BundleError> {
    // sha256 of ["r","10.1.2.3","10.5.6.7","tcp",443,46,"class-not-allowed",5]
    let out = run(&[5], 5)?;
    assert_eq!(out[0].id, "5950a344cc04567fc538373cdeae72d9");
    Ok(())
}

#[test]
fn persistence_counts_time_with_packets_only() -> Result<(), BundleError> {
    let bursts: Vec<u64> = (0..4).map(|n| n * 20 * SECOND).collect();
    let verdicts = run(&bursts, 61 * SECOND)?;
    assert_eq!(verdicts.last().map(|v| v.persisted_ms), Some(3_000));
    let short = run(&[0, SECOND / 2], 2 * SECOND)?;
    assert_eq!(short.last().map(|v| v.signals.clone()), Some(vec!["dscp-outside-allowance"]));
    let long = run(&[0, SECOND / 2, SECOND], 2 * SECOND)?;
    assert_eq!(long.last().map(|v| v.signals.clone()), Some(vec!["dscp-outside-allowance", "persisted"]));
    Ok(())
}

#[test]
fn volume_is_a_tenth_of_the_mark_in_a_whole_second() -> Result<(), BundleError> {
    let signals = |packets: u64, all: u64| -> Result<Vec<&'static str>, BundleError> {
        let (mut judge, mut out) = (judge()?, Vec::new());
        for n in 0..packets {
            judge.offend(&offence(n), std::iter::empty(), |_| Some(all), &mut out);
        }
        judge.offend(&offence(SECOND), std::iter::empty(), |_| Some(all), &mut out);
        Ok(out.last().map(|v| v.signals.clone()).unwrap_or_default())
    };
    assert!(signals(20, 20_000)?.contains(&"volume"));
    assert!(!signals(20, 20_001)?.contains(&"volume"));
    assert!(!signals(19, 1_900)?.contains(&"volume"));
    Ok(())
}

#[test]
fn severity_follows_what_the_mark_takes() -> Result<(), BundleError> {
    let severity = |name, who, dscp, changed_to| -> Result<&'static str, BundleError> {
        let (mut judge, mut out) = (judge()?, Vec::new());
        judge.offend(&Offence { name, who, dscp, changed_to, ..offence(0) }, std::iter::empty(), |_| None, &mut out);
        Ok(out[0].severity)
    };
    assert_eq!(severity(Name::ClassNotAllowed, 1, 46, None)?, "high");
    assert_eq!(severity(Name::ClassNotAllowed, 1, 26, None)?, "medium");
    assert_eq!(severity(Name::ClassNotAllowed, 2, 8, None)?, "info");
    assert_eq!(severity(Name::UnknownIdentityInPriority, 0, 46, None)?, "medium");
    assert_eq!(severity(Name::DscpRewritten, 2, 46, Some(0))?, "medium");
    assert_eq!(severity(Name::DscpRewritten, 1, 46, Some(0))?, "info");
    Ok(())
}

#[test]
fn the_same_host_and_service_is_one_verdict_whatever_the_client_port() -> Result<(), BundleError> {
    let (mut judge, mut out) = (judge()?, Vec::new());
    for sport in 0..100 {
        let key = FlowKey { sport, ..KEY };
        judge.offend(
            &Offence { key: &key, new_flow: true, ..offence(u64::from(sport)) },
            std::iter::empty(),
            |_| None,
            &mut out,
        );
    }
    judge.offend(&Offence { server_port: 50_001, ..offence(200) }, std::iter::empty(), |_| None, &mut out);
    judge.finish(&mut out);
    let last = &out[out.len() - 1];
    assert_eq!((out.len(), last.packets, last.connections), (3, 100, 100));
    assert_eq!(serde_json::to_value(out[1].server_port).ok(), Some("ephemeral".into()));
    Ok(())
}

#[test]
fn forged_sources_do_not_crowd_out_a_known_offender() -> Result<(), BundleError> {
    let (mut judge, mut out) = (judge()?, Vec::new());
    for src in 0..70_000 {
        let key = FlowKey { src, ..KEY };
        let forged = Offence { name: Name::UnknownIdentityInPriority, who: 0, key: &key, ..offence(0) };
        judge.offend(&forged, std::iter::empty(), |_| None, &mut out);
    }
    assert!(judge.overflow() > 50_000);
    judge.offend(&offence(1), std::iter::empty(), |_| None, &mut out);
    assert_eq!(out.last().map(|v| v.name), Some(Name::ClassNotAllowed));
    Ok(())
}

#[test]
fn a_payload_signature_of_training_is_a_signal_and_others_are_evidence_only() -> Result<(), Box<dyn std::error::Error>>
{
    let known = Signatures::load(None)?;
    for (name, is_signal) in
        [("gloo", true), ("tcpstore", true), ("s3", false), ("rsync", false), ("http-dataset", false)]
    {
        let (mut judge, mut out) = (judge()?, Vec::new());
        let named = known.iter().filter(|signature| signature.name == name);
        judge.offend(&offence(0), named, |_| None, &mut out);
        judge.offend(&offence(1), std::iter::empty(), |_| None, &mut out);
        judge.finish(&mut out);
        let last = out.last().ok_or("no verdict")?;
        assert_eq!(last.signals.contains(&"training-signature"), is_signal, "{name}");
        let named: Vec<_> = last.evidence.iter().filter(|fact| fact["kind"] == "signature").collect();
        assert_eq!(named.iter().map(|fact| fact["name"].as_str()).collect::<Vec<_>>(), [Some(name)]);
    }
    Ok(())
}
