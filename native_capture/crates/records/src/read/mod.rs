//! Messages of exporters to records. Total: any bytes give records, or an error that names the byte; never a panic.

mod fields;
mod netflow5;
mod sets;
mod sflow;
mod templates;

use std::collections::HashMap;
use std::net::IpAddr;

use crate::bytes::{Bytes, Malformed};
use crate::record::{Record, Source};
use templates::Cache;

/// Exporters that are told apart; the datagrams of more are counted and left.
const MAX_EXPORTERS: usize = 4_096;

/// Generic counters of one interface, as sFlow sends them (sFlow v5, struct if_counters). Since the agent's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub interface: u32,
    pub speed_bps: u64,
    pub in_bytes: u64,
    pub in_packets: u64,
    pub in_discards: u32,
    pub in_errors: u32,
    pub out_bytes: u64,
    pub out_packets: u64,
    pub out_discards: u32,
    pub out_errors: u32,
}

/// One thing that an exporter told.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "lives for one call")]
pub enum Heard<'a> {
    Flow(Record<'a>),
    Counters(Counters),
}

/// What came from one exporter. `lost`: what its sequence numbers say did not arrive; data records for IPFIX, flows for NetFlow v5,
/// messages for NetFlow v9 and sFlow. `waiting`: data sets whose template has not come yet; `given_up`: those that no longer wait.
/// `unreadable`: messages with an error. `without_addresses`: records that describe no IP flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub messages: u64,
    pub records: u64,
    pub lost: u64,
    pub waiting: u64,
    pub given_up: u64,
    pub unreadable: u64,
    pub without_addresses: u64,
}

/// What is remembered of one exporter. `source`: of its last message; `sampling`: of its last record that had one.
#[derive(Default)]
pub struct Exporter {
    pub source: Option<Source>,
    pub sampling: Option<u32>,
    pub tally: Tally,
    pub interfaces: HashMap<u32, Counters>,
    cache: Cache,
    sequences: HashMap<(Source, u64), u32>,
}

/// Interfaces of an agent whose counters are kept.
const MAX_INTERFACES: usize = 4_096;
/// Streams of an exporter whose sequence numbers are followed.
const MAX_STREAMS: usize = 1_024;

impl Exporter {
    /// Compare a sequence number with what should have come; `units`: what this message counts for, None when that is not known.
    fn follow(&mut self, source: Source, stream: u64, sequence: u32, units: Option<u32>) {
        let known = self.sequences.remove(&(source, stream));
        if let Some(expected) = known {
            let gap = sequence.wrapping_sub(expected);
            // Beyond that it came late, or the exporter began anew.
            if gap < 1 << 20 {
                self.tally.lost += u64::from(gap);
            }
        }
        if let (Some(units), true) = (units, self.sequences.len() < MAX_STREAMS) {
            self.sequences.insert((source, stream), sequence.wrapping_add(units));
        }
    }
}

/// Where a message came from and when (ns since 1970).
#[derive(Clone, Copy)]
struct Envelope {
    exporter: IpAddr,
    ts_ns: u64,
}

/// Remembers templates, samplers and sequence numbers of all exporters.
#[derive(Default)]
pub struct Reader {
    exporters: HashMap<IpAddr, Exporter>,
    turned_away: u64,
}

impl Reader {
    /// One datagram or message. What could be read before an error was handed over.
    pub fn message(
        &mut self,
        exporter: IpAddr,
        ts_ns: u64,
        bytes: &[u8],
        heard: &mut dyn FnMut(Heard<'_>),
    ) -> Result<(), Malformed> {
        if self.exporters.len() >= MAX_EXPORTERS && !self.exporters.contains_key(&exporter) {
            self.turned_away += 1;
            return Ok(());
        }
        let state = self.exporters.entry(exporter).or_default();
        state.tally.messages += 1;
        let envelope = Envelope { exporter, ts_ns };
        let (mut records, mut interfaces, mut sampling) = (0, Vec::new(), None);
        let result = dispatch(state, envelope, bytes, &mut |told| {
            match &told {
                Heard::Flow(record) => {
                    records += 1;
                    sampling = record.sampling.or(sampling);
                }
                Heard::Counters(counters) => interfaces.push(*counters),
            }
            heard(told);
        });
        state.tally.records += records;
        state.sampling = sampling.or(state.sampling);
        for counters in interfaces {
            if state.interfaces.len() < MAX_INTERFACES || state.interfaces.contains_key(&counters.interface) {
                state.interfaces.insert(counters.interface, counters);
            }
        }
        state.tally.waiting = state.cache.waiting() as u64;
        state.tally.given_up = state.cache.given_up;
        state.tally.unreadable += u64::from(result.is_err());
        result
    }

    pub fn exporters(&self) -> impl Iterator<Item = (IpAddr, &Exporter)> {
        self.exporters.iter().map(|(address, exporter)| (*address, exporter))
    }

    /// Messages of exporters beyond the limit.
    pub fn turned_away(&self) -> u64 {
        self.turned_away
    }

    /// Whether these bytes begin a message that [`Self::message`] knows.
    pub fn knows(bytes: &[u8]) -> bool {
        matches!(bytes, [0, 5 | 9 | 10, ..] | [0, 0, 0, 5, ..])
    }
}

fn dispatch(
    state: &mut Exporter,
    envelope: Envelope,
    bytes: &[u8],
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<(), Malformed> {
    let mut message = Bytes::new(bytes);
    let version = message.u16("the version")?;
    let source = match version {
        5 => Source::Netflow5,
        9 => Source::Netflow9,
        10 => Source::Ipfix,
        0 if bytes.starts_with(&[0, 0, 0, 5]) => Source::Sflow,
        _ => {
            let what = format!("version {version} is none of NetFlow 5 and 9, IPFIX (10), sFlow 5");
            return Err(Malformed { at: 0, what });
        }
    };
    state.source = Some(source);
    match source {
        Source::Netflow5 => netflow5::read(state, envelope, message, heard),
        Source::Netflow9 => sets::read_v9(state, envelope, message, heard),
        Source::Ipfix => sets::read_ipfix(state, envelope, message, heard),
        Source::Sflow | Source::Packets => sflow::read(state, envelope, Bytes::new(bytes), heard),
    }
}
