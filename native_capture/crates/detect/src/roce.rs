//! What the packets of an RDMA connection say about the network between its ends.
//!
//! A gap in the numbers alone says nothing: the mirror may have lost what the network delivered. What the ends did about it does:
//! a refusal for a sequence error, or the packets sent again (go-back-N). docs/verdicts.md.

use nc_decode::{Acknowledge, Packet, NO_VLAN};
use nc_flow::{fetch, FlowKey, Psn, QpFlow, RoceEnds, RoceEvent, RoceTable};

use crate::figure::Figure;
use crate::judge::{Joins, Note, ROCE_V1};
use crate::thresholds as at;
use crate::verdict::{Name, Severity};

const SECOND: u64 = 1_000_000_000;
const PORT: u16 = nc_decode::ROCE_V2_PORT;

/// A share of a flow's packets within one second. Until it is large enough its packets wait, then all of them count.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    packets: u64,
    bytes: u64,
    is_told: bool,
}

impl Share {
    /// Count one; the packets and bytes to tell now, none while `enough` does not hold.
    fn count(&mut self, bytes: u32, enough: impl Fn(u64) -> bool) -> Option<(u64, u64)> {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        if self.is_told {
            return Some((1, u64::from(bytes)));
        }
        self.is_told = enough(self.packets);
        self.is_told.then_some((self.packets, self.bytes))
    }
}

/// What is remembered of one flow. `first_mark`: of its first data packet. What nearly all packets need stands first, in a cache line.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
struct State {
    second: u64,
    data: u64,
    first_mark: Option<u8>,
    /// Its last packet was the next one, and nothing is remembered of those before.
    is_calm: bool,
    /// Its receiver was not ready: what it sends again was not lost.
    is_refused: bool,
    stuck: Option<Name>,
    psn: u32,
    rounds: u32,
    again: u64,
    naks: u64,
    ce: Share,
    not_ect: Share,
    other: Share,
    cnp: Share,
    again_bytes: u64,
    filled: u64,
    filled_bytes: u64,
    missing: u64,
}

/// What is noted, before it is known of whom.
struct Found<'a> {
    name: Name,
    packets: u64,
    bytes: u64,
    severity: Severity,
    signal: &'static str,
    figures: &'a [(Figure, u64)],
    joins: Joins,
}

/// Judges RDMA connections, by flows of a [`RoceTable`].
#[derive(Default)]
pub struct RoceJudge {
    states: Vec<State>,
}

impl RoceJudge {
    /// After a table has renumbered its flows.
    pub fn forget(&mut self) {
        self.states.clear();
    }

    /// Bring near what is remembered of a flow.
    #[inline]
    pub fn fetch(&self, number: u32) {
        if let Some(state) = self.states.get(number as usize) {
            fetch(&state.second);
        }
    }

    /// Count one packet that the table has accounted; true when it is usual, and nothing can be told of it. Any other is to be judged.
    #[inline]
    pub fn is_usual(&mut self, table: &RoceTable, event: RoceEvent, packet: &Packet) -> bool {
        if table.flow(event.number).ends.tunnel != 0 {
            return true; // the addresses are those of the tunnel's ends, not of who is to blame
        }
        if self.states.len() <= event.number as usize {
            self.grow(event.number);
        }
        let is_quiet = !speaks(event) || self.is_plain_answer(table, event);
        let state = &mut self.states[event.number as usize];
        state.begin(packet.ts_ns / SECOND);
        if event.is_data {
            state.first_mark.get_or_insert(packet.dscp);
        }
        let is_usual = is_quiet && state.is_usual(event, packet);
        state.data += u64::from(is_usual && event.is_data);
        is_usual
    }

    #[cold]
    fn grow(&mut self, number: u32) {
        self.states.resize_with(number as usize + 1, State::default);
    }

