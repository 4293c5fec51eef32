//! Tests of payload bytes. Total: bytes that are not there make a test fail, never panic.

use serde::Deserialize;

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Number {
    U8,
    U16be,
    U16le,
    U24be,
    U32be,
    U32le,
    U64be,
    U64le,
}

impl Number {
    fn width(self) -> usize {
        match self {
            Number::U8 => 1,
            Number::U16be | Number::U16le => 2,
            Number::U24be => 3,
            Number::U32be | Number::U32le => 4,
            Number::U64be | Number::U64le => 8,
        }
    }

    fn read(self, payload: &[u8], at: usize) -> Option<u64> {
        let bytes = payload.get(at..at.checked_add(self.width())?)?;
        let join = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(match self {
            Number::U16le | Number::U32le | Number::U64le => bytes.iter().rev().fold(0, join),
            _ => bytes.iter().fold(0, join),
        })
    }
}

/// `at`: offset in the payload. `Sum`: the number is that at `of` plus `add`. `Length`: number plus `add` is the length of
/// the payload on the wire, or with `more` at least that.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Bytes { at: usize, value: Vec<u8>, mask: Option<Vec<u8>> },
    Number { at: usize, form: Number, min: u64, max: u64 },
    Sum { at: usize, form: Number, of: usize, add: u64 },
    Length { at: usize, form: Number, mask: u64, add: u64, more: bool },
    Payload { min: u32, max: u32 },
    Find { from: usize, within: usize, any: Vec<Vec<u8>> },
}

impl Test {
    fn holds(&self, payload: &[u8], wire_len: u32) -> bool {
        match self {
            Test::Bytes { at, value, mask } => bytes_at(payload, *at, value, mask.as_deref()),
            Test::Number { at, form, min, max } => form.read(payload, *at).is_some_and(|n| (*min..=*max).contains(&n)),
            Test::Sum { at, form, of, add } => match (form.read(payload, *at), form.read(payload, *of)) {
                (Some(sum), Some(part)) => part.checked_add(*add) == Some(sum),
                _ => false,
            },
            Test::Length { at, form, mask, add, more } => form.read(payload, *at).is_some_and(|number| {
                let whole = (number & mask).saturating_add(*add);
                if *more {
                    whole >= u64::from(wire_len)
                } else {
                    whole == u64::from(wire_len)
                }
            }),
            Test::Payload { min, max } => (*min..=*max).contains(&wire_len),
            Test::Find { from, within, any } => {
                let end = payload.len().min(*within);
                payload.get(*from..end).is_some_and(|hay| any.iter().any(|needle| contains(hay, needle)))
            }
        }
    }

    /// Bytes that the test needs from the start of the payload.
    fn needs(&self) -> usize {
        match self {
            Test::Bytes { at, value, .. } => at + value.len(),
            Test::Number { at, form, .. } | Test::Length { at, form, .. } => at + form.width(),
            Test::Sum { at, form, of, .. } => at.max(of) + form.width(),
            Test::Payload { .. } => 0,
            Test::Find { from, any, .. } => from + any.iter().map(Vec::len).min().unwrap_or(0),
        }
    }

    /// Payload bytes of which a random one would seldom pass.
    fn pinned(&self) -> usize {
        match self {
            Test::Bytes { value, mask: None, .. } => value.len(),
            Test::Bytes { mask: Some(mask), .. } => mask.iter().filter(|byte| **byte == u8::MAX).count(),
            Test::Sum { form, .. } => form.width(),
            Test::Length { form, more: false, .. } => form.width(),
            Test::Find { any, .. } => any.iter().map(Vec::len).min().unwrap_or(0),
            Test::Number { form, min, max, .. } => {
                form.width().saturating_sub(((64 - (max - min).leading_zeros()) as usize).div_ceil(8))
            }
            Test::Length { .. } | Test::Payload { .. } => 0,
        }
    }
}

fn bytes_at(payload: &[u8], at: usize, value: &[u8], mask: Option<&[u8]>) -> bool {
    let Some(found) = at.checked_add(value.len()).and_then(|end| payload.get(at..end)) else { return false };
    match mask {
        None => found == value,
        Some(mask) => found.iter().zip(value).zip(mask).all(|((found, value), mask)| found & mask == value & mask),
    }
}

fn contains(hay: &[u8], needle: &[u8]) -> bool {
    let first = needle[0];
    let mut rest = hay;
    while let Some(at) = rest.iter().position(|byte| *byte == first) {
        rest = &rest[at..];
        if rest.starts_with(needle) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

/// Tests that must all hold; the first compares two bytes or more, by which the pattern is looked up.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    tests: Vec<Test>,
    pub anchor_at: usize,
    pub anchor: u16,
}

impl Pattern {
    /// None when the first test is no plain comparison of two bytes or more.
    pub fn new(tests: Vec<Test>) -> Option<Self> {
        let (anchor_at, anchor) = match tests.first()? {
            Test::Bytes { at, value, mask: None } => (*at, u16::from_be_bytes([*value.first()?, *value.get(1)?])),
            _ => return None,
        };
        Some(Self { tests, anchor_at, anchor })
    }

    pub fn holds(&self, payload: &[u8], wire_len: u32) -> bool {
        self.tests.iter().all(|test| test.holds(payload, wire_len))
    }

    pub fn needs(&self) -> usize {
        self.tests.iter().map(Test::needs).max().unwrap_or(0)
    }

    pub fn pinned(&self) -> usize {
        self.tests.iter().map(Test::pinned).sum()
    }
}
