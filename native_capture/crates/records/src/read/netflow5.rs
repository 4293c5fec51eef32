//! NetFlow version 5 (Cisco, "NetFlow Export Datagram Format"): fixed records of 48 bytes, IPv4 only.

use super::{Envelope, Exporter, Heard};
use crate::bytes::{number, Bytes, Malformed};
use crate::record::{Mark, Marks, Record, Source};

const RECORD: usize = 48;

/// `message`: behind the version.
pub(super) fn read(
    state: &mut Exporter,
    envelope: Envelope,
    mut message: Bytes<'_>,
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<(), Malformed> {
    let count = message.u16("the count of records")?;
    let uptime_ms = message.u32("the uptime")?;
    let export_ns = u64::from(message.u32("the time")?) * 1_000_000_000 + u64::from(message.u32("the time")?);
    let sequence = message.u32("the sequence number")?;
    let engine = message.u16("the engine")?;
    let sampling = u32::from(message.u16("the sampling interval")? & 0x3fff);
    state.follow(Source::Netflow5, engine.into(), sequence, Some(count.into()));
    for _ in 0..count {
        let record = message.take(RECORD, "a record of NetFlow 5")?;
        let field = |at: usize, len: usize| record.get(at..at + len).map_or(0, number);
        let time = |at| super::fields::by_uptime(export_ns, uptime_ms, field(at, 4) as u32);
        let packets = field(16, 4);
        heard(Heard::Flow(Record {
            source: Source::Netflow5,
            exporter: Some(envelope.exporter),
            version: 4,
            src: field(0, 4).into(),
            dst: field(4, 4).into(),
            packets: Some(packets),
            ip_bytes: Some(field(20, 4)),
            first_ns: Some(time(24)),
            last_ns: Some(time(28)),
            sport: field(32, 2) as u16,
            dport: field(34, 2) as u16,
            proto: field(38, 1) as u8,
            marks: Marks::One(Mark { dscp: (field(39, 1) >> 2) as u8, packets, bytes: None }),
            // Zero is how exporters without sampling fill the field.
            sampling: Some(sampling.max(1)),
            ..Record::default()
        }));
    }
    Ok(())
}
