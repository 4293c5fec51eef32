//! The report of an offline run: `policyhub.flows/1` of the contract.

use std::sync::Arc;

use nc_decode::proto;
use nc_detect::{ServerPort, Verdict};
use nc_flow::{
    address, protocol, ClassTotals, DscpCount, Flow, FlowTable, Signature, Strength, TcpCounts, Transport, Visibility,
};
use nc_source::{Drops, Lengths, SourceError};
use serde::{Serialize, Serializer};

use crate::account::Ground;
use crate::behaviour_rows::{self, inside, named, BehaviourRow};
use crate::carried::CarriedRow;
use crate::clock_rows::{clock_row, totals, ClockRow};
use crate::core::Core;
use crate::damage::{damage, tell};
use crate::flows::Paces;
use crate::health_rows::{self, HealthRow, HealthSums, SumRows, Sums};
use crate::largest::{Largest, Row};
use crate::layers::LayersRow;
use crate::losses::losses;
use crate::media_rows::{media_overflow, media_row, streams, MediaRow, StreamRow};
use crate::names::NameSource;
use crate::neighbours::Neighbour;
use crate::offline::Input;
use crate::path_rows::{self, PathRow};
use crate::point::Point;
use crate::queue_rows::{self, BurstRow, QueueRow};
use crate::queues::Queues;
use crate::roce_rows::{self, RoceReport};
use crate::service_rows::{Chosen, ServiceRow};
use crate::unwrap::Opened;

/// What this engine does not evaluate yet: their lists are empty because nobody looked, not because nothing was there.
const NOT_EVALUATED: [&str; 0] = [];
/// And without the queues of the device between the points, or when none of them can be replayed from what the points show.
const NO_QUEUES: [&str; 2] = ["queues", "microbursts"];

/// A JSON object with marks as keys, ascending.
pub(crate) struct ByMark<T>(pub Vec<(u8, T)>);

impl<T: Serialize> Serialize for ByMark<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(mark, value)| (mark.to_string(), value)))
    }
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    engine: &'static str,
    bundle: Option<&'a str>,
    judging: bool,
    not_evaluated: &'static [&'static str],
    /// Signatures that need more of a packet than the captures hold: they cannot be found here.
    not_visible: Vec<&'a str>,
    points: Vec<PointRow<'a>>,
    flows: Vec<Row<'a>>,
    flows_total: usize,
    services: Vec<ServiceRow<'a>>,
    media: Vec<StreamRow<'a>>,
    verdicts: Vec<Verdict>,
    path: Option<PathRow<'a>>,
    /// With more than two points: each hop between two of them.
    paths: Vec<PathRow<'a>>,
    roce: RoceReport<'a>,
    behaviour: BehaviourRow<'a>,
    overflow: Overflow,
}

/// Packets that a full table turned away; all zero in a sound report.
#[derive(Serialize)]
struct Overflow {
    flows: u64,
    in_flight: u64,
    verdicts: u64,
    tcp: u64,
    late: u64,
    rewrites: u64,
    signatures: u64,
    health: u64,
    names: u64,
    neighbours: u64,
    carried: u64,
}

#[derive(Serialize)]
struct SignatureRow<'a> {
    name: &'a str,
    strength: Strength,
    packets: u32,
    visibility: Visibility,
}

#[derive(Serialize)]
struct PointRow<'a> {
    name: &'a str,
    file: String,
    packets: u64,
    bytes: u64,
    non_ip: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    truncated: bool,
    damage: Option<&'static str>,
    error: Option<String>,
    decode_errors: u64,
    cut_packets: u64,
    capture: CaptureRow,
    out_of_order: u64,
    dscp: ByMark<&'a ClassTotals>,
    pcp: ByMark<&'a ClassTotals>,
    headers: LayersRow<'a>,
    queues: Vec<QueueRow<'a>>,
    microbursts: Vec<BurstRow<'a>>,
    saturations: Vec<BurstRow<'a>>,
    tcp: TcpRow,
    health: HealthSums,
    lldp: Vec<&'a Neighbour>,
    /// The largest flows of carried packets.
    carried: Vec<CarriedRow>,
    carried_total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<ClockRow>,
    #[serde(flatten)]
    opened: Option<&'a Opened>,
}

