//! pcapng (draft-ietf-opsawg-pcapng): any number of sections and interfaces, either byte order, any time resolution.

use crate::error::SourceError;
use crate::file::{Reader, Record, MAX_CAPTURED};

/// The type of a section header block, the same in either byte order.
pub(crate) const SECTION_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Blocks other than packets that are read whole (section and interface headers) may be this long.
const MAX_HEADER_BLOCK: u32 = 1 << 20;
const MAX_INTERFACES: usize = 1 << 16;

/// The section being read: its byte order and the interfaces seen so far.
#[derive(Default)]
pub(crate) struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
    last_ns: u64,
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
    pub fn next_record(&mut self, reader: &mut Reader) -> Result<Option<Record>, SourceError> {
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
                self.begin(&head, reader, at)?;
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
                2 | 3 | 6 => return self.packet(kind, reader, at, length, whole).map(Some),
                _ => {
                    if !reader.buffer.skip(whole).map_err(|e| reader.io(&e))? {
                        let have = (reader.buffer.offset() - at) as usize;
                        return Err(reader.truncated(at, have, whole));
                    }
                }
            }
        }
    }

    fn begin(&mut self, head: &[u8; 12], reader: &Reader, at: u64) -> Result<(), SourceError> {
        self.big_endian = match [head[8], head[9], head[10], head[11]] {
            [0x1a, 0x2b, 0x3c, 0x4d] => true,
            [0x4d, 0x3c, 0x2b, 0x1a] => false,
            _ => return Err(reader.corrupt(at, "the section header has no byte-order magic")),
        };
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, reader: &mut Reader, at: u64, length: u32, whole: u64) -> Result<(), SourceError> {
        if !(20..=MAX_HEADER_BLOCK).contains(&length) || self.interfaces.len() >= MAX_INTERFACES {
            return Err(reader.corrupt(at, format!("an interface block of {length} bytes")));
        }
        let block = reader.peek(whole as usize)?;
        if block.len() < whole as usize {
            let have = block.len();
            return Err(reader.truncated(at, have, whole));
        }
        let found = self.read_interface(block, length as usize);
        self.interfaces.push(found);
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
        let mut at = 16;
        while at + 4 <= length - 4 {
            let (code, size) = (self.u16(block, at), usize::from(self.u16(block, at + 2)));
            let Some(value) = block.get(at + 4..at + 4 + size) else { break };
            match (code, value) {
                (0, _) => break,
                (9, [power]) if power & 0x80 == 0 => found.resolution = Resolution::Decimal(*power),
                (9, [power]) => found.resolution = Resolution::Binary(power & 0x7f),
                (14, value) if size == 8 => {
                    let (high, low) = (self.u32(value, 0), self.u32(value, 4));
                    let (high, low) = if self.big_endian { (high, low) } else { (low, high) };
                    found.offset_s = (u64::from(high) << 32 | u64::from(low)) as i64;
                }
                _ => {}
            }
            at += 4 + size.next_multiple_of(4);
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
    ) -> Result<Record, SourceError> {
        let fixed: u32 = if kind == 3 { 12 } else { 28 };
        if length < fixed + 4 || length > MAX_CAPTURED + fixed + 4 + 65_536 {
            return Err(reader.corrupt(at, format!("a packet block claims a length of {length} bytes")));
        }
        let block = reader.peek(whole as usize)?;
        if block.len() < whole as usize {
            let have = block.len();
            return Err(reader.truncated(at, have, whole));
        }
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
        }
        reader.buffer.consume(whole as usize);
        let (captured, behind) = (captured as usize, whole as usize - fixed as usize);
        // A simple packet block has no time: it gets that of the packet before it.
        Ok(Record { ts_ns: self.last_ns, link: interface.link, frame_len: wire.max(captured as u32), captured, behind })
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

    fn u16(&self, bytes: &[u8], at: usize) -> u16 {
        let two = bytes.get(at..).and_then(|b| b.first_chunk::<2>()).copied().unwrap_or_default();
        if self.big_endian {
            u16::from_be_bytes(two)
        } else {
            u16::from_le_bytes(two)
        }
    }
}
