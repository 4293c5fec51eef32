//! The classic format (draft-ietf-opsawg-pcap): micro- or nanoseconds, either byte order, and Kuznetzov's variant.

use crate::error::SourceError;
use crate::file::{Reader, Record, MAX_CAPTURED};

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

    pub fn next_record(&self, reader: &mut Reader) -> Result<Option<Record>, SourceError> {
        let at = reader.buffer.offset();
        let len = self.record_len;
        let head = reader.peek(len)?;
        if head.is_empty() {
            return Ok(None);
        }
        let words = match head.first_chunk::<16>() {
            Some(words) if head.len() == len => words,
            _ => {
                let have = head.len();
                return Err(reader.truncated(at, have, len as u64));
            }
        };
        let word = |i: usize| number([words[i], words[i + 1], words[i + 2], words[i + 3]], self.big_endian);
        let (seconds, fraction, captured, wire) = (word(0), word(4), word(8), word(12));
        if captured > MAX_CAPTURED {
            return Err(reader.corrupt(at, format!("the record claims {captured} captured bytes")));
        }
        let whole = len + captured as usize;
        let have = reader.peek(whole)?.len();
        if have < whole {
            return Err(reader.truncated(at, have, whole as u64));
        }
        reader.buffer.consume(whole);
        let ts_ns = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.ns_per_tick;
        let captured = captured as usize;
        Ok(Some(Record { ts_ns, link: self.link, frame_len: wire.max(captured as u32), captured, behind: captured }))
    }
}

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
