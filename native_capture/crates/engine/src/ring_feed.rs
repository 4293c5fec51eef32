//! Interfaces that are read live: in the engine's thread, or by threads that share out what comes to each interface.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nc_flow::Signatures;
use nc_source::{lost, wait_readable, Lost, Ring, RingStats, StampedBy};

use crate::feed::{Feed, Taken, WAIT};
use crate::look::{looked, Looked};
use crate::unwrap::{opened, Opened, Opener, Opening};

const SECOND: Duration = Duration::from_secs(1);
/// Packets that a reading thread hands over at once, and handings that may wait: beyond that the rings fill, and the kernel counts what it drops.
const HAND: usize = 4_096;
const HANDS: usize = 64;

/// Counters of an interface since the start; they are asked once a second.
struct Losses {
    asked: Instant,
    last: Option<Lost>,
    missed: u64,
    refused: u64,
}

impl Losses {
    fn new(interface: &str) -> Self {
        Self { asked: Instant::now(), last: lost(interface), missed: 0, refused: 0 }
    }

    /// The device's counters wrap; an interface that is gone, or new under its old name, has nothing to compare.
    fn ask(&mut self, interface: &str) {
        if self.asked.elapsed() < SECOND {
            return;
        }
        self.asked = Instant::now();
        let found = lost(interface);
        if let (Some(last), Some(now)) = (self.last, found) {
            self.missed += u64::from(now.missed.wrapping_sub(last.missed));
            self.refused += u64::from(now.dropped.wrapping_sub(last.dropped));
        }
        self.last = found;
    }

    fn beside(&self, stats: RingStats) -> Taken {
        let known = self.last.is_some();
        Taken {
            received: stats.received,
            dropped: stats.dropped,
            ring_full: stats.full,
            missed: known.then_some(self.missed),
            refused: known.then_some(self.refused),
            by_card: stats.by_card,
            stray: stats.stray,
        }
    }
}

/// All interfaces in this thread.
pub(crate) struct RingFeed {
    rings: Vec<Ring>,
    losses: Vec<Losses>,
    openers: Vec<Option<Opener>>,
    signatures: Arc<Signatures>,
}

impl RingFeed {
    pub fn new(rings: Vec<Ring>, openings: &[Opening], signatures: Arc<Signatures>) -> Self {
        let losses = rings.iter().map(|ring| Losses::new(ring.interface())).collect();
        Self { rings, losses, openers: openers(openings), signatures }
    }
}

fn openers(openings: &[Opening]) -> Vec<Option<Opener>> {
    openings.iter().map(|opening| Opener::new(*opening)).collect()
}

impl Feed for RingFeed {
    fn wait(&mut self) {
        wait_readable(&self.rings, WAIT.as_millis() as i32);
    }

    fn read(&mut self, sink: &mut dyn FnMut(usize, Looked)) -> usize {
        let mut read = 0;
        for (number, (ring, opener)) in self.rings.iter_mut().zip(&mut self.openers).enumerate() {
            read += ring.drain(|frame| {
                if let Some(frame) = opened(opener, frame) {
                    sink(number, looked(&frame, &self.signatures));
                }
            });
        }
        read
    }

    fn taken(&mut self, point: usize) -> Taken {
        let (ring, losses) = (&mut self.rings[point], &mut self.losses[point]);
        losses.ask(ring.interface());
        losses.beside(ring.stats())
    }

    fn stamped_by(&self, point: usize) -> Option<StampedBy> {
        Some(self.rings[point].stamped_by())
    }

    fn opened(&self, point: usize) -> Option<Opened> {
        self.openers[point].as_ref().map(Opener::told)
    }

    fn place(&self, point: usize) -> String {
        self.rings[point].interface().to_owned()
    }

    fn trouble(&mut self) -> Option<String> {
        trouble(self.rings.iter().map(Ring::interface))
    }
}

fn trouble<'a>(mut interfaces: impl Iterator<Item = &'a str>) -> Option<String> {
    let gone = interfaces.find(|interface| !nc_source::is_there(interface))?;
    Some(format!("{gone}: the interface is gone. Start again when it is back"))
}

/// What a reading thread took from one ring: `frames`, of which some may have been left out; and the ring's counters then. `opened`: since the
/// start.
struct Hand {
    lane: usize,
    packets: Vec<Looked>,
    frames: u64,
    stats: RingStats,
    opened: Option<Opened>,
}

/// Several rings for each interface, and a thread for the first of each, the second of each, and so on. `hand`: came while waiting.
pub(crate) struct SharedFeed {
    interfaces: Vec<String>,
    stamped_by: Vec<StampedBy>,
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    hands: Option<Receiver<Hand>>,
    hand: Option<Hand>,
    /// By lane: packets handed on, and the newest counters.
    stats: Vec<RingStats>,
    opened: Vec<Option<Opened>>,
    losses: Vec<Losses>,
}

