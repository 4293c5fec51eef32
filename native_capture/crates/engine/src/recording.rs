//! Every conversation as flow records, handed over in blocks of bytes as it ends.

use std::borrow::Cow;

use nc_decode::NO_VLAN;
use nc_flow::{Flow, Gone};
use nc_records::{write_line, Block, End, IpfixWriter, Mark, Record, Source};

use crate::core::Core;

/// Bytes of a block of lines or messages, rows of a block of columns: little memory, few calls.
const BLOCK_BYTES: usize = 1 << 20;
const BLOCK_ROWS: usize = 32_768;

/// Whoever takes the blocks wants no more, for a reason of their own.
#[derive(Clone, Copy, Debug)]
pub struct Stopped;

/// Takes what a run has to give before its end.
pub trait Sink {
    /// Whole lines, whole messages, or one block of columns.
    fn block(&mut self, bytes: &[u8]) -> Result<(), Stopped>;
    /// Called now and then: so many packets were read and so many records written.
    fn tick(&mut self, packets: u64, records: u64) -> Result<(), Stopped>;
}

/// How records are written. `Columns`: for who writes Parquet, see [`nc_records::Block`]. `Ipfix`: messages of at most `limit` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Ndjson,
    Columns,
    Ipfix { domain: u32, limit: usize },
}

enum Writer {
    Ndjson,
    Columns(Block),
    Ipfix(IpfixWriter),
}

/// Turns conversations into bytes.
pub(crate) struct Recorder {
    writer: Writer,
    bytes: Vec<u8>,
    has_begun: bool,
    /// Records written: directions with packets.
    pub records: u64,
}

impl Recorder {
    pub fn new(form: Form) -> Self {
        let mut bytes = Vec::new();
        let writer = match form {
            Form::Ndjson => Writer::Ndjson,
            Form::Columns => Writer::Columns(Block::default()),
            Form::Ipfix { domain, limit } => {
                let writer = IpfixWriter::new(domain, limit);
                writer.templates(0, &mut bytes);
                Writer::Ipfix(writer)
            }
        };
        Self { writer, bytes, has_begun: false, records: 0 }
    }

    /// Write down what the table has let go of.
    pub fn drain(&mut self, core: &mut Core, sink: &mut dyn Sink) -> Result<(), Stopped> {
        for (ways, why) in core.flows.gone() {
            self.add(core, ways, if why == Gone::Idle { End::Idle } else { End::NoRoom });
        }
        core.flows.let_go();
        self.hand_over(sink, false)
    }

    /// The end: everything that is still in the table, and what waits.
    pub fn finish(&mut self, core: &mut Core, sink: &mut dyn Sink) -> Result<(), Stopped> {
        self.drain(core, sink)?;
        for ways in core.flows.conversations() {
            self.add(core, ways, End::Forced);
            self.hand_over(sink, false)?;
        }
        self.hand_over(sink, true)
    }

    pub fn add(&mut self, core: &Core, ways: [u32; 2], ended: End) {
        let seen = ways.map(|way| Some(way).filter(|way| core.flows.flow(*way).packets > 0));
        let [one, other] = seen.map(|way| way.map(|way| record(core, way, ended)));
        // The side that the server does not listen on began.
        let (first, second) = match (one, other) {
            (Some(one), Some(other)) if one.server_port == Some(one.sport) && one.sport != one.dport => {
                (Some(other), Some(one))
            }
            (None, other) => (other, None),
            pair => pair,
        };
        let Some(first) = first else { return };
        self.write(&first, second.as_ref());
    }

    pub fn write(&mut self, first: &Record<'_>, second: Option<&Record<'_>>) {
        self.records += 1 + u64::from(second.is_some());
        let both = std::iter::once(first).chain(second);
        match &mut self.writer {
            Writer::Ndjson => both.for_each(|record| write_line(record, &mut self.bytes)),
            Writer::Columns(block) => both.for_each(|record| block.add(record)),
            Writer::Ipfix(writer) => writer.add(first, second, &mut self.bytes),
        }
    }

    /// Give a block away when it is full, or in any case at the end. One of columns comes even without rows: it names them.
    pub fn hand_over(&mut self, sink: &mut dyn Sink, is_end: bool) -> Result<(), Stopped> {
        match &mut self.writer {
            Writer::Columns(block)
                if block.rows() >= BLOCK_ROWS || (is_end && (block.rows() > 0 || !self.has_begun)) =>
            {
                self.has_begun = true;
                sink.block(&block.take())?;
            }
            Writer::Ipfix(writer) if is_end => writer.flush(&mut self.bytes),
            _ => {}
        }
        if self.bytes.len() >= BLOCK_BYTES || (is_end && !self.bytes.is_empty()) {
            sink.block(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }
}

/// One direction as a record.
pub(crate) fn record(core: &Core, number: u32, ended: End) -> Record<'_> {
    let (flow, key) = (core.flows.flow(number), core.flows.key(number));
    let place = core.judge.places().get(usize::from(flow.point));
    let realm = place.map_or("", |place| place.realm.as_str());
    let name = |address| {
        let bundle = core.judge.bundle()?;
        Some(Cow::Borrowed(bundle.identity(bundle.find(realm, key.version, address))?.name.as_str()))
    };
    let tag = |id: u32| Some(id as u16).filter(|id| *id != NO_VLAN);
    Record {
        source: Source::Packets,
        exporter: None,
        point: Cow::Borrowed(&core.points[usize::from(flow.point)].name),
        realm: Cow::Borrowed(realm),
        version: key.version,
        src: key.src,
        dst: key.dst,
        sport: key.sport,
        dport: key.dport,
        proto: key.proto,
        vlan: tag(key.vlan >> 16),
        inner_vlan: tag(key.vlan & 0xffff),
        server_port: Some(core.flows.server_port(number)),
        packets: Some(flow.packets),
        bytes: Some(flow.bytes),
        ip_bytes: Some(flow.ip_bytes),
        sampling: Some(1),
        first_ns: Some(flow.first_ns),
        last_ns: Some(flow.last_ns),
        marks: flow
            .marks()
            .into_iter()
            .map(|(dscp, c)| Mark { dscp, packets: c.packets, bytes: Some(c.bytes) })
            .collect(),
        tcp: tcp(flow, key.proto),
        signatures: core.signatures_of(number).map(|(signature, _)| Cow::Borrowed(signature.name.as_str())).collect(),
        src_name: name(key.src),
        dst_name: name(key.dst),
        ended: Some(ended),
    }
}

/// In the order of [`nc_records::TCP`]; nothing is known of what is no TCP.
fn tcp(flow: &Flow, proto: u8) -> [Option<u64>; nc_records::TCP_COUNTS] {
    let c = flow.tcp();
    let all = [c.data_segments, c.retransmitted, c.syn_retransmitted, c.fin_retransmitted, c.zero_window];
    all.map(|count| (proto == nc_decode::proto::TCP).then_some(count))
}
