//! Every conversation as flow records, handed over in blocks of bytes as it ends.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use nc_flow::{DscpCount, FlowTable, Gone};
use nc_records::{renumber, write_line, Block, End, IpfixWriter, Mark, Marks, Record, Source};

use crate::account::Ground;
use crate::crew::lock;

/// Bytes of a block of lines or messages, rows of a block of columns: few calls, and what is copied is still in the caches.
const BLOCK_BYTES: usize = 1 << 18;
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
    spare: Arc<Spare>,
    /// Records written: directions with packets.
    pub records: u64,
    /// Sequence number that the bytes begin with, and records written before.
    first: u32,
    before: u64,
}

/// Blocks that were handed over, for whichever recorder needs one: fresh memory costs more than what is written there.
#[derive(Default)]
struct Spare(Mutex<Vec<Vec<u8>>>);

impl Spare {
    fn put(&self, mut bytes: Vec<u8>) {
        bytes.clear();
        lock(&self.0).push(bytes);
    }

    /// `usual`: bytes of a block.
    fn take(&self, usual: usize) -> Vec<u8> {
        lock(&self.0).pop().unwrap_or_else(|| Vec::with_capacity(usual))
    }
}

/// Bytes of a recorder that are ready. `first`: the sequence number they begin with, `count`: by how much it rises; `records`: in them,
/// or waiting for the next one.
pub(crate) struct Chunk {
    bytes: Vec<u8>,
    first: u32,
    count: u32,
    records: u64,
}

impl Recorder {
    fn new(form: Form, spare: Arc<Spare>) -> Self {
        let writer = match form {
            Form::Ndjson => Writer::Ndjson,
            Form::Columns => Writer::Columns(Block::default()),
            Form::Ipfix { domain, limit } => Writer::Ipfix(IpfixWriter::new(domain, limit)),
        };
        Self { writer, bytes: Vec::new(), spare, records: 0, first: 0, before: 0 }
    }

    /// Write down what the table has let go of.
    pub fn drain(&mut self, flows: &mut FlowTable, ground: &Ground) {
        for (ways, why) in flows.gone() {
            self.add(flows, ground, ways, if why == Gone::Idle { End::Idle } else { End::NoRoom });
        }
        flows.let_go();
    }

    /// Write down one conversation.
    pub fn add(&mut self, flows: &FlowTable, ground: &Ground, ways: [u32; 2], ended: End) {
        let [one, other] = ways.map(|way| flows.flow(way).packets() > 0);
        match (one, other) {
            (true, true) => {
                // One after the other and not as an array: a record is large, and moving it would cost as much as writing it.
                let first = record(flows, ground, ways[0], ended);
                let second = record(flows, ground, ways[1], ended);
                match answers(&first) {
                    true => self.write(&second, Some(&first)),
                    false => self.write(&first, Some(&second)),
                }
            }
            (false, false) => {}
            _ => self.write(&record(flows, ground, ways[usize::from(other)], ended), None),
        }
    }

