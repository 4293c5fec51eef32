//! The same packet at several observation points: seen first where, again where, how much later, with which mark.
//!
//! Streaming and bounded: only packets of the last window are remembered.

mod matcher;

pub use matcher::{identity_of, Again, Gone, Matcher, PacketId, Sighting};
