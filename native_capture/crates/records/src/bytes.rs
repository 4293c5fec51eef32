//! Reading big-endian numbers with the byte named where they end too early.

use std::fmt;

/// `at`: byte of the message where what is said begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    pub at: usize,
    pub what: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.what)
    }
}

impl std::error::Error for Malformed {}

/// A part of a message; `at` counts from the beginning of the whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0 }
    }

    pub fn from(bytes: &'a [u8], at: usize) -> Self {
        Self { rest: bytes, at }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn len(&self) -> usize {
        self.rest.len()
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn bad(&self, what: impl Into<String>) -> Malformed {
        Malformed { at: self.at, what: what.into() }
    }

    pub fn take(&mut self, n: usize, what: &str) -> Result<&'a [u8], Malformed> {
        let Some((taken, rest)) = self.rest.split_at_checked(n) else {
            return Err(self.bad(format!("{what} needs {n} bytes, {} are left", self.rest.len())));
        };
        self.rest = rest;
        self.at += n;
        Ok(taken)
    }

    /// A part of its own.
    pub fn part(&mut self, n: usize, what: &str) -> Result<Self, Malformed> {
        let at = self.at;
        Ok(Self { rest: self.take(n, what)?, at })
    }

    pub fn u8(&mut self, what: &str) -> Result<u8, Malformed> {
        Ok(number(self.take(1, what)?) as u8)
    }

    pub fn u16(&mut self, what: &str) -> Result<u16, Malformed> {
        Ok(number(self.take(2, what)?) as u16)
    }

    pub fn u32(&mut self, what: &str) -> Result<u32, Malformed> {
        Ok(number(self.take(4, what)?) as u32)
    }
}

/// Big-endian, of at most 16 bytes: what goes beyond is lost at the top.
pub(crate) fn wide(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

pub(crate) fn number(bytes: &[u8]) -> u64 {
    wide(bytes) as u64
}
