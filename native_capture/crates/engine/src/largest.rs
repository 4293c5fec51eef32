//! The largest of the flows that the table has let go, as they will stand in the report.

use std::cmp::Reverse;

use serde::Serialize;
use serde_json::Value;

use crate::core::Core;
use crate::report::{flow_row, FlowRow};

/// Rows kept beyond those wanted, so that choosing is rare.
const SPARE: usize = 1_024;

/// `gone`: directions let go. `kept`: bytes and row.
pub(crate) struct Largest {
    top: usize,
    pub gone: usize,
    kept: Vec<(u64, Value)>,
    least: u64,
}

/// A row of a flow still in the table, or of one that is not.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Row<'a> {
    Here(Box<FlowRow<'a>>),
    Gone(Value),
}

impl Largest {
    /// `top`: rows wanted, None for all.
    pub fn new(top: Option<usize>) -> Self {
        Self { top: top.unwrap_or(usize::MAX), gone: 0, kept: Vec::new(), least: 0 }
    }

    /// Look at what the table lets go now.
    pub fn note(&mut self, core: &Core) {
        for number in core.flows.gone().flat_map(|(ways, _)| ways) {
            let flow = core.flows.flow(number);
            if flow.packets() == 0 {
                continue;
            }
            self.gone += 1;
            if self.top > 0 && flow.bytes() >= self.least {
                // A row is plain names, numbers and lists: this cannot fail.
                let row = serde_json::to_value(flow_row(core, number, flow)).unwrap_or_default();
                self.kept.push((flow.bytes(), row));
                self.prune();
            }
        }
    }

    fn prune(&mut self) {
        if self.kept.len() >= self.top.saturating_add(SPARE) {
            self.kept.select_nth_unstable_by_key(self.top - 1, |(bytes, _)| Reverse(*bytes));
            self.kept.truncate(self.top);
            self.least = self.kept.last().map_or(0, |(bytes, _)| *bytes);
        }
    }

    /// Both kinds together, largest first, no more than wanted.
    pub fn merge(mut self, here: Vec<(u64, FlowRow<'_>)>) -> Vec<Row<'_>> {
        let mut all: Vec<_> = here.into_iter().map(|(bytes, row)| (bytes, Row::Here(Box::new(row)))).collect();
        all.extend(self.kept.drain(..).map(|(bytes, row)| (bytes, Row::Gone(row))));
        all.sort_by_key(|(bytes, _)| Reverse(*bytes));
        all.truncate(self.top);
        all.into_iter().map(|(_, row)| row).collect()
    }
}
