//! Counts of what stands in the headers of one point's frames: marks of carried packets, tags, tunnels, RDMA, pause frames.

use std::collections::BTreeMap;

use nc_decode::{has_aeth, opcode, Acknowledge, DecodeError, Packet, Stop, Tunnel, NO_MARK, NO_PCP, NO_VLAN};
use nc_flow::PcpClock;
use serde::{Serialize, Serializer};

/// Different VLAN stacks, tunnel ids or errors that are told apart at one point; more are counted together.
const MOST: usize = 4_096;
/// Kinds of acknowledgements.
const ACKNOWLEDGES: [&str; 4] = ["ack", "nak", "rnr", "sequence-error"];

#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Sum {
    pub packets: u64,
    pub bytes: u64,
}

impl Sum {
    fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.frame_len);
    }
}

/// Per class of one kind of pause frame.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stops {
    pub frames: u64,
    pub stopped: [u64; 8],
    pub released: [u64; 8],
}

/// `ecn`: of the outermost IP header. `others`: packets beyond what the maps hold.
pub(crate) struct Layers {
    pub ecn: [u64; 4],
    pub inner_dscp: [Sum; 64],
    pub inner_ecn: [u64; 4],
    pub pcp: PcpClock,
    pub vlans: BTreeMap<(u16, u16), u64>,
    pub tunnels: BTreeMap<(&'static str, u32), u64>,
    pub opcodes: Box<[u64; 256]>,
    pub roce_v1: u64,
    acknowledges: [u64; ACKNOWLEDGES.len()],
    pub pfc: Stops,
    pub pause: Stops,
    pub errors: BTreeMap<String, u64>,
    pub others: u64,
}

impl Default for Layers {
    fn default() -> Self {
        Self {
            ecn: [0; 4],
            inner_dscp: [Sum::default(); 64],
            inner_ecn: [0; 4],
            pcp: PcpClock::default(),
            vlans: BTreeMap::new(),
            tunnels: BTreeMap::new(),
            opcodes: Box::new([0; 256]),
            roce_v1: 0,
            acknowledges: [0; ACKNOWLEDGES.len()],
            pfc: Stops::default(),
            pause: Stops::default(),
            errors: BTreeMap::new(),
            others: 0,
        }
    }
}

impl Layers {
    /// Count one frame. Most frames are plain: they cost a handful of comparisons.
    #[inline]
    pub fn count(&mut self, packet: &Packet) {
        if packet.is_ip() {
            self.ecn[usize::from(packet.ecn & 3)] += 1;
        }
        if packet.has_bth || packet.is_roce_v1 {
            self.rdma(packet);
        }
        // One question for all that few frames have.
        let is_tagged = packet.pcp != NO_PCP;
        if is_tagged | (packet.tunnel != Tunnel::None) | (packet.stop != Stop::None) | packet.error.is_some() {
            self.rest(packet);
        }
    }

    #[inline(never)]
    fn rest(&mut self, packet: &Packet) {
        if packet.pcp != NO_PCP {
            self.tags(packet);
        }
        if packet.tunnel != Tunnel::None {
            self.tunnel(packet);
        }
        match packet.stop {
            Stop::None => {}
            Stop::Pause => stops(&mut self.pause, packet),
            Stop::Pfc => stops(&mut self.pfc, packet),
        }
        if let Some(error) = packet.error {
            self.error(error);
        }
    }

    #[cold]
    fn tags(&mut self, packet: &Packet) {
        self.pcp.add(packet.ts_ns, packet.pcp, packet.frame_len);
        if packet.vlan != NO_VLAN {
            bump(&mut self.vlans, (packet.vlan, packet.inner_vlan), &mut self.others);
        }
    }

    #[cold]
    fn tunnel(&mut self, packet: &Packet) {
        bump(&mut self.tunnels, (tunnel_name(packet.tunnel), packet.tunnel_id), &mut self.others);
        if packet.inner_dscp != NO_MARK {
            self.inner_dscp[usize::from(packet.inner_dscp & 63)].add(packet);
            self.inner_ecn[usize::from(packet.inner_ecn & 3)] += 1;
        }
    }

    fn rdma(&mut self, packet: &Packet) {
        self.roce_v1 += u64::from(packet.is_roce_v1);
        if !packet.has_bth {
            return;
        }
        self.opcodes[usize::from(packet.opcode)] += 1;
        if has_aeth(packet.opcode) {
            let kind = match Acknowledge::of(packet.syndrome) {
                Acknowledge::Ack => 0,
                Acknowledge::Nak(_) => 1,
                Acknowledge::Rnr => 2,
                Acknowledge::SequenceError => 3,
            };
            self.acknowledges[kind] += 1;
        }
    }

