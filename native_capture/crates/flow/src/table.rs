//! The flow table: one record per direction, and per conversation the port that the server listens on.

use std::collections::HashMap;

use nc_decode::{tcp_flag, Packet};

use crate::dscp::DscpSet;
use crate::key::{FlowKey, KeyedState};
use crate::tcp::{TcpCounts, TcpDirection, TcpEvent};

/// A flow with a packet this recent is never pushed out: its packets may still be on their way to another point.
const RECENT_NS: u64 = 2_000_000_000;
/// Records looked at to find the one to push out.
const LOOK: usize = 32;

/// `flows`: most records kept at once. `idle_ns`: forget a flow after this long without a packet (None: never). When the
/// table is full and flows may be forgotten, the stalest of a few gives way to a new one, so that a flood of new flows
/// cannot blind the judge.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub flows: usize,
    pub idle_ns: Option<u64>,
}

/// The measured life of one direction. `point`: where it was seen first. `judged`, `rewritten`: marks already counted
/// by the judge for this flow. `who`: its cache of the source's identity, good for `who_version`.
#[derive(Clone, Debug)]
pub struct Flow {
    pub key: FlowKey,
    pub point: u16,
    pub first_ns: u64,
    pub last_ns: u64,
    pub packets: u64,
    pub bytes: u64,
    pub dscp: DscpSet,
    pub tcp: TcpCounts,
    pub judged: u64,
    pub rewritten: u64,
    pub who: u32,
    pub who_version: u32,
    direction: TcpDirection,
    talk: u32,
    alive: bool,
}

#[derive(Clone, Copy, Debug)]
struct Talk {
    key: FlowKey,
    server_port: u16,
    flows: u32,
}

/// Records are reached by their number, which stays the same while the flow lives.
pub struct FlowTable {
    limits: Limits,
    by_key: HashMap<FlowKey, u32, KeyedState>,
    flows: Vec<Flow>,
    free: Vec<u32>,
    by_talk: HashMap<FlowKey, u32, KeyedState>,
    talks: Vec<Talk>,
    free_talks: Vec<u32>,
    overflow: u64,
    sweep: usize,
}

impl FlowTable {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            by_key: HashMap::default(),
            flows: Vec::new(),
            free: Vec::new(),
            by_talk: HashMap::default(),
            talks: Vec::new(),
            free_talks: Vec::new(),
            overflow: 0,
            sweep: 0,
        }
    }

    /// Account one packet; None (and one more overflow) when the table is full and the flow is new.
    pub fn observe(&mut self, key: FlowKey, point: u16, packet: &Packet) -> Option<(u32, TcpEvent)> {
        let number = match self.by_key.get(&key) {
            Some(number) => *number,
            None => self.begin(key, point, packet)?,
        };
        let flow = &mut self.flows[number as usize];
        flow.first_ns = flow.first_ns.min(packet.ts_ns);
        flow.last_ns = flow.last_ns.max(packet.ts_ns);
        flow.packets += 1;
        flow.bytes += u64::from(packet.frame_len);
        let count = flow.dscp.entry(packet.dscp);
        count.packets += 1;
        count.bytes += u64::from(packet.frame_len);
        let mut event = TcpEvent::default();
        if packet.is_tcp() {
            event = flow.direction.observe(packet);
            flow.tcp.add(event);
            if let Some(port) = syn_target(packet) {
                self.talks[flow.talk as usize].server_port = port;
            }
        }
        Some((number, event))
    }

    fn begin(&mut self, key: FlowKey, point: u16, packet: &Packet) -> Option<u32> {
        if self.by_key.len() >= self.limits.flows && !self.push_out(packet.ts_ns) {
            self.overflow += 1;
            return None;
        }
        let flow = Flow {
            key,
            point,
            first_ns: packet.ts_ns,
            last_ns: packet.ts_ns,
            packets: 0,
            bytes: 0,
            dscp: DscpSet::default(),
            tcp: TcpCounts::default(),
            judged: 0,
            rewritten: 0,
            who: 0,
            who_version: 0,
            direction: TcpDirection::default(),
            talk: self.join(key),
            alive: true,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.flows[number as usize] = flow;
                number
            }
            None => {
                self.flows.push(flow);
                (self.flows.len() - 1) as u32
            }
        };
        self.by_key.insert(key, number);
        Some(number)
    }

    /// The conversation of a new flow. Its first packet went to the server, until a SYN says otherwise.
    fn join(&mut self, key: FlowKey) -> u32 {
        let both = key.conversation();
        if let Some(number) = self.by_talk.get(&both) {
            let talk = &mut self.talks[*number as usize];
            talk.flows += 1;
            return *number;
        }
        let talk = Talk { key: both, server_port: key.dport, flows: 1 };
        let number = match self.free_talks.pop() {
            Some(number) => {
                self.talks[number as usize] = talk;
                number
            }
            None => {
                self.talks.push(talk);
                (self.talks.len() - 1) as u32
            }
        };
        self.by_talk.insert(both, number);
        number
    }

    pub fn flow(&self, number: u32) -> &Flow {
        &self.flows[number as usize]
    }

    pub fn flow_mut(&mut self, number: u32) -> &mut Flow {
        &mut self.flows[number as usize]
    }

    /// The port that the SYN, or else the first packet of the conversation, went to.
    pub fn server_port(&self, number: u32) -> u16 {
        self.talks[self.flows[number as usize].talk as usize].server_port
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Flow)> {
        self.flows.iter().enumerate().filter(|(_, flow)| flow.alive).map(|(number, flow)| (number as u32, flow))
    }

    /// Packets of flows that found no room.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Look at up to `steps` records and forget those that are idle; called now and then, it goes round the table.
    pub fn expire(&mut self, now_ns: u64, steps: usize) {
        let Some(idle) = self.limits.idle_ns else { return };
        for _ in 0..steps.min(self.flows.len()) {
            self.sweep = (self.sweep + 1) % self.flows.len();
            let flow = &self.flows[self.sweep];
            if flow.alive && flow.last_ns.saturating_add(idle) < now_ns {
                self.forget(self.sweep);
            }
        }
    }

    /// Make room for one flow; false when none may go.
    fn push_out(&mut self, now_ns: u64) -> bool {
        if self.limits.idle_ns.is_none() {
            return false;
        }
        let mut stalest = None;
        for _ in 0..LOOK.min(self.flows.len()) {
            self.sweep = (self.sweep + 1) % self.flows.len();
            let flow = &self.flows[self.sweep];
            if flow.alive && stalest.is_none_or(|(last_ns, _)| flow.last_ns < last_ns) {
                stalest = Some((flow.last_ns, self.sweep));
            }
        }
        match stalest {
            Some((last_ns, number)) if last_ns.saturating_add(RECENT_NS) < now_ns => {
                self.forget(number);
                true
            }
            _ => false,
        }
    }

    fn forget(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        flow.alive = false;
        self.by_key.remove(&flow.key);
        let talk = flow.talk;
        self.free.push(number as u32);
        self.leave(talk);
    }

    fn leave(&mut self, number: u32) {
        let talk = &mut self.talks[number as usize];
        talk.flows -= 1;
        if talk.flows == 0 {
            self.by_talk.remove(&talk.key);
            self.free_talks.push(number);
        }
    }
}

