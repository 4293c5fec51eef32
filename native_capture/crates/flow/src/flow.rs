//! One conversation: what is counted of its two directions.

use nc_decode::Packet;

use crate::ahead::Ahead;
use crate::dscp::DscpSet;
use crate::key::FlowKey;
use crate::tcp::TcpDirection;
use crate::totals::Totals;

/// The measured life of one direction. `point`: where it was seen first. `vlan`: its tags. `who_version`: for which bundle `dscp.who`
/// is good; the low bits are kept, for no flow sleeps through 65,536 bundles.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    pub first_ns: u64,
    pub last_ns: u64,
    totals: Totals,
    pub dscp: DscpSet,
    pub(crate) vlan: u32,
    pub(crate) data_segments: u32,
    /// Of UDP, the media stream that may be in it: see [`crate::rtp`].
    pub(crate) tcp: TcpDirection,
    pub who_version: u16,
    pub point: u16,
}

impl Flow {
    /// Packets and bytes of each mark, ascending.
    pub fn marks(&self) -> Vec<(u8, crate::DscpCount)> {
        self.dscp.counts((self.packets(), self.bytes()))
    }

    /// The one mark, where there is but one; None where there are several, or no packets.
    pub fn only_mark(&self) -> Option<(u8, crate::DscpCount)> {
        self.dscp.only((self.packets(), self.bytes()))
    }

    pub fn packets(&self) -> u64 {
        self.totals.packets()
    }

    /// Of frames.
    pub fn bytes(&self) -> u64 {
        self.totals.bytes()
    }

    /// From the IP header on.
    pub fn ip_bytes(&self) -> u64 {
        self.totals.ip_bytes()
    }

    #[inline]
    pub(crate) fn count(&mut self, point: u16, vlan: u32, packet: &Packet) {
        if self.packets() == 0 {
            (self.first_ns, self.point, self.vlan) = (packet.ts_ns, point, vlan);
        }
        self.first_ns = self.first_ns.min(packet.ts_ns);
        self.last_ns = self.last_ns.max(packet.ts_ns);
        self.dscp.add(packet.dscp, packet.frame_len, (self.packets(), self.bytes()));
        self.totals.add(packet.frame_len, packet.l3_len);
    }
}

/// Both directions of one conversation. `key`: as [`FlowKey::conversation`] gives it; its `vlan` is 0, or the tags that set this
/// conversation apart from another of the same endpoints.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    pub key: FlowKey,
    /// Of its tally of signatures, of its times (of UDP: its media) and of its troubles; 0 for none.
    pub found: u32,
    pub timing: u32,
    pub trouble: u32,
    pub server_port: u16,
    pub alive: bool,
    /// An answer of the server was timed.
    pub answered: bool,
    pub ways: [Flow; 2],
}

impl Talk {
    pub fn new(key: FlowKey, server_port: u16) -> Self {
        let ways = Default::default();
        Self { key, found: 0, timing: 0, trouble: 0, server_port, alive: true, answered: false, ways }
    }

    /// Whether a packet of these endpoints belongs here by its tags.
    #[inline]
    pub fn fits(&self, ahead: &Ahead) -> bool {
        let flow = &self.ways[usize::from(ahead.way & 1)];
        flow.vlan == ahead.vlan || flow.packets() == 0
    }

    pub fn last_ns(&self) -> u64 {
        self.ways[0].last_ns.max(self.ways[1].last_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_with_one_mark_and_its_times_fits_what_the_design_says() {
        let talk = std::mem::size_of::<Talk>();
        assert!(talk + std::mem::size_of::<crate::timing::Timing>() + 16 <= 320, "{talk}");
    }
}
