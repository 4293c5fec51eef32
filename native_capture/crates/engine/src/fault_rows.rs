//! `path.fault` of `policyhub.flows/1`: where packets are lost, in which class, with the other classes as control group.

use nc_correlate::{locate, Cause, ClassFigures, Fault, Scope};
use nc_flow::Delays;
use serde::Serialize;

use crate::core::Core;
use crate::losses::{Losses, Lost};
use crate::queues::PortState;

#[derive(Serialize)]
pub(crate) struct FaultRow<'a> {
    #[serde(rename = "where")]
    place: PlaceRow<'a>,
    class: String,
    dscp: Vec<u8>,
    scope: &'static str,
    cause: &'static str,
    evidence: FiguresRow,
    control: ControlRow,
    confidence: f64,
    could_be: Vec<&'static str>,
}

/// `device`, `port`: of the queues file; null when it does not say. `side`: egress when the queue of that port shows it.
#[derive(Serialize)]
struct PlaceRow<'a> {
    from: &'a str,
    to: &'a str,
    device: Option<&'a str>,
    port: Option<&'a str>,
    side: Option<&'static str>,
}

#[derive(Serialize)]
struct FiguresRow {
    sent: u64,
    lost: u64,
    lost_share: f64,
    delay_p50_ns: Option<u64>,
    delay_p99_ns: Option<u64>,
    max_fill_pct: Option<f64>,
    share_over_90_pct: Option<f64>,
}

/// `chance`: that the control group would lose so little by luck if it lost as often as the class.
#[derive(Serialize)]
struct ControlRow {
    classes: Vec<String>,
    #[serde(flatten)]
    figures: FiguresRow,
    chance: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct QueueLossRow<'a> {
    port: &'a str,
    class: &'a str,
    matched: u64,
    lost: u64,
}

/// One class on one way: a queue's, or one mark where no queue is known.
struct Class {
    name: String,
    marks: Vec<u8>,
    figures: ClassFigures,
}

/// Faults of both directions, worst first.
pub(crate) fn rows<'a>(core: &'a Core, losses: &Losses, a: usize, b: usize) -> Vec<FaultRow<'a>> {
    let mut found: Vec<(u64, FaultRow<'a>)> = Vec::new();
    for (from, to) in [(a, b), (b, a)] {
        let port = port_of(core, from, to);
        let classes = classes(core, losses.lost(from, to), port, from, to);
        let figures: Vec<ClassFigures> = classes.iter().map(|class| class.figures).collect();
        for fault in locate(&figures) {
            found.push((figures[fault.class].lost, row(core, &classes, &fault, port, (from, to), losses)));
        }
    }
    found.sort_by_key(|(lost, _)| std::cmp::Reverse(*lost));
    found.into_iter().map(|(_, row)| row).collect()
}

/// The port of the device between whose packets come by `from` and leave by `to`.
fn port_of(core: &Core, from: usize, to: usize) -> Option<&PortState> {
    let ports = &core.queues.as_ref()?.ports;
    ports.iter().find(|port| port.arrives == Some(from) && port.leaves == Some(to))
}

fn classes(core: &Core, lost: &Lost, port: Option<&PortState>, from: usize, to: usize) -> Vec<Class> {
    let groups: Vec<(String, Vec<u8>, Option<nc_flow::Fill>)> = match port {
        Some(port) => port
            .classes
            .iter()
            .map(|class| {
                let fill = class.measured.as_ref().and_then(|(_, meter)| meter.fill());
                (class.name.clone(), class.marks.clone(), fill)
            })
            .collect(),
        None => (0..64).map(|mark| (format!("DSCP {mark}"), vec![mark], None)).collect(),
    };
    let clock = core.clocks.row(from, to);
    let class = |(name, marks, fill): (String, Vec<u8>, Option<nc_flow::Fill>)| {
        let delays = delays(core, &marks, from, to);
        let told = |ns: Option<u64>| ns.filter(|ns| clock.allows(*ns));
        let figures = ClassFigures {
            matched: delays.count(),
            lost: marks.iter().map(|mark| lost.by_dscp[usize::from(*mark)]).sum(),
            p50_ns: told(delays.percentile(50)),
            p99_ns: told(delays.percentile(99)),
            fill_pct: fill.as_ref().map(|fill| fill.max_pct),
            share_over_90: fill.as_ref().map(|fill| fill.share_over_90),
        };
        Class { name, marks, figures }
    };
    groups.into_iter().map(class).filter(|class| class.figures.sent() > 0).collect()
}