/// What the capture says of itself: packets that it lost, by who lost them (null: it does not say), and frames whose length on the
/// wire was not believed.
#[derive(Serialize)]
struct CaptureRow {
    received: Option<u64>,
    dropped: Option<u64>,
    dropped_by_interface: Option<u64>,
    dropped_by_system: Option<u64>,
    dropped_before_packets: Option<u64>,
    lengths_below_captured: u64,
    lengths_beyond_links: u64,
}

fn capture_row(drops: &Drops, lengths: Lengths) -> CaptureRow {
    CaptureRow {
        received: drops.received,
        dropped: drops.dropped,
        dropped_by_interface: drops.interface,
        dropped_by_system: drops.system,
        dropped_before_packets: drops.before,
        lengths_below_captured: lengths.below_captured,
        lengths_beyond_links: lengths.beyond_links,
    }
}

#[derive(Serialize)]
pub(crate) struct MarkRow {
    packets: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct TcpRow {
    data_segments: u64,
    retransmitted: u64,
    syn_retransmitted: u64,
    fin_retransmitted: u64,
    zero_window: u64,
}

#[derive(Serialize)]
pub(crate) struct FlowRow<'a> {
    point: &'a str,
    src: String,
    dst: String,
    sport: u16,
    dport: u16,
    proto: String,
    vlan: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inner_vlan: Option<u16>,
    server_port: ServerPort,
    packets: u64,
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
    dscp: ByMark<MarkRow>,
    tcp: TcpRow,
    half_seen: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<HealthRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtp: Option<MediaRow>,
    server_name: Option<&'a str>,
    name_source: Option<NameSource>,
    signatures: Vec<SignatureRow<'a>>,
    identity: Ends<'a>,
}

#[derive(Serialize)]
struct Ends<'a> {
    src: Option<&'a str>,
    dst: Option<&'a str>,
}

/// Of a run: the largest of the flows that are in the table no more, sums with the services that they tell apart, and how bulk came and
/// went with the steps that found no room.
pub(crate) type Kept = (Vec<Largest>, Vec<Sums>, Chosen, Paces);

pub(crate) fn write(
    core: &Core,
    inputs: &[Input],
    mut verdicts: Vec<Verdict>,
    top: Option<usize>,
    (largest, sums, chosen, paces): Kept,
) -> Vec<u8> {
    let (gone, kept) = Largest::of(core, largest);
    let captures = core.points.iter().zip(inputs);
    tell(&mut verdicts, captures.map(|(point, input)| (point.name.as_str(), input.error.as_ref())));
    verdicts.sort_by(|a, b| {
        let key = |v: &Verdict| (v.first_ns, v.name, v.server_port, v.dscp);
        key(a).cmp(&key(b)).then_with(|| (&a.src, &a.dst, &a.proto).cmp(&(&b.src, &b.dst, &b.proto)))
    });
    let bundle = core.judge.bundle();
    let has_queues = core.queues.as_ref().is_some_and(Queues::are_any);
    let losses = losses(core);
    let rows = |number: usize| queue_rows::rows(core, number, losses.as_ref());
    let points = core.points.iter().zip(inputs).enumerate();
    let SumRows { directions, points: healths, services, media } = Sums::rows(sums, &chosen, core);
    let points =
        points.map(|(number, (point, input))| point_row(point, (input, top), rows(number), healths[number])).collect();
    let mut paths = path_rows::rows(core, losses.as_ref());
    let report = Report {
        schema: "policyhub.flows/1",
        engine: env!("CARGO_PKG_VERSION"),
        bundle: bundle.map(|bundle| bundle.version.as_str()),
        judging: bundle.is_some(),
        not_visible: not_visible(core, inputs),
        not_evaluated: if has_queues { &NOT_EVALUATED } else { &NO_QUEUES },
        points,
        flows_total: directions + gone,
        flows: Largest::merge(kept, flow_rows(core, top), top),
        services,
        media: streams(core, media),
        verdicts,
        path: if core.points.len() == 2 { paths.pop() } else { None },
        paths,
        roce: roce_rows::report(core, top),
        behaviour: behaviour_rows::row(&core.ground, |group| inside(&named(core), group), &paces, top),
        overflow: Overflow {
            flows: core.flows.overflow(),
            in_flight: core.matcher.as_ref().map_or(0, |matcher| matcher.overflow()),
            verdicts: core.judge.overflow(),
            tcp: core.points.iter().filter_map(|point| point.tracker.as_ref()).map(|t| t.overflow()).sum(),
            late: core.points.iter().map(|point| point.clock.late()).sum(),
            rewrites: core.path.as_ref().map_or(0, |path| path.overflow),
            signatures: core.flows.sightings_overflow(),
            health: core.flows.health_overflow() + media_overflow(core),
            names: core.names.overflow,
            neighbours: inputs.iter().map(|input| input.neighbours.overflow).sum(),
            carried: inputs.iter().map(|input| input.carried.overflow).sum::<u64>() + core.inside.overflow(),
        },
    };
    // Every key is a string and every value a plain number, string or list: serialising cannot fail.
    serde_json::to_vec(&report).unwrap_or_default()
}

