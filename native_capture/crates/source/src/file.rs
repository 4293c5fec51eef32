//! A capture file, whatever its format: told by its first bytes, never by its name. Compressed by gzip or zstd, or standard
//! input, it reads the same; byte offsets of records then count the uncompressed bytes, those of damaged packed data the packed ones.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::buffer::Buffer;
use crate::error::{Code, SourceError};
use crate::packed::{Damage, Packed, Plain};
use crate::said::{Drops, Lengths};
use crate::{gzip, pcap, pcapng, zstd, Frame};

/// Largest captured packet that is believed (BIG TCP frames reach 512 KiB).
pub(crate) const MAX_CAPTURED: u32 = 16 << 20;

/// Reads frames in file order. After an error nothing more comes; what was read before it is good.
pub struct CaptureFile {
    reader: Reader,
    format: Format,
    lengths: Lengths,
    done: bool,
}

enum Format {
    Pcap(pcap::Header),
    Pcapng(Box<pcapng::Section>),
}

/// The bytes and the name they are reported under.
pub(crate) struct Reader {
    pub buffer: Buffer,
    pub name: String,
    is_packed: bool,
}

impl Reader {
    fn new(name: &str, bytes: Box<dyn Read + Send>) -> Self {
        Self { buffer: Buffer::new(bytes), name: name.to_owned(), is_packed: false }
    }

    /// Why a record makes no sense: where packed data is damaged behind it, it was so before.
    #[cold]
    fn cause(&mut self, error: SourceError) -> SourceError {
        let proof = match error.code {
            Code::Corrupt if self.is_packed => self.buffer.skip(u64::MAX).err(),
            _ => None,
        };
        match proof.as_ref().and_then(Damage::of) {
            Some(damage) => damage.told(&self.name, error.offset),
            None => error,
        }
    }

    pub fn error(&self, code: Code, offset: u64, what: impl Into<String>, cure: &'static str) -> SourceError {
        SourceError::new(code, &self.name, Some(offset), what, cure)
    }

    pub fn truncated(&self, offset: u64, have: usize, need: u64) -> SourceError {
        let what = format!("the file ends after {have} of {need} bytes of this record");
        self.error(Code::Truncated, offset, what, "Copy the capture again; everything before this byte was read")
    }

    pub fn corrupt(&self, offset: u64, what: impl Into<String>) -> SourceError {
        self.error(Code::Corrupt, offset, what, "Copy the capture again; everything before this byte was read")
    }

    pub fn io(&self, error: &io::Error) -> SourceError {
        unreadable(&self.name, error)
    }

    /// `peek` with the error told.
    pub fn peek(&mut self, n: usize) -> Result<&[u8], SourceError> {
        match self.buffer.peek(n) {
            Ok(bytes) => Ok(bytes),
            Err(error) => Err(unreadable(&self.name, &error)),
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> SourceError {
    if let Some(damage) = Damage::of(error) {
        return damage.told(name, None);
    }
    let what = match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => format!("cannot be read ({error})"),
    };
    SourceError::new(Code::Unreadable, name, None, what, "Name a readable pcap or pcapng file")
}

impl CaptureFile {
    /// Open and read the file header; `-` is standard input. `name` of errors is the path as given.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        let file: Box<dyn Read + Send> = match name.as_str() {
            "-" => Box::new(io::stdin()),
            _ => Box::new(File::open(path).map_err(|error| unreadable(&name, &error))?),
        };
        Self::read(&name, file)
    }

    /// As `open`, from any stream; `name` is for errors.
    pub fn read(name: &str, bytes: Box<dyn Read + Send>) -> Result<Self, SourceError> {
        let mut reader = Reader::new(name, bytes);
        unpack(&mut reader)?;
        let format = recognise(&mut reader)?;
        Ok(Self { reader, format, lengths: Lengths::default(), done: false })
    }

    /// What the capture says, up to what was read, of packets that are not in it.
    pub fn drops(&self) -> Drops {
        match &self.format {
            Format::Pcap(_) => Drops::default(),
            Format::Pcapng(section) => section.drops(),
        }
    }

    /// Frames read so far whose lengths were not believed.
    pub fn lengths(&self) -> Lengths {
        self.lengths
    }

