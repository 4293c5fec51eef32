//! What the engine remembers: flows with their marks and TCP counts, per-mark counters per millisecond.
//!
//! Bounded: what does not fit is counted as overflow. No allocation per packet, no clock but the packets'.

mod dscp;
mod fill;
mod fragments;
mod index;
mod key;
mod names;
mod pauses;
mod psn;
mod queue;
mod roce;
mod services;
mod signature;
mod table;
mod tcp;
mod tracker;

pub use dscp::{Counted, DscpClock, DscpCount, DscpSet, DscpTotals};
pub use fill::{Burst, Fill, FillMeter, Passages, Slice};
pub use fragments::Fragments;
pub use key::{FlowKey, KeyedState};
pub use names::{address, protocol};
pub use pauses::{PauseMeter, PauseSecond, PauseTotals, REFERENCE_BPS, WHOLE_LINK};
pub use psn::{Psn, Stream};
pub use queue::{PortQueues, QueueSetting};
pub use roce::{is_data, QpFlow, Refusals, RoceEnds, RoceEvent, RoceTable, NO_QP};
pub use services::is_known_service;
pub use signature::{
    Direction, Kind, Sample, Signature, SignatureError, Signatures, Strength, Tally, Transport, Visibility,
};
pub use table::{Flow, FlowTable, Gone, Limits};
pub use tcp::{TcpCounts, TcpDirection, TcpEvent};
pub use tracker::TcpTracker;