/// Cut packets show what no packet of theirs reaches.
fn not_visible<'a>(core: &'a Core, inputs: &[Input]) -> Vec<&'a str> {
    let kept = |transport| {
        let of = |input: &Input| if transport == Transport::Tcp { input.tcp_kept } else { input.udp_kept };
        inputs.iter().map(of).max().unwrap_or(0)
    };
    if inputs.iter().any(|input| input.cut > 0) {
        core.ground.signatures.beyond(kept)
    } else {
        Vec::new()
    }
}

fn signature_row<'a>((signature, packets): (&'a Arc<Signature>, u32)) -> SignatureRow<'a> {
    SignatureRow { name: &signature.name, strength: signature.strength, packets, visibility: signature.visibility }
}

fn point_row<'a>(
    point: &'a Point,
    (input, top): (&'a Input, Option<usize>),
    rows: queue_rows::QueueRows<'a>,
    health: HealthSums,
) -> PointRow<'a> {
    let (carried, carried_total) = input.carried.rows(top);
    PointRow {
        name: &point.name,
        file: input.path.display().to_string(),
        packets: point.packets,
        bytes: point.bytes,
        non_ip: point.non_ip,
        first_ns: point.first_ns,
        last_ns: point.last_ns,
        truncated: input.error.as_ref().is_some_and(SourceError::is_partial),
        damage: damage(input.error.as_ref()),
        error: input.error.as_ref().map(ToString::to_string),
        decode_errors: point.decode_errors,
        cut_packets: input.cut,
        capture: capture_row(&input.drops, input.lengths),
        out_of_order: input.lane.out_of_order,
        dscp: totals(&point.clock),
        pcp: totals(&point.layers.pcp),
        headers: point.layers.row(),
        queues: rows.queues,
        microbursts: rows.microbursts,
        saturations: rows.saturations,
        tcp: tcp_row(&point.tcp),
        health,
        lldp: input.neighbours.rows(),
        carried,
        carried_total,
        clock: clock_row(point),
        opened: input.opened.as_deref(),
    }
}

/// Of a flow.
pub(crate) fn by_mark(marks: Vec<(u8, DscpCount)>) -> ByMark<MarkRow> {
    let row = |(mark, c): (u8, DscpCount)| (mark, MarkRow { packets: c.packets, bytes: c.bytes });
    ByMark(marks.into_iter().map(row).collect())
}