/// The server's port when this segment opens a connection.
fn syn_target(packet: &Packet) -> Option<u16> {
    match packet.tcp_flags & (tcp_flag::SYN | tcp_flag::ACK) {
        tcp_flag::SYN => Some(packet.dport),
        both if both == tcp_flag::SYN | tcp_flag::ACK => Some(packet.sport),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sport: u16, dport: u16, ts_ns: u64) -> Packet {
        Packet { version: 4, proto: proto(), src: 1, dst: 2, sport, dport, ts_ns, frame_len: 100, ..Packet::default() }
    }

    fn proto() -> u8 {
        nc_decode::proto::UDP
    }

    fn see(table: &mut FlowTable, packet: &Packet) -> Option<u32> {
        let key = FlowKey::of(packet, 0, (packet.sport, packet.dport));
        table.observe(key, 0, packet).map(|(number, _)| number)
    }

    fn reverse(packet: &Packet) -> Packet {
        Packet { src: packet.dst, dst: packet.src, sport: packet.dport, dport: packet.sport, ..*packet }
    }

    #[test]
    fn the_first_packet_names_the_server_port_for_both_directions() {
        let mut table = FlowTable::new(Limits { flows: 10, idle_ns: None });
        let question = packet(40_000, 53, 0);
        let ask = see(&mut table, &question).map(|n| table.server_port(n));
        let answer = see(&mut table, &reverse(&question)).map(|n| table.server_port(n));
        assert_eq!((ask, answer), (Some(53), Some(53)));
    }

    #[test]
    fn a_syn_corrects_the_server_port() {
        let mut table = FlowTable::new(Limits { flows: 10, idle_ns: None });
        let tcp = Packet { proto: 6, has_transport: true, ..packet(9_000, 40_000, 0) };
        let number = see(&mut table, &tcp);
        assert_eq!(number.map(|n| table.server_port(n)), Some(40_000));
        see(&mut table, &Packet { tcp_flags: tcp_flag::SYN, ..reverse(&tcp) });
        assert_eq!(number.map(|n| table.server_port(n)), Some(9_000));
    }

    #[test]
    fn a_flood_pushes_out_stale_flows_but_no_recent_one() {
        let second = 1_000_000_000;
        let mut table = FlowTable::new(Limits { flows: 3, idle_ns: Some(300 * second) });
        for (port, at) in [(1, 0), (2, 5), (3, 9), (4, 10), (5, 10), (6, 10)] {
            see(&mut table, &packet(port, 9, at * second));
        }
        let mut kept: Vec<_> = table.iter().map(|(_, flow)| flow.key.sport).collect();
        kept.sort_unstable();
        assert_eq!((kept, table.overflow()), (vec![3, 4, 5], 1));
    }

    #[test]
    fn a_full_table_counts_what_it_turns_away_and_idle_flows_make_room() {
        let mut table = FlowTable::new(Limits { flows: 2, idle_ns: Some(1_000) });
        for port in [1, 2, 3, 1] {
            see(&mut table, &packet(port, 9, 0));
        }
        assert_eq!((table.overflow(), table.iter().count()), (1, 2));
        table.expire(5_000, 10);
        assert!(see(&mut table, &packet(3, 9, 5_000)).is_some());
        assert_eq!((table.overflow(), table.iter().count()), (1, 1));
    }
}
