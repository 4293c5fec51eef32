//! What a verdict rests on when no packet was seen: flow records of an exporter.

use std::net::IpAddr;

use serde_json::{json, Value};

/// Taken off the confidence of what was only told, in percent; and off that of what was sampled.
const TOLD: u32 = 20;
const SAMPLED: u32 = 15;

/// One record of offending traffic. `source`: `netflow9` and the like; `sampling`: the exporter looked at one packet in so many, None when it
/// did not say; `packets`, `bytes`: as it counted; `span_ns`: from the first packet to the last, whose time is that of the offence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub source: &'static str,
    pub exporter: IpAddr,
    pub sampling: Option<u32>,
    pub packets: u64,
    pub bytes: u64,
    pub span_ns: u64,
    pub cannot_know: &'static [&'static str],
}

impl Told {
    fn factor(&self) -> u64 {
        self.sampling.unwrap_or(1).max(1).into()
    }

    /// Packets and bytes that the record stands for.
    pub(crate) fn estimate(&self) -> (u64, u64) {
        (self.packets.saturating_mul(self.factor()), self.bytes.saturating_mul(self.factor()))
    }
}

/// The exporter that a verdict follows: the first that told of it. Others tell of the same packets again and count nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Teller {
    told: Told,
    packets: u64,
    records: u64,
    /// Records of other exporters.
    others: u64,
}

impl Teller {
    pub fn new(told: Told) -> Self {
        Self { told, packets: 0, records: 0, others: 0 }
    }

    /// Whether this record counts.
    pub fn hears(&mut self, told: &Told) -> bool {
        if (told.source, told.exporter) != (self.told.source, self.told.exporter) {
            self.others += 1;
            return false;
        }
        self.told.sampling = told.sampling;
        self.packets += told.packets;
        self.records += 1;
        true
    }

    pub fn doubt(&self) -> u32 {
        TOLD + if self.told.factor() > 1 { SAMPLED } else { 0 }
    }

    pub fn evidence(&self) -> Value {
        json!({
            "kind": "told", "source": self.told.source, "exporter": self.told.exporter.to_string(),
            "sampling": self.told.sampling, "is_estimate": self.told.factor() > 1, "records": self.records,
            "counted_packets": self.packets, "records_of_others": self.others, "cannot_know": self.told.cannot_know,
        })
    }
}
