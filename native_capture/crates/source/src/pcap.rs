//! The classic format (draft-ietf-opsawg-pcap): micro- or nanoseconds, either byte order, and Kuznetzov's variant.

use crate::error::SourceError;
use crate::file::{Reader, Record, MAX_CAPTURED};
use crate::said::Lengths;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    big_endian: bool,
    ns_per_tick: u64,
    record_len: usize,
    link: u32,
}

impl Header {
    pub const LEN: usize = 24;

    /// None: not this format. Err: this format, but unusable.
    pub fn parse(head: &[u8]) -> Option<Result<Self, String>> {
        let magic = *head.first_chunk::<4>()?;
        let (big_endian, native) = match magic[0] {
            0xa1 => (true, u32::from_be_bytes(magic)),
            _ => (false, u32::from_le_bytes(magic)),
        };
        let (ns_per_tick, record_len) = match native {
            0xa1b2_c3d4 => (1_000, 16),
            0xa1b2_3c4d => (1, 16),
            0xa1b2_cd34 => (1_000, 24),
            _ => return None,
        };
        let Some(word) = head.get(20..24).and_then(|b| b.first_chunk::<4>()) else {
            return Some(Err(format!("the file ends after {} of 24 bytes of its header", head.len())));
        };
        // The upper bits of the link type word hold the FCS length.
        let link = number(*word, big_endian) & 0x0fff_ffff & 0xffff;
        Some(Ok(Self { big_endian, ns_per_tick, record_len, link }))
    }

    #[inline]
    pub fn next_record(&self, reader: &mut Reader, lengths: &mut Lengths) -> Result<Option<Record>, SourceError> {
        let record = match self.whole(reader.buffer.unread(), lengths) {
            Some(record) => record,
            None => match self.fetch(reader, lengths)? {
                Some(record) => record,
                None => return Ok(None),
            },
        };
        reader.buffer.consume(self.record_len + record.captured);
        Ok(Some(record))
    }

    /// The record at the beginning of `bytes`, whose length is counted in `lengths` when it cannot be; None when it is not wholly there,
    /// or claims the impossible.
    #[inline]
    pub fn whole(&self, bytes: &[u8], lengths: &mut Lengths) -> Option<Record> {
        let (seconds, fraction, captured, wire) = self.words(bytes.first_chunk()?);
        if captured > MAX_CAPTURED || bytes.len() < self.record_len + captured as usize {
            return None;
        }
        let ts_ns = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.ns_per_tick;
        let (frame_len, captured) = (lengths.believe(wire, captured), captured as usize);
        Some(Record { ts_ns, link: self.link, frame_len, captured, behind: captured })
    }

    /// Bytes before those of a packet.
    #[inline]
    pub fn record_len(&self) -> usize {
        self.record_len
    }

    /// Seconds, their fraction, bytes captured, bytes on the wire.
    #[inline]
    fn words(&self, head: &[u8; 16]) -> (u32, u32, u32, u32) {
        let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let words = (word(0), word(4), word(8), word(12));
        match self.big_endian {
            true => (words.0.swap_bytes(), words.1.swap_bytes(), words.2.swap_bytes(), words.3.swap_bytes()),
            false => words,
        }
    }

    /// Read on until the next record is there.
    #[cold]
    fn fetch(&self, reader: &mut Reader, lengths: &mut Lengths) -> Result<Option<Record>, SourceError> {
        let at = reader.buffer.offset();
        let len = self.record_len;
        let head = reader.peek(len)?;
        if head.is_empty() {
            return Ok(None);
        }
        let captured = match head.first_chunk() {
            Some(words) if head.len() == len => self.words(words).2,
            _ => {
                let have = head.len();
                return Err(reader.truncated(at, have, len as u64));
            }
        };
        if captured > MAX_CAPTURED {
            return Err(reader.corrupt(at, format!("the record claims {captured} captured bytes")));
        }
        let whole = len + captured as usize;
        let bytes = reader.peek(whole)?;
        let have = bytes.len();
        match self.whole(bytes, lengths) {
            Some(record) => Ok(Some(record)),
            None => Err(reader.truncated(at, have, whole as u64)),
        }
    }
}

#[inline]
fn number(bytes: [u8; 4], big_endian: bool) -> u32 {
    if big_endian {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_type_word_may_carry_an_fcs_length() {
        let mut head = vec![0xd4, 0xc3, 0xb2, 0xa1];
        head.extend_from_slice(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0x54]);
        let header = Header::parse(&head).and_then(Result::ok);
        assert_eq!(header, Some(Header { big_endian: false, ns_per_tick: 1_000, record_len: 16, link: 1 }));
    }
}
