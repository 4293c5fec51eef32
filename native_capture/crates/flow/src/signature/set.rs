//! All signatures, and the look at one packet.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use nc_decode::{proto, Packet};

use super::built_in::FILES;
use super::columns;
use super::format::{Direction, Signature, SignatureError, Transport, Visibility};
use super::found::Tally;
use super::pattern::Pattern;
use super::FIRST_PACKETS;

/// Slots of the filter; a power of two.
const SLOTS: usize = 4_096;
/// TCP, and UDP: a filter for each.
const TRANSPORTS: usize = 2;
/// Signatures; their number is a byte, 0 means none, and the last are those of columns.
const MAX_SIGNATURES: usize = columns::FP32 as usize - 1;
const MAX_OFFSETS: usize = 8;
/// Patterns begin here at the latest: farther bytes are not in the cache yet when a packet is looked at.
const LAST_OFFSET: usize = 56;
/// Bytes in which all of them begin; any offset of six bits lies within.
const HEAD: usize = 65;

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
/// looked up in one of `filters`, whose bits stand for those offsets.
pub struct Signatures {
    all: Vec<Arc<Signature>>,
    needs: Vec<usize>,
    offsets: Vec<usize>,
    /// The same in a row of known length; what is not used of it has no bit in any filter.
    places: [u8; MAX_OFFSETS],
    filters: Box<[[u8; SLOTS]; TRANSPORTS]>,
    /// Whether any signature is of this transport.
    any: [bool; TRANSPORTS],
    /// The most particular first.
    candidates: Vec<Candidate>,
    /// Offset (its place in `offsets`), the two bytes there, candidate; ascending.
    starts: Vec<(u8, u16, u16)>,
}

