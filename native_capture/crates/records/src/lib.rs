//! Flow records as bytes: out as NDJSON, columns and IPFIX; in from IPFIX, NetFlow v5, v9 and sFlow v5. No sockets, no files.
//!
//! Add a column in `schema.rs`, an element of IPFIX in `elements.rs`. What a record does not know is None all the way.

mod block;
mod bytes;
mod elements;
mod ipfix;
mod ndjson;
mod read;
mod record;
mod schema;

pub use block::Block;
pub use bytes::Malformed;
pub use elements::{ENTERPRISE, OWN};
pub use ipfix::{renumber, IpfixWriter};
pub use ndjson::write_line;
pub use read::{Counters, Exporter, Heard, Reader, Tally};
pub use record::{End, Mark, Marks, Record, Source, TCP, TCP_COUNTS};
pub use schema::{Column, Kind, Value, COLUMNS};
