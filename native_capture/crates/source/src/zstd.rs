//! Zstandard (RFC 8878), one frame after the other; skippable frames are stepped over.

use std::io::{self, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::packed::{How, Packed, Unpack};

const MAGIC: u32 = 0xfd2f_b528;
/// Magic numbers of skippable frames: the low four bits are free (RFC 8878, 3.1.2).
const SKIPPABLE: u32 = 0x184d_2a50;
/// Unpacked at once, beyond the window of up to some MiB that is kept back for what refers to it.
const PIECE: usize = 1 << 18;
/// An empty last block (RFC 8878, 3.1.1.2), and bytes for a checksum: after it the decoder gives out its window.
const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Whether these four bytes begin a frame of either kind (parallel compressors write a skippable one first).
pub(crate) fn begins(magic: &[u8]) -> bool {
    let word = magic.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    word.is_some_and(|word| word == MAGIC || is_skippable(word))
}

fn is_skippable(magic: u32) -> bool {
    magic & 0xffff_fff0 == SKIPPABLE
}

/// The frames of a file. `given`: bytes unpacked of this frame.
pub(crate) struct Frames {
    packed: Packed,
    decoder: FrameDecoder,
    is_inside: bool,
    given: u64,
}

impl Frames {
    pub fn new(packed: Packed) -> Self {
        Self { packed, decoder: FrameDecoder::new(), is_inside: false, given: 0 }
    }

    fn damage(&self, how: How) -> io::Error {
        self.packed.damage("zstd", how).into()
    }

    /// What the decoder's error means: it does not tell an end from other damage.
    fn stopped(&mut self) -> io::Error {
        match self.packed.is_over() {
            Ok(true) => self.damage(How::Short),
            Ok(false) => self.damage(How::Structure),
            Err(error) => error,
        }
    }

    /// Step to the inside of the next frame; false at the end.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.packed.is_over()? {
            let mut word = [0; 4];
            self.packed.read_exact(&mut word).map_err(|_| self.stopped())?;
            let magic = u32::from_le_bytes(word);
            if is_skippable(magic) {
                self.packed.read_exact(&mut word).map_err(|_| self.stopped())?;
                let length = u64::from(u32::from_le_bytes(word));
                if io::copy(&mut (&mut self.packed).take(length), &mut io::sink())? < length {
                    return Err(self.damage(How::Short));
                }
            } else if magic != MAGIC {
                return Err(self.damage(How::Behind));
            } else {
                self.decoder.reset(word.chain(&mut self.packed)).map_err(|_| self.stopped())?;
                (self.is_inside, self.given) = (true, 0);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn unpack(&mut self, plain: &mut Vec<u8>) -> io::Result<()> {
        let decoded = self.decoder.decode_blocks(&mut self.packed, BlockDecodingStrategy::UptoBytes(PIECE));
        if decoded.is_err() {
            let error = self.stopped();
            // What it holds is good as far as it goes; that this fails too only leaves nothing to hand over.
            let _ = self.decoder.decode_blocks(&END[..], BlockDecodingStrategy::UptoBlocks(1));
            self.decoder.collect_to_writer(&mut *plain)?;
            return Err(error);
        }
        self.given += self.decoder.collect_to_writer(plain)? as u64;
        if self.decoder.is_finished() {
            self.is_inside = false;
            self.prove()?;
        }
        Ok(())
    }

    /// Hold the frame against its checksum and length, if it has any (RFC 8878, 3.1.1).
    fn prove(&self) -> io::Result<()> {
        let told = self.decoder.get_checksum_from_data();
        if told.is_some() && told != self.decoder.get_calculated_checksum() {
            return Err(self.damage(How::Checksum));
        }
        if ![0, self.given].contains(&self.decoder.content_size()) {
            return Err(self.damage(How::Length));
        }
        Ok(())
    }
}

impl Unpack for Frames {
    fn more(&mut self, plain: &mut Vec<u8>) -> io::Result<()> {
        while plain.is_empty() {
            if !self.is_inside && !self.begin()? {
                return Ok(());
            }
            self.unpack(plain)?;
        }
        Ok(())
    }
}
