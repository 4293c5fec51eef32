//! Capture files to one report.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nc_decode::{Packet, Tunnel};
use nc_detect::{Bundle, Verdict};
use nc_flow::{SignatureError, Signatures};
use nc_source::{CaptureFile, Drops, Lengths, SourceError};

use crate::carried::{Carried, CarriedFlows};
use crate::clocks::{Clocks, Sampled};
use crate::core::{Core, Size, IDLE_NS};
use crate::flows::{accounted, turns, SHARDS};
use crate::health_rows::Sums;
use crate::keeper::{self, Keeper};
use crate::lane::{earliest, Lane};
use crate::names::Names;
use crate::neighbours::Neighbours;
use crate::pipeline::share_out;
use crate::queues::Queues;
use crate::reading::{Block, Blocks};
use crate::recording::{Form, Outlet, Sink, Stopped};
use crate::report;
use crate::unwrap::{each, Opened, Opening};

/// Packets read ahead per file so that small disorder in a file does not turn points around.
const AHEAD: usize = 256;
/// Packets that are taken together: with what is worked out of them they stay in the first-level cache.
pub(crate) const BATCH: usize = 128;
const SIZE: Size = Size {
    flows: 4 << 20,
    shards: 1,
    idle_ns: None,
    sweep: 1_024,
    in_flight: 1 << 20,
    roce_flows: 1 << 18,
    observe: false,
    path: true,
};
/// Steps of bulk followed: eight hours of one pair of hosts in each shard (16 bytes a step).
const PACE_STEPS: usize = 1 << 21;
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
    /// Errors of points' clocks against true time, in nanoseconds, where a sensor's chrony or PTP tells them.
    pub clock_errors: Vec<(String, u64)>,
    /// Points whose frames a mirror wrapped, or that bear times.
    pub openings: Vec<(String, Opening)>,
    /// Report the fill of every millisecond.
    pub series: bool,
    /// Report the bytes of every millisecond by mark and priority, and of every tenth while a queue is nearly full.
    pub clock: bool,
    pub top: Option<usize>,
    /// A folder of signature files beside those that come with the engine.
    pub signatures: Option<PathBuf>,
    /// Write every flow down, too. A flow of a point that stands alone ends after 300 s without a packet then and makes room; with
    /// several points all are kept until the end, because only then it is known what was lost between them.
    pub records: Option<Form>,
    /// Threads that may work at once, this one among them. They share out the packets of a single file. Of several files, of a pipe,
    /// and with queues or with hours and peaks of identities, one thread accounts all packets in their order and each other one reads and
    /// decodes a file for it. The report is the same to the byte for every number.
    pub threads: usize,
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

/// One file being read. `error`: why reading ended early; `cut`, `tcp_kept`, `udp_kept`, `drops`, `lengths` as in [`Block`].
pub(crate) struct Input {
    point: u16,
    pub path: PathBuf,
    pub error: Option<SourceError>,
    pub lane: Lane,
    pub neighbours: Neighbours,
    pub carried: CarriedFlows,
    pub cut: u64,
    pub tcp_kept: usize,
    pub udp_kept: usize,
    pub drops: Drops,
    pub lengths: Lengths,
    pub opened: Option<Box<Opened>>,
    blocks: Blocks,
    block: Block,
    /// Packets of the block that were taken, and those of its names.
    taken: usize,
    taken_names: usize,
    taken_carried: usize,
}

/// Packets in a file's own order, and what is inside of them.
pub(crate) struct Few<'a> {
    pub packets: &'a mut [Packet],
    pub carried: Inner<'a>,
}

/// `rest`: places in the block, ascending; `from`: of the first packet.
pub(crate) struct Inner<'a> {
    from: usize,
    rest: &'a [(usize, Carried)],
}

impl<'a> Inner<'a> {
    /// Of the packet at this place among the few; asked in their order.
    pub fn of(&mut self, place: usize) -> impl Iterator<Item = &'a Carried> {
        let count = self.rest.iter().take_while(|(at, _)| *at <= self.from + place).count();
        let (here, rest) = self.rest.split_at(count);
        self.rest = rest;
        here.iter().map(|(_, inner)| inner)
    }
}

