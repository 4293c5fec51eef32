//! Segments too large for the way: what routers say of them, and senders that go on sending them.

use std::collections::HashMap;

use nc_decode::Packet;
use nc_flow::{address, FlowKey, KeyedState};
use serde_json::{json, Value};

use crate::figure::Figure;
use crate::judge::{Joins, Judge, Note};
use crate::thresholds::STUCK_ROUNDS;
use crate::verdict::{Name, Severity, Verdict};

/// Most connections that routers spoke of; and how long that counts (RFC 1191, 6.3: what was learned ages in ten minutes).
const MAX_TOLD: usize = 4_096;
const KEEP_NS: u64 = 600_000_000_000;

/// Of whom a router spoke: realm, IP version, the sender, its port and the other.
type Spoken = (u16, u8, u128, u32);

/// What it said. `mtu`: the largest packet that fits, 0 when it did not say.
#[derive(Clone, Copy, Debug)]
struct TooBig {
    mtu: u16,
    router: u128,
    packets: u64,
    last_ns: u64,
}

/// What routers said, of whom.
#[derive(Default)]
pub(crate) struct TooBigs {
    told: HashMap<Spoken, TooBig, KeyedState>,
}

/// A segment that was sent again. `rounds`: so often; `vanishes`: small ones get through, and none as large did.
#[derive(Clone, Copy, Debug)]
pub struct Stuck<'a> {
    pub key: &'a FlowKey,
    pub server_port: u16,
    pub who: u32,
    pub point: u16,
    pub packet: &'a Packet,
    pub rounds: u32,
    pub vanishes: bool,
}

impl Judge {
    /// Keep what a router said of a segment, when it did. `realm`: number of the point's.
    pub fn hear_too_big(&mut self, realm: u16, packet: &Packet) {
        let Some((ports, mtu)) = packet.too_big() else { return };
        let told = &mut self.too_bigs.told;
        let key = (realm, packet.version, packet.dst, ports);
        if told.len() >= MAX_TOLD && !told.contains_key(&key) {
            told.retain(|_, told| packet.ts_ns.saturating_sub(told.last_ns) < KEEP_NS);
            if told.len() >= MAX_TOLD {
                self.overflow += 1;
                return;
            }
        }
        let known = told.entry(key).or_insert(TooBig { mtu, router: 0, packets: 0, last_ns: 0 });
        *known = TooBig { mtu, router: packet.src, packets: known.packets + 1, last_ns: packet.ts_ns };
    }

    /// A segment does not get through: is it too large for the way?
    pub fn note_stuck(&mut self, stuck: &Stuck<'_>, out: &mut Vec<Verdict>) {
        let Stuck { key, packet, .. } = *stuck;
        let ports = u32::from(key.sport) << 16 | u32::from(key.dport);
        let told = self.too_bigs.told.get(&(key.realm, key.version, key.src, ports)).copied();
        let told = told.filter(|told| packet.ts_ns.saturating_sub(told.last_ns) < KEEP_NS);
        let is_ignored = told.is_some_and(|told| packet.l3_len > u32::from(told.mtu));
        let signals: &[&str] = match (stuck.vanishes, is_ignored) {
            (true, true) => &["large-segments-vanish", "too-big-ignored"],
            (true, false) => &["large-segments-vanish"],
            (false, true) => &["too-big-ignored"],
            (false, false) => return,
        };
        let packets = if stuck.rounds == STUCK_ROUNDS { u64::from(STUCK_ROUNDS) } else { 1 };
        let figures = [(Figure::Repeated, packets), (Figure::LargestFrame, u64::from(packet.frame_len))];
        let note = Note {
            name: Name::MtuBlackhole,
            key,
            server_port: stuck.server_port,
            who: stuck.who,
            dscp: packet.dscp,
            point: stuck.point,
            ts_ns: packet.ts_ns,
            ip_id: packet.ip_id,
            packets,
            bytes: packets * u64::from(packet.frame_len),
            severity: Severity::High,
            signals,
            figures: &figures,
            facts: vec![fact(told, key.version)],
            dest_qp: None,
            joins: Joins::Any,
        };
        self.note(note, out);
    }
}

/// What was heard of routers, or that nothing was.
fn fact(told: Option<TooBig>, version: u8) -> Value {
    let mtu = told.map(|told| told.mtu).filter(|mtu| *mtu > 0);
    json!({
        "kind": "too-big", "told": told.is_some(), "router": told.map(|told| address(version, told.router)), "mtu": mtu,
        "messages": told.map_or(0, |told| told.packets),
    })
}