    fn add_pair(&mut self, pair: [Option<Record<'_>>; 2]) {
        match &pair {
            [Some(one), Some(other)] if answers(one) => self.write(other, Some(one)),
            [Some(one), other] => self.write(one, other.as_ref()),
            [None, Some(other)] => self.write(other, None),
            [None, None] => {}
        }
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

    fn is_full(&self) -> bool {
        match &self.writer {
            Writer::Columns(block) => block.rows() >= BLOCK_ROWS,
            _ => self.bytes.len() >= BLOCK_BYTES,
        }
    }

    /// A block that is full; at the end one that is not, too.
    pub fn take(&mut self, is_end: bool) -> Option<Chunk> {
        if !is_end && !self.is_full() {
            return None;
        }
        // The next one will be as long.
        let next = if is_end { Vec::new() } else { self.spare.take(self.bytes.capacity()) };
        let (mut bytes, mut count) = (std::mem::replace(&mut self.bytes, next), 0);
        match &mut self.writer {
            Writer::Columns(block) if block.rows() > 0 => bytes = block.take(),
            Writer::Ipfix(writer) => {
                if is_end {
                    writer.flush(&mut bytes);
                }
                count = writer.sequence().wrapping_sub(self.first);
            }
            _ => {}
        }
        let chunk = Chunk { bytes, first: self.first, count, records: self.records - self.before };
        self.first = self.first.wrapping_add(count);
        self.before = self.records;
        Some(chunk).filter(|chunk| !chunk.bytes.is_empty())
    }
}

/// Puts what recorders have ready one after the other, as if one had written it all.
pub(crate) struct Outlet {
    form: Form,
    has_begun: bool,
    sequence: u32,
    pub records: u64,
    spare: Arc<Spare>,
}

impl Outlet {
    pub fn new(form: Form) -> Self {
        Self { form, has_begun: false, sequence: 0, records: 0, spare: Arc::default() }
    }

    /// One whose blocks come here.
    pub fn recorder(&self) -> Recorder {
        Recorder::new(self.form, Arc::clone(&self.spare))
    }

    pub fn give(&mut self, chunks: impl IntoIterator<Item = Chunk>, sink: &mut dyn Sink) -> Result<(), Stopped> {
        chunks.into_iter().try_for_each(|chunk| self.give_one(chunk, sink))
    }

    fn give_one(&mut self, mut chunk: Chunk, sink: &mut dyn Sink) -> Result<(), Stopped> {
        if let Form::Ipfix { .. } = self.form {
            renumber(&mut chunk.bytes, self.sequence.wrapping_sub(chunk.first));
            self.sequence = self.sequence.wrapping_add(chunk.count);
        }
        self.records += chunk.records;
        self.begin(sink)?;
        sink.block(&chunk.bytes)?;
        self.spare.put(chunk.bytes);
        Ok(())
    }

    /// A file of IPFIX begins with its templates.
    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        let Form::Ipfix { domain, limit } = self.form else { return Ok(()) };
        let mut bytes = Vec::new();
        IpfixWriter::new(domain, limit).templates(0, &mut bytes);
        sink.block(&bytes)
    }

    /// The end. A block of columns comes even without rows: it names them.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        let is_empty = !self.has_begun;
        self.begin(sink)?;
        match self.form {
            Form::Columns if is_empty => sink.block(&Block::default().take()),
            _ => Ok(()),
        }
    }
}

/// Records of conversations that go on, for who waits for them: what came since the last one.
pub(crate) struct Exporting {
    recorder: Recorder,
    /// What was told before of each direction, by its number.
    told: HashMap<u32, Record<'static>>,
    next_look_ns: u64,
    looks: u64,
}

/// A conversation that lasts is told at most this long after its last record (active timeout).
const ACTIVE_NS: u64 = 60_000_000_000;
const LOOK_NS: u64 = 10_000_000_000;
/// Templates go out again after so many looks (RFC 7011, 8.4: over UDP).
const LOOKS_PER_TEMPLATE: u64 = 6;

impl Exporting {
    pub fn new(form: Form) -> Self {
        let mut recorder = Recorder::new(form, Arc::default());
        if let Writer::Ipfix(writer) = &recorder.writer {
            writer.templates(0, &mut recorder.bytes);
        }
        Self { recorder, told: HashMap::new(), next_look_ns: 0, looks: 0 }
    }

    /// Write down what has ended, and, now and then, what lasts; `now_ns`: packet time. Messages are appended to `out`.
    pub fn step(&mut self, flows: &mut FlowTable, ground: &Ground, now_ns: u64, out: &mut Vec<u8>) {
        for (ways, why) in flows.gone() {
            self.add(flows, ground, ways, if why == Gone::Idle { End::Idle } else { End::NoRoom });
            for way in ways {
                self.told.remove(&way);
            }
        }
        flows.let_go();
        if now_ns >= self.next_look_ns {
            self.next_look_ns = now_ns + LOOK_NS;
            self.looks += 1;
            self.look(flows, ground, now_ns);
        }
        out.append(&mut self.recorder.bytes);
    }

    fn look(&mut self, flows: &FlowTable, ground: &Ground, now_ns: u64) {
        let due: Vec<[u32; 2]> = flows.conversations().filter(|ways| self.is_due(flows, *ways, now_ns)).collect();
        for ways in due {
            self.add(flows, ground, ways, End::Active);
            for way in ways.into_iter().filter(|way| flows.flow(*way).packets() > 0) {
                self.told.insert(way, record(flows, ground, way, End::Active).without_names());
            }
        }
        self.flush();
        if self.looks % LOOKS_PER_TEMPLATE == 0 {
            if let Writer::Ipfix(writer) = &mut self.recorder.writer {
                writer.templates((now_ns / 1_000_000_000) as u32, &mut self.recorder.bytes);
            }
        }
    }