impl Input {
    fn new(point: u16, path: PathBuf, blocks: Blocks) -> Self {
        Self {
            point,
            path,
            error: None,
            lane: Lane::default(),
            neighbours: Neighbours::default(),
            carried: CarriedFlows::default(),
            cut: 0,
            tcp_kept: 0,
            udp_kept: 0,
            drops: Drops::default(),
            lengths: Lengths::default(),
            opened: None,
            blocks,
            block: Block::default(),
            taken: 0,
            taken_names: 0,
            taken_carried: 0,
        }
    }

    /// Up to `most` packets in the file's own order; none at the end.
    pub fn next(&mut self, most: usize, names: &mut Names) -> Few<'_> {
        if self.taken == self.block.packets.len() && !self.block.is_last {
            self.renew();
        }
        let (from, to) = (self.taken, (self.taken + most).min(self.block.packets.len()));
        self.taken = to;
        while let Some((at, told)) = self.block.told.get(self.taken_names).filter(|(at, _)| *at < to) {
            names.keep(self.point, &mut self.block.packets[*at], told);
            self.taken_names += 1;
        }
        let rest = &self.block.carried[self.taken_carried..];
        let rest = &rest[..rest.iter().take_while(|(at, _)| *at < to).count()];
        self.taken_carried += rest.len();
        Few { packets: &mut self.block.packets[from..to], carried: Inner { from, rest } }
    }

    fn renew(&mut self) {
        self.blocks.next(&mut self.block);
        (self.taken, self.taken_names, self.taken_carried) = (0, 0, 0);
        self.block.neighbours.drain(..).for_each(|said| self.neighbours.keep(said));
        self.block.carried.iter().for_each(|(_, carried)| self.carried.count(carried));
        self.cut += self.block.cut;
        self.tcp_kept = self.tcp_kept.max(self.block.tcp_kept);
        self.udp_kept = self.udp_kept.max(self.block.udp_kept);
        self.error = self.block.error.take();
        (self.drops, self.lengths) = (self.block.drops, self.block.lengths);
        self.opened = self.block.opened.take();
    }

    /// Read ahead.
    fn fill(&mut self, ahead: usize, names: &mut Names) {
        while self.lane.len() < ahead {
            let Few { packets, mut carried } = self.next(1, names);
            let Some(packet) = packets.first().copied() else { return };
            let inner: Vec<Carried> = carried.of(0).copied().collect();
            self.lane.push(packet);
            inner.into_iter().for_each(|inner| self.lane.push_carried(inner));
        }
    }
}

/// Read every file to its end, or to the first byte that cannot be read, and report in `policyhub.flows/1` (UTF-8 JSON).
///
/// A file that cannot be opened, or is no capture, is an error; one that is damaged later gives a partial report that
/// says so (`points[].truncated`, `points[].damage`, `points[].error`). Records go to `sink` in blocks, when they are asked for.
pub fn analyse(request: Request, sink: &mut dyn Sink) -> Result<Vec<u8>, AnalyseError> {
    check(&request)?;
    let signatures = Signatures::load(request.signatures.as_deref()).map_err(AnalyseError::Signatures)?;
    let signatures = Arc::new(signatures);
    let open = |(_, path): &(String, PathBuf)| CaptureFile::open(path);
    let files = request.points.iter().map(open).collect::<Result<Vec<_>, _>>().map_err(AnalyseError::Source)?;
    let names = request.points.iter().map(|(name, _)| name.as_str());
    let openings = each(names, &request.openings).map_err(AnalyseError::Usage)?;
    let clocks = clocks(&request, &openings)?;
    let mut run = Run::new(&request, Arc::clone(&signatures))?;
    if let Some(bundle) = request.bundle {
        run.core.set_bundle(Arc::new(bundle));
    }
    let shares = run.may_share_out(&request.points);
    let mut inputs = Vec::new();
    for (point, ((_, path), file)) in request.points.iter().zip(files).enumerate() {
        // This thread is one of them.
        let ahead = !shares && point + 1 < request.threads;
        let blocks =
            Blocks::new(file, (clocks.offsets[point], openings[point]), &signatures, ahead).map_err(no_thread)?;
        inputs.push(Input::new(point as u16, path.clone(), blocks));
    }
    run.core.clocks = clocks;
    match inputs.as_mut_slice() {
        [input] if shares => run.shared(input, sink)?,
        [input] => run.alone(input, sink)?,
        several => run.together(several, sink)?,
    }
    let refused =
        |input: &Input| input.opened.as_ref()?.times.as_ref()?.refusal(&request.points[usize::from(input.point)].0);
    match inputs.iter().find_map(refused) {
        Some(why) => Err(AnalyseError::Usage(why)),
        None => run.report(&inputs, request.top, sink),
    }
}

