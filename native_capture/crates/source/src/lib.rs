//! Where packets come from: pcap and pcapng files, and the AF_PACKET ring of a live interface.
//!
//! All unsafe code is in `ring.rs`, `filter.rs`, `interface.rs`, `stamps.rs`, `clock.rs` and `privileges.rs`, each block with its SAFETY note
//! (the only other of the workspace: `near.rs` of the flow crate).

mod buffer;
mod clock;
mod error;
mod file;
mod filter;
mod gzip;
mod interface;
mod packed;
mod pcap;
mod pcapng;
mod privileges;
mod ring;
mod said;
mod stamps;
mod zstd;

pub use clock::{system_clock, SystemClock};
pub use error::{Code, SourceError};
pub use file::{CaptureFile, TakesFrames};
pub use interface::{lost, Lost};
pub use privileges::drop_privileges;
pub use ring::{is_there, wait_readable, Ring, RingSettings, RingStats};
pub use said::{Drops, Lengths};
pub use stamps::{card_clock, CardClock, StampedBy};

/// One captured frame.
///
/// `ts_ns`: nanoseconds since 1970. `link`: LINKTYPE_* number. `frame_len`: bytes on the wire without FCS, at least
/// `bytes.len()`.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub ts_ns: u64,
    pub link: u32,
    pub frame_len: u32,
    pub bytes: &'a [u8],
}
