//! Who filled a queue until others waited or lost packets: `microburst`, `queue-saturated`, `ecn-silent`.

use nc_decode::Packet;
use nc_detect::{thresholds, Figure, Joins, Name, Note, ServerPort, Severity};
use nc_flow::{address, protocol, FlowKey, Slice};
use serde_json::{json, Value};

use crate::core::{Core, NO_FLOW};
use crate::queues::Queues;

/// Time within which a packet that one point showed must have come to the next, when no matcher says.
const ALONE_NS: u64 = 100_000_000;
/// Senders that the evidence names.
const NAMED: usize = 5;
/// Senders told apart in one slice, of the largest flows.
const MOST_SENDERS: usize = 64;

/// A slice of an interval whose losses are not all known yet.
pub(crate) struct Waiting {
    port: usize,
    class: usize,
    slice: Slice,
    senders: Vec<Sender>,
}

/// All flows of one host to one service that filled the queue. `key`: of the largest.
struct Sender {
    key: FlowKey,
    server_port: u16,
    who: u32,
    dscp: u8,
    packets: u64,
    bytes: u64,
}

impl Core {
    /// A packet that no other point showed before.
    pub(crate) fn queue_first(&mut self, number: u16, packet: &Packet, flow: u32) {
        let Some(queues) = &mut self.queues else { return };
        if let Some((port, class)) = queues.first(number, packet, flow) {
            let is_core = self.is_core(flow);
            if let Some(queues) = &mut self.queues {
                queues.lost(port, class, packet.ts_ns, is_core);
            }
        }
        if self.points[usize::from(number)].clock.is_recorded() {
            self.trigger_clocks(number, packet.ts_ns);
        }
    }

    fn is_core(&self, flow: u32) -> bool {
        let who = if flow == NO_FLOW { 0 } else { self.flows.sender(flow) };
        let identity = self.judge.bundle().and_then(|bundle| bundle.identity(who));
        identity.is_some_and(|identity| identity.core)
    }

    /// A packet of a flow that passes other points as well was seen at `point` only.
    pub(crate) fn queue_lost(&mut self, flow: u32, point: u16, dscp: u8, ns: u64) {
        let is_core = self.is_core(flow);
        if let Some(queues) = &mut self.queues {
            queues.vanished(point, dscp, ns, is_core);
        }
    }

    /// Packet time has come to `now_ns` (the end: `u64::MAX`).
    pub(crate) fn watch_queues(&mut self, now_ns: u64) {
        let Some(mut queues) = self.queues.take() else { return };
        let window_ns = self.matcher.as_ref().map_or(ALONE_NS, |matcher| matcher.window());
        if now_ns != u64::MAX {
            queues.settle(now_ns.saturating_sub(window_ns));
        }
        for (port, class, slice) in queues.take_slices() {
            let senders = self.senders(&queues, port, class, &slice);
            queues.waiting.push_back(Waiting { port, class, slice, senders });
        }
        while queues.waiting.front().is_some_and(|front| now_ns.saturating_sub(front.slice.end_ns) >= window_ns) {
            if let Some(waiting) = queues.waiting.pop_front() {
                self.judge_queue(&mut queues, &waiting);
            }
        }
        self.queues = Some(queues);
    }

    fn senders(&self, queues: &Queues, port: usize, class: usize, slice: &Slice) -> Vec<Sender> {
        let mut senders: Vec<Sender> = Vec::new();
        for (flow, packets, bytes) in slice.fillers.iter().filter(|(flow, ..)| *flow != NO_FLOW) {
            let key = self.flows.key(*flow);
            let server_port = self.flows.server_port(*flow);
            let of_class = |mark: &u8| queues.class_of(port, *mark) == class;
            let (flows, number) = self.flows.at(*flow);
            let marks = flows.marks(number);
            let inside = marks.iter().filter(|(mark, _)| of_class(mark)).max_by_key(|(_, count)| count.packets);
            let Some(dscp) = inside.or(marks.first()).map(|(mark, _)| *mark) else { continue };
            let service = ServerPort::of(server_port);
            let same = |known: &Sender| {
                (known.key.src, known.key.dst, known.key.proto, known.dscp) == (key.src, key.dst, key.proto, dscp)
                    && (known.key.realm, ServerPort::of(known.server_port)) == (key.realm, service)
            };
            match senders.iter().position(same) {
                Some(at) => {
                    senders[at].packets += packets;
                    senders[at].bytes += bytes;
                }
                None if senders.len() < MOST_SENDERS => {
                    senders.push(Sender {
                        key,
                        server_port,
                        who: flows.sender(number),
                        dscp,
                        packets: *packets,
                        bytes: *bytes,
                    });
                }
                None => {}
            }
        }
        senders.sort_by_key(|sender| std::cmp::Reverse(sender.bytes));
        senders
    }

