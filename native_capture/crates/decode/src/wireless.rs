//! 802.11 data frames, with or without a radiotap header, down to the IP layer. Encrypted frames end there.

use crate::be16;
use crate::error::{DecodeError, Layer, Reason};
use crate::link::ethertype;
use crate::packet::Packet;

/// Radiotap (radiotap.org): version 0, then the length of the header, little-endian.
pub(crate) fn radiotap(bytes: &[u8], packet: &mut Packet) -> Result<(), DecodeError> {
    let fail = |reason| DecodeError::new(Layer::Radiotap, reason, 0);
    let length = be16(bytes, 2).ok_or(fail(Reason::Short))?.swap_bytes();
    if length < 8 {
        return Err(fail(Reason::HeaderLength));
    }
    if bytes.len() < usize::from(length) {
        return Err(fail(Reason::Short));
    }
    ieee80211(bytes, usize::from(length), packet)
}

/// Frame control, addresses, QoS and HT control (802.11, 9.2.4), then LLC/SNAP. Only data frames that carry data go on.
pub(crate) fn ieee80211(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let fail = DecodeError::new(Layer::Ieee80211, Reason::Short, at);
    let (control, flags) = (*bytes.get(at).ok_or(fail)?, *bytes.get(at + 1).ok_or(fail)?);
    let (kind, subtype) = (control >> 2 & 3, control >> 4);
    let is_protected = flags & 0x40 != 0;
    if kind != 2 || subtype & 4 != 0 || is_protected {
        return Ok(());
    }
    let four_addresses = flags & 3 == 3;
    let is_qos = subtype & 8 != 0;
    let has_ht = is_qos && flags & 0x80 != 0;
    let header = 24 + usize::from(four_addresses) * 6 + usize::from(is_qos) * 2 + usize::from(has_ht) * 4;
    match bytes.get(at + header..at + header + 6) {
        Some([0xaa, 0xaa, 0x03, 0, 0, 0]) => ethertype(bytes, at + header + 6, packet),
        Some(_) => Ok(()),
        None => Err(fail),
    }
}
