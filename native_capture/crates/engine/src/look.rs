//! One frame to what is known of it: headers, the signature that its payload shows, and what it holds beyond them.

use nc_decode::{decode_into, Packet, Tunnel};
use nc_flow::Signatures;
use nc_source::Frame;

use crate::carried::{carried, Carried};
use crate::neighbours::{neighbour, Neighbour};

/// `packet`: as it is by default.
#[inline(always)]
pub(crate) fn look(frame: &Frame<'_>, signatures: &Signatures, packet: &mut Packet) {
    decode_into(frame.link, frame.ts_ns, frame.frame_len, frame.bytes, packet);
    packet.signature = signatures.sight(packet, frame.bytes);
}

/// What few frames hold: a neighbour's word, or packets that they carry.
pub(crate) struct Beside {
    pub neighbour: Option<Neighbour>,
    pub carried: Vec<Carried>,
}

/// None for nearly all.
#[inline]
pub(crate) fn beside(packet: &Packet, bytes: &[u8], signatures: &Signatures) -> Option<Beside> {
    if packet.tunnel == Tunnel::None && !packet.is_lldp {
        return None;
    }
    let neighbour = if packet.is_lldp { neighbour(packet, bytes) } else { None };
    Some(Beside { neighbour, carried: carried(packet, bytes, signatures) })
}

/// A frame whose bytes are gone.
pub(crate) struct Looked {
    pub packet: Packet,
    pub beside: Option<Box<Beside>>,
}

/// As [`look`], where the packet goes on alone.
pub(crate) fn looked(frame: &Frame<'_>, signatures: &Signatures) -> Looked {
    let mut packet = Packet::default();
    look(frame, signatures, &mut packet);
    let beside = beside(&packet, frame.bytes, signatures).map(Box::new);
    Looked { packet, beside }
}
