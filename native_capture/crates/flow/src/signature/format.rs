//! A signature file: JSON, one signature each. `docs/signatures.md` describes the fields.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::pattern::{Number, Pattern, Test};

/// A wrong or useless signature file: one line, what, where, cure.
#[derive(Debug)]
pub struct SignatureError(pub String);

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SignatureError {}

/// `Payload`: the bytes name the application. `Likely`: names and words that a user chose speak for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    Payload,
    Likely,
}

/// `Start`: in the first packets of a flow only. `MidLife`: for as long as the flow lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visibility {
    Start,
    MidLife,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Training,
    /// Message passing of parallel programs: training, but also weather and fluid dynamics.
    Collective,
    Inference,
    /// A file of data, a model or a checkpoint on its way.
    File,
    /// Numbers as models have them, in training, in its files or in serving.
    Tensors,
    Storage,
    Database,
    Copy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    Tcp,
    Udp,
}

/// Whose packets are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    Client,
    Server,
    Both,
}

/// One signature. `packets`: so many of a conversation must agree; `ports`: usual ones, a hint to people only;
/// `verified_on`: the software whose bytes were seen, empty when nobody looked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    pub name: String,
    pub title: String,
    pub kind: Kind,
    pub strength: Strength,
    pub visibility: Visibility,
    pub transport: Transport,
    pub direction: Direction,
    pub ports: Vec<u16>,
    pub packets: u32,
    pub source: String,
    pub verified_on: String,
    pub(super) any: Vec<Vec<RawTest>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum RawTest {
    Bytes { at: usize, hex: String, mask: Option<String> },
    Text { at: usize, text: String },
    Number { at: usize, form: Number, min: u64, max: u64 },
    Sum { at: usize, form: Number, of: usize, add: u64 },
    Length { at: usize, form: Number, mask: Option<u64>, add: u64, holds: Holds },
    Payload { min: u32, max: u32 },
    Find { from: usize, within: usize, any: Vec<String> },
}

impl RawTest {
    /// Offsets in the payload that the test names.
    fn places(&self) -> [usize; 2] {
        match self {
            RawTest::Sum { at, of, .. } => [*at, *of],
            RawTest::Bytes { at, .. } | RawTest::Text { at, .. } | RawTest::Number { at, .. } => [*at, 0],
            RawTest::Length { at, .. } | RawTest::Find { from: at, .. } => [*at, 0],
            RawTest::Payload { .. } => [0, 0],
        }
    }
}

/// `Payload`: this packet's payload is the whole message. `More`: the message may go on in later packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Holds {
    Payload,
    More,
}

/// No payload is longer than an IP packet can say.
const FARTHEST: usize = u16::MAX as usize;
/// Weaker patterns would find random bytes: so many payload bytes must be pinned down.
const LEAST_PINNED: usize = 4;
const LEAST_PINNED_MID_LIFE: usize = 6;

impl Signature {
    /// `place`: file name for errors.
    pub fn parse(place: &str, text: &str) -> Result<Self, SignatureError> {
        let signature: Self = serde_json::from_str(text).map_err(|error| {
            SignatureError(format!("{place}: {error}. Correct the file; docs/signatures.md has the fields"))
        })?;
        if signature.name.is_empty() || signature.packets == 0 || signature.any.is_empty() {
            return Err(fault(place, "name, packets or any is empty", "Fill them in; packets is at least 1"));
        }
        Ok(signature)
    }

    pub fn is_training(&self) -> bool {
        self.kind == Kind::Training && self.strength == Strength::Payload
    }

    pub(super) fn patterns(&self, place: &str) -> Result<Vec<Pattern>, SignatureError> {
        let least = match self.visibility {
            Visibility::Start => LEAST_PINNED,
            Visibility::MidLife => LEAST_PINNED_MID_LIFE,
        };
        let mut patterns = Vec::new();
        for raw in &self.any {
            let tests = raw.iter().map(|test| read(place, test)).collect::<Result<Vec<_>, _>>()?;
            let pattern = Pattern::new(tests).ok_or_else(|| {
                let cure = "Begin each list of any with bytes or text of two bytes or more, without mask";
                fault(place, "a pattern has no beginning to look for", cure)
            })?;
            if pattern.pinned() < least {
                let what = format!("a pattern fixes {} bytes, {least} are needed", pattern.pinned());
                return Err(fault(place, &what, "Add bytes, text or find"));
            }
            patterns.push(pattern);
        }
        Ok(patterns)
    }
}

fn fault(place: &str, what: &str, cure: &str) -> SignatureError {
    SignatureError(format!("{place}: {what}. {cure}"))
}

fn read(place: &str, test: &RawTest) -> Result<Test, SignatureError> {
    if let Some(at) = test.places().into_iter().find(|at| *at > FARTHEST) {
        return Err(fault(place, &format!("no payload has a byte {at}"), &format!("Give an offset up to {FARTHEST}")));
    }
    Ok(match test {
        RawTest::Bytes { at, hex: value, mask } => {
            let value = hex(place, value)?;
            let mask = mask.as_deref().map(|mask| hex(place, mask)).transpose()?;
            if mask.as_ref().is_some_and(|mask| mask.len() != value.len()) {
                return Err(fault(place, "hex and mask differ in length", "Give one mask byte per byte"));
            }
            Test::Bytes { at: *at, value, mask }
        }
        RawTest::Text { at, text } => Test::Bytes { at: *at, value: text.as_bytes().to_vec(), mask: None },
        RawTest::Number { min, max, .. } if min > max => {
            return Err(fault(place, &format!("no number is from {min} to {max}"), "Give min not above max"))
        }
        RawTest::Number { at, form, min, max } => Test::Number { at: *at, form: *form, min: *min, max: *max },
        RawTest::Sum { at, form, of, add } => Test::Sum { at: *at, form: *form, of: *of, add: *add },
        RawTest::Length { at, form, mask, add, holds } => Test::Length {
            at: *at,
            form: *form,
            mask: mask.unwrap_or(u64::MAX),
            add: *add,
            more: *holds == Holds::More,
        },
        RawTest::Payload { min, max } => Test::Payload { min: *min, max: *max },
        RawTest::Find { from, within, any } => {
            let any: Vec<_> = any.iter().map(|text| text.as_bytes().to_vec()).collect();
            if any.is_empty() || any.iter().any(Vec::is_empty) {
                return Err(fault(place, "find has nothing to find", "Give texts in any"));
            }
            Test::Find { from: *from, within: *within, any }
        }
    })
}

fn hex(place: &str, text: &str) -> Result<Vec<u8>, SignatureError> {
    let wrong = || fault(place, &format!("{text:?} is not hexadecimal"), "Give two digits per byte");
    let digits: Vec<char> = text.chars().filter(|c| *c != ' ').collect();
    if digits.is_empty() || digits.len() % 2 == 1 {
        return Err(wrong());
    }
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).map_err(|_| wrong());
    digits.chunks(2).map(byte).collect()
}
