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