    /// Judge a packet that is not usual. `is_first`: no other point showed it before. What is found goes to `sink` without the number of
    /// its sender's identity.
    #[inline(never)]
    pub fn judge(
        &mut self,
        table: &RoceTable,
        event: RoceEvent,
        packet: &Packet,
        is_first: bool,
        sink: &mut dyn FnMut(Note<'_>),
    ) {
        let flow = table.flow(event.number);
        // Other points may show the flow with another mark: it is known by that which its sender gave it.
        let origin = table.origin(event.number) as usize;
        let mark = self.states.get(origin).and_then(|state| state.first_mark).unwrap_or(packet.dscp);
        let state = &mut self.states[event.number as usize];
        let mut tell = |found: Found<'_>| send(sink, &flow.ends, packet, (mark, Some(flow.dest_qp)), found);
        if is_first {
            state.sequence(table, flow, event.psn, packet, &mut tell);
        }
        if event.is_data {
            state.marks(packet, &mut tell);
        }
        if is_first && speaks(event) && !self.is_plain_answer(table, event) {
            self.answer(table, event, packet, sink);
        }
    }

    /// An acknowledgement of what was sent once: nothing can be told of it.
    fn is_plain_answer(&self, table: &RoceTable, event: RoceEvent) -> bool {
        let flow = table.flow(event.number);
        let sender = || self.states.get(table.origin(flow.peer) as usize);
        let sent_again = table.peer(flow).is_some() && sender().is_some_and(|state| state.again > 0);
        event.acknowledge == Some(Acknowledge::Ack) && !sent_again
    }

    /// A packet that speaks about the other direction.
    fn answer(&mut self, table: &RoceTable, event: RoceEvent, packet: &Packet, sink: &mut dyn FnMut(Note<'_>)) {
        let flow = table.flow(event.number);
        let told = if event.is_cnp {
            let state = &mut self.states[event.number as usize];
            state.cnp.count(packet.frame_len, |packets| packets >= at::NOTIFICATIONS)
        } else {
            Some((1, u64::from(packet.frame_len)))
        };
        let paired = table.peer(flow).map(|peer| (flow.peer, peer));
        let other = paired.map(|(number, _)| number).or_else(|| table.only_sender(&flow.ends.reversed()));
        let sender = other.map(|number| table.origin(number));
        let state = sender.and_then(|number| self.states.get_mut(number as usize));
        let mark = state.as_ref().and_then(|state| state.first_mark).unwrap_or(packet.dscp);
        let (name, severity, signal, figure) = match (event.acknowledge, state) {
            (Some(Acknowledge::Ack), Some(state)) if state.again > 0 && paired.is_some() => {
                let sent = table.flow(sender.unwrap_or_default());
                let mut tell = |found: Found<'_>| send(sink, &sent.ends, packet, (mark, Some(sent.dest_qp)), found);
                return state.sent_again(Name::RoceLoss, sent, &mut tell);
            }
            (Some(Acknowledge::SequenceError), state) => {
                state.into_iter().for_each(|state| (state.naks, state.is_calm) = (state.naks + 1, false));
                (Name::RoceLoss, Severity::High, "sequence-nak", Figure::SequenceNaks)
            }
            (Some(Acknowledge::Rnr), state) => {
                state.into_iter().for_each(|state| (state.is_refused, state.is_calm) = (true, false));
                (Name::RoceRnr, Severity::Medium, "receiver-not-ready", Figure::RnrNaks)
            }
            _ if event.is_cnp => (Name::RoceCongested, Severity::Medium, "notifications", Figure::Notifications),
            _ => return,
        };
        let Some((packets, bytes)) = told else { return };
        let figures = &[(figure, packets)];
        let found = Found { name, packets, bytes, severity, signal, figures, joins: Joins::Any };
        let qp = paired.map(|(_, peer)| peer.dest_qp);
        send(sink, &flow.ends.reversed(), packet, (mark, qp), found);
    }
}

/// About the other direction.
fn speaks(event: RoceEvent) -> bool {
    event.acknowledge.is_some() || event.is_cnp
}

impl State {
    /// Shares are those of one second.
    fn begin(&mut self, second: u64) {
        if self.second != second {
            self.second = second;
            self.data = 0;
            (self.ce, self.not_ect, self.other, self.cnp) = Default::default();
        }
    }

    /// Next in its sequence, if it has one, and marked as such packets should be: nothing but a packet more.
    #[inline]
    fn is_usual(&self, event: RoceEvent, packet: &Packet) -> bool {
        let is_next = event.psn == Psn::None || event.psn == Psn::Next && self.is_calm;
        let is_transport = matches!(packet.ecn, 1 | 2) && self.first_mark == Some(packet.dscp);
        is_next && (!event.is_data || is_transport && !packet.is_roce_v1)
    }

    /// Packets sent again are told when the flow goes on, or goes on sending nothing else.
    fn sequence(
        &mut self,
        table: &RoceTable,
        flow: &QpFlow,
        psn: Psn,
        packet: &Packet,
        tell: &mut dyn FnMut(Found<'_>),
    ) {
        self.is_calm = psn == Psn::Next || psn == Psn::None && self.is_calm;
        match psn {
            Psn::None => {}
            Psn::Repeated if self.is_refused => {}
            Psn::Repeated => {
                self.again += 1;
                self.again_bytes += u64::from(packet.frame_len);
                if self.rounds == 0 {
                    self.psn = packet.seq;
                }
                self.rounds += u32::from(packet.seq == self.psn);
                if self.rounds >= at::STUCK_ROUNDS {
                    let name = *self.stuck.get_or_insert_with(|| stuck(table, flow, packet));
                    self.sent_again(name, flow, tell);
                }
            }
            Psn::Filled => {
                self.filled += 1;
                self.filled_bytes += u64::from(packet.frame_len);
            }
            Psn::Next | Psn::Gap(_) => {
                // Late packets alone came in another order; a refusal, or others sent again with them, make them repeats.
                if self.again > 0 || self.filled > 0 && self.naks > 0 {
                    self.sent_again(Name::RoceLoss, flow, tell);
                }
                (self.filled, self.filled_bytes, self.naks, self.rounds) = Default::default();
                (self.stuck, self.is_refused) = Default::default();
                (self.again, self.again_bytes) = (0, 0);
                self.missing = if let Psn::Gap(missing) = psn { u64::from(missing) } else { 0 };
            }
        }
    }

    fn sent_again(&mut self, name: Name, flow: &QpFlow, tell: &mut dyn FnMut(Found<'_>)) {
        let packets = self.again + self.filled;
        let figures = [
            (Figure::Repeated, packets),
            (Figure::Missing, self.missing),
            (Figure::LargestFrame, u64::from(flow.frame_max)),
        ];
        let signal = if name == Name::MtuBlackhole { "large-frames-vanish" } else { "sent-again" };
        let bytes = self.again_bytes + self.filled_bytes;
        tell(Found { name, packets, bytes, severity: Severity::High, signal, figures: &figures, joins: Joins::Any });
        (self.again, self.again_bytes, self.filled, self.filled_bytes, self.missing) = Default::default();
    }

    /// Congestion and its absence, as the data packets carry it.
    fn marks(&mut self, packet: &Packet, tell: &mut dyn FnMut(Found<'_>)) {
        self.data += 1;
        let data = self.data;
        let share = |pct: u64| move |packets: u64| data >= at::RATE_PACKETS && packets * 100 >= data * pct;
        let mut found = |name, severity, signal, figure, (packets, bytes): (u64, u64)| {
            let joins = Joins::SamePoint;
            tell(Found { name, packets, bytes, severity, signal, figures: &[(figure, packets)], joins });
        };
        if packet.is_roce_v1 {
            let all = (1, u64::from(packet.frame_len));
            found(Name::RoceV1, Severity::Low, "not-routable", Figure::Frames, all);
            return;
        }
        if packet.ecn == 3 {
            if let Some(told) = self.ce.count(packet.frame_len, share(at::CE_PCT)) {
                let heavy = data >= at::RATE_PACKETS && self.ce.packets * 100 >= data * at::CE_HIGH_PCT;
                let severity = if heavy { Severity::High } else { Severity::Medium };
                found(Name::RoceCongested, severity, "ce-share", Figure::CeMarks, told);
            }
        }
        if packet.ecn == 0 {
            if let Some(told) = self.not_ect.count(packet.frame_len, share(at::NOT_ECT_PCT)) {
                found(Name::RoceNotLossless, Severity::Medium, "not-ect", Figure::NotEct, told);
            }
        }
        if self.first_mark != Some(packet.dscp) {
            if let Some(told) = self.other.count(packet.frame_len, |packets| packets >= at::OTHER_MARKS) {
                found(Name::RoceNotLossless, Severity::Medium, "other-marks", Figure::OtherMarks, told);
            }
        }
    }
}

/// Why the same packet comes again and again: it is too large for the way, when smaller ones are answered and it never was.
fn stuck(table: &RoceTable, flow: &QpFlow, packet: &Packet) -> Name {
    let never = table.peer(flow).is_none_or(|peer| peer.acks == 0);
    match never && packet.frame_len > at::PASSES_EVERYWHERE && table.is_answered(&flow.ends) {
        true => Name::MtuBlackhole,
        false => Name::RoceLoss,
    }
}

/// The key under which verdicts know one direction. Global identifiers of RoCEv1 that are mapped IPv4 addresses are written so.
pub fn roce_key(ends: &RoceEnds, sport: u16) -> FlowKey {
    let vlan = u32::from(NO_VLAN) << 16 | u32::from(NO_VLAN);
    let key = FlowKey {
        src: ends.src,
        dst: ends.dst,
        sport,
        dport: PORT,
        vlan,
        realm: ends.realm,
        proto: 17,
        version: ends.version,
    };
    if ends.version != 0 {
        return key;
    }
    let mapped = |gid: u128| gid >> 32 == 0xffff;
    let key = FlowKey { sport: 0, dport: 0, proto: ROCE_V1, version: 6, ..key };
    match mapped(ends.src) && mapped(ends.dst) {
        true => FlowKey { version: 4, src: ends.src & 0xffff_ffff, dst: ends.dst & 0xffff_ffff, ..key },
        false => key,
    }
}

fn send(
    sink: &mut dyn FnMut(Note<'_>),
    ends: &RoceEnds,
    packet: &Packet,
    (dscp, dest_qp): (u8, Option<u32>),
    found: Found<'_>,
) {
    let key = roce_key(ends, packet.sport);
    sink(Note {
        name: found.name,
        key: &key,
        server_port: key.dport,
        who: 0,
        dscp,
        point: ends.point,
        ts_ns: packet.ts_ns,
        ip_id: packet.ip_id,
        packets: found.packets,
        bytes: found.bytes,
        severity: found.severity,
        signals: &[found.signal],
        figures: found.figures,
        facts: Vec::new(),
        dest_qp,
        joins: found.joins,
    });
}
