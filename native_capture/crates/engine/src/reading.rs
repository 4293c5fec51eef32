//! A capture as blocks of decoded packets, read in the caller's thread or in one of its own; what comes is the same.

use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};
use std::sync::Arc;
use std::thread::JoinHandle;

use nc_decode::Packet;
use nc_flow::Signatures;
use nc_source::{CaptureFile, Drops, Frame, Lengths, SourceError, TakesFrames};

use crate::carried::Carried;
use crate::look::{beside, look};
use crate::names::{told, Told};
use crate::neighbours::Neighbour;
use crate::offline::BATCH;
use crate::unwrap::{Opened, Opener, Opening};

/// Packets of a block that is read in the caller's thread, and in one of its own.
const HERE: usize = BATCH;
const AHEAD: usize = 1_024;
/// Blocks that may wait to be taken.
const WAITING: usize = 8;

/// The next packets of a file in its own order. `told`: places in `packets`, ascending, with the names that their payload told;
/// `carried` likewise, with what is inside.
/// `cut`: packets whose end was not kept, `tcp_kept` and `udp_kept`: most payload bytes that one of them holds. The last block
/// may be empty; `error` is why it is the last; it has what the capture says of its own losses, lengths not believed, and what came of
/// opening its frames.
#[derive(Default)]
pub(crate) struct Block {
    pub packets: Vec<Packet>,
    pub told: Vec<(usize, Told)>,
    pub neighbours: Vec<Neighbour>,
    pub carried: Vec<(usize, Carried)>,
    pub cut: u64,
    pub tcp_kept: usize,
    pub udp_kept: usize,
    pub error: Option<SourceError>,
    pub drops: Drops,
    pub lengths: Lengths,
    pub opened: Option<Box<Opened>>,
    pub is_last: bool,
}

impl Block {
    /// What a mirror wrapped.
    #[cold]
    fn open(&mut self, opener: &mut Opener, frame: Frame<'_>, earlier: i64, signatures: &Signatures) {
        if let Some(inner) = opener.open(&frame) {
            self.add(inner, earlier, signatures);
        }
    }

    /// `earlier`: by how much the capture's clock is behind.
    #[inline(always)]
    fn add(&mut self, frame: Frame<'_>, earlier: i64, signatures: &Signatures) {
        let frame = &Frame { ts_ns: frame.ts_ns.saturating_add_signed(earlier), ..frame };
        let at = self.packets.len();
        self.packets.push(Packet::default());
        let packet = &mut self.packets[at];
        look(frame, signatures, packet);
        if packet.payload_len > 0 {
            if let Some(told) = told(packet, frame.bytes) {
                self.told.push((at, told));
            }
        }
        if let Some(beside) = beside(packet, frame.bytes, signatures) {
            self.carried.extend(beside.carried.into_iter().map(|inner| (at, inner)));
            self.neighbours.extend(beside.neighbour);
        }
        if (frame.bytes.len() as u64) < u64::from(frame.frame_len) {
            self.cut += 1;
            let above = frame.bytes.get(usize::from(packet.payload_at)..).filter(|_| packet.payload_at > 0);
            let kept = if packet.is_tcp() { &mut self.tcp_kept } else { &mut self.udp_kept };
            *kept = (*kept).max(above.map_or(0, <[u8]>::len));
        }
    }

    fn clear(&mut self) {
        let (mut packets, mut told) = (std::mem::take(&mut self.packets), std::mem::take(&mut self.told));
        let mut carried = std::mem::take(&mut self.carried);
        packets.clear();
        told.clear();
        carried.clear();
        *self = Self { packets, told, carried, ..Self::default() };
    }
}

/// `earlier`: by how much the capture's clock is behind.
struct Filling<'a> {
    block: &'a mut Block,
    opener: Option<&'a mut Opener>,
    earlier: i64,
    signatures: &'a Signatures,
}

impl TakesFrames for Filling<'_> {
    #[inline(always)]
    fn take(&mut self, frame: Frame<'_>) {
        let Self { block, opener, earlier, signatures } = self;
        match opener {
            None => block.add(frame, *earlier, signatures),
            Some(opener) => block.open(opener, frame, *earlier, signatures),
        }
    }
}

/// `offset_ns`: by how much the capture's clock is ahead.
struct Reader {
    file: CaptureFile,
    offset_ns: i64,
    opener: Option<Opener>,
    signatures: Arc<Signatures>,
}

impl Reader {
    /// Up to `most` packets; fewer only at the end.
    fn fill(&mut self, block: &mut Block, most: usize) {
        block.clear();
        let Self { file, offset_ns, opener, signatures } = self;
        let earlier = offset_ns.saturating_neg();
        while block.packets.len() < most && !block.is_last {
            let room = most - block.packets.len();
            match file.frames(room, &mut Filling { block, opener: opener.as_mut(), earlier, signatures }) {
                Ok(0) => block.is_last = true,
                Ok(_) => {}
                Err(error) => {
                    block.error = Some(error);
                    block.is_last = true;
                }
            }
        }
        if block.is_last {
            (block.drops, block.lengths) = (file.drops(), file.lengths());
            block.opened = opener.as_ref().map(|opener| Box::new(opener.told()));
        }
    }

    /// Read on until the end, or until nobody wants more.
    fn run(mut self, full: &SyncSender<Block>, empty: &Receiver<Block>) {
        loop {
            let mut block = empty.try_recv().unwrap_or_default();
            self.fill(&mut block, AHEAD);
            let is_last = block.is_last;
            if full.send(block).is_err() || is_last {
                return;
            }
        }
    }
}

/// A thread that reads ahead. It is never waited for: one that sleeps in a read of a pipe ends with the pipe.
struct Ahead {
    full: Receiver<Block>,
    empty: Sender<Block>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    fn start(reader: Reader) -> std::io::Result<Self> {
        let (full_in, full) = sync_channel(WAITING);
        let (empty, empty_out) = channel();
        let thread = std::thread::Builder::new().name("read".into()).spawn(move || reader.run(&full_in, &empty_out))?;
        Ok(Self { full, empty, thread: Some(thread) })
    }

    fn next(&mut self, block: &mut Block) {
        // A thread that has ended takes nothing back.
        let _ = self.empty.send(std::mem::take(block));
        match self.full.recv() {
            Ok(next) => *block = next,
            Err(_) => {
                block.is_last = true;
                if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
                    std::panic::resume_unwind(panic);
                }
            }
        }
    }
}

/// Where the blocks of a file come from.
pub(crate) struct Blocks(From);

enum From {
    Here(Box<Reader>),
    Ahead(Ahead),
}

impl Blocks {
    /// `offset_ns`: by how much the capture's clock is ahead; `ahead`: in a thread of its own.
    pub fn new(
        file: CaptureFile,
        (offset_ns, opening): (i64, Opening),
        signatures: &Arc<Signatures>,
        ahead: bool,
    ) -> Result<Self, std::io::Error> {
        let reader = Reader { file, offset_ns, opener: Opener::new(opening), signatures: Arc::clone(signatures) };
        Ok(Self(if ahead { From::Ahead(Ahead::start(reader)?) } else { From::Here(Box::new(reader)) }))
    }

    /// Put the next packets into `block`.
    pub fn next(&mut self, block: &mut Block) {
        match &mut self.0 {
            From::Here(reader) => reader.fill(block, HERE),
            From::Ahead(ahead) => ahead.next(block),
        }
    }
}
