//! What ERSPAN headers say beside the frame that they carry (draft-foschiano-erspan, 4).

use crate::packet::Packet;
use crate::tunnel::Tunnel;
use crate::{be16, be32};

/// Of one ERSPAN packet. `sequence`: of the GRE header, None where it has none (type I).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erspan<'a> {
    pub sequence: Option<u32>,
    pub header: &'a [u8],
}

impl<'a> Erspan<'a> {
    /// The headers in front of what `packet` carries; None for other tunnels. `packet.seq` is the carried packet's where that is RDMA.
    #[cold]
    pub fn of(packet: &Packet, bytes: &'a [u8]) -> Option<Self> {
        let (kind, lengths): (u16, &[usize]) = match packet.tunnel {
            Tunnel::Erspan1 => (0x88be, &[0]),
            Tunnel::Erspan2 => (0x88be, &[8]),
            Tunnel::Erspan3 => (0x22eb, &[12, 20]),
            _ => return None,
        };
        let end = usize::from(packet.carried_at);
        lengths.iter().find_map(|length| {
            let at = end.checked_sub(*length)?;
            let header = bytes.get(at..end)?;
            // The O bit announces the eight bytes more.
            let is_long = header.get(11).map_or(0, |last| last & 1) == 1;
            let sequence = gre_before(bytes, at, kind).filter(|_| is_long == (*length == 20))?;
            Some(Self { sequence, header })
        })
    }
}

/// The sequence number of the GRE header that ends at `end`; None when there is no such header.
fn gre_before(bytes: &[u8], end: usize, kind: u16) -> Option<Option<u32>> {
    (1..=4_usize).find_map(|words| {
        let at = end.checked_sub(4 * words)?;
        let flags = be16(bytes, at)?;
        let bits = [0x8000, 0x2000, 0x1000].iter().filter(|bit| flags & **bit != 0).count();
        (flags & 0x0007 == 0 && bits + 1 == words && be16(bytes, at + 2)? == kind).then_some(())?;
        Some(if flags & 0x1000 != 0 { be32(bytes, end - 4) } else { None })
    })
}

/// When a switch saw a frame, by its own clock. `ns`: since an epoch of its own, in steps of `unit_ns`; after `around_ns` the same comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErspanTime {
    pub ns: i128,
    pub unit_ns: u64,
    pub around_ns: i128,
}

const SECOND: i128 = 1_000_000_000;

impl Erspan<'_> {
    /// The time of type III (4.3), with what a platform's own header adds to it: the upper 32 bits (platforms 3 and 7), or the seconds of
    /// IEEE 1588 (5 and 6). An error says why there is none.
    pub fn time(&self) -> Result<ErspanTime, &'static str> {
        let (Some(raw), Some(last)) = (be32(self.header, 4), self.header.get(11)) else {
            return Err("ERSPAN of a type without times");
        };
        let platform = self.header.get(12).map(|first| first >> 2);
        let more = be32(self.header, 16).map_or(0, i128::from);
        let (raw, whole) = (i128::from(raw), 1_i128 << 32);
        let unit = match last >> 1 & 3 {
            0 => 100_000,
            1 => 100,
            2 if raw >= SECOND => return Err("a second of more than 10^9 ns"),
            2 => {
                let (seconds, around) = if matches!(platform, Some(5 | 6)) { (more, whole) } else { (0, 1) };
                return Ok(ErspanTime { ns: seconds * SECOND + raw, unit_ns: 1, around_ns: around * SECOND });
            }
            _ => return Err("a granularity of the platform's own"),
        };
        let (ticks, around) = match platform {
            Some(3 | 7) => (more * whole + raw, whole * whole),
            _ => (raw, whole),
        };
        Ok(ErspanTime { ns: ticks * unit, unit_ns: unit as u64, around_ns: around * unit })
    }
}
