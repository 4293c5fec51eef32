//! pcapng (draft-ietf-opsawg-pcapng): any number of sections and interfaces, either byte order, any time resolution.

use crate::error::{Code, SourceError};
use crate::file::{Reader, Record, MAX_CAPTURED};
use crate::said::{sum, Drops, Lengths};

/// The type of a section header block, the same in either byte order.
pub(crate) const SECTION_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Blocks other than packets that are read whole (section and interface headers) may be this long.
const MAX_HEADER_BLOCK: u32 = 1 << 20;
const MAX_INTERFACES: usize = 1 << 16;

/// Bytes of a section header up to its version.
const SECTION_HEAD: usize = 16;
/// The end of what Interface Statistics and Enhanced Packet Blocks have before their options or packet.
const STATISTICS: usize = 20;
const ENHANCED: usize = 28;

/// The section being read: its byte order and the interfaces seen so far, each with what it lost; `ended`: what those of earlier
/// sections lost.
#[derive(Default)]
pub(crate) struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
    lost: Vec<Drops>,
    ended: Drops,
    last_ns: u64,
}

/// Whether a section is big-endian; why it cannot be read, and the cure, when it is of no version that is known (1.x).
pub(crate) fn byte_order(head: &[u8; SECTION_HEAD]) -> Result<bool, (String, &'static str)> {
    let major = [head[12], head[13]];
    let (big_endian, major) = match head[8..12] {
        [0x1a, 0x2b, 0x3c, 0x4d] => (true, u16::from_be_bytes(major)),
        [0x4d, 0x3c, 0x2b, 0x1a] => (false, u16::from_le_bytes(major)),
        _ => return Err(("the section header has no byte-order magic".into(), "Copy the capture again")),
    };
    if major == 1 {
        return Ok(big_endian);
    }
    Err((
        format!("a section of pcapng version {major}, and only version 1 is known"),
        "Save it as pcapng 1.0 or as pcap",
    ))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interface {
    link: u32,
    snaplen: u32,
    resolution: Resolution,
    offset_s: i64,
}

/// Ticks per second: a power of ten or of two (option if_tsresol).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    Decimal(u8),
    Binary(u8),
}

