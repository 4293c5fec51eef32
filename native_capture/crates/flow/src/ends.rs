//! Both ends of a conversation in the form in which its record holds them: what is compared for every packet.

use nc_decode::Packet;

use crate::fragments::ports;
use crate::key::FlowKey;

/// As [`FlowKey::conversation`] orders them. Addresses by halves, the low one first; `ports`: the source's in the upper half; `vlan`: 0, or
/// the tags that set this conversation apart from another of the same endpoints; `kind`: realm, protocol, version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub src: [u64; 2],
    pub dst: [u64; 2],
    pub ports: u32,
    pub vlan: u32,
    pub kind: u32,
}

impl Ends {
    /// And which of the two directions this is.
    #[inline]
    pub fn of(key: &FlowKey) -> (Self, usize) {
        let (both, way) = key.conversation();
        let ends = Self {
            src: halves(both.src),
            dst: halves(both.dst),
            ports: u32::from(both.sport) << 16 | u32::from(both.dport),
            vlan: both.vlan,
            kind: kind(both.realm, both.proto, both.version),
        };
        (ends, way)
    }

    /// The same, of a whole packet. Nearly all are of IPv4, where an address and its port are one number.
    #[inline]
    pub fn of_packet(packet: &Packet, realm: u16) -> (Self, usize) {
        let (sport, dport) = ports(packet);
        if packet.version != 4 {
            return Self::of(&FlowKey::of(packet, realm, (sport, dport)));
        }
        let one = (packet.src as u64) << 16 | u64::from(sport);
        let other = (packet.dst as u64) << 16 | u64::from(dport);
        let (low, high) = (one.min(other), one.max(other));
        let ends = Self {
            src: [low >> 16, 0],
            dst: [high >> 16, 0],
            ports: (low as u32) << 16 | high as u32 & 0xffff,
            vlan: 0,
            kind: kind(realm, packet.proto, packet.version),
        };
        (ends, usize::from(one > other))
    }

    pub fn key(&self) -> FlowKey {
        FlowKey {
            src: whole(self.src),
            dst: whole(self.dst),
            sport: (self.ports >> 16) as u16,
            dport: self.ports as u16,
            vlan: self.vlan,
            realm: (self.kind >> 16) as u16,
            proto: (self.kind >> 8) as u8,
            version: self.kind as u8,
        }
    }
}

#[inline]
fn halves(address: u128) -> [u64; 2] {
    [address as u64, (address >> 64) as u64]
}

#[inline]
pub(crate) fn whole([low, high]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

#[inline]
fn kind(realm: u16, proto: u8, version: u8) -> u32 {
    u32::from(realm) << 16 | u32::from(proto) << 8 | u32::from(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_packet_are_those_of_its_key_and_lead_back_to_it() {
        for (src, dst, sport, dport) in
            [(9_u32, 8_u32, 1, 2), (8, 9, 1, 2), (7, 7, 5, 4), (7, 7, 4, 5), (u32::MAX, 0, 65_535, 0)]
        {
            for (version, proto) in [(4, 6), (4, 17), (4, 1), (6, 6), (0, 0)] {
                let (src, dst) = (u128::from(src), u128::from(dst));
                let packet = Packet { src, dst, sport, dport, version, proto, ..Packet::default() };
                let key = FlowKey::of(&packet, 3, ports(&packet));
                let (ends, way) = Ends::of_packet(&packet, 3);
                assert_eq!((ends, way), Ends::of(&key));
                assert_eq!((ends.key(), way), key.conversation());
            }
        }
    }
}
