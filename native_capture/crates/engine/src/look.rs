//! One frame to what is known of it: headers, and the signature that its payload shows.

use nc_decode::{decode, Packet};
use nc_flow::Signatures;
use nc_source::Frame;

#[inline]
pub(crate) fn look(frame: &Frame<'_>, signatures: &Signatures) -> Packet {
    let mut packet = decode(frame.link, frame.ts_ns, frame.frame_len, frame.bytes);
    packet.signature = signatures.sight(&packet, frame.bytes);
    packet
}