fn delays(core: &Core, marks: &[u8], from: usize, to: usize) -> Delays {
    let mut all = Delays::default();
    let Some(path) = &core.path else { return all };
    let hop = path.hop(from, to);
    marks.iter().filter_map(|mark| hop.by_dscp[usize::from(*mark)].as_deref()).for_each(|found| all.merge(found));
    all
}

fn row<'a>(
    core: &'a Core,
    classes: &[Class],
    fault: &Fault,
    port: Option<&'a PortState>,
    way: (usize, usize),
    losses: &Losses,
) -> FaultRow<'a> {
    let class = &classes[fault.class];
    let others = classes.iter().enumerate().filter(|(number, _)| *number != fault.class);
    FaultRow {
        place: PlaceRow {
            from: &core.points[way.0].name,
            to: &core.points[way.1].name,
            device: core.queues.as_ref().and_then(|queues| queues.device.as_deref()),
            port: port.map(|port| port.name.as_str()),
            side: port.filter(|_| matches!(fault.cause, Cause::QueueFull | Cause::QueueLikely)).map(|_| "egress"),
        },
        class: class.name.clone(),
        dscp: class.marks.clone(),
        scope: match fault.scope {
            Scope::ClassOnly => "class-only",
            Scope::OthersToo => "others-too",
            Scope::NoControl => "no-control",
        },
        cause: match fault.cause {
            Cause::QueueFull => "queue-full",
            Cause::QueueLikely => "queue-likely",
            Cause::NoWaiting => "no-waiting",
            Cause::Unknown => "unknown",
        },
        evidence: figures_row(&class.figures),
        control: ControlRow {
            classes: others.map(|(_, class)| class.name.clone()).collect(),
            figures: figures_row(&fault.control),
            chance: fault.chance,
        },
        confidence: (fault.confidence * 1e4).round() / 1e4,
        could_be: could_be(fault, losses, way.1),
    }
}

/// What would look the same. A point that missed packets elsewhere may have missed these.
fn could_be(fault: &Fault, losses: &Losses, to: usize) -> Vec<&'static str> {
    let mut all = Vec::new();
    if losses.missed[to] > 0 || fault.cause != Cause::QueueFull {
        all.push("mirror-loss");
    }
    if fault.cause != Cause::QueueFull {
        all.push("policer");
    }
    if fault.scope != Scope::OthersToo {
        all.push("class-takes-another-way");
    }
    all
}

fn figures_row(figures: &ClassFigures) -> FiguresRow {
    FiguresRow {
        sent: figures.sent(),
        lost: figures.lost,
        lost_share: figures.share(),
        delay_p50_ns: figures.p50_ns,
        delay_p99_ns: figures.p99_ns,
        max_fill_pct: figures.fill_pct,
        share_over_90_pct: figures.share_over_90,
    }
}

/// Losses of the queues that packets from one point to the other pass.
pub(crate) fn queue_losses<'a>(core: &'a Core, lost: &Lost, from: usize, to: usize) -> Vec<QueueLossRow<'a>> {
    let Some(port) = port_of(core, from, to) else { return Vec::new() };
    let row = |class: &'a crate::queues::ClassQueue| QueueLossRow {
        port: &port.name,
        class: &class.name,
        matched: delays(core, &class.marks, from, to).count(),
        lost: class.marks.iter().map(|mark| lost.by_dscp[usize::from(*mark)]).sum(),
    };
    port.classes.iter().map(row).filter(|row| row.matched + row.lost > 0).collect()
}
