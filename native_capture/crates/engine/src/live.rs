//! A running engine: one thread reads all points, puts the packets into one order of time and judges; its owner
//! collects batch bodies when it likes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nc_detect::Bundle;
use nc_flow::{SignatureError, Signatures};
use nc_source::{drop_privileges, Ring, RingSettings, SourceError};

use crate::core::{Core, Size, IDLE_NS};
use crate::crew::lock;
use crate::feed::{Feed, FileFeed};
use crate::lane::{earliest, Lane};
use crate::look::Looked;
use crate::outbox::{Health, Outbox, PointHealth, Stamps};
use crate::queues::Queues;
use crate::recording::{Exporting, Form};
use crate::ring_feed::{RingFeed, SharedFeed};
use crate::shape::{Draft, Shapes, PACE_STEPS};
use crate::unwrap::{each, Opening, ROOM};

/// A packet waits this long for earlier ones of other points: rings hand their blocks over after 10 ms at the latest.
const HOLD_NS: u64 = 50_000_000;
/// After so many waits without any packet nothing earlier can come any more.
const QUIET_WAITS: u32 = 3;
/// And after so many it is looked whether anything can come at all.
const LOOK_WAITS: u32 = 50;
/// Most bytes of records that wait to be taken; later ones are left out, and their numbers show it.
const MAX_RECORDS: usize = 32 << 20;
/// Most packets that wait in one lane; beyond that they go on without waiting.
const MAX_WAITING: usize = 1 << 20;
const MAX_POINTS: usize = 32;
const SIZE: Size = Size {
    flows: 1 << 18,
    shards: 1,
    idle_ns: Some(IDLE_NS),
    sweep: 16_384,
    in_flight: 1 << 19,
    roce_flows: 1 << 16,
    observe: true,
    path: false,
};

/// `points`: name and interface; `openings`: of those whose frames a mirror wrapped, or that bear times; `ring`: how each interface is opened.
#[derive(Clone, Debug)]
pub struct LiveSettings {
    pub points: Vec<(String, String)>,
    pub openings: Vec<(String, Opening)>,
    pub ring: RingSettings,
    /// Threads that read and decode, beside the one that accounts: each has a ring of every interface. With 1 that one does all.
    pub threads: usize,
    /// Give every capability away once the interfaces are open, see [`nc_source::drop_privileges`].
    pub drop_privileges: bool,
    /// The queues file of the contract, as JSON.
    pub queues: Option<Vec<u8>>,
    /// A folder of signature files beside those that come with the engine.
    pub signatures: Option<PathBuf>,
    /// Hand out flow records of this form, see [`Live::take_records`].
    pub records: Option<Form>,
}