impl SharedFeed {
    /// `rings`: of each interface as many.
    pub fn start(rings: Vec<Vec<Ring>>, openings: &[Opening], signatures: &Arc<Signatures>) -> std::io::Result<Self> {
        let interfaces: Vec<String> = rings.iter().map(|rings| rings[0].interface().to_owned()).collect();
        let stamped_by = rings.iter().map(|rings| rings[0].stamped_by()).collect();
        let each = rings[0].len();
        let (stop, (give, hands)) = (Arc::new(AtomicBool::new(false)), sync_channel(HANDS));
        let mut shares: Vec<Vec<(usize, Ring)>> = (0..each).map(|_| Vec::new()).collect();
        for (point, rings) in rings.into_iter().enumerate() {
            for (number, ring) in rings.into_iter().enumerate() {
                shares[number].push((point * each + number, ring));
            }
        }
        let stats = vec![RingStats::default(); interfaces.len() * each];
        let opened = vec![None; stats.len()];
        let losses = interfaces.iter().map(|interface| Losses::new(interface)).collect();
        let (threads, hand) = (Vec::new(), None);
        let mut feed = Self { interfaces, stamped_by, threads, stop, hands: Some(hands), hand, stats, opened, losses };
        for share in shares {
            let (lanes, rings) = share.into_iter().unzip();
            let (openers, signatures) = (openers(openings), Arc::clone(signatures));
            let reader = RingReader { lanes, rings, openers, signatures, give: give.clone() };
            let stop = Arc::clone(&feed.stop);
            let thread = std::thread::Builder::new().name("ring".into()).spawn(move || reader.run(&stop))?;
            feed.threads.push(thread);
        }
        Ok(feed)
    }

    fn take(&mut self, hand: Hand, sink: &mut dyn FnMut(usize, Looked)) -> usize {
        let stats = &mut self.stats[hand.lane];
        *stats = RingStats { received: stats.received + hand.frames, ..hand.stats };
        self.opened[hand.lane] = hand.opened;
        let read = hand.packets.len();
        hand.packets.into_iter().for_each(|packet| sink(hand.lane, packet));
        read
    }
}

impl Drop for SharedFeed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // A thread that waits for room to hand over hears that there is nobody.
        self.hands = None;
        for thread in self.threads.drain(..) {
            // A panic there was printed when it happened.
            let _ = thread.join();
        }
    }
}

impl Feed for SharedFeed {
    fn wait(&mut self) {
        let Some(hands) = self.hands.as_ref().filter(|_| self.hand.is_none()) else { return };
        match hands.recv_timeout(WAIT) {
            Ok(hand) => self.hand = Some(hand),
            Err(RecvTimeoutError::Timeout) => {}
            // Every reading thread has ended: `trouble` says so.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(WAIT),
        }
    }

    fn lanes(&self) -> usize {
        self.stats.len() / self.interfaces.len()
    }

    fn read(&mut self, sink: &mut dyn FnMut(usize, Looked)) -> usize {
        let mut read = 0;
        for _ in 0..HANDS {
            let next = self.hand.take().or_else(|| self.hands.as_ref()?.try_recv().ok());
            let Some(hand) = next else { break };
            read += self.take(hand, sink);
        }
        read
    }

    fn taken(&mut self, point: usize) -> Taken {
        let lanes = self.lanes();
        self.losses[point].ask(&self.interfaces[point]);
        let of_point = &self.stats[point * lanes..(point + 1) * lanes];
        self.losses[point].beside(of_point.iter().fold(RingStats::default(), |sum, stats| sum.plus(*stats)))
    }

    fn stamped_by(&self, point: usize) -> Option<StampedBy> {
        Some(self.stamped_by[point])
    }

    fn opened(&self, point: usize) -> Option<Opened> {
        let lanes = self.lanes();
        let mut told = self.opened[point * lanes..(point + 1) * lanes].iter().flatten();
        let mut sum = told.next()?.clone();
        told.for_each(|more| sum.add(more));
        Some(sum)
    }

    fn place(&self, point: usize) -> String {
        self.interfaces[point].clone()
    }

    fn trouble(&mut self) -> Option<String> {
        if self.threads.iter().any(JoinHandle::is_finished) {
            return Some("a reading thread has ended. Tell the makers what it printed".into());
        }
        trouble(self.interfaces.iter().map(String::as_str))
    }
}

/// In a thread of its own: one ring of each interface.
struct RingReader {
    lanes: Vec<usize>,
    rings: Vec<Ring>,
    openers: Vec<Option<Opener>>,
    signatures: Arc<Signatures>,
    give: SyncSender<Hand>,
}

impl RingReader {
    fn run(mut self, stop: &AtomicBool) {
        let mut told = vec![RingStats::default(); self.rings.len()];
        while !stop.load(Ordering::Acquire) {
            wait_readable(&self.rings, WAIT.as_millis() as i32);
            for (number, ring) in self.rings.iter_mut().enumerate() {
                let (lane, mut packets, mut is_gone) = (self.lanes[number], Vec::new(), false);
                let opener = &mut self.openers[number];
                let mut frames = 0;
                ring.drain(|frame| {
                    frames += 1;
                    if let Some(frame) = opened(opener, frame) {
                        packets.push(looked(&frame, &self.signatures));
                    }
                    if packets.len() >= HAND {
                        let full = std::mem::replace(&mut packets, Vec::with_capacity(HAND));
                        let (frames, opened) = (std::mem::take(&mut frames), opener.as_ref().map(Opener::told));
                        let hand = Hand { lane, packets: full, frames, stats: told[number], opened };
                        is_gone |= self.give.send(hand).is_err();
                    }
                });
                let stats = ring.stats();
                let news = frames > 0 || stats.dropped != told[number].dropped;
                told[number] = stats;
                let opened = opener.as_ref().map(Opener::told);
                if is_gone || news && self.give.send(Hand { lane, packets, frames, stats, opened }).is_err() {
                    return;
                }
            }
        }
    }
}
