//! `points[].pcp` and `points[].clock` of `policyhub.flows/1`: bytes of each mark and priority, in all and step by step.

use std::collections::BTreeMap;

use nc_flow::{ClassTotals, Clock, Tick, FINE_STEP_NS, STEP_NS};
use serde::Serialize;

use crate::core::Core;
use crate::point::Point;
use crate::report::ByMark;

/// (step, bytes): the step begins `step` times `step_ns` after 1970.
type Steps = BTreeMap<u8, Vec<(u64, u64)>>;

#[derive(Serialize)]
pub(crate) struct ClockRow {
    #[serde(flatten)]
    whole: StepsRow,
    fine: StepsRow,
}

/// `left_out`: milliseconds that found no room.
#[derive(Serialize)]
struct StepsRow {
    step_ns: u64,
    dscp: Steps,
    pcp: Steps,
    left_out: u64,
}

pub(crate) fn totals<const CLASSES: usize>(clock: &Clock<CLASSES>) -> ByMark<&ClassTotals> {
    ByMark(clock.seen().collect())
}

/// None unless it was recorded.
pub(crate) fn clock_row(point: &Point) -> Option<ClockRow> {
    let (dscp, pcp) = (&point.clock, &point.layers.pcp);
    dscp.is_recorded().then(|| {
        let (left, fine_left) = (dscp.left_out(), pcp.left_out());
        ClockRow {
            whole: StepsRow {
                step_ns: STEP_NS,
                dscp: steps(dscp.ticks()),
                pcp: steps(pcp.ticks()),
                left_out: left.0 + fine_left.0,
            },
            fine: StepsRow {
                step_ns: FINE_STEP_NS,
                dscp: steps(&dscp.fine_ticks()),
                pcp: steps(&pcp.fine_ticks()),
                left_out: left.1 + fine_left.1,
            },
        }
    })
}

fn steps(ticks: &[Tick]) -> Steps {
    let mut steps = Steps::new();
    for tick in ticks {
        steps.entry(tick.class).or_default().push((tick.step, tick.bytes));
    }
    steps
}

impl Core {
    /// Keep the bytes of every millisecond.
    pub fn record_clocks(&mut self) {
        for Point { clock, layers, .. } in &mut self.points {
            clock.record();
            layers.pcp.record();
        }
    }

    /// A packet came to `number` while a queue that is fed from there was nearly full: both its ends are looked at closely.
    pub(crate) fn trigger_clocks(&mut self, number: u16, ns: u64) {
        let ports = self.queues.iter().flat_map(|queues| queues.nearly_full(usize::from(number)));
        for point in ports.flat_map(|port| [port.arrives, port.leaves]).flatten() {
            let Point { clock, layers, .. } = &mut self.points[point];
            clock.trigger(ns);
            layers.pcp.trigger(ns);
        }
    }

    pub(crate) fn finish_clocks(&mut self) {
        for Point { clock, layers, .. } in &mut self.points {
            clock.finish();
            layers.pcp.finish();
        }
    }
}
