//! `points[].queues`, `.microbursts` and `.saturations` of `policyhub.flows/1`.

use nc_detect::thresholds::MICROBURST_NS;
use nc_flow::{address, protocol, Burst, FillMeter};
use serde::Serialize;

use crate::core::Core;
use crate::losses::Losses;
use crate::queues::PortState;

/// `share_over_90_pct`: share (0..1) of the milliseconds with more than 90 % in the queue. `drops_*`: null where nobody could count.
#[derive(Serialize)]
pub(crate) struct QueueRow<'a> {
    port: &'a str,
    class: &'a str,
    basis: &'static str,
    max_fill_pct: f64,
    p95_fill_pct: f64,
    mean_fill_pct: f64,
    share_over_90_pct: f64,
    milliseconds: u64,
    drops_estimated: Option<u64>,
    drops_measured: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<SeriesRow>,
}

/// Fill at the fullest moment of each millisecond, from `start_ns` on.
#[derive(Serialize)]
struct SeriesRow {
    start_ns: u64,
    step_ms: u32,
    fill_pct: Vec<f32>,
}

#[derive(Serialize)]
pub(crate) struct BurstRow<'a> {
    port: &'a str,
    class: &'a str,
    basis: &'static str,
    start_ns: u64,
    length_ms: f64,
    peak_fill_pct: f64,
    bytes: u64,
    flows: Vec<FillerRow>,
}

#[derive(Serialize)]
struct FillerRow {
    src: String,
    dst: String,
    sport: u16,
    dport: u16,
    proto: String,
    packets: u64,
    bytes: u64,
}

/// Rows of the ports whose packets leave by point `number`, or, when that point is not there, arrive at it.
#[derive(Default)]
pub(crate) struct QueueRows<'a> {
    pub queues: Vec<QueueRow<'a>>,
    pub microbursts: Vec<BurstRow<'a>>,
    pub saturations: Vec<BurstRow<'a>>,
}

/// `losses`: between the points, when there are several.
pub(crate) fn rows<'a>(core: &'a Core, number: usize, losses: Option<&Losses>) -> QueueRows<'a> {
    let mut rows = QueueRows::default();
    let Some(queues) = &core.queues else { return rows };
    for port in queues.ports.iter().filter(|port| port.leaves.or(port.arrives) == Some(number)) {
        for class in 0..port.classes.len() {
            class_rows(core, port, class, losses, &mut rows);
        }
    }
    rows
}

fn class_rows<'a>(
    core: &'a Core,
    port: &'a PortState,
    class: usize,
    losses: Option<&Losses>,
    rows: &mut QueueRows<'a>,
) {
    let queue = &port.classes[class];
    let estimated = port.estimated.as_ref().map(|queues| (queues.meter(class), queues.drops(class).0));
    let lost = losses.zip(port.arrives.zip(port.leaves)).map(|(losses, (from, to))| &losses.lost(from, to).by_dscp);
    let drops_measured = lost
        .filter(|_| queue.measured.is_some())
        .map(|lost| queue.marks.iter().map(|mark| lost[usize::from(*mark)]).sum());
    let drops_estimated = estimated.map(|(_, drops)| drops);
    let row = |meter: &FillMeter, basis| {
        meter.fill().map(|fill| QueueRow {
            port: &port.name,
            class: &queue.name,
            basis,
            max_fill_pct: fill.max_pct,
            p95_fill_pct: fill.p95_pct,
            mean_fill_pct: fill.mean_pct,
            share_over_90_pct: fill.share_over_90,
            milliseconds: fill.milliseconds,
            drops_estimated,
            drops_measured,
            series: meter.series().map(|(start, series)| SeriesRow {
                start_ns: start * 1_000_000,
                step_ms: 1,
                fill_pct: series.iter().map(|per_mille| f32::from(*per_mille) / 10.0).collect(),
            }),
        })
    };
    let measured = queue.measured.as_ref().map(|(_, meter)| meter);
    rows.queues.extend(measured.and_then(|meter| row(meter, "measured")));
    rows.queues.extend(estimated.and_then(|(meter, _)| row(meter, "estimated")));
    let (meter, basis) = match (measured, estimated) {
        (Some(meter), _) => (meter, "measured"),
        (None, Some((meter, _))) => (meter, "estimated"),
        (None, None) => return,
    };
    for burst in &meter.bursts {
        let list = if burst.length_ns() < MICROBURST_NS { &mut rows.microbursts } else { &mut rows.saturations };
        list.push(burst_row(core, (&port.name, &queue.name, basis), meter, burst));
    }
}

fn burst_row<'a>(
    core: &Core,
    place: (&'a str, &'a str, &'static str),
    meter: &FillMeter,
    burst: &Burst,
) -> BurstRow<'a> {
    BurstRow {
        port: place.0,
        class: place.1,
        basis: place.2,
        start_ns: burst.start_ns,
        length_ms: burst.length_ns() as f64 / 1e6,
        peak_fill_pct: meter.percent(burst.peak),
        bytes: burst.bytes,
        flows: burst.fillers.iter().filter_map(|filler| filler_row(core, *filler)).collect(),
    }
}

fn filler_row(core: &Core, (flow, packets, bytes): (u32, u64, u64)) -> Option<FillerRow> {
    (flow != crate::core::NO_FLOW).then(|| {
        let key = core.flows.key(flow);
        FillerRow {
            src: address(key.version, key.src),
            dst: address(key.version, key.dst),
            sport: key.sport,
            dport: key.dport,
            proto: protocol(key.proto).into_owned(),
            packets,
            bytes,
        }
    })
}
