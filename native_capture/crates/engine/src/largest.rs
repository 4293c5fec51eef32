//! The largest of the flows that the table has let go, as they will stand in the report.

use std::cmp::Reverse;

use nc_flow::{FlowTable, Service};
use serde::Serialize;
use serde_json::{json, Value};

use crate::account::Ground;
use crate::core::Core;
use crate::report::{flow_row, FlowRow};

/// Rows kept beyond those wanted, so that choosing is rare.
const SPARE: usize = 1_024;

/// `gone`: directions let go.
pub(crate) struct Largest {
    top: usize,
    gone: usize,
    kept: Vec<Kept>,
    least: u64,
}

/// A row without the name of its server, which is known at the end: what its client asked for, and its service.
struct Kept {
    bytes: u64,
    row: Value,
    asked: u16,
    service: Service,
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
    pub fn note(&mut self, flows: &FlowTable, ground: &Ground) {
        for number in flows.gone().flat_map(|(ways, _)| ways) {
            let flow = flows.flow(number);
            if flow.packets() == 0 {
                continue;
            }
            self.gone += 1;
            if self.top > 0 && flow.bytes() >= self.least {
                // A row is plain names, numbers and lists: this cannot fail.
                let row = serde_json::to_value(flow_row(flows, ground, number)).unwrap_or_default();
                let (asked, service) = (flows.name(number), flows.service(number));
                self.kept.push(Kept { bytes: flow.bytes(), row, asked, service });
                self.prune();
            }
        }
    }

    fn prune(&mut self) {
        if self.kept.len() >= self.top.saturating_add(SPARE) {
            self.kept.select_nth_unstable_by_key(self.top - 1, |kept| Reverse(kept.bytes));
            self.kept.truncate(self.top);
            self.least = self.kept.last().map_or(0, |kept| kept.bytes);
        }
    }

    /// Those of several tables as if of one; how many flows were let go, and the rows.
    pub fn of(core: &Core, all: Vec<Self>) -> (usize, Vec<(u64, Value)>) {
        let gone = all.iter().map(|one| one.gone).sum();
        let mut kept: Vec<Kept> = all.into_iter().flat_map(|one| one.kept).collect();
        kept.iter_mut().for_each(|kept| kept.name(core));
        (gone, kept.into_iter().map(|kept| (kept.bytes, kept.row)).collect())
    }

    /// Both kinds together, largest first, no more than wanted.
    pub fn merge<'a>(kept: Vec<(u64, Value)>, here: Vec<(u64, FlowRow<'a>)>, top: Option<usize>) -> Vec<Row<'a>> {
        let mut all: Vec<_> = here.into_iter().map(|(bytes, row)| (bytes, Row::Here(Box::new(row)))).collect();
        all.extend(kept.into_iter().map(|(bytes, row)| (bytes, Row::Gone(row))));
        all.sort_by_key(|(bytes, _)| Reverse(*bytes));
        all.truncate(top.unwrap_or(usize::MAX));
        all.into_iter().map(|(_, row)| row).collect()
    }
}

impl Kept {
    fn name(&mut self, core: &Core) {
        let points = core.points_of(self.service.realm);
        if let Some((name, source)) = core.names.of(self.asked, &self.service, points) {
            self.row["server_name"] = json!(name);
            self.row["name_source"] = json!(source);
        }
    }
}
