//! What the engine remembers: flows with their marks and TCP counts, per-mark counters per millisecond.
//!
//! Bounded: what does not fit is counted as overflow. No allocation per packet, no clock but the packets'.

mod ahead;
mod clock;
mod delays;
mod dscp;
mod ends;
mod fill;
mod flow;
mod fragments;
mod health;
mod index;
mod key;
mod media;
mod names;
mod near;
mod pace;
mod pauses;
mod pool;
mod psn;
mod queue;
mod rare;
mod readings;
mod responses;
mod roce;
mod roce_ends;
mod roce_flow;
mod room;
mod services;
mod signature;
mod span;
mod stuck;
mod table;
mod tcp;
mod timing;
mod totals;
mod tracker;
mod trouble;

pub use ahead::Ahead;
pub use clock::{ClassTotals, Clock, DscpClock, PcpClock, Tick, FINE_STEP_NS, STEP_NS};
pub use delays::Delays;
pub use dscp::{Counted, DscpCount, DscpSet};
pub use fill::{Burst, Fill, FillMeter, Passages, Slice};
pub use flow::Flow;
pub use fragments::{ports, Fragments};
pub use key::{FlowKey, KeyedState};
pub use media::{Media, MediaTracker};
pub use names::{address, protocol};
pub use near::fetch;
pub use pace::{Pace, PaceKey, PACE_STEP_BITS};
pub use pauses::{PauseMeter, PauseSecond, PauseTotals, REFERENCE_BPS, WHOLE_LINK};
pub use psn::{Psn, Stream};
pub use queue::{PortQueues, QueueSetting};
pub use readings::{FlowHealth, Signs};
pub use responses::{ResponseTimes, Service};
pub use roce::{RoceEvent, RoceTable};
pub use roce_ends::RoceEnds;
pub use roce_flow::{QpFlow, Refusals, NO_QP};
pub use services::is_known_service;
pub use signature::{
    Direction, Kind, Sample, Signature, SignatureError, Signatures, Strength, Tally, Transport, Visibility,
};
pub use stuck::{PASSES_EVERYWHERE, STUCK_ROUNDS};
pub use table::{FlowTable, Gone, Limits};
pub use tcp::{TcpCounts, TcpDirection, TcpEvent};
pub use timing::RoundTrips;
pub use tracker::TcpTracker;
pub use trouble::Troubles;
