//! Between whom a RoCE packet goes.

use std::hash::{Hash, Hasher};

use nc_decode::{Packet, Tunnel};

/// One direction between two addresses as one point shows it. `version` 0: RoCEv1, whose addresses are the global identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoceEnds {
    pub point: u16,
    pub realm: u16,
    pub version: u8,
    pub src: u128,
    pub dst: u128,
    pub tunnel: u32,
}

/// In few words: this is done for every packet.
impl Hash for RoceEnds {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let place = u64::from(self.tunnel) << 32 | u64::from(self.point) << 16 | u64::from(self.realm);
        match self.version {
            4 => state.write_u128((self.src << 32 | self.dst) << 64 | u128::from(place)),
            version => {
                state.write_u128(self.src);
                state.write_u128(self.dst);
                state.write_u128(u128::from(version) << 64 | u128::from(place));
            }
        }
    }
}

impl RoceEnds {
    #[inline]
    pub fn of(packet: &Packet, point: u16, realm: u16) -> Self {
        let tunnel = Self::tunnel_of(packet);
        Self { point, realm, version: packet.version, src: packet.src, dst: packet.dst, tunnel }
    }

    /// 0 for none.
    #[inline]
    pub(crate) fn tunnel_of(packet: &Packet) -> u32 {
        match packet.tunnel {
            Tunnel::None => 0,
            _ => packet.tunnel_id.wrapping_add(1).max(1),
        }
    }

    pub fn reversed(&self) -> Self {
        Self { src: self.dst, dst: self.src, ..*self }
    }
}
