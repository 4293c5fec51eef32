//! One frame to what is known of it: headers, and the signature that its payload shows.

use nc_decode::{decode_into, Packet};
use nc_flow::Signatures;
use nc_source::Frame;

/// `packet`: as it is by default.
#[inline]
pub(crate) fn look(frame: &Frame<'_>, signatures: &Signatures, packet: &mut Packet) {
    decode_into(frame.link, frame.ts_ns, frame.frame_len, frame.bytes, packet);
    packet.signature = signatures.sight(packet, frame.bytes);
}

/// As [`look`], where the packet goes on alone.
pub(crate) fn looked(frame: &Frame<'_>, signatures: &Signatures) -> Packet {
    let mut packet = Packet::default();
    look(frame, signatures, &mut packet);
    packet
}