#[derive(Debug)]
pub enum LiveError {
    Source(SourceError),
    Usage(String),
    /// The queues file says something impossible.
    Queues(String),
    Signatures(SignatureError),
    /// The engine's thread has ended.
    Ended(String),
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LiveError::Source(error) => error.fmt(f),
            LiveError::Signatures(error) => error.fmt(f),
            LiveError::Usage(what) | LiveError::Queues(what) | LiveError::Ended(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for LiveError {}

/// Between the engine's thread and its owner.
#[derive(Default)]
struct Shared {
    outbox: Mutex<Outbox>,
    ready: Condvar,
    stop: AtomicBool,
    next_bundle: Mutex<Option<Arc<Bundle>>>,
    records: Mutex<Vec<u8>>,
}

/// The owner's end. Dropping it ends the capture.
pub struct Live {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Live {
    /// Capture from interfaces. Without a bundle nothing is judged (`judging: false`), all is counted.
    pub fn open(settings: &LiveSettings, bundle: Option<Bundle>) -> Result<Self, LiveError> {
        let openings = check(&settings.points, &settings.openings)?;
        let open = |((_, interface), opening): (&(String, String), &Opening)| {
            let room = if opening.unwrap.is_some() { ROOM } else { 0 };
            let ring = RingSettings { snaplen: settings.ring.snaplen + room, ..settings.ring.clone() };
            Ring::open(interface, &ring, settings.threads)
        };
        let rings = settings
            .points
            .iter()
            .zip(&openings)
            .map(open)
            .collect::<Result<Vec<_>, _>>()
            .map_err(LiveError::Source)?;
        let signatures = load(settings.signatures.as_deref())?;
        if settings.drop_privileges {
            drop_privileges().map_err(|error| LiveError::Usage(format!("cannot give privileges away ({error})")))?;
        }
        let feed: Box<dyn Feed> = match settings.threads {
            0 | 1 => Box::new(RingFeed::new(rings.into_iter().flatten().collect(), &openings, Arc::clone(&signatures))),
            _ => Box::new(SharedFeed::start(rings, &openings, &signatures).map_err(|error| no_thread(&error))?),
        };
        let start = (&settings.points[..], &openings[..]);
        Self::start(start, feed, (bundle, settings.queues.as_deref()), signatures, settings.records)
    }

    /// Play files (name, path) as if they were captured now, one second of packet time in one second; after their end
    /// `poll` goes on giving empty bodies.
    pub fn replay(
        points: &[(String, String)],
        openings: &[(String, Opening)],
        bundle: Option<Bundle>,
        queues: Option<&[u8]>,
        records: Option<Form>,
    ) -> Result<Self, LiveError> {
        let openings = check(points, openings)?;
        let open = |((_, path), opening): (&(String, String), &Opening)| (PathBuf::from(path), *opening);
        let paths = points.iter().zip(&openings).map(open).collect();
        let signatures = load(None)?;
        let feed = FileFeed::open(paths, Arc::clone(&signatures)).map_err(LiveError::Source)?;
        Self::start((points, &openings), Box::new(feed), (bundle, queues), signatures, records)
    }

    fn start(
        (points, openings): (&[(String, String)], &[Opening]),
        feed: Box<dyn Feed>,
        (bundle, queues): (Option<Bundle>, Option<&[u8]>),
        signatures: Arc<Signatures>,
        records: Option<Form>,
    ) -> Result<Self, LiveError> {
        let names: Vec<String> = points.iter().map(|(name, _)| name.clone()).collect();
        let shared = Arc::new(Shared::default());
        let mut worker = Worker::new(&names, feed, Arc::clone(&shared), signatures);
        if let Some(text) = queues {
            let mut queues = Queues::parse(text, &names).map_err(LiveError::Queues)?;
            queues.forget_bursts();
            // Times of frames are of clocks that nobody has compared.
            let is_own = |point: usize| openings[point].times.is_none();
            queues.measure_only(|from, to| is_own(from) && is_own(to) && worker.feed.is_one_clock(from, to));
            worker.core.set_queues(queues);
        }
        if let Some(form) = records {
            worker.core.flows.hold_gone();
            worker.exporting = Some(Exporting::new(form));
        }
        if let Some(bundle) = bundle {
            worker.set_bundle(Arc::new(bundle));
        }
        worker.publish();
        let thread = std::thread::Builder::new()
            .name("capture".into())
            .spawn(move || worker.run())
            .map_err(|error| no_thread(&error))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Wait up to `timeout` for finished work and hand it over as JSON, UTF-8; with empty lists when there is none.
    pub fn poll(&self, timeout: Duration) -> Result<Vec<u8>, LiveError> {
        let idle = |outbox: &mut Outbox| outbox.is_empty() && outbox.failed.is_none();
        let guard = lock(&self.shared.outbox);
        let waited = self.shared.ready.wait_timeout_while(guard, timeout, idle);
        let mut outbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        if outbox.is_empty() {
            if let Some(why) = outbox.failed.clone() {
                return Err(LiveError::Ended(why));
            }
            if lock(&self.thread).as_ref().is_none_or(JoinHandle::is_finished) {
                return Err(LiveError::Ended("the capture has ended. Open it again".into()));
            }
        }
        Ok(outbox.take())
    }

    /// Flow records that are due, whole messages: of flows that ended or were silent for 300 s, and of those that last, what came in the
    /// last minute or so. After `close` the rest.
    pub fn take_records(&self) -> Vec<u8> {
        std::mem::take(&mut lock(&self.shared.records))
    }

    /// Judge by this bundle from the next packets on; returns its version.
    pub fn set_bundle(&self, bundle: Bundle) -> String {
        let version = bundle.version.clone();
        *lock(&self.shared.next_bundle) = Some(Arc::new(bundle));
        version
    }

    /// End the capture and give the interfaces back. What was not collected can still be polled.
    pub fn close(&self) {
        self.shared.stop.store(true, Ordering::Release);
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // A panic of the thread was printed when it happened; closing has nothing to add.
            let _ = thread.join();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.close();
    }
}

fn no_thread(error: &std::io::Error) -> LiveError {
    LiveError::Ended(format!("cannot start a thread ({error}). Check the limits"))
}

fn load(folder: Option<&Path>) -> Result<Arc<Signatures>, LiveError> {
    Signatures::load(folder).map(Arc::new).map_err(LiveError::Signatures)
}

/// What is done with the frames of each point.
fn check(points: &[(String, String)], openings: &[(String, Opening)]) -> Result<Vec<Opening>, LiveError> {
    if points.is_empty() || points.len() > MAX_POINTS {
        return Err(LiveError::Usage(format!("{} points given. Give 1 to {MAX_POINTS}", points.len())));
    }
    let found = each(points.iter().map(|(name, _)| name.as_str()), openings).map_err(LiveError::Usage)?;
    for (at, (name, place)) in points.iter().enumerate() {
        let unwrap = found[at].unwrap;
        let is_same = |((other, same), opening): (&(String, String), &Opening)| {
            let is_told_apart = unwrap.is_some() && opening.unwrap.is_some() && opening.unwrap != unwrap;
            other == name || same == place && !is_told_apart
        };
        if points[..at].iter().zip(&found).any(is_same) {
            let what = format!("point {name} on {place}: named twice. Give each place one name of its own");
            return Err(LiveError::Usage(what));
        }
    }
    Ok(found)
}

/// The engine's thread.
struct Worker {
    core: Core,
    feed: Box<dyn Feed>,
    lanes: Vec<Lane>,
    newest_ns: u64,
    quiet: u32,
    /// Points that lost packets after the last one read: the loss lasts until the next packet.
    losing: Vec<bool>,
    health: Health,
    exporting: Option<Exporting>,
    shapes: Shapes,
    /// Writes down what was drafted last.
    writer: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

impl Worker {
    fn new(names: &[String], feed: Box<dyn Feed>, shared: Arc<Shared>, signatures: Arc<Signatures>) -> Self {
        let points = names.iter().enumerate().map(|(number, name)| PointHealth {
            point: name.clone(),
            interface: feed.place(number),
            ..PointHealth::default()
        });
        let health = Health { engine: env!("CARGO_PKG_VERSION"), points: points.collect(), ..Health::default() };
        let lanes = (0..names.len() * feed.lanes()).map(|_| Lane::default()).collect();
        let losing = vec![false; names.len()];
        let mut core = Core::new(names, SIZE, signatures);
        core.flows.follow_paces(PACE_STEPS);
        let (exporting, writer, shapes) = (None, None, Shapes::new(names.len()));
        Self { core, feed, lanes, newest_ns: 0, quiet: 0, losing, health, exporting, shapes, writer, shared }
    }

    fn set_bundle(&mut self, bundle: Arc<Bundle>) {
        let version = bundle.version.clone();
        self.core.set_bundle(bundle);
        lock(&self.shared.outbox).bundle = Some(version);
    }

    fn run(mut self) {
        let mut ended = false;
        while !self.shared.stop.load(Ordering::Acquire) {
            let bundle = lock(&self.shared.next_bundle).take();
            if let Some(bundle) = bundle {
                self.set_bundle(bundle);
            }
            self.feed.wait();
            let read = self.read();
            self.quiet = if read > 0 { 0 } else { self.quiet.saturating_add(1) };
            self.release();
            if self.feed.is_over() && self.quiet > QUIET_WAITS && !ended {
                ended = true;
                self.core.finish();
                self.shapes.hurry();
            }
            self.publish();
            self.export(false);
            self.tell_shape();
            if self.quiet > 0 && self.quiet % LOOK_WAITS == 0 {
                if let Some(why) = self.feed.trouble() {
                    lock(&self.shared.outbox).failed = Some(why);
                    break;
                }
            }
        }
        self.export(true);
        self.shared.ready.notify_all();
    }

    /// Put flow records where the owner takes them.
    fn export(&mut self, is_end: bool) {
        let Some(exporting) = &mut self.exporting else { return };
        let mut bytes = Vec::new();
        let (flows, ground) = (&mut self.core.flows.tables_mut()[0], &self.core.ground);
        match is_end {
            true => exporting.finish(flows, ground, &mut bytes),
            false => exporting.step(flows, ground, self.newest_ns, &mut bytes),
        }
        let mut waiting = lock(&self.shared.records);
        if waiting.len() + bytes.len() <= MAX_RECORDS {
            waiting.append(&mut bytes);
        }
    }

    /// Take everything that waits, and the counters.
    fn read(&mut self) -> usize {
        let Self { core, feed, lanes, newest_ns, losing, shapes, .. } = self;
        let each = feed.lanes();
        let read = feed.read(&mut |lane, Looked { packet, beside }| {
            let number = lane / each;
            *newest_ns = (*newest_ns).max(packet.ts_ns);
            if losing[number] {
                losing[number] = false;
                core.dropped(number, packet.ts_ns);
            }
            lanes[lane].push(packet);
            if let Some(mut beside) = beside {
                shapes.note(number, &mut beside);
                beside.carried.into_iter().for_each(|inner| lanes[lane].push_carried(inner));
            }
        });
        for (number, point) in self.health.points.iter_mut().enumerate() {
            let taken = self.feed.taken(number);
            if taken.dropped > point.dropped || taken.missed.unwrap_or(0) > point.missed.unwrap_or(0) {
                self.core.dropped(number, self.newest_ns);
                self.losing[number] = true;
            }
            (point.received, point.dropped, point.ring_full) = (taken.received, taken.dropped, taken.ring_full);
            (point.missed, point.refused) = (taken.missed, taken.refused);
            point.opened = self.feed.opened(number);
            point.stamps = self.feed.stamped_by(number).map(|by| Stamps::new(&taken, by));
        }
        read
    }

    /// Let packets go on to the judge whose turn has surely come.
    fn release(&mut self) {
        let hold = if self.lanes.len() > 1 && self.quiet < QUIET_WAITS { HOLD_NS } else { 0 };
        let horizon = self.newest_ns.saturating_sub(hold);
        let each = self.feed.lanes();
        while let Some((lane, ns)) = earliest(self.lanes.iter()) {
            if ns > horizon && self.lanes.iter().all(|lane| lane.len() < MAX_WAITING) {
                break;
            }
            let Some(packet) = self.lanes[lane].pop() else { break };
            let number = (lane / each) as u16;
            self.core.packet(number, &packet);
            while let Some(inner) = self.lanes[lane].pop_carried(packet.ts_ns) {
                self.core.carried(number, &inner);
            }
        }
    }

    /// Neighbours, tunnels and bulk, unless they are still being written: then it is asked again.
    fn tell_shape(&mut self) {
        if self.writer.as_ref().is_some_and(|writer| !writer.is_finished()) {
            return;
        }
        let Some(draft) = self.shapes.step(&mut self.core, self.newest_ns) else { return };
        let shared = Arc::clone(&self.shared);
        let write = move |draft: Draft| {
            let told = draft.write();
            lock(&shared.outbox).shape = Some(told);
            shared.ready.notify_all();
        };
        // Without a thread it is told next time.
        self.writer = std::thread::Builder::new().name("shape".into()).spawn(move || write(draft)).ok();
    }

    /// Put finished work and the counters where the owner finds them.
    fn publish(&mut self) {
        self.health.received = self.health.points.iter().map(|point| point.received).sum();
        self.health.dropped.kernel = self.health.points.iter().map(|point| point.dropped).sum();
        self.health.dropped.interface = self.health.points.iter().filter_map(|point| point.missed).sum();
        self.health.decode_errors = self.core.points.iter().map(|point| point.decode_errors).sum();
        self.health.overflow = self.core.overflow();
        self.health.last_packet_ns = self.core.points.iter().filter_map(|point| point.last_ns).max();
        let mut outbox = lock(&self.shared.outbox);
        outbox.set_health(self.health.clone());
        self.core.verdicts.drain(..).for_each(|verdict| outbox.add(verdict));
        self.core.observations.drain(..).for_each(|row| outbox.add_row(row));
        if !outbox.is_empty() {
            self.shared.ready.notify_all();
        }
    }
}