    /// A queue that filled is told when it was with a priority mark, or when a core business lost packets in it: any other fills
    /// because TCP uses what there is.
    fn judge_queue(&mut self, queues: &mut Queues, waiting: &Waiting) {
        let Waiting { port, class, slice, senders } = waiting;
        let losses = queues.losses(*port, *class, slice.from_ns, slice.end_ns);
        let total: u64 = slice.fillers.iter().map(|(_, _, bytes)| bytes).sum();
        let Some(sender) = self.to_name(senders, total) else { return };
        let lasted_ns = slice.end_ns - slice.start_ns;
        let name = match !slice.is_last || lasted_ns >= thresholds::MICROBURST_NS {
            true => Name::QueueSaturated,
            false => Name::Microburst,
        };
        let severity = match (losses.of_core, losses.all) {
            (1.., _) => Severity::High,
            (_, 1..) => Severity::Medium,
            _ => Severity::Low,
        };
        let signals = ["queue-nearly-full", "packets-lost", "core-packets-lost"];
        let signals = &signals[..1 + usize::from(losses.all > 0) + usize::from(losses.of_core > 0)];
        let peak_pct = queues.percent(*port, *class, slice.peak);
        let figures = [
            (Figure::Intervals, u64::from(slice.from_ns == slice.start_ns)),
            (Figure::LongestMs, lasted_ns / 1_000_000),
            (Figure::PeakPct, peak_pct),
            (Figure::QueueBytes, total),
            (Figure::SharePct, sender.bytes * 100 / total.max(1)),
            (Figure::Lost, losses.all),
            (Figure::LostOfCore, losses.of_core),
        ];
        let point = queues.place(*port);
        let note = Note {
            name,
            key: &sender.key,
            server_port: sender.server_port,
            who: sender.who,
            dscp: sender.dscp,
            point,
            ts_ns: slice.from_ns,
            ip_id: 0,
            packets: sender.packets,
            bytes: sender.bytes,
            severity,
            signals,
            figures: &figures,
            facts: self.queue_facts(queues, waiting, total),
            dest_qp: None,
            joins: Joins::Any,
        };
        let is_priority = self.is_priority(sender.dscp);
        let silent = (losses.could_be_marked >= thresholds::ECT_PACKETS && losses.marked == 0).then(|| Note {
            name: Name::EcnSilent,
            severity: Severity::Medium,
            signals: &["no-congestion-mark"],
            packets: losses.could_be_marked,
            bytes: 0,
            ..note.clone()
        });
        for note in silent.into_iter().chain((is_priority || losses.of_core > 0).then_some(note)) {
            self.judge.note(note, &mut self.verdicts);
        }
    }

    fn is_priority(&self, mark: u8) -> bool {
        match self.judge.bundle() {
            Some(bundle) => bundle.is_priority(mark),
            None => nc_detect::PRIORITY.contains(&mark),
        }
    }

    /// The largest of those that may not use this class, if there is one that matters; else the largest of all.
    fn to_name<'a>(&self, senders: &'a [Sender], total: u64) -> Option<&'a Sender> {
        let bundle = self.judge.bundle();
        let may_not = |sender: &&Sender| bundle.is_some_and(|bundle| bundle.breach(sender.who, sender.dscp).is_some());
        let offender = senders.iter().find(may_not);
        offender.filter(|sender| sender.bytes * 100 >= total * thresholds::OFFENDER_PCT).or(senders.first())
    }

    fn queue_facts(&self, queues: &Queues, waiting: &Waiting, total: u64) -> Vec<Value> {
        let Waiting { port, class, slice, senders } = waiting;
        let (port_name, class_name, basis) = queues.names(*port, *class);
        let queue = json!({
            "kind": "queue", "port": port_name, "class": class_name, "basis": basis, "start_ns": slice.start_ns,
            "end_ns": slice.end_ns, "peak_fill_pct": queues.percent(*port, *class, slice.peak),
        });
        let bundle = self.judge.bundle();
        let filler = |sender: &Sender| {
            let identity = bundle.and_then(|bundle| bundle.identity(sender.who));
            json!({
                "kind": "filler", "src": address(sender.key.version, sender.key.src),
                "dst": address(sender.key.version, sender.key.dst), "proto": protocol(sender.key.proto),
                "server_port": ServerPort::of(sender.server_port), "dscp": sender.dscp, "packets": sender.packets,
                "bytes": sender.bytes, "share": (sender.bytes * 1_000 / total.max(1)) as f64 / 1e3,
                "identity": identity.map(|identity| &identity.name), "business": identity.map(|identity| &identity.business),
                "allowed": bundle.map(|bundle| bundle.breach(sender.who, sender.dscp).is_none()),
            })
        };
        std::iter::once(queue).chain(senders.iter().take(NAMED).map(filler)).collect()
    }
}
