//! What the first bytes of a payload say about the application. A packet is looked at once, where its bytes are; its flow
//! then says whether the sighting counts (direction, place in the flow, how many packets agree).

mod built_in;
mod columns;
mod format;
mod found;
mod pattern;
mod set;

pub use format::{Direction, Kind, Signature, SignatureError, Strength, Transport, Visibility};
pub use found::{Found, Tally};
pub use set::{Sample, Signatures};

/// Packets with payload of one direction in which a signature of the start of a flow is looked for.
pub const FIRST_PACKETS: u64 = 8;

#[cfg(test)]
mod tests;
