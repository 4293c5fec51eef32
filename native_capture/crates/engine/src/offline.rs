//! Capture files to one report.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nc_decode::Packet;
use nc_detect::{Bundle, Verdict};
use nc_flow::{SignatureError, Signatures};
use nc_source::{CaptureFile, Code, SourceError};

use crate::core::{Core, Size, IDLE_NS};
use crate::health_rows::Sums;
use crate::lane::{earliest, Lane};
use crate::largest::Largest;
use crate::look::look;
use crate::names::Names;
use crate::queues::Queues;
use crate::recording::{Form, Recorder, Sink, Stopped};
use crate::report;

/// Packets read ahead per file so that small disorder in a file does not turn points around.
const AHEAD: usize = 256;
/// Packets whose memory is fetched together.
const BATCH: usize = 32;
const SIZE: Size = Size {
    flows: 4 << 20,
    idle_ns: None,
    sweep: 1_024,
    in_flight: 1 << 20,
    roce_flows: 1 << 18,
    observe: false,
    path: true,
};
/// Packets between two looks at whether to go on.
const TICK: u64 = 1 << 18;
/// The path between points is reported for so many.
const MAX_POINTS: usize = 32;

/// What to analyse. `points`: name and capture file; `top`: report only so many flows, the largest.
#[derive(Debug)]
pub struct Request {
    pub points: Vec<(String, PathBuf)>,
    pub bundle: Option<Bundle>,
    /// The queues file of the contract, as JSON.
    pub queues: Option<Vec<u8>>,
    /// Report the fill of every millisecond.
    pub series: bool,
    pub top: Option<usize>,
    /// A folder of signature files beside those that come with the engine.
    pub signatures: Option<PathBuf>,
    /// Write every flow down, too. A flow of a point that stands alone ends after 300 s without a packet then and makes room; with
    /// several points all are kept until the end, because only then it is known what was lost between them.
    pub records: Option<Form>,
}

/// Why there is no report at all.
#[derive(Debug)]
pub enum AnalyseError {
    Source(SourceError),
    /// Not a matter of one file: a repeated name, too many points.
    Usage(String),
    /// The queues file says something impossible.
    Queues(String),
    /// A signature file says something impossible.
    Signatures(SignatureError),
    /// The caller's [`Sink`] wanted no more.
    Stopped,
}

impl From<Stopped> for AnalyseError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl fmt::Display for AnalyseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnalyseError::Source(error) => error.fmt(f),
            AnalyseError::Signatures(error) => error.fmt(f),
            AnalyseError::Usage(what) | AnalyseError::Queues(what) => f.write_str(what),
            AnalyseError::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for AnalyseError {}

/// One file being read. `error`: why reading ended early.
pub(crate) struct Input {
    point: u16,
    pub path: PathBuf,
    pub error: Option<SourceError>,
    pub lane: Lane,
    pub cut: u64,
    /// Most payload bytes that a cut packet holds.
    pub tcp_kept: usize,
    pub udp_kept: usize,
    signatures: Arc<Signatures>,
    file: CaptureFile,
    ended: bool,
}

impl Input {
    /// Read ahead.
    fn fill(&mut self, ahead: usize, names: &mut Names) {
        while !self.ended && self.lane.len() < ahead {
            if let Some(packet) = self.next(names) {
                self.lane.push(packet);
            }
        }
    }

    /// The next packets in the file's own order.
    fn read(&mut self, count: usize, into: &mut Vec<Packet>, names: &mut Names) {
        while !self.ended && into.len() < count {
            into.extend(self.next(names));
        }
    }

    fn next(&mut self, names: &mut Names) -> Option<Packet> {
        match self.file.next_frame() {
            Ok(Some(frame)) => {
                let mut packet = look(&frame, &self.signatures);
                if packet.payload_len > 0 {
                    names.look(self.point, &mut packet, frame.bytes);
                }
                if (frame.bytes.len() as u64) < u64::from(frame.frame_len) {
                    self.cut += 1;
                    let above = frame.bytes.get(usize::from(packet.payload_at)..).filter(|_| packet.payload_at > 0);
                    let kept = if packet.is_tcp() { &mut self.tcp_kept } else { &mut self.udp_kept };
                    *kept = (*kept).max(above.map_or(0, <[u8]>::len));
                }
                return Some(packet);
            }
            Ok(None) => self.ended = true,
            Err(error) => {
                self.error = Some(error);
                self.ended = true;
            }
        }
        None
    }
}

/// Read every file to its end, or to the first byte that cannot be read, and report in `policyhub.flows/1` (UTF-8 JSON).
///
/// A file that cannot be opened, or is no capture, is an error; one that is damaged later gives a partial report that
/// says so (`points[].truncated`, `points[].error`). Records go to `sink` in blocks, when they are asked for.
pub fn analyse(request: Request, sink: &mut dyn Sink) -> Result<Vec<u8>, AnalyseError> {
    check(&request)?;
    let signatures = Signatures::load(request.signatures.as_deref()).map_err(AnalyseError::Signatures)?;
    let signatures = Arc::new(signatures);
    let mut inputs = Vec::new();
    for (point, (_, path)) in request.points.iter().enumerate() {
        let file = CaptureFile::open(path).map_err(AnalyseError::Source)?;
        let lane = Lane::default();
        let (path, signatures) = (path.clone(), Arc::clone(&signatures));
        inputs.push(Input {
            point: point as u16,
            path,
            error: None,
            lane,
            cut: 0,
            tcp_kept: 0,
            udp_kept: 0,
            signatures,
            file,
            ended: false,
        });
    }
    let mut run = Run::new(&request, signatures)?;
    if let Some(bundle) = request.bundle {
        run.core.set_bundle(Arc::new(bundle));
    }
    if let [input] = inputs.as_mut_slice() {
        run.alone(input, sink)?;
    } else {
        run.together(&mut inputs, sink)?;
    }
    run.report(&inputs, request.top, sink)
}