/// One run over files. `keepers`: one for each table of flows.
struct Run {
    core: Core,
    verdicts: HashMap<String, Verdict>,
    keepers: Vec<Keeper>,
    outlet: Option<Outlet>,
    packets: u64,
    threads: usize,
}

impl Run {
    fn new(request: &Request, signatures: Arc<Signatures>) -> Result<Self, AnalyseError> {
        let names: Vec<String> = request.points.iter().map(|(name, _)| name.clone()).collect();
        let is_alone = names.len() == 1;
        let forgets = request.records.is_some() && is_alone;
        let shards = if is_alone { SHARDS } else { 1 };
        let mut core = Core::new(&names, Size { idle_ns: forgets.then_some(IDLE_NS), shards, ..SIZE }, signatures);
        if forgets {
            core.flows.hold_gone();
        }
        core.flows.follow_paces(PACE_STEPS);
        if request.clock {
            core.record_clocks();
        }
        if let Some(text) = request.queues.as_deref() {
            let mut queues = Queues::parse(text, &names).map_err(AnalyseError::Queues)?;
            if request.series {
                queues.record();
            }
            core.set_queues(queues);
        }
        let (outlet, threads) = (request.records.map(Outlet::new), request.threads);
        let keepers = Keeper::for_each(shards, outlet.as_ref(), request.top);
        Ok(Self { core, verdicts: HashMap::new(), keepers, outlet, packets: 0, threads })
    }

    /// Whether threads may share out the packets: of a file, which always comes to its end, when nothing that a shard decides depends
    /// on the packets of others.
    fn may_share_out(&self, points: &[(String, PathBuf)]) -> bool {
        let is_file = matches!(points, [(_, path)] if path.is_file());
        self.threads > 1 && is_file && self.core.queues.is_none() && self.core.limits.is_empty()
    }

    fn shared(&mut self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), Stopped> {
        let Self { core, verdicts, keepers, outlet, packets, threads } = self;
        share_out(core, input, keepers, *threads, &mut |core, count, chunks| {
            if let Some(outlet) = outlet {
                outlet.give(chunks, sink)?;
            }
            keep_latest(&mut core.verdicts, verdicts);
            tick(packets, count, outlet.as_ref(), sink)
        })
    }

    /// One file alone is taken in its own order, a handful of packets at a time.
    fn alone(&mut self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), Stopped> {
        let mut ahead = Vec::with_capacity(BATCH);
        loop {
            let Few { packets, mut carried } = input.next(BATCH, &mut self.core.names);
            if packets.is_empty() {
                return Ok(());
            }
            for turn in turns(packets.len()) {
                self.core.look_ahead(0, packets, turn, &mut ahead);
                for place in accounted(turn, packets.len()) {
                    let (packet, ahead) = (&packets[place], &ahead[place]);
                    if self.core.is_due(packet.ts_ns) {
                        self.drain(sink)?;
                    }
                    self.core.account(0, packet, ahead);
                    if packet.tunnel != Tunnel::None {
                        carried.of(place).for_each(|inner| self.core.carried(0, inner));
                    }
                }
            }
            self.settle(packets.len() as u64, sink)?;
        }
    }