    fn is_due(&self, flows: &FlowTable, ways: [u32; 2], now_ns: u64) -> bool {
        ways.iter().any(|way| {
            let flow = flows.flow(*way);
            let since_ns = self.told.get(way).and_then(|told| told.last_ns).unwrap_or(flow.first_ns);
            let told = self.told.get(way).and_then(|told| told.packets).unwrap_or(0);
            flow.packets() > told && since_ns.saturating_add(ACTIVE_NS) <= now_ns
        })
    }

    fn add(&mut self, flows: &FlowTable, ground: &Ground, ways: [u32; 2], ended: End) {
        let since = |way: u32| {
            let whole =
                Some(way).filter(|way| flows.flow(*way).packets() > 0).map(|way| record(flows, ground, way, ended))?;
            let news = match self.told.get(&way) {
                Some(told) => whole.since(told),
                None => whole,
            };
            Some(news).filter(|news| news.packets != Some(0))
        };
        let pair = [since(ways[0]), since(ways[1])];
        self.recorder.add_pair(pair);
    }

    fn flush(&mut self) {
        if let Writer::Ipfix(writer) = &mut self.recorder.writer {
            writer.flush(&mut self.recorder.bytes);
        }
    }

    /// The end: everything.
    pub fn finish(&mut self, flows: &mut FlowTable, ground: &Ground, out: &mut Vec<u8>) {
        self.step(flows, ground, 0, out);
        for ways in flows.conversations() {
            self.add(flows, ground, ways, End::Forced);
        }
        self.flush();
        out.append(&mut self.recorder.bytes);
    }
}

/// Whether this comes from the side that the server listens on: the other one began.
fn answers(record: &Record<'_>) -> bool {
    record.server_port == Some(record.sport) && record.sport != record.dport
}

/// One direction as a record.
fn record<'a>(flows: &'a FlowTable, ground: &'a Ground, number: u32, ended: End) -> Record<'a> {
    let (flow, key) = (flows.flow(number), flows.key(number));
    let name = |address| ground.name_of(flow.point, key.version, address).map(Cow::Borrowed);
    let (vlan, inner_vlan) = key.tags();
    Record {
        source: Source::Packets,
        exporter: None,
        point: Cow::Borrowed(ground.places.get(usize::from(flow.point)).map_or("", |place| &place.name)),
        realm: Cow::Borrowed(ground.realm_of(flow.point)),
        version: key.version,
        src: key.src,
        dst: key.dst,
        sport: key.sport,
        dport: key.dport,
        proto: key.proto,
        vlan,
        inner_vlan,
        server_port: Some(flows.server_port(number)),
        packets: Some(flow.packets()),
        bytes: Some(flow.bytes()),
        ip_bytes: Some(flow.ip_bytes()),
        sampling: Some(1),
        first_ns: Some(flow.first_ns),
        last_ns: Some(flow.last_ns),
        marks: marks(flows, number),
        tcp: tcp(flows, number, key.proto),
        signatures: signatures(flows, ground, number),
        src_name: name(key.src),
        dst_name: name(key.dst),
        ended: Some(ended),
    }
}

fn marks(flows: &FlowTable, number: u32) -> Marks {
    let mark = |(dscp, c): (u8, DscpCount)| Mark { dscp, packets: c.packets, bytes: Some(c.bytes) };
    match flows.only_mark(number) {
        Some(only) => Marks::One(mark(only)),
        None => flows.marks(number).into_iter().map(mark).collect(),
    }
}

fn signatures<'a>(flows: &FlowTable, ground: &'a Ground, number: u32) -> Vec<Cow<'a, str>> {
    if flows.is_plain(number) {
        return Vec::new();
    }
    let named = ground.signatures_in(flows.tally(number));
    named.map(|(signature, _)| Cow::Borrowed(signature.name.as_str())).collect()
}

