//! `path` and `paths` of `policyhub.flows/1`: what happened between two points.

use std::collections::HashMap;

use nc_decode::{NO_PCP, NO_VLAN};
use nc_flow::{address, protocol, Delays, FlowKey};
use serde::Serialize;

use crate::clocks::ClockRow;
use crate::core::{Core, NO_FLOW};
use crate::fault_rows::{self, FaultRow};
use crate::losses::{Losses, Lost};
use crate::path::{Change, Field};
use crate::report::ByMark;

/// `error_ns`: how far each figure may be off; null when no clock's error is known.
#[derive(Serialize)]
pub(crate) struct DelayRow {
    p50: Option<u64>,
    p99: Option<u64>,
    max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld: Option<&'static str>,
}

#[derive(Serialize)]
struct ClassRow {
    matched: u64,
    lost: u64,
    delay_ns: DelayRow,
}

#[derive(Serialize)]
struct CountRow {
    matched: u64,
    lost: u64,
}

/// Both directions together, and each alone. `unmatched`: seen at one point only, and nothing shows that they should
/// have passed the other; `unsettled`: of all these, whose time had not run out at the end of the capture; `outside`: seen while
/// another point's capture did not run.
#[derive(Serialize)]
pub(crate) struct PathRow<'a> {
    from: &'a str,
    to: &'a str,
    matched: u64,
    lost: u64,
    unmatched: u64,
    unsettled: u64,
    outside: u64,
    unlocated: u64,
    /// Packets that `from` and `to` did not copy although they passed there.
    missed: [u64; 2],
    delay_ns: DelayRow,
    clock: ClockRow,
    by_dscp: ByMark<ClassRow>,
    directions: Vec<DirectionRow<'a>>,
    rewrites: Vec<RewriteRow>,
    changes: Vec<ChangeRow<'a>>,
    fault: Option<FaultRow<'a>>,
    other_faults: Vec<FaultRow<'a>>,
}

#[derive(Serialize)]
struct DirectionRow<'a> {
    from: &'a str,
    to: &'a str,
    matched: u64,
    lost: u64,
    delay_ns: DelayRow,
    by_dscp: ByMark<ClassRow>,
    by_pcp: ByMark<CountRow>,
    by_queue: Vec<fault_rows::QueueLossRow<'a>>,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct RewriteRow {
    src: String,
    dst: String,
    sport: u16,
    dport: u16,
    proto: String,
    from_dscp: u8,
    to_dscp: u8,
    packets: u64,
}

/// A field that is neither the mark nor free to change unseen. `before`, `after`: null for no tag.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct ChangeRow<'a> {
    field: &'static str,
    from: &'a str,
    to: &'a str,
    src: String,
    dst: String,
    sport: u16,
    dport: u16,
    proto: String,
    before: Option<u16>,
    after: Option<u16>,
    packets: u64,
}

/// One row for two points; with more, one for every two that packets passed one after the other, in the order of the points.
pub(crate) fn rows<'a>(core: &'a Core, losses: Option<&Losses>) -> Vec<PathRow<'a>> {
    let Some(losses) = losses else { return Vec::new() };
    let points = core.points.len();
    let busy = |a: usize, b: usize| {
        points == 2
            || [(a, b), (b, a)].iter().any(|way| losses.ways.contains(way) || losses.lost(way.0, way.1).all() > 0)
    };
    let pairs = (0..points).flat_map(|a| (a + 1..points).map(move |b| (a, b)));
    pairs.filter(|(a, b)| busy(*a, *b)).map(|(a, b)| path_row(core, losses, a, b)).collect()
}

fn path_row<'a>(core: &'a Core, losses: &Losses, a: usize, b: usize) -> PathRow<'a> {
    let clock = core.clocks.row(a, b);
    let (mut all, mut classes) = (Delays::default(), Vec::new());
    let hops: Vec<_> = core.path.iter().flat_map(|path| [path.hop(a, b), path.hop(b, a)]).collect();
    hops.iter().for_each(|hop| all.merge(&hop.delays));
    let lost = [losses.lost(a, b), losses.lost(b, a)];
    for mark in 0..64 {
        let mut delays = Delays::default();
        hops.iter().filter_map(|hop| hop.by_dscp[mark].as_deref()).for_each(|found| delays.merge(found));
        classes.push((delays, lost[0].by_dscp[mark] + lost[1].by_dscp[mark]));
    }
    let mut faults = fault_rows::rows(core, losses, a, b);
    let rest = faults.split_off(faults.len().min(1));
    PathRow {
        from: &core.points[a].name,
        to: &core.points[b].name,
        matched: all.count(),
        lost: lost[0].all() + lost[1].all(),
        unmatched: losses.unmatched,
        unsettled: core.unsettled,
        outside: core.path.as_ref().map_or(0, |path| path.outside),
        unlocated: losses.unlocated,
        missed: [losses.missed[a], losses.missed[b]],
        delay_ns: delay_row(&all, &clock),
        by_dscp: class_rows(classes.into_iter(), &clock),
        directions: vec![direction_row(core, losses.lost(a, b), a, b), direction_row(core, losses.lost(b, a), b, a)],
        rewrites: rewrite_rows(core, a, b),
        changes: change_rows(core, a, b),
        fault: faults.pop(),
        other_faults: rest,
        clock,
    }
}

