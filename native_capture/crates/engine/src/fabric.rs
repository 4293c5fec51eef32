//! RDMA connections and pause frames of all points: counted, and judged.

use nc_correlate::Gone;
use nc_decode::Packet;
use nc_detect::{thresholds, Figure, Joins, Name, Note, RoceJudge, Severity};
use nc_flow::{FlowKey, PauseMeter, PauseSecond, RoceEvent, RoceTable, NO_QP, WHOLE_LINK};
use serde_json::json;

use crate::core::Core;

const SECOND: u64 = 1_000_000_000;
/// When the table of RDMA flows is full, those silent for this long make room.
const IDLE_NS: u64 = 60 * SECOND;

/// `pauses`: by point. `second`: the one that goes on, from the first pause frame on.
pub(crate) struct Fabric {
    pub table: RoceTable,
    pub pauses: Vec<PauseMeter>,
    judge: RoceJudge,
    second: Option<u64>,
    overflow: u64,
}

impl Fabric {
    pub fn new(points: usize, flows: usize) -> Self {
        Self {
            table: RoceTable::new(flows),
            pauses: (0..points).map(|_| PauseMeter::default()).collect(),
            judge: RoceJudge::default(),
            second: None,
            overflow: 0,
        }
    }

    /// Packets that found no room.
    pub fn overflow(&self) -> u64 {
        self.table.overflow() + self.pauses.iter().map(PauseMeter::overflow).sum::<u64>()
    }

    /// Bring near what a packet with this opcode will touch of the flow that may be its own.
    #[inline]
    pub fn fetch(&self, guess: u32, opcode: u8) {
        self.table.fetch(guess, opcode);
        self.judge.fetch(guess);
    }

    /// Called now and then: room for new flows.
    pub fn tidy(&mut self, now_ns: u64) {
        if self.table.overflow() > self.overflow {
            self.overflow = self.table.overflow();
            self.table.forget(now_ns.saturating_sub(IDLE_NS));
            self.judge.forget();
        }
    }
}

impl Core {
    /// A frame that stops a sender.
    #[cold]
    pub(crate) fn stop(&mut self, number: u16, packet: &Packet) {
        let begun_ns = self.points[usize::from(number)].first_ns.unwrap_or(packet.ts_ns);
        self.fabric.second.get_or_insert(packet.ts_ns / SECOND);
        self.fabric.pauses[usize::from(number)].observe(packet, begun_ns);
    }

    /// A frame with a base transport header. `is_first`: no other point showed it before; `guess`: what its flow may be. Returns what it is.
    #[inline(never)]
    pub(crate) fn rdma(&mut self, number: u16, packet: &Packet, is_first: bool, guess: u32) -> u32 {
        let realm = self.points[usize::from(number)].realm;
        let Some(event) = self.fabric.table.observe((number, realm), packet, guess) else { return NO_QP };
        let Fabric { table, judge, .. } = &mut self.fabric;
        if !judge.is_usual(table, event, packet) {
            self.judge_rdma(event, packet, is_first);
        }
        event.number
    }

    #[inline(never)]
    fn judge_rdma(&mut self, event: RoceEvent, packet: &Packet, is_first: bool) {
        let Self { fabric, judge, ground, verdicts, .. } = self;
        fabric.judge.judge(&fabric.table, event, packet, is_first, &mut |mut note| {
            let find = |bundle: &std::sync::Arc<nc_detect::Bundle>| {
                bundle.find(&ground.realms[usize::from(note.key.realm)], note.key.version, note.key.src)
            };
            note.who = judge.bundle().map_or(0, find);
            judge.note(note, verdicts);
        });
    }

    /// A packet of a flow that passes other points as well was seen at `point` only: it tells where, if its connection lost some.
    pub(crate) fn roce_lost(&mut self, gone: &Gone, point: u16) {
        let key = self.flows.key(gone.flow);
        if (key.proto, key.dport) != (nc_decode::proto::UDP, nc_decode::ROCE_V2_PORT) {
            return;
        }
        let others = self.points.iter().enumerate().filter(|(number, _)| *number != usize::from(point));
        let fact = json!({
            "kind": "lost-between", "point": self.points[usize::from(point)].name,
            "not_seen_at": others.map(|(_, other)| other.name.as_str()).collect::<Vec<_>>(),
        });
        for name in [Name::RoceLoss, Name::MtuBlackhole] {
            let note = Note {
                name,
                key: &key,
                server_port: key.dport,
                who: self.flows.sender(gone.flow),
                dscp: gone.first_dscp,
                point,
                ts_ns: gone.first_ns,
                ip_id: 0,
                packets: 0,
                bytes: 0,
                severity: Severity::High,
                signals: &["lost-between-points"],
                figures: &[(Figure::LostBetween, 1)],
                facts: vec![fact.clone()],
                dest_qp: None,
                joins: Joins::OnlyOpen,
            };
            self.judge.note(note, &mut self.verdicts);
        }
    }