    #[cold]
    fn error(&mut self, error: DecodeError) {
        let name = format!("{:?}: {:?}", error.layer, error.reason);
        bump(&mut self.errors, name, &mut self.others);
    }

    pub fn cnp(&self) -> u64 {
        self.opcodes[usize::from(opcode::CNP)]
    }

    pub fn bth(&self) -> u64 {
        self.opcodes.iter().sum()
    }
}

fn bump<K: Ord>(map: &mut BTreeMap<K, u64>, key: K, others: &mut u64) {
    if map.len() < MOST || map.contains_key(&key) {
        *map.entry(key).or_default() += 1;
    } else {
        *others += 1;
    }
}

fn stops(sum: &mut Stops, packet: &Packet) {
    sum.frames += 1;
    for (class, quanta) in packet.quanta().iter().enumerate() {
        if packet.stop_classes >> class & 1 != 0 {
            sum.stopped[class] += u64::from(*quanta > 0);
            sum.released[class] += u64::from(*quanta == 0);
        }
    }
}

pub(crate) fn tunnel_name(tunnel: Tunnel) -> &'static str {
    match tunnel {
        Tunnel::None => "",
        Tunnel::IpInIp => "ip-in-ip",
        Tunnel::Gre => "gre",
        Tunnel::Erspan1 => "erspan-1",
        Tunnel::Erspan2 => "erspan-2",
        Tunnel::Erspan3 => "erspan-3",
        Tunnel::Vxlan => "vxlan",
        Tunnel::Geneve => "geneve",
        Tunnel::Gtp => "gtp-u",
        Tunnel::Teredo => "teredo",
        Tunnel::Mpls => "mpls-in-udp",
    }
}

/// A JSON object with numbers as keys, ascending; zeros are left out.
pub(crate) struct Counted<'a>(pub &'a [u64]);

impl Serialize for Counted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let given = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        serializer.collect_map(given.map(|(number, count)| (number.to_string(), count)))
    }
}

/// A JSON object whose keys are made from a map's.
pub(crate) struct Named<'a, K>(pub &'a BTreeMap<K, u64>, pub fn(&K) -> String);

impl<K> Serialize for Named<'_, K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, count)| (self.1(key), count)))
    }
}

/// `policyhub.flows/1`, `points[].headers`.
#[derive(Serialize)]
pub(crate) struct LayersRow<'a> {
    ecn: Counted<'a>,
    inner_dscp: BTreeMap<String, Sum>,
    inner_ecn: Counted<'a>,
    pcp: BTreeMap<u8, u64>,
    vlans: Named<'a, (u16, u16)>,
    tunnels: Named<'a, (&'static str, u32)>,
    roce: RdmaRow<'a>,
    pfc: StopsRow<'a>,
    pause: StopsRow<'a>,
    errors: &'a BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "is_zero")]
    others: u64,
}

#[derive(Serialize)]
struct RdmaRow<'a> {
    packets: u64,
    v1: u64,
    opcodes: Counted<'a>,
    cnp: u64,
    acknowledges: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct StopsRow<'a> {
    frames: u64,
    stopped: Counted<'a>,
    released: Counted<'a>,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Layers {
    pub fn row(&self) -> LayersRow<'_> {
        let inner = self.inner_dscp.iter().enumerate().filter(|(_, sum)| sum.packets > 0);
        LayersRow {
            ecn: Counted(&self.ecn),
            inner_dscp: inner.map(|(mark, sum)| (mark.to_string(), *sum)).collect(),
            inner_ecn: Counted(&self.inner_ecn),
            pcp: self.pcp.seen().map(|(pcp, sum)| (pcp, sum.packets)).collect(),
            vlans: Named(&self.vlans, |(outer, inner)| match *inner {
                NO_VLAN => outer.to_string(),
                inner => format!("{outer}.{inner}"),
            }),
            tunnels: Named(&self.tunnels, |(name, id)| format!("{name} {id}")),
            roce: RdmaRow {
                packets: self.bth(),
                v1: self.roce_v1,
                opcodes: Counted(&self.opcodes[..]),
                cnp: self.cnp(),
                acknowledges: ACKNOWLEDGES.into_iter().zip(self.acknowledges).filter(|(_, count)| *count > 0).collect(),
            },
            pfc: self.pfc.row(),
            pause: self.pause.row(),
            errors: &self.errors,
            others: self.others,
        }
    }
}

impl Stops {
    fn row(&self) -> StopsRow<'_> {
        StopsRow { frames: self.frames, stopped: Counted(&self.stopped), released: Counted(&self.released) }
    }
}
