//! What gzip and zstd have in common: where in the packed file reading stands, and how damage is told.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use crate::error::{Code, SourceError};

/// Packed bytes, and how many of them were taken.
pub(crate) struct Packed {
    bytes: BufReader<Box<dyn Read + Send>>,
    at: u64,
}

impl Packed {
    pub fn new(bytes: Box<dyn Read + Send>) -> Self {
        Self { bytes: BufReader::new(bytes), at: 0 }
    }

    pub fn is_over(&mut self) -> io::Result<bool> {
        Ok(self.fill_buf()?.is_empty())
    }

    pub fn damage(&self, kind: &'static str, how: How) -> Damage {
        Damage { at: self.at, kind, how }
    }
}

impl Read for Packed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(into)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl BufRead for Packed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.bytes.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.bytes.consume(count);
        self.at += count as u64;
    }
}

/// A format of packed data.
pub(crate) trait Unpack {
    /// Unpack on into `plain`, which is empty. It holds nothing and all is well only at the end; what was unpacked before an error stands
    /// in it beside the error.
    fn more(&mut self, plain: &mut Vec<u8>) -> io::Result<()>;
}

/// The plain bytes of packed data. All that came before damage is handed over, and then the damage is told, once.
pub(crate) struct Plain<U> {
    from: U,
    bytes: Vec<u8>,
    start: usize,
    broken: Option<io::Error>,
    is_over: bool,
}

impl<U: Unpack> Plain<U> {
    pub fn new(from: U) -> Self {
        Self { from, bytes: Vec::new(), start: 0, broken: None, is_over: false }
    }
}

impl<U: Unpack> Read for Plain<U> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.start == self.bytes.len() && !self.is_over {
            self.bytes.clear();
            self.start = 0;
            self.broken = self.from.more(&mut self.bytes).err();
            self.is_over = self.broken.is_some() || self.bytes.is_empty();
        }
        let mut rest = &self.bytes[self.start..];
        let count = rest.read(into)?;
        self.start += count;
        match self.broken.take_if(|_| count == 0) {
            Some(error) => Err(error),
            None => Ok(count),
        }
    }
}

/// In which way packed data is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It ends before its end mark.
    Short,
    /// It cannot be unpacked further.
    Structure,
    /// What was unpacked is not what was packed.
    Checksum,
    /// Nor is it as long.
    Length,
    /// Bytes follow it that are no packed data.
    Behind,
}

/// `at`: byte of the packed file before which it lies. `kind`: gzip or zstd. It comes as the cause of an `io::Error`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damage {
    at: u64,
    kind: &'static str,
    how: How,
}

impl Damage {
    /// Of an error that a decompressor gave.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }

    /// Whether what came before it may be wrong, and not only what comes behind it be missing.
    fn is_doubtful(self) -> bool {
        !matches!(self.how, How::Short | How::Behind)
    }

    /// For the file of this name. `unpacked`: byte of the capture where its records stopped making sense, which packed data that
    /// was merely cut short does not bring about.
    pub fn told(self, name: &str, unpacked: Option<u64>) -> SourceError {
        const AGAIN: &str = "Copy the capture again; only a whole copy proves what was read";
        let stopped = unpacked.map(|at| format!(", and reading stopped at byte {at} of what is unpacked"));
        let what = format!("{self}{}", stopped.unwrap_or_default());
        if self.is_doubtful() || unpacked.is_some() {
            return SourceError::new(Code::Damaged, name, Some(self.at), what, AGAIN);
        }
        let cure = "Copy the capture again; everything before this byte was read";
        SourceError::new(Code::Truncated, name, Some(self.at), what, cure)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind;
        match self.how {
            How::Short => write!(f, "the {kind} data ends too early, before its checksum"),
            How::Structure => write!(f, "the {kind} data is damaged here or before: packets read from it may be wrong"),
            How::Checksum => write!(f, "the {kind} data fails its checksum: any packet read from it may be wrong"),
            How::Length => write!(f, "the {kind} data is not as long as it says: any packet read from it may be wrong"),
            How::Behind => write!(f, "what follows the {kind} data is none and was left out"),
        }
    }
}

impl std::error::Error for Damage {}

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, damage)
    }
}
