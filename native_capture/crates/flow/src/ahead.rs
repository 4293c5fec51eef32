//! What is worked out of a packet's key before the packet is counted, so that memory comes near meanwhile.

use nc_decode::Packet;

use crate::ends::Ends;
use crate::key::FlowKey;
use crate::roce_flow::NO_QP;

/// No conversation was found yet.
pub(crate) const UNMET: u32 = u32::MAX;
/// Place of what is not looked up in any table.
const NOWHERE: u8 = u8::MAX;

/// The ends that both directions share, which of them this is, its tags; and, of the table that worked it out, the hash and the number
/// that stood under it. The number is a guess: by the time the packet is counted the conversation may have gone. So is `qp`, of RDMA the
/// number of its flow ([`crate::RoceTable`]).
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Ahead {
    /// With the tags.
    tagged: Ends,
    pub(crate) tag: u32,
    pub(crate) number: u32,
    pub qp: u32,
    pub(crate) way: u8,
    place: u8,
}

impl Ahead {
    #[inline]
    pub(crate) fn of(key: &FlowKey) -> Self {
        let (both, way) = Ends::of(key);
        Self::new(both, key.vlan, way)
    }

    #[inline]
    fn new(both: Ends, vlan: u32, way: usize) -> Self {
        Self { tagged: Ends { vlan, ..both }, tag: 0, number: UNMET, qp: NO_QP, way: way as u8, place: 0 }
    }

    /// Of a packet that it [`is_for`](Self::is_for) not: whoever accounts it looks for itself.
    pub const NOTHING: Self = {
        let tagged = Ends { src: [0; 2], dst: [0; 2], ports: 0, vlan: 0, kind: 0 };
        Self { tagged, tag: 0, number: UNMET, qp: NO_QP, way: 0, place: NOWHERE }
    };

    #[inline]
    pub fn is_something(&self) -> bool {
        self.place != NOWHERE
    }

    /// Of a packet that it [`is_for`](Self::is_for).
    #[inline]
    pub fn of_packet(packet: &Packet, realm: u16) -> Self {
        let (both, way) = Ends::of_packet(packet, realm);
        Self::new(both, u32::from(packet.vlan) << 16 | u32::from(packet.inner_vlan), way)
    }

    /// Those of both directions.
    #[inline]
    pub(crate) fn both(&self) -> Ends {
        Ends { vlan: 0, ..self.tagged }
    }

    #[inline]
    pub(crate) fn vlan(&self) -> u32 {
        self.tagged.vlan
    }

    #[inline]
    pub(crate) fn proto(&self) -> u8 {
        (self.tagged.kind >> 8) as u8
    }

    /// Sums that are the same for both directions: of the lower and of the upper halves of the addresses, and of the ports.
    #[inline]
    pub fn sums(&self) -> (u64, u64, u64) {
        let Ends { src, dst, ports, .. } = self.tagged;
        (src[0].wrapping_add(dst[0]), src[1].wrapping_add(dst[1]), u64::from(ports >> 16) + u64::from(ports & 0xffff))
    }

    /// To be worked out by the table in this place among several, below 255.
    #[inline]
    pub fn set_place(&mut self, place: usize) {
        self.place = place as u8;
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
