//! What a running engine reads: rings of interfaces, or files at their own pace.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nc_flow::Signatures;
use nc_source::{CaptureFile, SourceError, StampedBy};

use crate::look::{looked, Looked};
use crate::unwrap::{opened, Opened, Opener, Opening};

/// One wait for packets.
pub(crate) const WAIT: Duration = Duration::from_millis(20);
/// Most packets of a file taken at once.
const BURST: usize = 4_096;

/// Cumulative counters of one point, as in [`crate::outbox::PointHealth`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub received: u64,
    pub dropped: u64,
    pub ring_full: u64,
    pub missed: Option<u64>,
    pub refused: Option<u64>,
    pub by_card: u64,
    pub stray: u64,
}

/// A source of packets of several points.
pub(crate) trait Feed: Send {
    /// Sleep until there may be packets, a short while at most.
    fn wait(&mut self);
    /// Lanes of each point, of equal number: those of the first come first.
    fn lanes(&self) -> usize {
        1
    }
    /// Hand over what has come: (lane, frame), each lane's in its own order. Returns how many.
    fn read(&mut self, sink: &mut dyn FnMut(usize, Looked)) -> usize;
    fn taken(&mut self, point: usize) -> Taken;
    /// Whose clock is to stamp its frames; None for files, whose clock nobody knows.
    fn stamped_by(&self, _point: usize) -> Option<StampedBy> {
        None
    }
    /// Times of both points may be compared to the nanosecond; of files that is taken for granted.
    fn is_one_clock(&self, a: usize, b: usize) -> bool {
        self.stamped_by(a).zip(self.stamped_by(b)).is_none_or(|(one, other)| one.is_one_with(other))
    }
    /// What came of its frames where they are opened.
    fn opened(&self, _point: usize) -> Option<Opened> {
        None
    }
    /// Interface or file of a point.
    fn place(&self, point: usize) -> String;
    /// Why nothing can come any more, as one line; None while all is well. Asked only in quiet times.
    fn trouble(&mut self) -> Option<String>;
    /// Everything was read, for ever.
    fn is_over(&self) -> bool {
        false
    }
}

/// Files, played so that a second of packet time takes a second.
pub(crate) struct FileFeed {
    files: Vec<Played>,
    /// When playing began, and the earliest packet time.
    began: Option<(Instant, u64)>,
    error: Option<SourceError>,
    signatures: Arc<Signatures>,
}

struct Played {
    path: PathBuf,
    file: CaptureFile,
    opener: Option<Opener>,
    next: Option<Looked>,
    taken: Taken,
}

impl FileFeed {
    pub fn open(paths: Vec<(PathBuf, Opening)>, signatures: Arc<Signatures>) -> Result<Self, SourceError> {
        let mut files = Vec::new();
        for (path, opening) in paths {
            let file = CaptureFile::open(&path)?;
            let opener = Opener::new(opening);
            files.push(Played { path, file, opener, next: None, taken: Taken::default() });
        }
        let mut feed = Self { files, began: None, error: None, signatures };
        for number in 0..feed.files.len() {
            feed.step(number);
        }
        Ok(feed)
    }

    /// Read one packet ahead; a damaged file ends where the damage begins.
    fn step(&mut self, number: usize) {
        let Played { file, opener, next, .. } = &mut self.files[number];
        *next = None;
        loop {
            match file.next_frame() {
                Ok(Some(frame)) => match opened(opener, &frame) {
                    Some(frame) => *next = Some(looked(&frame, &self.signatures)),
                    None => continue,
                },
                Ok(None) => {}
                Err(error) => self.error = Some(error),
            }
            return;
        }
    }

    /// Packet time that has come by now.
    fn due_ns(&mut self) -> u64 {
        let first = self.files.iter().filter_map(|played| Some(played.next.as_ref()?.packet.ts_ns)).min();
        let (began, first) = *self.began.get_or_insert_with(|| (Instant::now(), first.unwrap_or(0)));
        first.saturating_add(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Feed for FileFeed {
    fn wait(&mut self) {
        std::thread::sleep(WAIT);
    }

    fn read(&mut self, sink: &mut dyn FnMut(usize, Looked)) -> usize {
        let due_ns = self.due_ns();
        let mut read = 0;
        for number in 0..self.files.len() {
            for _ in 0..BURST {
                let Some(frame) = self.files[number].next.take_if(|frame| frame.packet.ts_ns <= due_ns) else { break };
                sink(number, frame);
                self.files[number].taken.received += 1;
                read += 1;
                self.step(number);
            }
        }
        read
    }

    fn taken(&mut self, point: usize) -> Taken {
        let played = &self.files[point];
        // Of a file it is its capture that lost packets.
        Taken { dropped: played.file.drops().dropped.unwrap_or(0), ..played.taken }
    }

    fn opened(&self, point: usize) -> Option<Opened> {
        self.files[point].opener.as_ref().map(Opener::told)
    }

    fn place(&self, point: usize) -> String {
        self.files[point].path.display().to_string()
    }

    fn trouble(&mut self) -> Option<String> {
        Some(self.error.as_ref()?.to_string())
    }

    fn is_over(&self) -> bool {
        self.files.iter().all(|played| played.next.is_none())
    }
}