    /// Write down conversations that are over.
    fn drain(&mut self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        let Self { core, keepers, outlet, .. } = self;
        let Some(outlet) = outlet else { return Ok(()) };
        for (keeper, flows) in keepers.iter_mut().zip(core.flows.tables_mut()) {
            outlet.give(keeper.drain(flows, &core.ground), sink)?;
        }
        Ok(())
    }

    /// Several files by the times of their packets.
    fn together(&mut self, inputs: &mut [Input], sink: &mut dyn Sink) -> Result<(), Stopped> {
        inputs.iter_mut().for_each(|input| input.fill(AHEAD, &mut self.core.names));
        while let Some((number, _)) = earliest(inputs.iter().map(|input| &input.lane)) {
            let Some(packet) = inputs[number].lane.pop() else { break };
            self.core.packet(number as u16, &packet);
            while let Some(inner) = inputs[number].lane.pop_carried(packet.ts_ns) {
                self.core.carried(number as u16, &inner);
            }
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
        tick(&mut self.packets, count, self.outlet.as_ref(), sink)
    }

    fn report(mut self, inputs: &[Input], top: Option<usize>, sink: &mut dyn Sink) -> Result<Vec<u8>, AnalyseError> {
        self.core.finish();
        keep_latest(&mut self.core.verdicts, &mut self.verdicts);
        self.drain(sink)?;
        let Self { mut core, verdicts, mut keepers, mut outlet, packets, threads } = self;
        let chosen = keeper::sum_up(threads, &mut keepers, &mut core, outlet.as_mut(), sink)?;
        let paces = core.flows.take_paces();
        if let Some(outlet) = outlet {
            sink.tick(packets, outlet.records)?;
        }
        let (largest, sums): (_, Vec<Sums>) = keepers.into_iter().map(|keeper| (keeper.largest, keeper.sums)).unzip();
        Ok(report::write(&core, inputs, verdicts.into_values().collect(), top, (largest, sums, chosen, paces)))
    }
}

/// After `count` packets more: is anybody still interested?
fn tick(packets: &mut u64, count: u64, outlet: Option<&Outlet>, sink: &mut dyn Sink) -> Result<(), Stopped> {
    let before = *packets / TICK;
    *packets += count;
    if *packets / TICK > before {
        sink.tick(*packets, outlet.map_or(0, |outlet| outlet.records))?;
    }
    Ok(())
}

fn no_thread(error: std::io::Error) -> AnalyseError {
    AnalyseError::Usage(format!(
        "cannot start a thread ({error}). Ask for fewer threads, or raise the limit of processes"
    ))
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

fn clocks(request: &Request, openings: &[Opening]) -> Result<Clocks, AnalyseError> {
    let mut errors = Vec::new();
    for (name, error) in &request.clock_errors {
        let point = request.points.iter().position(|(point, _)| point == name);
        let point =
            point.ok_or_else(|| AnalyseError::Usage(format!("clock of {name}: no such point. Name a point")))?;
        errors.push((point, *error));
    }
    let mut realms = Vec::new();
    let captures = request.points.iter().zip(openings).map(|((name, path), opening)| {
        let realm = request.bundle.as_ref().map_or("", |bundle| bundle.realm_of(name));
        let known = realms.iter().position(|known| *known == realm);
        let number = known.unwrap_or_else(|| {
            realms.push(realm);
            realms.len() - 1
        });
        Sampled { path: path.clone(), realm: number as u16, opening: *opening }
    });
    let captures: Vec<Sampled> = captures.collect();
    Ok(if captures.len() > 1 { Clocks::compare(&captures, &errors) } else { Clocks::unknown(1) })
}

fn keep_latest(from: &mut Vec<Verdict>, to: &mut HashMap<String, Verdict>) {
    for verdict in from.drain(..) {
        to.insert(verdict.id.clone(), verdict);
    }
}