    /// The next frame, or None at the end.
    #[inline]
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, SourceError> {
        if self.done {
            return Ok(None);
        }
        // `done` is set first and cleared on success: the borrow of a returned frame lasts as long as self.
        self.done = true;
        let header = match &mut self.format {
            Format::Pcap(header) => header.next_record(&mut self.reader, &mut self.lengths),
            Format::Pcapng(section) => section.next_record(&mut self.reader, &mut self.lengths),
        };
        let Some(record) = header.map_err(|error| self.reader.cause(error))? else { return Ok(None) };
        self.done = false;
        let bytes = self.reader.buffer.consumed(record.behind).get(..record.captured).unwrap_or(&[]);
        Ok(Some(Frame { ts_ns: record.ts_ns, link: record.link, frame_len: record.frame_len, bytes }))
    }

    /// Hand over up to `most` frames, none only at the end; returns how many. Fewer is not yet the end.
    #[inline]
    pub fn frames(&mut self, most: usize, to: &mut impl TakesFrames) -> Result<usize, SourceError> {
        if let (Format::Pcap(header), false) = (&self.format, self.done) {
            let (mut count, mut at, bytes) = (0, 0, self.reader.buffer.unread());
            while count < most {
                let Some(record) = header.whole(&bytes[at..], &mut self.lengths) else { break };
                at += header.record_len() + record.captured;
                let bytes = &bytes[at - record.captured..at];
                to.take(Frame { ts_ns: record.ts_ns, link: record.link, frame_len: record.frame_len, bytes });
                count += 1;
            }
            self.reader.buffer.consume(at);
            if count > 0 {
                return Ok(count);
            }
        }
        self.one(to)
    }

    /// By a pointer, so that what takes a frame can stand in the loop above and nowhere else.
    #[inline(never)]
    fn one(&mut self, to: &mut dyn TakesFrames) -> Result<usize, SourceError> {
        let Some(frame) = self.next_frame()? else { return Ok(0) };
        to.take(frame);
        Ok(1)
    }
}

/// What frames are handed to.
pub trait TakesFrames {
    fn take(&mut self, frame: Frame<'_>);
}

/// A record whose bytes were just consumed: they start `behind` bytes back and are `captured` long.
pub(crate) struct Record {
    pub ts_ns: u64,
    pub link: u32,
    pub frame_len: u32,
    pub captured: usize,
    pub behind: usize,
}

fn is_packed(magic: &[u8]) -> bool {
    magic.starts_with(&gzip::MAGIC) || zstd::begins(magic)
}

/// Put the decompressor between, when the first bytes are those of one.
fn unpack(reader: &mut Reader) -> Result<(), SourceError> {
    let magic = reader.peek(4)?.to_vec();
    if is_packed(&magic) {
        let packed = std::mem::replace(&mut reader.buffer, Buffer::new(Box::new(io::empty()))).into_rest();
        let packed = Packed::new(packed);
        let plain: Box<dyn Read + Send> = match magic.starts_with(&gzip::MAGIC) {
            true => Box::new(Plain::new(gzip::Members::new(packed))),
            false => Box::new(Plain::new(zstd::Frames::new(packed))),
        };
        (reader.buffer, reader.is_packed) = (Buffer::new(plain), true);
    }
    Ok(())
}

fn recognise(reader: &mut Reader) -> Result<Format, SourceError> {
    // Not a byte more than the shorter header: a pipe holds only that until its first packet.
    let head = reader.peek(pcap::Header::LEN)?.to_vec();
    let refuse = |what: String, cure| Err(SourceError::new(Code::NotACapture, &reader.name, Some(0), what, cure));
    const CURE: &str = "Give a pcap or pcapng file";
    let Some(magic) = head.first_chunk::<4>() else {
        return refuse(
            if head.is_empty() { "the file is empty".into() } else { "too short for a capture".into() },
            CURE,
        );
    };
    if is_packed(magic) {
        return refuse("compressed more than once".into(), "Decompress it first");
    }
    if *magic == pcapng::SECTION_MAGIC {
        return match head.first_chunk().map(pcapng::byte_order) {
            Some(Err((what, cure))) => refuse(what, cure),
            _ => Ok(Format::Pcapng(Box::default())),
        };
    }
    match pcap::Header::parse(&head) {
        Some(Ok(header)) => {
            reader.buffer.consume(pcap::Header::LEN);
            Ok(Format::Pcap(header))
        }
        Some(Err(what)) => refuse(what, CURE),
        None => refuse(
            format!(
                "starts with {:02x}{:02x}{:02x}{:02x}, no magic number of a capture",
                magic[0], magic[1], magic[2], magic[3]
            ),
            CURE,
        ),
    }
}
