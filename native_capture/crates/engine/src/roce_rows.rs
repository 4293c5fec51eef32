//! `roce` of `policyhub.flows/1`: RDMA flows by destination queue pair, and who paused whom.

use std::collections::BTreeMap;

use nc_decode::{Tunnel, NO_PCP};
use nc_flow::{address, QpFlow, Refusals, RoceEnds, Stream, WHOLE_LINK};
use serde::Serialize;

use crate::core::Core;
use crate::fabric::mac_text;
use crate::layers::tunnel_name;

/// `flows_total`: as many there were; `flows` holds the largest when fewer were asked for.
#[derive(Serialize)]
pub(crate) struct RoceReport<'a> {
    flows: Vec<QpRow<'a>>,
    flows_total: usize,
    pauses: Vec<PauseRow<'a>>,
    overflow: u64,
}

/// `acks`, `refused`, `cnp`: carried by this flow, about the other direction. `answered`: what came back about this one; null unless
/// acknowledgements prove which flow is its other direction (`peer_qp`).
#[derive(Serialize)]
struct QpRow<'a> {
    point: &'a str,
    src: String,
    dst: String,
    dest_qp: u32,
    version: u8,
    tunnel: Option<String>,
    packets: u64,
    bytes: u64,
    payload_bytes: Option<u64>,
    payload_max: Option<u32>,
    frame_max: u32,
    first_ns: u64,
    last_ns: u64,
    rate_mbps: Option<f64>,
    opcodes: BTreeMap<String, u64>,
    dscp: BTreeMap<String, u64>,
    pcp: Option<u8>,
    data_packets: u64,
    ecn: BTreeMap<&'static str, u64>,
    ce_share: Option<f64>,
    requests: StreamRow,
    responses: StreamRow,
    after_silence: u64,
    acks: u64,
    refused: RefusedRow,
    cnp: u64,
    peer_qp: Option<u32>,
    answered: Option<AnsweredRow>,
}

#[derive(Serialize)]
struct StreamRow {
    packets: u64,
    gaps: u64,
    missing: u64,
    filled: u64,
    repeated: u64,
    restarts: u64,
}

#[derive(Serialize)]
struct RefusedRow {
    sequence_error: u64,
    rnr: u64,
    invalid_request: u64,
    remote_access: u64,
    remote_operational: u64,
    other: u64,
}

#[derive(Serialize)]
struct AnsweredRow {
    acks: u64,
    refused: RefusedRow,
    cnp: u64,
}

/// `paused_ms` and `longest_ms`: at the link's speed, or as if it were 100 Gbit/s where `speed_mbps` is null.
#[derive(Serialize)]
struct PauseRow<'a> {
    point: &'a str,
    sender: String,
    priority: Option<usize>,
    stopped: u64,
    released: u64,
    paused_ms: f64,
    longest_ms: f64,
    speed_mbps: Option<u64>,
}

pub(crate) fn report(core: &Core, top: Option<usize>) -> RoceReport<'_> {
    let mut flows: Vec<&QpFlow> = core.fabric.table.iter().collect();
    let flows_total = flows.len();
    flows.sort_by_key(|flow| (std::cmp::Reverse(flow.bytes), flow.ends, flow.dest_qp));
    flows.truncate(top.unwrap_or(usize::MAX));
    let pauses = core.fabric.pauses.iter().zip(&core.points).flat_map(|(meter, point)| {
        meter.totals().map(|(mac, class, sum)| PauseRow {
            point: &point.name,
            sender: mac_text(mac),
            priority: (class != WHOLE_LINK).then_some(class),
            stopped: sum.stopped,
            released: sum.released,
            paused_ms: sum.paused_ns as f64 / 1e6,
            longest_ms: sum.longest_ns as f64 / 1e6,
            speed_mbps: meter.speed().map(|bps| bps / 1_000_000),
        })
    });
    RoceReport {
        flows: flows.into_iter().map(|flow| row(core, flow)).collect(),
        flows_total,
        pauses: pauses.collect(),
        overflow: core.fabric.overflow(),
    }
}

fn row<'a>(core: &'a Core, flow: &QpFlow) -> QpRow<'a> {
    let peer = core.fabric.table.peer(flow);
    let (src, dst) = names(&flow.ends);
    let lasted_ns = flow.last_ns - flow.first_ns;
    let ecn = ["not_ect", "ect1", "ect0", "ce"].into_iter().zip(flow.ecn);
    let marked: u64 = flow.ecn[1..].iter().sum();
    let is_v1 = flow.ends.version == 0;
    QpRow {
        point: &core.points[usize::from(flow.ends.point)].name,
        src,
        dst,
        dest_qp: flow.dest_qp,
        version: if is_v1 { 1 } else { 2 },
        tunnel: (flow.tunnel != Tunnel::None)
            .then(|| format!("{} {}", tunnel_name(flow.tunnel), flow.ends.tunnel.wrapping_sub(1))),
        packets: flow.packets,
        bytes: flow.bytes,
        payload_bytes: flow.payload_bytes(),
        payload_max: flow.payload_bytes().map(|_| flow.payload_max),
        frame_max: flow.frame_max,
        first_ns: flow.first_ns,
        last_ns: flow.last_ns,
        rate_mbps: (lasted_ns > 0).then(|| flow.bytes as f64 * 8e3 / lasted_ns as f64),
        opcodes: flow.opcodes().map(|(opcode, count)| (opcode.to_string(), count)).collect(),
        dscp: match is_v1 {
            true => BTreeMap::new(),
            false => flow.marks().into_iter().map(|(mark, count)| (mark.to_string(), count.packets)).collect(),
        },
        pcp: Some(flow.pcp).filter(|pcp| *pcp != NO_PCP),
        data_packets: flow.data(),
        ecn: if is_v1 { BTreeMap::new() } else { ecn.filter(|(_, count)| *count > 0).collect() },
        ce_share: (marked > 0 && !is_v1).then(|| flow.ecn[3] as f64 / marked as f64),
        requests: stream(&flow.requests),
        responses: stream(&flow.responses),
        after_silence: flow.after_silence,
        acks: flow.acks,
        refused: refused(&flow.refusals),
        cnp: flow.cnp,
        peer_qp: peer.map(|peer| peer.dest_qp),
        answered: peer.map(|peer| AnsweredRow { acks: peer.acks, refused: refused(&peer.refusals), cnp: peer.cnp }),
    }
}

fn names(ends: &RoceEnds) -> (String, String) {
    let key = nc_detect::roce_key(ends, 0);
    (address(key.version, key.src), address(key.version, key.dst))
}

fn stream(stream: &Stream) -> StreamRow {
    StreamRow {
        packets: stream.packets,
        gaps: stream.gaps,
        missing: stream.missing,
        filled: stream.filled,
        repeated: stream.repeated,
        restarts: stream.restarts,
    }
}

fn refused(refusals: &Refusals) -> RefusedRow {
    let [unknown, invalid_request, remote_access, remote_operational, invalid_rd] = refusals.other;
    RefusedRow {
        sequence_error: refusals.sequence,
        rnr: refusals.rnr,
        invalid_request,
        remote_access,
        remote_operational,
        other: unknown + invalid_rd,
    }
}
