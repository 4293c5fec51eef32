//! What is worked out of a packet's key before the packet is counted, so that memory comes near meanwhile.

use nc_decode::Packet;

use crate::key::FlowKey;

/// No conversation was found yet.
pub(crate) const UNMET: u32 = u32::MAX;

/// The key that both directions share, which of them this is, its tags; and, of the table that worked it out, the hash and the number
/// that stood under it. The number is a guess: by the time the packet is counted the conversation may have gone.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    pub(crate) both: FlowKey,
    pub(crate) vlan: u32,
    pub(crate) tag: u32,
    pub(crate) number: u32,
    pub(crate) way: u8,
    place: u8,
}

impl Ahead {
    /// `ports`: as the key has them.
    #[inline]
    pub(crate) fn of(key: &FlowKey) -> Self {
        let (both, way) = key.conversation();
        Self { both, vlan: key.vlan, tag: 0, number: UNMET, way: way as u8, place: 0 }
    }

    /// Worked out by the table in this place among several, below 256.
    #[inline]
    pub fn at(self, place: usize) -> Self {
        Self { place: place as u8, ..self }
    }

    #[inline]
    pub fn place(&self) -> usize {
        usize::from(self.place)
    }

    /// Whether it is of this packet: a fragment, or what is no IP, has none.
    #[inline]
    pub fn is_for(packet: &Packet) -> bool {
        packet.is_ip() && !packet.is_fragment()
    }
}
