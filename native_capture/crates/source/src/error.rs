//! What went wrong with a source: one line with the place and the cure.

use std::fmt;

/// Stable error codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The file cannot be opened or read.
    Unreadable,
    /// The file is no pcap or pcapng capture.
    NotACapture,
    /// The file ends inside a record; what came before was read.
    Truncated,
    /// A record cannot be right; what came before was read.
    Corrupt,
    /// Packed data fails its own proof: what was read from it may be wrong.
    Damaged,
    /// The interface cannot be captured from.
    Interface,
}

impl Code {
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Unreadable => "NC-E001",
            Code::NotACapture => "NC-E002",
            Code::Truncated => "NC-E003",
            Code::Corrupt => "NC-E004",
            Code::Interface => "NC-E005",
            Code::Damaged => "NC-E006",
        }
    }
}

/// `place`: file or interface. `offset`: byte in the file where the bad record starts, or before which packed data is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    pub code: Code,
    pub place: String,
    pub offset: Option<u64>,
    pub what: String,
    pub cure: &'static str,
}

impl SourceError {
    /// Whether the file was read up to some place: it ends too early, or is damaged there.
    pub fn is_partial(&self) -> bool {
        matches!(self.code, Code::Truncated | Code::Corrupt | Code::Damaged)
    }

    pub(crate) fn new(
        code: Code,
        place: &str,
        offset: Option<u64>,
        what: impl Into<String>,
        cure: &'static str,
    ) -> Self {
        Self { code, place: place.to_owned(), offset, what: what.into(), cure }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if let Some(offset) = self.offset {
            write!(f, ": byte {offset}")?;
        }
        write!(f, ": {}. {}", self.what, self.cure)
    }
}

impl std::error::Error for SourceError {}
