//! Finished work of a running engine, kept until its owner collects it.

use std::collections::{HashMap, VecDeque};

use nc_detect::Verdict;
use nc_source::StampedBy;
use serde::Serialize;
use serde_json::Value;

use crate::feed::Taken;
use crate::observe::Observation;
use crate::unwrap::Opened;

/// What nobody collects is kept up to here; what is given up is counted.
const MAX_VERDICTS: usize = 100_000;
const MAX_ROWS: usize = 20_000;

/// Body of `flowguard.batch/1` without what the sensor adds.
#[derive(Serialize)]
struct Body<'a> {
    judging: bool,
    bundle: Option<&'a str>,
    verdicts: Vec<Verdict>,
    observations: VecDeque<Observation>,
    health: &'a Health,
    shape: Option<Value>,
}

/// Since the start. `dropped.kernel`: frames for which a ring had no room. `given_up`: finished work nobody collected.
/// `overflow`: packets that a full table turned away.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Health {
    pub received: u64,
    pub dropped: Dropped,
    pub given_up: GivenUp,
    pub decode_errors: u64,
    pub overflow: u64,
    pub last_packet_ns: Option<u64>,
    pub engine: &'static str,
    pub points: Vec<PointHealth>,
}

/// `interface`: frames that its card had no room for. `ring` and `spool` are lost by others: nothing is dropped between ring and judge; the
/// sensor fills `spool` in.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Dropped {
    pub interface: u64,
    pub kernel: u64,
    pub ring: u64,
    pub spool: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct GivenUp {
    pub verdicts: u64,
    pub observations: u64,
}

/// `dropped`: frames for which the ring had no room, `ring_full`: how often it was found full. `missed` and `refused`: what the interface
/// lost since the start, see [`nc_source::Lost`]; None when nobody can say. `stamps`: None for a file, whose clock nobody knows.
/// `opened`: None where frames are taken as they are.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PointHealth {
    pub point: String,
    pub interface: String,
    pub received: u64,
    pub dropped: u64,
    pub ring_full: u64,
    pub missed: Option<u64>,
    pub refused: Option<u64>,
    pub stamps: Option<Stamps>,
    #[serde(flatten)]
    pub opened: Option<Opened>,
}

/// Frames received by the clock that stamped them. `stray`: stamped by a card's clock that is not set to UTC; the time of reading stands
/// in its place. `clock`: number of the card's clock where frames were to be stamped by it, as in /dev/ptpN.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Stamps {
    pub hardware: u64,
    pub system: u64,
    pub stray: u64,
    pub clock: Option<u32>,
}

impl Stamps {
    pub fn new(taken: &Taken, by: StampedBy) -> Self {
        let clock = match by {
            StampedBy::System => None,
            StampedBy::Card(number) => number,
        };
        let system = taken.received.saturating_sub(taken.by_card + taken.stray);
        Self { hardware: taken.by_card, system, stray: taken.stray, clock }
    }
}

/// `latest`: newest revision of each verdict by id; `order`: their ids as they came.
#[derive(Default)]
pub(crate) struct Outbox {
    pub bundle: Option<String>,
    pub health: Health,
    /// Newest word of neighbours, tunnels and bulk, see [`crate::shape`].
    pub shape: Option<Value>,
    /// Why the engine ended, as one line.
    pub failed: Option<String>,
    latest: HashMap<String, Verdict>,
    order: Vec<String>,
    observations: VecDeque<Observation>,
}

impl Outbox {
    pub fn is_empty(&self) -> bool {
        self.order.is_empty() && self.observations.is_empty() && self.shape.is_none()
    }

    /// A newer revision takes the place of one that was not collected.
    pub fn add(&mut self, verdict: Verdict) {
        if let Some(known) = self.latest.get_mut(&verdict.id) {
            *known = verdict;
        } else if self.order.len() < MAX_VERDICTS {
            self.order.push(verdict.id.clone());
            self.latest.insert(verdict.id.clone(), verdict);
        } else {
            self.health.given_up.verdicts += 1;
        }
    }

    pub fn add_row(&mut self, row: Observation) {
        if self.observations.len() >= MAX_ROWS {
            self.observations.pop_front();
            self.health.given_up.observations += 1;
        }
        self.observations.push_back(row);
    }

    /// New counters; what was given up goes on counting.
    pub fn set_health(&mut self, health: Health) {
        let given_up = std::mem::take(&mut self.health.given_up);
        self.health = Health { given_up, ..health };
    }

    /// Everything finished, as JSON, UTF-8; the box is empty afterwards.
    pub fn take(&mut self) -> Vec<u8> {
        let order = std::mem::take(&mut self.order);
        let body = Body {
            judging: self.bundle.is_some(),
            bundle: self.bundle.as_deref(),
            verdicts: order.iter().filter_map(|id| self.latest.remove(id)).collect(),
            observations: std::mem::take(&mut self.observations),
            health: &self.health,
            shape: self.shape.take(),
        };
        // Every key is a string and every value a plain number, string or list: serialising cannot fail.
        serde_json::to_vec(&body).unwrap_or_default()
    }
}