fn direction_row<'a>(core: &'a Core, lost: &Lost, from: usize, to: usize) -> DirectionRow<'a> {
    let clock = core.clocks.row(from, to);
    let hop = core.path.as_ref().map(|path| path.hop(from, to));
    let delays = hop.map(|hop| hop.delays.clone()).unwrap_or_default();
    let class = |mark: usize| {
        let delays = hop.and_then(|hop| hop.by_dscp[mark].as_deref()).cloned().unwrap_or_default();
        (delays, lost.by_dscp[mark])
    };
    let tagged = (0..8).map(|pcp| (pcp, hop.map_or(0, |hop| hop.by_pcp[pcp]), lost.by_pcp[pcp]));
    let tagged = tagged.filter(|(_, matched, lost)| matched + lost > 0);
    DirectionRow {
        from: &core.points[from].name,
        to: &core.points[to].name,
        matched: delays.count(),
        lost: lost.all(),
        delay_ns: delay_row(&delays, &clock),
        by_dscp: class_rows((0..64).map(class), &clock),
        by_pcp: ByMark(tagged.map(|(pcp, matched, lost)| (pcp as u8, CountRow { matched, lost })).collect()),
        by_queue: fault_rows::queue_losses(core, lost, from, to),
    }
}

/// Figures finer than the clocks' error are withheld.
pub(crate) fn delay_row(delays: &Delays, clock: &ClockRow) -> DelayRow {
    let figures = [delays.percentile(50), delays.percentile(99), delays.max()];
    let told = figures.map(|figure| figure.filter(|ns| clock.allows(*ns)));
    let [p50, p99, max] = told;
    DelayRow { p50, p99, max, error_ns: clock.error_ns, withheld: clock.reason.filter(|_| figures != told) }
}

/// Marks that were matched or lost.
fn class_rows(classes: impl Iterator<Item = (Delays, u64)>, clock: &ClockRow) -> ByMark<ClassRow> {
    let rows =
        classes.enumerate().filter(|(_, (delays, lost))| delays.count() + lost > 0).map(|(mark, (delays, lost))| {
            (mark as u8, ClassRow { matched: delays.count(), lost, delay_ns: delay_row(&delays, clock) })
        });
    ByMark(rows.collect())
}

/// Changes between the two points, of flows without their tags.
fn changes(core: &Core, a: usize, b: usize) -> HashMap<(FlowKey, Change), u64> {
    let mut by_flow: HashMap<(FlowKey, Change), u64> = HashMap::new();
    let Some(path) = &core.path else { return by_flow };
    for (((flow, from, to), field, old, new), packets) in &path.changes {
        if [(a, b), (b, a)].contains(&(usize::from(*from), usize::from(*to))) && *flow != NO_FLOW {
            let key = FlowKey { vlan: 0, realm: 0, ..core.flows.key(*flow) };
            *by_flow.entry((key, ((0, *from, *to), *field, *old, *new))).or_default() += packets;
        }
    }
    by_flow
}

fn rewrite_rows(core: &Core, a: usize, b: usize) -> Vec<RewriteRow> {
    let mut by_flow: HashMap<(FlowKey, u16, u16), u64> = HashMap::new();
    for ((key, (_, field, old, new)), packets) in changes(core, a, b) {
        if field == Field::Dscp {
            *by_flow.entry((key, old, new)).or_default() += packets;
        }
    }
    let row = |((key, from, to), packets): ((FlowKey, u16, u16), u64)| RewriteRow {
        src: address(key.version, key.src),
        dst: address(key.version, key.dst),
        sport: key.sport,
        dport: key.dport,
        proto: protocol(key.proto).into_owned(),
        from_dscp: from as u8,
        to_dscp: to as u8,
        packets,
    };
    let mut rows: Vec<RewriteRow> = by_flow.into_iter().map(row).collect();
    rows.sort_unstable();
    rows
}

fn change_rows(core: &Core, a: usize, b: usize) -> Vec<ChangeRow<'_>> {
    let found = changes(core, a, b).into_iter().filter(|((_, change), _)| change.1 != Field::Dscp);
    let row = |((key, ((_, from, to), field, old, new)), packets): ((FlowKey, Change), u64)| {
        let none = if field == Field::Vlan { NO_VLAN } else { u16::from(NO_PCP) };
        ChangeRow {
            field: field_name(field),
            from: &core.points[usize::from(from)].name,
            to: &core.points[usize::from(to)].name,
            src: address(key.version, key.src),
            dst: address(key.version, key.dst),
            sport: key.sport,
            dport: key.dport,
            proto: protocol(key.proto).into_owned(),
            before: Some(old).filter(|value| *value != none),
            after: Some(new).filter(|value| *value != none),
            packets,
        }
    };
    let mut rows: Vec<ChangeRow<'_>> = found.map(row).collect();
    rows.sort_unstable();
    rows
}

fn field_name(field: Field) -> &'static str {
    match field {
        Field::Dscp => "dscp",
        Field::Ecn => "ecn",
        Field::Pcp => "pcp",
        Field::Vlan => "vlan",
    }
}
