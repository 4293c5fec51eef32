//! Flows of the packets that tunnels carry, at each point, beside those of the packets that carry them.

use std::collections::HashMap;
use std::hash::BuildHasher;

use nc_decode::{Packet, Tunnel};
use nc_detect::Carrier;
use nc_flow::{address, ports, protocol, DscpSet, FlowKey, Fragments, KeyedState, Signatures};
use serde::Serialize;

use crate::layers::tunnel_name;
use crate::report::{by_mark, ByMark, MarkRow};

/// Carried flows of one point that are told apart.
const MOST: usize = 1 << 16;
/// Tunnels within tunnels that are followed.
const DEEPEST: u8 = 8;

/// A packet that another one carries. `outer_dscp`: the mark of that one.
#[derive(Clone, Copy)]
pub(crate) struct Carried {
    way: Way,
    outer_dscp: u8,
    pub packet: Packet,
}

impl Carried {
    pub fn carrier(&self) -> Carrier {
        let Way { version, src, dst, .. } = self.way;
        Carrier {
            tunnel: tunnel_name(self.way.tunnel),
            tunnel_id: self.way.id(),
            version,
            src,
            dst,
            dscp: self.outer_dscp,
        }
    }
}

/// How a packet is carried: from where to where, in which tunnel. `depth`: 1 for the first below the outermost.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Way {
    depth: u8,
    version: u8,
    src: u128,
    dst: u128,
    tunnel: Tunnel,
    tunnel_id: u32,
}

impl Way {
    /// None for a tunnel that may be without one, and is.
    fn id(&self) -> Option<u32> {
        let has_one = matches!(
            self.tunnel,
            Tunnel::Vxlan | Tunnel::Geneve | Tunnel::Erspan2 | Tunnel::Erspan3 | Tunnel::Gtp | Tunnel::Mpls
        );
        Some(self.tunnel_id).filter(|id| *id != 0 || has_one)
    }
}

#[derive(Clone, Default)]
struct Sum {
    packets: u64,
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
    marks: DscpSet,
}

/// Every IP packet below `packet`, the outermost first, each with the signature that its payload shows.
#[cold]
pub(crate) fn carried(packet: &Packet, mut bytes: &[u8], signatures: &Signatures) -> Vec<Carried> {
    let (mut outer, mut found) = (*packet, Vec::<Carried>::new());
    for depth in 1..=DEEPEST {
        let Some(mut inner) = outer.inner(bytes) else { break };
        let Packet { version, src, dst, dscp: outer_dscp, tunnel, tunnel_id, .. } = outer;
        bytes = bytes.get(usize::from(outer.carried_at)..).unwrap_or_default();
        outer = inner;
        if !inner.is_ip() {
            continue;
        }
        if let Some(above) = found.last_mut() {
            above.packet.inner_dscp = inner.dscp;
        }
        inner.signature = signatures.sight(&inner, bytes);
        found.push(Carried { way: Way { depth, version, src, dst, tunnel, tunnel_id }, outer_dscp, packet: inner });
    }
    found
}

/// `overflow`: packets of flows beyond [`MOST`].
#[derive(Default)]
pub(crate) struct CarriedFlows {
    flows: HashMap<(Way, FlowKey), Sum, KeyedState>,
    fragments: Fragments,
    hash: KeyedState,
    pub overflow: u64,
}

impl CarriedFlows {
    pub fn count(&mut self, Carried { way, packet, .. }: &Carried) {
        let is_part = packet.is_fragment() && !packet.is_icmp();
        let ports = if is_part { self.ports_of_part(way, packet) } else { ports(packet) };
        let key = (*way, FlowKey::of(packet, 0, ports));
        if self.flows.len() >= MOST && !self.flows.contains_key(&key) {
            self.overflow += 1;
            return;
        }
        let ns = packet.ts_ns;
        let sum = self.flows.entry(key).or_insert_with(|| Sum { first_ns: ns, last_ns: ns, ..Sum::default() });
        sum.marks.add(packet.dscp, packet.l3_len, (sum.packets, sum.bytes));
        sum.packets += 1;
        sum.bytes += u64::from(packet.l3_len);
        (sum.first_ns, sum.last_ns) = (sum.first_ns.min(ns), sum.last_ns.max(ns));
    }

    /// Tenants of two tunnels may use the same addresses and identifications: their fragments are kept apart.
    fn ports_of_part(&mut self, way: &Way, packet: &Packet) -> (u16, u16) {
        let ip_id = packet.ip_id ^ self.hash.hash_one(way) as u32;
        self.fragments.ports(&Packet { ip_id, ..*packet })
    }

    /// Largest first, at most `top`; and how many there are.
    pub fn rows(&self, top: Option<usize>) -> (Vec<CarriedRow>, usize) {
        let mut all: Vec<_> = self.flows.iter().collect();
        let order = |(way, key): &(Way, FlowKey)| {
            (way.depth, way.version, way.src, way.dst, tunnel_name(way.tunnel), way.tunnel_id, *key)
        };
        all.sort_unstable_by_key(|(key, sum)| (std::cmp::Reverse(sum.bytes), order(key)));
        all.truncate(top.unwrap_or(usize::MAX));
        (all.into_iter().map(|((way, key), sum)| row(way, key, sum)).collect(), self.flows.len())
    }
}

/// `tunnel_id`: VNI, ERSPAN session, GRE key, tunnel endpoint, label; null for a tunnel without one. `bytes`: of the carried IP packets.
#[derive(Serialize)]
pub(crate) struct CarriedRow {
    depth: u8,
    tunnel: &'static str,
    tunnel_id: Option<u32>,
    outer_src: String,
    outer_dst: String,
    src: String,
    dst: String,
    sport: u16,
    dport: u16,
    proto: String,
    vlan: Option<u16>,
    packets: u64,
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
    dscp: ByMark<MarkRow>,
}

fn row(way: &Way, key: &FlowKey, sum: &Sum) -> CarriedRow {
    CarriedRow {
        depth: way.depth,
        tunnel: tunnel_name(way.tunnel),
        tunnel_id: way.id(),
        outer_src: address(way.version, way.src),
        outer_dst: address(way.version, way.dst),
        src: address(key.version, key.src),
        dst: address(key.version, key.dst),
        sport: key.sport,
        dport: key.dport,
        proto: protocol(key.proto).into_owned(),
        vlan: key.tags().0,
        packets: sum.packets,
        bytes: sum.bytes,
        first_ns: sum.first_ns,
        last_ns: sum.last_ns,
        dscp: by_mark(sum.marks.counts((sum.packets, sum.bytes))),
    }
}
