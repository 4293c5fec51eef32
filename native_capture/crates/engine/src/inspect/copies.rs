//! Packets that one capture holds twice: a mirror of both the way in and the way out of a device.

use std::collections::{HashMap, VecDeque};

use nc_correlate::{identity_of, PacketId};
use nc_decode::Packet;
use nc_flow::KeyedState;
use serde::Serialize;

/// A copy comes within this time; a retransmission with all its numbers alike takes longer (RFC 6298: 200 ms and more in practice).
const WINDOW_NS: u64 = 20_000_000;
const MOST: usize = 1 << 16;

/// `looked_at`: TCP and UDP packets. `copied`: seen before within 20 ms, of these `changed`: with another TTL, mark or tag (before and
/// after a device), the others alike to the last header.
#[derive(Default, Serialize)]
pub(super) struct Copies {
    looked_at: u64,
    copied: u64,
    changed: u64,
    most_apart_ns: u64,
    #[serde(skip)]
    recent: HashMap<PacketId, Seen, KeyedState>,
    #[serde(skip)]
    order: VecDeque<(PacketId, u64)>,
    #[serde(skip)]
    hashers: (KeyedState, KeyedState),
}

#[derive(Clone, Copy)]
struct Seen {
    ns: u64,
    look: (u8, u8, u16, u8),
}

impl Copies {
    pub fn count(&mut self, packet: &Packet) {
        if !packet.has_transport || packet.is_icmp() {
            return;
        }
        self.looked_at += 1;
        self.forget(packet.ts_ns);
        let checks = u128::from(packet.checksum) << 64 ^ u128::from(packet.ack) << 16 ^ u128::from(packet.tcp_flags);
        let id = identity_of(packet, 0, &self.hashers) ^ checks;
        let look = (packet.ttl, packet.dscp, packet.vlan, packet.pcp);
        match self.recent.get(&id) {
            Some(seen) if packet.ts_ns.abs_diff(seen.ns) <= WINDOW_NS => {
                self.copied += 1;
                self.changed += u64::from(seen.look != look);
                self.most_apart_ns = self.most_apart_ns.max(packet.ts_ns.abs_diff(seen.ns));
            }
            _ => {
                self.recent.insert(id, Seen { ns: packet.ts_ns, look });
                self.order.push_back((id, packet.ts_ns));
            }
        }
    }

    fn forget(&mut self, now_ns: u64) {
        while let Some((id, ns)) = self.order.front().copied() {
            if now_ns.saturating_sub(ns) <= WINDOW_NS && self.order.len() < MOST {
                break;
            }
            if self.recent.get(&id).is_some_and(|seen| seen.ns == ns) {
                self.recent.remove(&id);
            }
            self.order.pop_front();
        }
    }
}
