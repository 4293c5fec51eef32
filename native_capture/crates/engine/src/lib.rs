//! Puts the rooms together: packets of several observation points in one order of time, through matching, flow table
//! and judge, to a report (files) or to batches (live).

mod account;
mod behaviour;
mod behaviour_rows;
mod carried;
mod clock_rows;
mod clocks;
mod core;
#[cfg(test)]
mod core_tests;
mod crew;
mod damage;
mod exports;
mod exports_report;
mod fabric;
mod fault_rows;
mod feed;
mod flows;
mod health_rows;
mod inside;
mod inspect;
mod keeper;
mod lane;
mod largest;
mod layers;
mod limits;
mod listener;
mod listening;
mod live;
mod look;
mod losses;
mod media_rows;
mod names;
mod neighbours;
mod observe;
mod offline;
mod outbox;
mod path;
mod path_rows;
mod pipeline;
mod point;
mod queue_rows;
mod queue_watch;
mod queues;
mod reading;
mod recording;
mod report;
mod ring_feed;
mod roce_rows;

pub use exports::{analyse_exports, ExportRequest};
pub use inspect::{inspect, Inspected};
pub use listening::{HearError, Listening};
pub use live::{Live, LiveError, LiveSettings};
pub use nc_source::{card_clock, drop_privileges, system_clock, CardClock, RingSettings, SourceError, SystemClock};
pub use offline::{analyse, AnalyseError, Request};
pub use recording::{Form, Sink, Stopped};