impl Resolution {
    fn to_ns(self, ticks: u64) -> u64 {
        let ticks = u128::from(ticks);
        let ns = match self {
            Resolution::Decimal(power @ 0..=9) => ticks * 10_u128.pow(9 - u32::from(power)),
            Resolution::Decimal(power) => {
                ticks.checked_div(10_u128.checked_pow(u32::from(power) - 9).unwrap_or(u128::MAX)).unwrap_or(0)
            }
            Resolution::Binary(power) => (ticks * 1_000_000_000) >> power.min(127),
        };
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

impl Section {
    /// The next packet of any kind of packet block; all other blocks are read or stepped over on the way.
    pub fn next_record(&mut self, reader: &mut Reader, lengths: &mut Lengths) -> Result<Option<Record>, SourceError> {
        loop {
            let at = reader.buffer.offset();
            let head = reader.peek(12)?;
            if head.is_empty() {
                return Ok(None);
            }
            let Some(head) = head.first_chunk::<12>().copied() else {
                let have = head.len();
                return Err(reader.truncated(at, have, 12));
            };
            let is_section = head[..4] == SECTION_MAGIC;
            if is_section {
                self.begin(reader, at)?;
            }
            let kind = if is_section { 0 } else { self.u32(&head, 0) };
            let length = self.u32(&head, 4);
            if length < 12 {
                return Err(reader.corrupt(at, format!("a block claims a length of {length} bytes")));
            }
            // Lengths are multiples of four; writers that forget the padding are forgiven.
            let whole = u64::from(length).next_multiple_of(4);
            match kind {
                1 => self.interface(reader, at, length, whole)?,
                2 | 3 | 6 => return self.packet(kind, reader, at, length, whole, lengths).map(Some),
                5 if length <= MAX_HEADER_BLOCK => self.statistics(reader, at, length, whole)?,
                _ => {
                    if !reader.buffer.skip(whole).map_err(|e| reader.io(&e))? {
                        let have = (reader.buffer.offset() - at) as usize;
                        return Err(reader.truncated(at, have, whole));
                    }
                }
            }
        }
    }

    fn begin(&mut self, reader: &mut Reader, at: u64) -> Result<(), SourceError> {
        let head = reader.peek(SECTION_HEAD)?;
        let Some(head) = head.first_chunk() else {
            let have = head.len();
            return Err(reader.truncated(at, have, SECTION_HEAD as u64));
        };
        self.big_endian = byte_order(head).map_err(|(what, cure)| reader.error(Code::Corrupt, at, what, cure))?;
        self.ended = self.drops();
        self.interfaces.clear();
        self.lost.clear();
        Ok(())
    }

    /// Of all sections so far.
    pub fn drops(&self) -> Drops {
        self.lost.iter().fold(self.ended, |all, lost| all.plus(lost.settled()))
    }

    /// The whole block at the reader's place.
    fn block(reader: &mut Reader, at: u64, whole: u64) -> Result<&[u8], SourceError> {
        let have = reader.peek(whole as usize)?.len();
        if have < whole as usize {
            return Err(reader.truncated(at, have, whole));
        }
        Ok(&reader.buffer.unread()[..whole as usize])
    }

    /// Counters of an interface since the beginning of the capture: the newest are the greatest. All bits set are no number.
    fn statistics(&mut self, reader: &mut Reader, at: u64, length: u32, whole: u64) -> Result<(), SourceError> {
        let block = Self::block(reader, at, whole)?;
        let number = self.u32(block, 8) as usize;
        if let Some(mut lost) = self.lost.get(number).copied() {
            for (code, value) in self.options(block, STATISTICS, length as usize) {
                let counter = match code {
                    4 => &mut lost.received,
                    5 => &mut lost.interface,
                    7 => &mut lost.system,
                    _ => continue,
                };
                *counter = (*counter).max(self.u64(value).filter(|count| *count != u64::MAX));
            }
            self.lost[number] = lost;
        }
        reader.buffer.consume(whole as usize);
        Ok(())
    }

    /// Code and value of each option between `at` and the length at the end of the block.
    fn options<'a>(
        &'a self,
        block: &'a [u8],
        mut at: usize,
        length: usize,
    ) -> impl Iterator<Item = (u16, &'a [u8])> + 'a {
        std::iter::from_fn(move || {
            if at + 8 > length {
                return None;
            }
            let (code, size) = (self.u16(block, at), usize::from(self.u16(block, at + 2)));
            let value = block.get(at + 4..at + 4 + size).filter(|_| code != 0)?;
            at += 4 + size.next_multiple_of(4);
            Some((code, value))
        })
    }

    fn interface(&mut self, reader: &mut Reader, at: u64, length: u32, whole: u64) -> Result<(), SourceError> {
        if !(20..=MAX_HEADER_BLOCK).contains(&length) || self.interfaces.len() >= MAX_INTERFACES {
            return Err(reader.corrupt(at, format!("an interface block of {length} bytes")));
        }
        let found = self.read_interface(Self::block(reader, at, whole)?, length as usize);
        self.interfaces.push(found);
        self.lost.push(Drops::default());
        reader.buffer.consume(whole as usize);
        Ok(())
    }

    fn read_interface(&self, block: &[u8], length: usize) -> Interface {
        let mut found = Interface {
            link: u32::from(self.u16(block, 8)),
            snaplen: self.u32(block, 12),
            resolution: Resolution::Decimal(6),
            offset_s: 0,
        };
        for (code, value) in self.options(block, 16, length) {
            match (code, value) {
                (9, [power]) if power & 0x80 == 0 => found.resolution = Resolution::Decimal(*power),
                (9, [power]) => found.resolution = Resolution::Binary(power & 0x7f),
                (14, value) => found.offset_s = self.u64(value).map_or(found.offset_s, |word| word as i64),
                _ => {}
            }
        }
        found
    }

    fn packet(
        &mut self,
        kind: u32,
        reader: &mut Reader,
        at: u64,
        length: u32,
        whole: u64,
        lengths: &mut Lengths,
    ) -> Result<Record, SourceError> {
        let fixed: u32 = if kind == 3 { 12 } else { ENHANCED as u32 };
        if length < fixed + 4 || length > MAX_CAPTURED + fixed + 4 + 65_536 {
            return Err(reader.corrupt(at, format!("a packet block claims a length of {length} bytes")));
        }
        let block = Self::block(reader, at, whole)?;
        let id = match kind {
            6 => self.u32(block, 8) as usize,
            2 => usize::from(self.u16(block, 8)),
            _ => 0,
        };
        let Some(interface) = self.interfaces.get(id).copied() else {
            return Err(reader.corrupt(at, format!("the packet names interface {id}, which was not described")));
        };
        let (captured, wire) = match kind {
            3 => {
                let wire = self.u32(block, 8);
                let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
                (wire.min(limit).min(length - 16), wire)
            }
            _ => (self.u32(block, 20), self.u32(block, 24)),
        };
        if captured > length - fixed - 4 {
            return Err(reader.corrupt(at, format!("the packet claims {captured} bytes in a block of {length}")));
        }
        if kind != 3 {
            self.last_ns = self.stamp(block, interface);
            self.missed(kind, block, id, captured as usize, length as usize);
        }
        reader.buffer.consume(whole as usize);
        let frame_len = lengths.believe(wire, captured);
        let (captured, behind) = (captured as usize, whole as usize - fixed as usize);
        // A simple packet block has no time: it gets that of the packet before it.
        Ok(Record { ts_ns: self.last_ns, link: interface.link, frame_len, captured, behind })
    }

    /// Count packets that were lost before this one (options are rare: most blocks end with the packet).
    fn missed(&mut self, kind: u32, block: &[u8], id: usize, captured: usize, length: usize) {
        let at = ENHANCED + captured.next_multiple_of(4);
        let lost = match kind {
            2 => Some(self.u16(block, 10)).filter(|count| *count != u16::MAX).map(u64::from),
            _ if at + 4 == length => None,
            _ => self.options(block, at, length).find(|(code, _)| *code == 4).and_then(|(_, value)| self.u64(value)),
        };
        if lost.is_some() {
            let before = &mut self.lost[id].before;
            *before = sum(*before, lost);
        }
    }

    fn stamp(&self, block: &[u8], interface: Interface) -> u64 {
        let ticks = u64::from(self.u32(block, 12)) << 32 | u64::from(self.u32(block, 16));
        let shift = i128::from(interface.offset_s) * 1_000_000_000;
        let ns = i128::from(interface.resolution.to_ns(ticks)) + shift;
        u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
    }

    /// Zero beyond the end; callers have checked the length.
    fn u32(&self, bytes: &[u8], at: usize) -> u32 {
        let four = bytes.get(at..).and_then(|b| b.first_chunk::<4>()).copied().unwrap_or_default();
        if self.big_endian {
            u32::from_be_bytes(four)
        } else {
            u32::from_le_bytes(four)
        }
    }

    /// None when there are not eight of them.
    fn u64(&self, bytes: &[u8]) -> Option<u64> {
        let eight = *bytes.first_chunk::<8>().filter(|_| bytes.len() == 8)?;
        Some(if self.big_endian { u64::from_be_bytes(eight) } else { u64::from_le_bytes(eight) })
    }

    fn u16(&self, bytes: &[u8], at: usize) -> u16 {
        let two = bytes.get(at..).and_then(|b| b.first_chunk::<2>()).copied().unwrap_or_default();
        if self.big_endian {
            u16::from_be_bytes(two)
        } else {
            u16::from_le_bytes(two)
        }
    }
}