fn tcp_row(counts: &TcpCounts) -> TcpRow {
    TcpRow {
        data_segments: counts.data_segments,
        retransmitted: counts.retransmitted,
        syn_retransmitted: counts.syn_retransmitted,
        fin_retransmitted: counts.fin_retransmitted,
        zero_window: counts.zero_window,
    }
}

/// Largest first; equal ones by key, so that the same capture gives the same bytes.
fn flow_rows(core: &Core, top: Option<usize>) -> Vec<(u64, FlowRow<'_>)> {
    let top = top.unwrap_or(usize::MAX);
    if top == 0 {
        return Vec::new();
    }
    // Only those with as many bytes as the last one wanted are put in order.
    let mut all = leading(core.flows.iter(), top);
    all.sort_by_cached_key(|(number, flow)| (std::cmp::Reverse(flow.bytes()), core.flows.key(*number), flow.point));
    all.truncate(top);
    all.into_iter().map(|(number, flow)| (flow.bytes(), named_row(core, number))).collect()
}

/// Flows with at least as many bytes as the `top`-th largest. Each is looked at once and few are kept meanwhile.
fn leading<'a>(flows: impl Iterator<Item = (u32, &'a Flow)>, top: usize) -> Vec<(u32, &'a Flow)> {
    let spare = |kept: usize| kept.saturating_mul(2).saturating_add(1_024);
    let (mut kept, mut least, mut room) = (Vec::new(), 0, spare(top));
    for (number, flow) in flows {
        let bytes = flow.bytes();
        if bytes >= least {
            kept.push((bytes, number, flow));
        }
        if kept.len() >= room {
            least = prune(&mut kept, top);
            room = spare(kept.len());
        }
    }
    prune(&mut kept, top);
    kept.into_iter().map(|(_, number, flow)| (number, flow)).collect()
}

/// Leave those with at least as many bytes as the `top`-th has; returns how many that are.
fn prune<T>(kept: &mut Vec<(u64, u32, T)>, top: usize) -> u64 {
    if top >= kept.len() {
        return 0;
    }
    let least = kept.select_nth_unstable_by_key(top - 1, |(bytes, ..)| std::cmp::Reverse(*bytes)).1 .0;
    kept.retain(|(bytes, ..)| *bytes >= least);
    least
}

fn named_row(core: &Core, number: u32) -> FlowRow<'_> {
    let (flows, number) = core.flows.at(number);
    let service = flows.service(number);
    let named = core.names.of(flows.name(number), &service, core.points_of(service.realm));
    let row = flow_row(flows, &core.ground, number);
    FlowRow { server_name: named.map(|(name, _)| name), name_source: named.map(|(_, source)| source), ..row }
}

/// Without the name of its server.
pub(crate) fn flow_row<'a>(flows: &FlowTable, ground: &'a Ground, number: u32) -> FlowRow<'a> {
    let (key, flow) = (flows.key(number), flows.flow(number));
    let name = |address| ground.name_of(flow.point, key.version, address);
    let (vlan, inner_vlan) = key.tags();
    FlowRow {
        point: ground.places.get(usize::from(flow.point)).map_or("", |place| &place.name),
        src: address(key.version, key.src),
        dst: address(key.version, key.dst),
        sport: key.sport,
        dport: key.dport,
        proto: protocol(key.proto).into_owned(),
        vlan,
        inner_vlan,
        server_port: ServerPort::of(flows.server_port(number)),
        packets: flow.packets(),
        bytes: flow.bytes(),
        first_ns: flow.first_ns,
        last_ns: flow.last_ns,
        dscp: by_mark(flows.marks(number)),
        tcp: tcp_row(&flows.tcp(number)),
        half_seen: !flows.is_answered(number),
        health: (key.proto == proto::TCP)
            .then(|| health_rows::health_row(&flows.health(number), flows.is_answered(number))),
        rtp: flows.media(number).as_ref().map(media_row),
        server_name: None,
        name_source: None,
        signatures: ground.signatures_in(flows.tally(number)).map(signature_row).collect(),
        identity: Ends { src: name(key.src), dst: name(key.dst) },
    }
}
