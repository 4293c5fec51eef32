//! What a running engine tells now and then, beside verdicts and seconds: who stands at its points, what tunnels carry there, and how bulk
//! behaves.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{json, Value};

use crate::account::Ground;
use crate::behaviour_rows::{self, inside, named, Named};
use crate::carried::CarriedFlows;
use crate::core::Core;
use crate::flows::Paces;
use crate::look::Beside;
use crate::neighbours::Neighbours;

const SECOND: u64 = 1_000_000_000;
/// Tunnels and bulk are told each minute, the first time soon.
const FIRST_NS: u64 = 10 * SECOND;
const EVERY_NS: u64 = 60 * SECOND;
/// News of neighbours are told after so long at the earliest.
const NEWS_NS: u64 = 5 * SECOND;
/// Minutes of bulk that are looked at together: iterations take seconds.
const MINUTES: usize = 5;
/// Steps of bulk followed in one of them, 16 bytes each.
pub(crate) const PACE_STEPS: usize = 1 << 18;
/// Rows told of each kind.
const NEIGHBOURS: usize = 256;
const ROWS: usize = 20;
const GROUPS: usize = 16;

/// Of one point. `rows`: what tunnels carried in the last minute, once there was one.
#[derive(Default)]
struct Place {
    neighbours: Neighbours,
    carried: CarriedFlows,
    rows: Value,
}

/// All times are those of packets; 0 while there was none. `mark_ns`: when tunnels and bulk are told next.
pub(crate) struct Shapes {
    places: Vec<Place>,
    minutes: VecDeque<Paces>,
    named: Arc<Named>,
    mark_ns: u64,
    told_ns: u64,
    /// Begin and end of the minute told last.
    minute: Option<(u64, u64)>,
    began_ns: u64,
}

impl Shapes {
    pub fn new(points: usize) -> Self {
        Self {
            places: (0..points).map(|_| Place::default()).collect(),
            minutes: VecDeque::new(),
            named: Arc::default(),
            mark_ns: 0,
            told_ns: 0,
            minute: None,
            began_ns: 0,
        }
    }

    pub fn note(&mut self, point: usize, beside: &mut Beside) {
        let place = &mut self.places[point];
        beside.neighbour.take().into_iter().for_each(|said| place.neighbours.keep(said));
        beside.carried.iter().for_each(|inner| place.carried.count(inner));
    }

    /// Nothing more comes: tell what there is.
    pub fn hurry(&mut self) {
        self.mark_ns = self.mark_ns.min(1);
    }

    /// What is due when packet time has come to `now_ns`.
    pub fn step(&mut self, core: &mut Core, now_ns: u64) -> Option<Draft> {
        if now_ns == 0 {
            return None;
        }
        if self.mark_ns == 0 {
            (self.began_ns, self.mark_ns) = (now_ns, now_ns.saturating_add(FIRST_NS));
        }
        let is_minute = now_ns >= self.mark_ns;
        if !is_minute && now_ns < self.told_ns.saturating_add(NEWS_NS) {
            return None;
        }
        let has_news = self.places.iter_mut().fold(false, |news, place| place.neighbours.take_news(now_ns) | news);
        if is_minute {
            self.turn(core, now_ns);
        } else if !has_news {
            return None;
        }
        self.told_ns = now_ns;
        Some(self.draft(core, now_ns))
    }

    /// A minute is over.
    fn turn(&mut self, core: &mut Core, now_ns: u64) {
        self.minute = Some((self.began_ns, now_ns));
        (self.began_ns, self.mark_ns) = (now_ns, now_ns.saturating_add(EVERY_NS));
        for place in &mut self.places {
            let carried = std::mem::take(&mut place.carried);
            let (rows, total) = carried.rows(Some(ROWS));
            place.rows = json!({"rows": rows, "total": total, "overflow": carried.overflow});
        }
        self.minutes.push_back(core.flows.take_paces());
        self.minutes.drain(..self.minutes.len().saturating_sub(MINUTES));
        let has_bulk = self.minutes.iter().any(|minute| !minute.all.is_empty());
        self.named = Arc::new(if has_bulk { named(core) } else { Named::new() });
    }

    fn draft(&self, core: &Core, now_ns: u64) -> Draft {
        let point = |(place, point): (&Place, &crate::point::Point)| {
            let rows = place.neighbours.rows();
            json!({
                "point": point.name, "lldp": rows[..rows.len().min(NEIGHBOURS)], "lldp_total": rows.len(),
                "lldp_overflow": place.neighbours.overflow, "carried": place.rows,
            })
        };
        Draft {
            at_ns: now_ns,
            minute: self.minute,
            points: self.places.iter().zip(&core.points).map(point).collect(),
            minutes: self.minutes.iter().cloned().collect(),
            named: Arc::clone(&self.named),
            ground: Arc::clone(&core.ground),
        }
    }
}

/// To be written by a thread of its own: comparing hundreds of ways with each other takes longer than a ring lasts.
pub(crate) struct Draft {
    at_ns: u64,
    minute: Option<(u64, u64)>,
    points: Vec<Value>,
    minutes: Vec<Paces>,
    named: Arc<Named>,
    ground: Arc<Ground>,
}

/// `from_ns` to `to_ns`: the minute of which `carried` tells, and the last of those of which `behaviour` does; null before the first is over.
#[derive(Serialize)]
struct ShapeRow<'a> {
    at_ns: u64,
    from_ns: Option<u64>,
    to_ns: Option<u64>,
    points: &'a [Value],
    behaviour: Option<behaviour_rows::BehaviourRow<'a>>,
}

impl Draft {
    pub fn write(self) -> Value {
        let paces = Paces::joined(self.minutes.into_iter().map(|minute| (minute.all, minute.overflow)));
        let behaviour = self.minute.map(|_| {
            let mut row = behaviour_rows::row(&self.ground, |group| inside(&self.named, group), &paces, Some(ROWS));
            row.keep_groups(GROUPS);
            row
        });
        let (from_ns, to_ns) = self.minute.unzip();
        let row = ShapeRow { at_ns: self.at_ns, from_ns, to_ns, points: &self.points, behaviour };
        // Every key is a string and every value a plain number, string or list: this cannot fail.
        serde_json::to_value(row).unwrap_or_default()
    }
}