    /// Seconds with pause frames that are over at `now_ns`; at the end of a capture also the one that is not.
    pub(crate) fn roll_pauses(&mut self, now_ns: u64, is_end: bool) {
        let Some(second) = self.fabric.second else { return };
        if now_ns / SECOND <= second && !is_end {
            return;
        }
        let end_ns = ((second + 1) * SECOND).min(if is_end { now_ns } else { u64::MAX });
        self.fabric.second = Some(now_ns / SECOND);
        let mut rows = Vec::new();
        for point in 0..self.fabric.pauses.len() {
            self.fabric.pauses[point].take(end_ns, &mut rows);
            for row in rows.drain(..) {
                self.judge_pause(point as u16, &row);
            }
        }
    }

    fn judge_pause(&mut self, point: u16, row: &PauseSecond) {
        let speed = self.fabric.pauses[usize::from(point)].speed();
        let per_mille = row.paused_ns * 1_000 / row.watched_ns.max(1);
        let is_pause =
            row.frames >= thresholds::PAUSE_FRAMES || speed.is_some() && per_mille >= thresholds::PAUSE_PER_MILLE;
        let is_share = row.watched_ns >= thresholds::STORM_WATCHED_NS && per_mille > thresholds::STORM_PER_MILLE;
        let is_storm = is_share || row.longest_ns >= thresholds::STORM_UNBROKEN_NS;
        let wanted = [
            (Name::PfcPause, Severity::Low, "pause-frames", is_pause),
            (Name::PfcStorm, Severity::Critical, "paused-share", is_storm),
        ];
        for (name, severity, signal, _) in wanted.into_iter().filter(|(.., wanted)| *wanted) {
            let fact = json!({
                "kind": "pause", "point": self.points[usize::from(point)].name, "mac": mac_text(row.mac),
                "priority": (row.class != WHOLE_LINK).then_some(row.class), "speed_mbps": speed.map(|bps| bps / 1_000_000),
                "share": row.paused_ns as f64 / row.watched_ns.max(1) as f64,
            });
            let figures = [
                (Figure::Frames, row.frames),
                (Figure::PausedUs, row.paused_ns / 1_000),
                (Figure::LongestUs, row.longest_ns / 1_000),
            ];
            let note = Note {
                name,
                key: &pause_key(row.mac, self.points[usize::from(point)].realm),
                server_port: 0,
                who: 0,
                dscp: 0,
                point,
                ts_ns: row.first_ns,
                ip_id: 0,
                packets: row.frames,
                bytes: row.frames * 60,
                severity,
                signals: &[signal],
                figures: &figures,
                facts: vec![fact],
                dest_qp: None,
                joins: Joins::SamePoint,
            };
            self.judge.note(note, &mut self.verdicts);
        }
    }
}

/// A pause frame has no IP addresses: its sender is named by the link-local address that belongs to its MAC address (RFC 4291,
/// appendix A), its receiver by that of all neighbours, since it goes to a group and is never forwarded.
fn pause_key(mac: u128, realm: u16) -> FlowKey {
    let mac = mac as u64;
    let identifier = (mac >> 24) << 40 | 0xff_fe00_0000 | mac & 0x00ff_ffff;
    let src = 0xfe80_u128 << 112 | u128::from(identifier ^ 0x0200_0000_0000_0000);
    let vlan = u32::MAX;
    FlowKey { src, dst: 0xff02_u128 << 112 | 1, sport: 0, dport: 0, vlan, realm, proto: 0, version: 6 }
}

pub(crate) fn mac_text(mac: u128) -> String {
    hex(&(mac as u64).to_be_bytes()[2..], ":")
}

pub(crate) fn hex(bytes: &[u8], between: &str) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(between)
}