/// One run over files. `largest`: of the flows that the table has let go.
struct Run {
    core: Core,
    verdicts: HashMap<String, Verdict>,
    recorder: Option<Recorder>,
    largest: Largest,
    sums: Sums,
    packets: u64,
}

impl Run {
    fn new(request: &Request, signatures: Arc<Signatures>) -> Result<Self, AnalyseError> {
        let names: Vec<String> = request.points.iter().map(|(name, _)| name.clone()).collect();
        let forgets = request.records.is_some() && names.len() == 1;
        let mut core = Core::new(&names, Size { idle_ns: forgets.then_some(IDLE_NS), ..SIZE }, signatures);
        if forgets {
            core.flows.hold_gone();
        }
        if let Some(text) = request.queues.as_deref() {
            let mut queues = Queues::parse(text, &names).map_err(AnalyseError::Queues)?;
            if request.series {
                queues.record();
            }
            core.set_queues(queues);
        }
        let recorder = request.records.map(Recorder::new);
        let (largest, sums) = (Largest::new(request.top), Sums::new(names.len()));
        Ok(Self { core, verdicts: HashMap::new(), recorder, largest, sums, packets: 0 })
    }

    /// One file alone is taken in its own order, a handful of packets at a time.
    fn alone(&mut self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), Stopped> {
        let mut batch = Vec::with_capacity(BATCH);
        while !input.ended {
            input.read(BATCH, &mut batch, &mut self.core.names);
            self.core.warm(0, &mut batch);
            let count = batch.len() as u64;
            for packet in batch.drain(..) {
                self.core.packet(0, &packet);
            }
            self.settle(count, sink)?;
        }
        Ok(())
    }

    /// Several files by the times of their packets.
    fn together(&mut self, inputs: &mut [Input], sink: &mut dyn Sink) -> Result<(), Stopped> {
        inputs.iter_mut().for_each(|input| input.fill(AHEAD, &mut self.core.names));
        while let Some((number, _)) = earliest(inputs.iter().map(|input| &input.lane)) {
            let Some(packet) = inputs[number].lane.pop() else { break };
            self.core.packet(number as u16, &packet);
            inputs[number].fill(AHEAD, &mut self.core.names);
            self.settle(1, sink)?;
        }
        Ok(())
    }

    /// After `count` packets: take over what is finished.
    fn settle(&mut self, count: u64, sink: &mut dyn Sink) -> Result<(), Stopped> {
        if !self.core.verdicts.is_empty() {
            keep_latest(&mut self.core.verdicts, &mut self.verdicts);
        }
        let has_gone = self.core.flows.gone().next().is_some();
        if let Some(recorder) = self.recorder.as_mut().filter(|_| has_gone) {
            self.largest.note(&self.core);
            self.sums.note_gone(&self.core);
            recorder.drain(&mut self.core, sink)?;
        }
        let before = self.packets / TICK;
        self.packets += count;
        if self.packets / TICK > before {
            sink.tick(self.packets, self.recorder.as_ref().map_or(0, |recorder| recorder.records))?;
        }
        Ok(())
    }

    fn report(mut self, inputs: &[Input], top: Option<usize>, sink: &mut dyn Sink) -> Result<Vec<u8>, AnalyseError> {
        self.core.finish();
        keep_latest(&mut self.core.verdicts, &mut self.verdicts);
        if let Some(recorder) = &mut self.recorder {
            self.largest.note(&self.core);
            self.sums.note_gone(&self.core);
            recorder.finish(&mut self.core, sink)?;
            sink.tick(self.packets, recorder.records)?;
        }
        Ok(report::write(&self.core, inputs, self.verdicts.into_values().collect(), top, self.largest, self.sums))
    }
}

fn check(request: &Request) -> Result<(), AnalyseError> {
    let names: Vec<&str> = request.points.iter().map(|(name, _)| name.as_str()).collect();
    if names.is_empty() || names.len() > MAX_POINTS {
        return Err(AnalyseError::Usage(format!("{} points given. Give 1 to {MAX_POINTS} captures", names.len())));
    }
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            return Err(AnalyseError::Usage(format!("point {name}: named twice. Give each capture a name of its own")));
        }
    }
    Ok(())
}

fn keep_latest(from: &mut Vec<Verdict>, to: &mut HashMap<String, Verdict>) {
    for verdict in from.drain(..) {
        to.insert(verdict.id.clone(), verdict);
    }
}

/// True for the errors of a file that ends too early or is damaged in the middle.
pub(crate) fn is_partial(error: &SourceError) -> bool {
    matches!(error.code, Code::Truncated | Code::Corrupt)
}
