//! The same packet at several observation points: seen first where, again where, how much later, with which mark.
//!
//! Streaming and bounded: only packets of the last window are remembered.

mod clock;
mod fault;
mod matcher;

pub use clock::{Bounds, Clocks};
pub use fault::{locate, Cause, ClassFigures, Fault, Scope};
pub use matcher::{identity_of, Again, Gone, Look, Matcher, PacketId, Sighting};
