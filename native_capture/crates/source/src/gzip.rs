//! Gzip (RFC 1952), one member after the other.

use std::io::{self, BufRead, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::packed::{How, Packed, Unpack};

pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];
const DEFLATE: u8 = 8;
/// More than the 32 KiB that the decompressor holds: whatever it unpacked before an error fits.
const PIECE: usize = 1 << 16;

/// Bits of FLG (RFC 1952, 2.3.1).
mod flag {
    pub const HEADER_CRC: u8 = 2;
    pub const EXTRA: u8 = 4;
    pub const NAME: u8 = 8;
    pub const COMMENT: u8 = 16;
    pub const RESERVED: u8 = 0xe0;
}

/// Members not begun, between two of them, or inside of one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    First,
    Between,
    Body,
}

/// The members of a file.
pub(crate) struct Members {
    packed: Packed,
    inflater: Decompress,
    stage: Stage,
    crc: Crc,
}

impl Members {
    pub fn new(packed: Packed) -> Self {
        Self { packed, inflater: Decompress::new(false), stage: Stage::First, crc: Crc::new() }
    }

    fn damage(&self, how: How) -> io::Error {
        self.packed.damage("gzip", how).into()
    }

    /// Begin a member; false at the end. Zeros behind a member are padding.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            let bytes = self.packed.fill_buf()?;
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            if bytes.is_empty() {
                return Ok(false);
            }
            if zeros == 0 || self.stage == Stage::First {
                break;
            }
            self.packed.consume(zeros);
        }
        let found = header(&mut self.packed).map_err(|error| self.short(error))?;
        found.map_or(Ok(()), |how| Err(self.damage(how)))?;
        self.inflater.reset(false);
        self.crc.reset();
        self.stage = Stage::Body;
        Ok(true)
    }

    fn short(&self, error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            self.damage(How::Short)
        } else {
            error
        }
    }

    /// Unpack a piece into `plain`.
    fn unpack(&mut self, plain: &mut Vec<u8>) -> io::Result<()> {
        let input = self.packed.fill_buf()?;
        if input.is_empty() {
            return Err(self.damage(How::Short));
        }
        plain.resize(PIECE, 0);
        let (taken, given) = (self.inflater.total_in(), self.inflater.total_out());
        let status = self.inflater.decompress(input, plain, FlushDecompress::None);
        let (taken, given) = (self.inflater.total_in() - taken, self.inflater.total_out() - given);
        self.packed.consume(taken as usize);
        plain.truncate(given as usize);
        self.crc.update(plain);
        match status {
            Ok(Status::StreamEnd) => self.prove(),
            Ok(_) if taken + given > 0 => Ok(()),
            _ => Err(self.damage(How::Structure)),
        }
    }

    /// Hold the member against the checksum and the length that stand behind it.
    fn prove(&mut self) -> io::Result<()> {
        self.stage = Stage::Between;
        let (mut sum, mut length) = ([0; 4], [0; 4]);
        let read = self.packed.read_exact(&mut sum).and_then(|()| self.packed.read_exact(&mut length));
        read.map_err(|error| self.short(error))?;
        if u32::from_le_bytes(sum) != self.crc.sum() {
            return Err(self.damage(How::Checksum));
        }
        if u32::from_le_bytes(length) != self.crc.amount() {
            return Err(self.damage(How::Length));
        }
        Ok(())
    }
}

impl Unpack for Members {
    fn more(&mut self, plain: &mut Vec<u8>) -> io::Result<()> {
        while plain.is_empty() {
            if self.stage != Stage::Body && !self.begin()? {
                return Ok(());
            }
            self.unpack(plain)?;
        }
        Ok(())
    }
}

/// Step over the header of a member; what is wrong with it, if anything.
fn header(packed: &mut Packed) -> io::Result<Option<How>> {
    let mut crc = Crc::new();
    let mut take = |packed: &mut Packed| {
        let mut byte = [0];
        packed.read_exact(&mut byte)?;
        crc.update(&byte);
        io::Result::Ok(byte[0])
    };
    if [take(packed)?, take(packed)?] != MAGIC {
        return Ok(Some(How::Behind));
    }
    let (method, flags) = (take(packed)?, take(packed)?);
    if method != DEFLATE || flags & flag::RESERVED != 0 {
        return Ok(Some(How::Structure));
    }
    for _ in 0..6 {
        take(packed)?;
    }
    if flags & flag::EXTRA != 0 {
        let length = u16::from_le_bytes([take(packed)?, take(packed)?]);
        for _ in 0..length {
            take(packed)?;
        }
    }
    for text in [flag::NAME, flag::COMMENT] {
        while flags & text != 0 && take(packed)? != 0 {}
    }
    if flags & flag::HEADER_CRC != 0 {
        let sum = crc.sum() as u16;
        let mut told = [0; 2];
        packed.read_exact(&mut told)?;
        return Ok((u16::from_le_bytes(told) != sum).then_some(How::Structure));
    }
    Ok(None)
}
