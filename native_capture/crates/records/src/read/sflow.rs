//! sFlow version 5 (sflow.org, "sFlow Version 5", July 2004): heads of sampled packets, and counters of interfaces.

use std::net::IpAddr;

use nc_decode::{decode, Packet};

use super::{Counters, Envelope, Exporter, Heard};
use crate::bytes::{number, wide, Bytes, Malformed};
use crate::record::{Mark, Marks, Record, Source};

const FLOW: u32 = 1;
const COUNTERS: u32 = 2;
const FLOW_EXPANDED: u32 = 3;
const COUNTERS_EXPANDED: u32 = 4;

/// `message`: from the version on.
pub(super) fn read(
    state: &mut Exporter,
    envelope: Envelope,
    mut message: Bytes<'_>,
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<(), Malformed> {
    message.u32("the version")?;
    let width = match message.u32("the kind of the agent's address")? {
        1 => 4,
        2 => 16,
        kind => return Err(message.bad(format!("an agent's address of kind {kind}"))),
    };
    let agent = message.take(width, "the agent's address")?;
    let agent = match <[u8; 4]>::try_from(agent) {
        Ok(v4) => IpAddr::from(v4),
        Err(_) => IpAddr::from(wide(agent).to_be_bytes()),
    };
    let (part, sequence) = (message.u32("the sub-agent")?, message.u32("the sequence number")?);
    state.follow(Source::Sflow, part.into(), sequence, Some(1));
    message.u32("the uptime")?;
    for _ in 0..message.u32("the count of samples")? {
        let format = message.u32("a sample's format")?;
        let len = message.u32("a sample's length")? as usize;
        let sample = message.part(len, "a sample")?;
        match format {
            FLOW | FLOW_EXPANDED => read_flow(sample, format == FLOW_EXPANDED, agent, envelope.ts_ns, heard)?,
            COUNTERS | COUNTERS_EXPANDED => read_counters(sample, format == COUNTERS_EXPANDED, heard)?,
            _ => {}
        }
    }
    Ok(())
}

fn read_flow(
    mut sample: Bytes<'_>,
    is_expanded: bool,
    agent: IpAddr,
    ts_ns: u64,
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<(), Malformed> {
    // Sequence number and source, the latter in two words when expanded.
    sample.take(if is_expanded { 12 } else { 8 }, "a flow sample's head")?;
    let sampling = sample.u32("the sampling rate")?;
    // Pool, drops, and the two interfaces.
    sample.take(if is_expanded { 24 } else { 16 }, "a flow sample's head")?;
    let mut found = None;
    for _ in 0..sample.u32("the count of records")? {
        let format = sample.u32("a record's format")?;
        let len = sample.u32("a record's length")? as usize;
        let record = sample.part(len, "a record")?;
        let told = match format {
            1 => read_header(record, ts_ns)?,
            3 => Some(read_fixed(record, 4)?),
            4 => Some(read_fixed(record, 16)?),
            _ => None,
        };
        // The head of the packet says most; the other forms repeat it.
        found = if format == 1 { told.or(found) } else { found.or(told) };
    }
    if let Some(record) = found {
        heard(Heard::Flow(Record {
            source: Source::Sflow,
            exporter: Some(agent),
            sampling: Some(sampling).filter(|n| *n > 0),
            first_ns: Some(ts_ns),
            last_ns: Some(ts_ns),
            ..record
        }));
    }
    Ok(())
}

/// sampled_header: protocol, length of the frame, bytes taken off its end, the head.
fn read_header(mut record: Bytes<'_>, ts_ns: u64) -> Result<Option<Record<'static>>, Malformed> {
    let link = match record.u32("the header's protocol")? {
        1 => 1,
        11 | 12 => 101,
        _ => return Ok(None),
    };
    let frame = record.u32("the frame's length")?;
    let stripped = record.u32("the bytes taken off")?;
    let len = record.u32("the header's length")? as usize;
    let head = record.take(len, "the header")?;
    let packet = decode(link, ts_ns, frame.saturating_sub(stripped), head);
    Ok(packet.is_ip().then(|| of_packet(&packet, link)))
}

fn of_packet(packet: &Packet, link: u32) -> Record<'static> {
    let tag = |id: u16| Some(id).filter(|id| *id != nc_decode::NO_VLAN);
    let bytes = (link == 1).then_some(u64::from(packet.frame_len));
    let is_icmp = packet.is_icmp();
    Record {
        version: packet.version,
        src: packet.src,
        dst: packet.dst,
        sport: if is_icmp { 0 } else { packet.sport },
        dport: if is_icmp { 0 } else { packet.dport },
        proto: packet.proto,
        vlan: tag(packet.vlan),
        inner_vlan: tag(packet.inner_vlan),
        packets: Some(1),
        bytes,
        ip_bytes: Some(packet.l3_len.into()),
        marks: Marks::One(Mark { dscp: packet.dscp, packets: 1, bytes }),
        ..Record::default()
    }
}

/// sampled_ipv4 and sampled_ipv6: the fields of the packet without its head. `width` of an address.
fn read_fixed(mut record: Bytes<'_>, width: usize) -> Result<Record<'static>, Malformed> {
    let ip_bytes = record.u32("the packet's length")?;
    let proto = record.u32("the protocol")? as u8;
    let src = wide(record.take(width, "the source")?);
    let dst = wide(record.take(width, "the destination")?);
    let (sport, dport) = (record.u32("the source port")? as u16, record.u32("the destination port")? as u16);
    record.u32("the TCP flags")?;
    let class = record.u32("the class")?;
    Ok(Record {
        version: if width == 4 { 4 } else { 6 },
        src,
        dst,
        sport,
        dport,
        proto,
        packets: Some(1),
        ip_bytes: Some(ip_bytes.into()),
        marks: Marks::One(Mark { dscp: (class as u8) >> 2, packets: 1, bytes: None }),
        ..Record::default()
    })
}

fn read_counters(mut sample: Bytes<'_>, is_expanded: bool, heard: &mut dyn FnMut(Heard<'_>)) -> Result<(), Malformed> {
    sample.take(if is_expanded { 12 } else { 8 }, "a counters sample's head")?;
    for _ in 0..sample.u32("the count of records")? {
        let format = sample.u32("a record's format")?;
        let len = sample.u32("a record's length")? as usize;
        let record = sample.part(len, "a record")?;
        if format == 1 {
            heard(Heard::Counters(read_interface(record)?));
        }
    }
    Ok(())
}

fn read_interface(mut record: Bytes<'_>) -> Result<Counters, Malformed> {
    let bytes = record.take(88, "the counters of an interface")?;
    let field = |at: usize, len: usize| bytes.get(at..at + len).map_or(0, number);
    let sum = |places: [usize; 3]| places.iter().map(|at| field(*at, 4)).sum();
    Ok(Counters {
        interface: field(0, 4) as u32,
        speed_bps: field(8, 8),
        in_bytes: field(24, 8),
        in_packets: sum([32, 36, 40]),
        in_discards: field(44, 4) as u32,
        in_errors: field(48, 4) as u32,
        out_bytes: field(56, 8),
        out_packets: sum([64, 68, 72]),
        out_discards: field(76, 4) as u32,
        out_errors: field(80, 4) as u32,
    })
}