/// In the order of [`nc_records::TCP`]; nothing is known of what is no TCP.
fn tcp(flows: &FlowTable, number: u32, proto: u8) -> [Option<u64>; nc_records::TCP_COUNTS] {
    if proto != nc_decode::proto::TCP {
        return Default::default();
    }
    let c = flows.tcp(number);
    let all = [c.data_segments, c.retransmitted, c.syn_retransmitted, c.fin_retransmitted, c.zero_window];
    all.map(Some)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use nc_decode::Packet;
    use nc_flow::Signatures;
    use nc_records::{Heard, Reader};

    use super::*;
    use crate::core::{Core, Size, IDLE_NS};

    const SECOND: u64 = 1_000_000_000;
    const SIZE: Size = Size {
        flows: 100,
        shards: 1,
        idle_ns: Some(IDLE_NS),
        sweep: 100,
        in_flight: 64,
        roce_flows: 16,
        observe: false,
        path: false,
    };

    fn packet(second: u64, dscp: u8) -> Packet {
        let base = Packet {
            version: 4,
            proto: 17,
            src: 1,
            dst: 2,
            sport: 7,
            dport: 9,
            has_transport: true,
            ..Packet::default()
        };
        Packet { ts_ns: second * SECOND, dscp, frame_len: 100, l3_len: 86, ..base }
    }

    /// (packets, bytes, marks, why) of every record in these messages.
    fn told(bytes: &[u8]) -> Vec<(u64, u64, usize, End)> {
        let (mut reader, mut found, mut rest) = (Reader::default(), Vec::new(), bytes);
        while rest.len() >= 4 {
            let (message, after) = rest.split_at(usize::from(u16::from_be_bytes([rest[2], rest[3]])));
            let heard = reader.message(IpAddr::V4(Ipv4Addr::LOCALHOST), 0, message, &mut |heard| {
                if let Heard::Flow(r) = heard {
                    let ended = r.ended.unwrap_or(End::NoRoom);
                    found.push((r.packets.unwrap_or(0), r.bytes.unwrap_or(0), r.marks.len(), ended));
                }
            });
            assert!(heard.is_ok());
            rest = after;
        }
        assert!(reader.exporters().all(|(_, exporter)| exporter.tally.lost == 0));
        found
    }

    #[test]
    fn a_flow_that_lasts_is_told_in_parts_that_sum_up() {
        let mut core = Core::new(&["p".to_owned()], SIZE, Arc::new(Signatures::load(None).unwrap_or_default()));
        core.flows.hold_gone();
        let mut exporting = Exporting::new(Form::Ipfix { domain: 1, limit: 1_400 });
        let mut bytes = Vec::new();
        for second in 100..250 {
            core.packet(0, &packet(second, if second < 110 { 46 } else { 0 }));
            exporting.step(&mut core.flows.tables_mut()[0], &core.ground, second * SECOND, &mut bytes);
        }
        exporting.finish(&mut core.flows.tables_mut()[0], &core.ground, &mut bytes);
        let parts = told(&bytes);
        assert_eq!(parts.iter().map(|part| part.0).sum::<u64>(), 150);
        assert_eq!(parts.iter().map(|part| part.1).sum::<u64>(), 15_000);
        assert_eq!(
            parts.iter().map(|part| (part.2, part.3)).collect::<Vec<_>>(),
            [(2, End::Active), (1, End::Active), (1, End::Forced)]
        );
    }

    #[test]
    fn a_flow_that_is_over_is_told_once() {
        let mut core = Core::new(&["p".to_owned()], SIZE, Arc::new(Signatures::load(None).unwrap_or_default()));
        core.flows.hold_gone();
        let mut exporting = Exporting::new(Form::Ipfix { domain: 1, limit: 1_400 });
        let mut bytes = Vec::new();
        for second in [100, 101, 170, 900] {
            core.packet(0, &packet(second, 0));
            exporting.step(&mut core.flows.tables_mut()[0], &core.ground, second * SECOND, &mut bytes);
        }
        exporting.finish(&mut core.flows.tables_mut()[0], &core.ground, &mut bytes);
        assert_eq!(
            told(&bytes).iter().map(|part| (part.0, part.3)).collect::<Vec<_>>(),
            [(3, End::Active), (1, End::Forced)]
        );
    }
}
