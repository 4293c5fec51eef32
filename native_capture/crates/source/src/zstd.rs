//! Zstandard (RFC 8878), one frame after the other; skippable frames are stepped over.

use std::io::{self, BufRead, BufReader, Read};

use ruzstd::decoding::StreamingDecoder;

const MAGIC: u32 = 0xfd2f_b528;
/// Magic numbers of skippable frames: the low four bits are free (RFC 8878, 3.1.2).
const SKIPPABLE: u32 = 0x184d_2a50;

/// Whether these four bytes begin a frame of either kind (parallel compressors write a skippable one first).
pub(crate) fn begins(magic: &[u8]) -> bool {
    let word = magic.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    word.is_some_and(|word| word == MAGIC || word & 0xffff_fff0 == SKIPPABLE)
}

type Input = BufReader<Box<dyn Read + Send>>;

enum State {
    Between(Input),
    Inside(Box<StreamingDecoder<Input, ruzstd::decoding::FrameDecoder>>),
    Over,
}

/// The plain bytes of all frames.
pub(crate) struct Frames(State);

impl Frames {
    pub fn new(packed: Box<dyn Read + Send>) -> Self {
        Self(State::Between(BufReader::new(packed)))
    }
}

impl Read for Frames {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.0, State::Over) {
                State::Over => return Ok(0),
                State::Between(mut input) => {
                    if input.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    self.0 = next_frame(input)?;
                }
                State::Inside(mut decoder) => {
                    let count = decoder.read(into).map_err(told)?;
                    self.0 = match count {
                        0 => State::Between(decoder.into_inner()),
                        _ => State::Inside(decoder),
                    };
                    if count > 0 {
                        return Ok(count);
                    }
                }
            }
        }
    }
}

fn next_frame(mut input: Input) -> io::Result<State> {
    let mut head = [0; 4];
    input.read_exact(&mut head)?;
    let magic = u32::from_le_bytes(head);
    if magic & 0xffff_fff0 == SKIPPABLE {
        input.read_exact(&mut head)?;
        io::copy(&mut (&mut input).take(u64::from(u32::from_le_bytes(head))), &mut io::sink())?;
        return Ok(State::Between(input));
    }
    let whole: Box<dyn Read + Send> = Box::new(io::Cursor::new(head).chain(input));
    let decoder = StreamingDecoder::new(BufReader::new(whole));
    decoder.map(|decoder| State::Inside(Box::new(decoder))).map_err(|_| told(io::ErrorKind::InvalidData.into()))
}

/// The decoder's own words are its inner names.
fn told(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), "the zstd data ends in the middle of a block or is damaged")
}