impl Default for Signatures {
    /// None at all.
    fn default() -> Self {
        let filters = Box::new([[0; SLOTS]; TRANSPORTS]);
        Self {
            all: Vec::new(),
            needs: Vec::new(),
            offsets: Vec::new(),
            places: [0; MAX_OFFSETS],
            filters,
            any: [false; TRANSPORTS],
            candidates: Vec::new(),
            starts: Vec::new(),
        }
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
        let place = |at: usize| set.offsets.iter().position(|known| *known == at).unwrap_or(0) as u8;
        let patterns = set.candidates.iter().map(|candidate| &candidate.pattern).enumerate();
        set.starts = patterns.map(|(number, start)| (place(start.anchor_at), start.anchor, number as u16)).collect();
        set.starts.sort_unstable();
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
                let what = format!("{place}: a pattern cannot begin at {}", pattern.anchor_at);
                SignatureError(format!("{what}. Begin it at one of {:?}", self.offsets))
            })?;
            let transport = usize::from(proto == proto::UDP);
            self.any[transport] = true;
            self.filters[transport][slot(pattern.anchor.to_be_bytes())] |= bit;
            needs = needs.min(pattern.needs());
            self.candidates.push(Candidate { pattern, number, proto });
        }
        self.needs.push(needs);
        self.all.push(Arc::new(signature));
        Ok(())
    }

    fn bit(&mut self, offset: usize) -> Option<u8> {
        let known = self.offsets.iter().position(|known| *known == offset);
        if known.is_none() && self.offsets.len() < MAX_OFFSETS && offset <= LAST_OFFSET {
            self.places[self.offsets.len()] = offset as u8;
            self.offsets.push(offset);
        }
        let position = known.or_else(|| self.offsets.iter().position(|known| *known == offset))?;
        Some(1 << position)
    }

    /// Number of the signature that this packet alone shows, 0 for none. `bytes`: the frame as captured.
    #[inline(always)]
    pub fn sight(&self, packet: &Packet, bytes: &[u8]) -> u8 {
        let is_known = matches!(packet.proto, proto::TCP | proto::UDP) || packet.has_bth;
        if packet.payload_len == 0 || packet.payload_at == 0 || !is_known {
            return 0;
        }
        let Some(payload) = bytes.get(usize::from(packet.payload_at)..) else { return 0 };
        // A short frame is padded on Ethernet.
        let payload = &payload[..payload.len().min(packet.payload_len as usize)];
        let transport = usize::from(packet.proto == proto::UDP);
        let filter = &self.filters[transport];
        let may_begin = |payload: &[u8]| payload.first_chunk().is_none_or(|head| self.may_begin(filter, head));
        match self.any[transport] && may_begin(payload) {
            false if !columns::is_sampled(packet) => 0,
            may_begin => self.look_closely(may_begin, packet, payload),
        }
    }

    /// Whether some pattern may begin in these bytes: in all but few packets none does.
    #[inline]
    fn may_begin(&self, filter: &[u8; SLOTS], head: &[u8; HEAD]) -> bool {
        let begins = |places: Range<usize>| {
            places.fold(0, |found, place| {
                let at = usize::from(self.places[place] & 63);
                found | filter[slot([head[at], head[at + 1]])] & 1 << place
            })
        };
        // Counts that the compiler knows: no loop is left.
        begins(0..MAX_OFFSETS / 2) != 0
            || self.offsets.len() > MAX_OFFSETS / 2 && begins(MAX_OFFSETS / 2..MAX_OFFSETS) != 0
    }

    #[inline(never)]
    fn look_closely(&self, may_begin: bool, packet: &Packet, payload: &[u8]) -> u8 {
        let filter = &self.filters[usize::from(packet.proto == proto::UDP)];
        match if may_begin { self.look_up(filter, packet, payload) } else { 0 } {
            0 if columns::is_sampled(packet) => columns::show(packet, payload),
            number => number,
        }
    }

    fn look_up(&self, filter: &[u8; SLOTS], packet: &Packet, payload: &[u8]) -> u8 {
        let mut best = None;
        for (place, at) in self.offsets.iter().enumerate() {
            let Some(two) = payload.get(*at..*at + 2) else { continue };
            let two = [two[0], two[1]];
            if filter[slot(two)] >> place & 1 != 0 {
                best = earlier(best, self.compare(place as u8, u16::from_be_bytes(two), packet, payload));
            }
        }
        best.map_or(0, |number| self.candidates[usize::from(number)].number)
    }

    /// The most particular of the patterns that begin with these two bytes at this offset.
    fn compare(&self, place: u8, two: u16, packet: &Packet, payload: &[u8]) -> Option<u16> {
        let from = self.starts.partition_point(|start| (start.0, start.1) < (place, two));
        let alike = self.starts[from..].iter().take_while(|start| (start.0, start.1) == (place, two));
        let mut numbers = alike.map(|start| start.2);
        numbers.find(|number| {
            let candidate = &self.candidates[usize::from(*number)];
            candidate.proto == packet.proto && candidate.pattern.holds(payload, packet.payload_len)
        })
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

    /// Looked at for columns of numbers in vain: it counts in a conversation that showed some before.
    pub fn is_in_vain(number: u8) -> bool {
        number == columns::NEITHER
    }

    /// The signatures that so many packets of a conversation showed, and how many did: those with packets enough, and numbers in half of
    /// the packets that were looked at for them.
    pub fn named_by(&self, tally: Tally) -> impl Iterator<Item = (&Arc<Signature>, u32)> {
        let of_columns = |(number, packets): (u8, u32)| if number >= columns::FP32 { packets } else { 0 };
        let looked_at: u32 = tally.into_iter().map(of_columns).sum();
        tally.into_iter().filter_map(move |(number, packets)| {
            let is_rare = number >= columns::FP32 && packets < looked_at.div_ceil(2);
            let signature = self.get(number).filter(|known| packets >= known.packets && !is_rare)?;
            Some((signature, packets))
        })
    }

    pub fn get(&self, number: u8) -> Option<&Arc<Signature>> {
        if number >= columns::FP32 {
            return columns::named(number);
        }
        self.all.get(usize::from(number).checked_sub(1)?)
    }

    /// Names of those that need more payload than was kept of a packet.
    pub fn beyond(&self, kept: impl Fn(Transport) -> usize) -> Vec<&str> {
        let pairs = self.all.iter().zip(&self.needs);
        let hidden = pairs.filter(|(signature, needs)| **needs > kept(signature.transport));
        hidden.map(|(signature, _)| signature.name.as_str()).collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Signature>> {
        self.all.iter()
    }
}

fn earlier(a: Option<u16>, b: Option<u16>) -> Option<u16> {
    a.into_iter().chain(b).min()
}

#[inline]
fn slot(two: [u8; 2]) -> usize {
    let two = u16::from_le_bytes(two);
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
    if paths.is_empty() {
        let what = format!("{}: the folder holds no signature file (*.json)", folder.display());
        return Err(SignatureError(format!("{what}. Put some into it (docs/signatures.md), or leave it out")));
    }
    paths.sort();
    let text = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).map_err(|error| failed(path, error))?;
        Ok((path.display().to_string(), text))
    };
    paths.iter().map(text).collect()
}
