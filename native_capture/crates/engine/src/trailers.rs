//! What packet brokers add to frames: a time, where it stands, and how long the frame is without it. Nothing is believed that is not within
//! an hour of the capture's own time, nor anything that the packet's own length covers.

use nc_decode::{length_at, network_at};
use nc_source::Frame;

const SECOND: u64 = 1_000_000_000;
/// Shortest frame without its check sequence (IEEE 802.3, 3.2.8): what is shorter was padded before the trailer.
const SHORTEST: usize = 60;
const FCS: usize = 4;
const NONE: &str = "no such trailer";
const CUT: &str = "the end is cut off";

/// A time that a frame bears: behind it, or between its addresses and its EtherType (`length` bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Borne {
    Behind { ns: u64, frame_len: u32 },
    Between { ns: u64, length: usize },
}

impl Borne {
    pub fn ns(self) -> u64 {
        match self {
            Borne::Behind { ns, .. } | Borne::Between { ns, .. } => ns,
        }
    }
}

/// The time, or why there is none. `near`: whether a time is near the capture's own.
type Read = Result<Borne, &'static str>;

/// Where the packet itself ends, and the frame; an error for one whose end was not kept.
fn ends(frame: &Frame<'_>) -> Result<(usize, usize), &'static str> {
    let end = frame.bytes.len();
    if (end as u64) < u64::from(frame.frame_len) {
        return Err(CUT);
    }
    let told = network_at(frame.link, frame.bytes).filter(|(_, kind)| matches!(kind, 0 | 0x0800 | 0x86dd));
    let packet = told.and_then(|(at, _)| Some(at + length_at(frame.bytes, at)?));
    Ok((packet.unwrap_or(14), end))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 4)?.first_chunk().map(|four| u64::from(u32::from_be_bytes(*four)))
}

/// Seconds since 1970 and nanoseconds below one second; `mask`: of the nanoseconds.
fn time(bytes: &[u8], at: usize, mask: u64) -> Option<u64> {
    let (seconds, rest) = (word(bytes, at)?, word(bytes, at + 4)? & mask);
    (rest < SECOND).then_some(seconds * SECOND + rest)
}

/// A trailer that begins at `at`: what is in front of it is the frame.
fn behind(ns: u64, at: usize) -> Read {
    Ok(Borne::Behind { ns, frame_len: at as u32 })
}

/// MetaWatch (Arista 7130; "Metamako Trailer", tcpdump-workers, July 2018): original FCS, extensions, seconds, nanoseconds, flags, device (2),
/// port; the FCS of the new frame may follow.
pub(crate) fn metamako(frame: &Frame<'_>, near: &dyn Fn(u64) -> bool) -> Read {
    const LENGTH: usize = 12;
    const HAS_EXTENSIONS: u8 = 0x02;
    let (packet, end) = ends(frame)?;
    for fcs in [0, FCS] {
        let Some(at) = end.checked_sub(LENGTH + fcs).filter(|at| *at >= packet + FCS) else { continue };
        let Some(ns) = time(frame.bytes, at, u64::MAX).filter(|ns| near(*ns)) else { continue };
        let flags = frame.bytes.get(at + 8).copied().unwrap_or(0);
        // Extensions are walked from their front, which only the packet's own length tells.
        return match flags & HAS_EXTENSIONS {
            0 => behind(ns, at - FCS),
            _ => behind(ns, packet.max(SHORTEST).min(at - FCS)),
        };
    }
    Err(NONE)
}

/// VSS Monitoring (now NetScout): seconds, nanoseconds with the clock's source in the two highest bits, perhaps one byte of port; an FCS may
/// follow. It has no signature: it must begin where the packet ends, or the padding of a short one.
pub(crate) fn vss(frame: &Frame<'_>, near: &dyn Fn(u64) -> bool) -> Read {
    let (packet, end) = ends(frame)?;
    let starts = [packet, packet.max(SHORTEST)];
    for length in [8, 8 + FCS, 9, 9 + FCS] {
        let Some(at) = end.checked_sub(length).filter(|at| starts.contains(at) || packet == 14) else { continue };
        if let Some(ns) = time(frame.bytes, at, 0x3fff_ffff).filter(|ns| near(*ns)) {
            return behind(ns, at);
        }
    }
    Err(NONE)
}

/// Ixia (Keysight) network packet brokers: fields of type, length and value, then their length, 0xaf12 and a checksum; an FCS may follow. Types
/// 3 to 7 are times by different clocks.
pub(crate) fn ixia(frame: &Frame<'_>, near: &dyn Fn(u64) -> bool) -> Read {
    const FOOT: usize = 5;
    let (packet, end) = ends(frame)?;
    for fcs in [0, FCS] {
        let Some(foot) = end.checked_sub(FOOT + fcs) else { continue };
        let Some([length, 0xaf, 0x12, _, _]) = frame.bytes.get(foot..foot + FOOT) else { continue };
        let Some(mut at) = foot.checked_sub(usize::from(*length)).filter(|at| *at >= packet) else { continue };
        let start = at;
        while let Some([kind, length]) = frame.bytes.get(at..foot).and_then(|rest| rest.first_chunk::<2>()) {
            if let (3..=7, 8) = (kind, length) {
                return match time(frame.bytes, at + 2, u64::MAX).filter(|ns| near(*ns)) {
                    Some(ns) => behind(ns, start),
                    None => Err("a time far from the capture's"),
                };
            }
            at += 2 + usize::from(*length);
        }
    }
    Err(NONE)
}

/// Arista 7280R and 7500R: EtherType 0xd28b behind the addresses, subtype 1, and a version that says how long the time is, and whether it is
/// TAI, which is 37 s ahead of UTC since 2017 (as tcpdump's printer of Arista Networks, 2018, names them).
pub(crate) fn arista(frame: &Frame<'_>, near: &dyn Fn(u64) -> bool) -> Read {
    const TAI: u64 = 37 * SECOND;
    let Some([0xd2, 0x8b, 0, 1, is_utc, form]) = frame.bytes.get(12..18).filter(|_| frame.link == 1) else {
        return Err("no such header");
    };
    let (ns, length) = match form {
        0x10 => (time(frame.bytes, 18, u64::MAX), 14),
        0x20 => (short_time(frame), 12),
        _ => return Err("a version of the header that is not known"),
    };
    let ns = ns.map(|ns| ns.wrapping_sub(if *is_utc == 0 { TAI } else { 0 })).filter(|ns| near(*ns));
    let has_rest = frame.bytes.len() >= 12 + length + 2;
    match ns.filter(|_| has_rest) {
        Some(ns) => Ok(Borne::Between { ns, length }),
        None => Err("a time far from the capture's"),
    }
}

/// The low 16 bits of the seconds, the others as near the capture's time as can be.
fn short_time(frame: &Frame<'_>) -> Option<u64> {
    const AROUND: u64 = 1 << 16;
    let [high, low] = *frame.bytes.get(18..20)?.first_chunk()?;
    let (told, rest) = (u64::from(u16::from_be_bytes([high, low])), word(frame.bytes, 20)?);
    let now = frame.ts_ns / SECOND;
    let ahead = told.wrapping_sub(now) % AROUND;
    let seconds = if ahead < AROUND / 2 { now + ahead } else { (now + ahead).checked_sub(AROUND)? };
    (rest < SECOND).then_some(seconds * SECOND + rest)
}
