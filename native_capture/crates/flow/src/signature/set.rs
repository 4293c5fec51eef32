//! All signatures, and the look at one packet.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use nc_decode::{proto, Packet};

use super::built_in::FILES;
use super::format::{Direction, Signature, SignatureError, Transport, Visibility};
use super::pattern::Pattern;
use super::FIRST_PACKETS;

/// Slots of the filter; a power of two.
const SLOTS: usize = 4_096;
/// Signatures; their number is a byte and 0 means none.
const MAX_SIGNATURES: usize = 255;
const MAX_OFFSETS: usize = 8;

struct Candidate {
    pattern: Pattern,
    number: u8,
    proto: u8,
}

/// What a flow knows of a packet in which a signature was sighted. `place`: the packet's place among those with payload of
/// its direction, from 1; `to_server`: it goes to the port of the server.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub place: u64,
    pub to_server: bool,
}

/// Signatures ready for matching. Most packets cost a few loads: two bytes at each offset where some pattern begins are
/// looked up in `filter`, whose bits stand for those offsets.
pub struct Signatures {
    all: Vec<Arc<Signature>>,
    needs: Vec<usize>,
    offsets: Vec<usize>,
    filter: Box<[u8; SLOTS]>,
    /// The most particular first.
    candidates: Vec<Candidate>,
}

impl Default for Signatures {
    /// None at all.
    fn default() -> Self {
        let filter = Box::new([0; SLOTS]);
        Self { all: Vec::new(), needs: Vec::new(), offsets: Vec::new(), filter, candidates: Vec::new() }
    }
}

impl Signatures {
    /// Those that come with the engine, and the files `*.json` of a folder; a file whose signature bears a known name replaces it.
    pub fn load(folder: Option<&Path>) -> Result<Self, SignatureError> {
        let mut all: Vec<(String, Signature)> = Vec::new();
        for (name, text) in FILES {
            all.push(((*name).to_owned(), Signature::parse(name, text)?));
        }
        for (place, text) in folder.map(files).transpose()?.unwrap_or_default() {
            let signature = Signature::parse(&place, &text)?;
            all.retain(|(_, known)| known.name != signature.name);
            all.push((place, signature));
        }
        Self::new(all)
    }

    /// Signatures with the places they came from.
    pub fn new(all: Vec<(String, Signature)>) -> Result<Self, SignatureError> {
        if all.len() > MAX_SIGNATURES {
            return Err(SignatureError(format!(
                "{} signatures, {MAX_SIGNATURES} are possible. Remove some",
                all.len()
            )));
        }
        let mut set = Self::default();
        for (place, signature) in all {
            set.add(&place, signature)?;
        }
        set.candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.pattern.pinned()));
        Ok(set)
    }

    fn add(&mut self, place: &str, signature: Signature) -> Result<(), SignatureError> {
        let number = self.all.len() as u8 + 1;
        let proto = match signature.transport {
            Transport::Tcp => proto::TCP,
            Transport::Udp => proto::UDP,
        };
        let mut needs = usize::MAX;
        for pattern in signature.patterns(place)? {
            let bit = self.bit(pattern.anchor_at).ok_or_else(|| {
                let what = format!("{place}: patterns begin at more than {MAX_OFFSETS} different offsets");
                SignatureError(format!("{what}. Begin this one at one of {:?}", self.offsets))
            })?;
            self.filter[slot(pattern.anchor)] |= bit;
            needs = needs.min(pattern.needs());
            self.candidates.push(Candidate { pattern, number, proto });
        }
        self.needs.push(needs);
        self.all.push(Arc::new(signature));
        Ok(())
    }

    fn bit(&mut self, offset: usize) -> Option<u8> {
        let known = self.offsets.iter().position(|known| *known == offset);
        if known.is_none() && self.offsets.len() < MAX_OFFSETS {
            self.offsets.push(offset);
        }
        let position = known.or_else(|| self.offsets.iter().position(|known| *known == offset))?;
        Some(1 << position)
    }

    /// Number of the signature that this packet alone shows, 0 for none. `bytes`: the frame as captured.
    pub fn sight(&self, packet: &Packet, bytes: &[u8]) -> u8 {
        if packet.payload_len == 0 || packet.payload_at == 0 {
            return 0;
        }
        let Some(payload) = bytes.get(usize::from(packet.payload_at)..) else { return 0 };
        // A short frame is padded on Ethernet.
        let payload = &payload[..payload.len().min(packet.payload_len as usize)];
        let passes = |(bit, at): (usize, &usize)| {
            let two = payload.get(*at..*at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
            two.is_some_and(|two| self.filter[slot(two)] >> bit & 1 != 0)
        };
        if self.offsets.iter().enumerate().any(passes) {
            self.compare(packet, payload)
        } else {
            0
        }
    }

    #[cold]
    fn compare(&self, packet: &Packet, payload: &[u8]) -> u8 {
        let mut fitting = self.candidates.iter().filter(|candidate| candidate.proto == packet.proto);
        let found = fitting.find(|candidate| candidate.pattern.holds(payload, packet.payload_len));
        found.map_or(0, |candidate| candidate.number)
    }

    /// The signature of this number when the sighting counts in its flow.
    pub fn accept(&self, number: u8, sample: Sample) -> Option<&Arc<Signature>> {
        let signature = self.get(number)?;
        let in_time = signature.visibility == Visibility::MidLife || sample.place <= FIRST_PACKETS;
        let by_the_right_one = match signature.direction {
            Direction::Both => true,
            Direction::Client => sample.to_server,
            Direction::Server => !sample.to_server,
        };
        Some(signature).filter(|_| in_time && by_the_right_one)
    }

    pub fn get(&self, number: u8) -> Option<&Arc<Signature>> {
        self.all.get(usize::from(number).checked_sub(1)?)
    }

    /// Names of those that need more payload than `kept` bytes.
    pub fn beyond(&self, kept: usize) -> Vec<&str> {
        let pairs = self.all.iter().zip(&self.needs);
        pairs.filter(|(_, needs)| **needs > kept).map(|(signature, _)| signature.name.as_str()).collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Signature>> {
        self.all.iter()
    }
}

fn slot(two: u16) -> usize {
    usize::from(two ^ two >> 7) & (SLOTS - 1)
}

/// Name and text of each signature file, by name.
fn files(folder: &Path) -> Result<Vec<(String, String)>, SignatureError> {
    let failed = |path: &Path, error: std::io::Error| {
        SignatureError(format!("{}: {error}. Give a folder of signature files", path.display()))
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let path = entry.map_err(|error| failed(folder, error))?.path();
        if path.extension().is_some_and(|end| end == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    let text = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).map_err(|error| failed(path, error))?;
        Ok((path.display().to_string(), text))
    };
    paths.iter().map(text).collect()
}
