//! Collects offending packets into verdicts and says when a new revision is due. Packet time is the only clock.

use std::collections::HashMap;
use std::sync::Arc;

use nc_flow::{address, FlowKey, KeyedState, Signature};
use serde_json::{json, Value};

use crate::bundle::Bundle;
use crate::carrier::Carrier;
use crate::figure::Figure;
use crate::open::{key_of, Key, Open, Seen};
use crate::path_mtu::TooBigs;
use crate::told::{Teller, Told};
use crate::verdict::{identity, Name, Severity, Verdict};

const SECOND: u64 = 1_000_000_000;
/// A verdict without an offending packet for this long is closed.
const CLOSE_NS: u64 = 60 * SECOND;
/// Most verdicts open at once; a flood of forged sources must not take all memory.
const MAX_OPEN: usize = 65_536;
/// Of these, so many of unknown sources: forged addresses must not crowd out known offenders.
const MAX_UNKNOWN: usize = 16_384;
/// "Protocol" of RoCEv1 in a key: what its global route header gives as next header (IBA volume 1, 8.3).
pub const ROCE_V1: u8 = 0x1b;
/// Without a bundle (a rewritten mark needs none) persistence is that of the lab profile.
const DEFAULT_PERSISTENCE_MS: u64 = 1_000;

/// An observation point as verdicts name it.
#[derive(Clone, Debug)]
pub struct Place {
    pub name: String,
    pub realm: String,
}

/// One offending packet. `key`: its flow; `point`: where it was judged; `new_flow`: first of its flow for this mark;
/// `changed_to`: the new mark and where it was seen, for a rewritten one. `told`: no packet, but a record of an exporter. `carrier`: the tunnel it came in.
#[derive(Clone, Copy, Debug)]
pub struct Offence<'a> {
    pub name: Name,
    pub key: &'a FlowKey,
    pub server_port: u16,
    pub who: u32,
    pub dscp: u8,
    pub point: u16,
    pub ts_ns: u64,
    pub frame_len: u32,
    pub ip_id: u32,
    pub new_flow: bool,
    pub changed_to: Option<u8>,
    pub told: Option<Told>,
    pub carrier: Option<Carrier>,
}

impl Offence<'_> {
    /// When it began: the time of the packet, or of the record's first one.
    pub(crate) fn began_ns(&self) -> u64 {
        self.ts_ns.saturating_sub(self.told.map_or(0, |told| told.span_ns))
    }
}

/// Something that is no single offending packet: what a queue, a link or an RDMA connection showed. Counts join those noted before.
#[derive(Clone, Debug)]
pub struct Note<'a> {
    pub name: Name,
    pub key: &'a FlowKey,
    pub server_port: u16,
    pub who: u32,
    pub dscp: u8,
    pub point: u16,
    pub ts_ns: u64,
    pub ip_id: u32,
    pub packets: u64,
    pub bytes: u64,
    pub severity: Severity,
    pub signals: &'a [&'static str],
    pub figures: &'a [(Figure, u64)],
    pub facts: Vec<Value>,
    pub dest_qp: Option<u32>,
    pub joins: Joins,
}

/// Which notes may join or begin a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// Any.
    Any,
    /// Those of the point that showed it first: other points show the same packets.
    SamePoint,
    /// None begins one.
    OnlyOpen,
}

/// Judges for one engine. Without a bundle nobody is judged by who it is: what the network does is.
pub struct Judge {
    places: Vec<Place>,
    bundle: Option<Arc<Bundle>>,
    generation: u32,
    by_key: HashMap<Key, usize, KeyedState>,
    open: Vec<Open>,
    unknown: usize,
    pub(crate) overflow: u64,
    pub(crate) too_bigs: TooBigs,
}

impl Judge {
    pub fn new(places: Vec<Place>) -> Self {
        Self {
            places,
            bundle: None,
            generation: 0,
            by_key: HashMap::default(),
            open: Vec::new(),
            unknown: 0,
            overflow: 0,
            too_bigs: TooBigs::default(),
        }
    }

    /// Judge by this bundle from now on; open verdicts stay until they close by themselves.
    pub fn set_bundle(&mut self, bundle: Arc<Bundle>) {
        for place in &mut self.places {
            place.realm = bundle.realm_of(&place.name).to_owned();
        }
        self.bundle = Some(bundle);
        self.generation += 1;
    }

    pub fn bundle(&self) -> Option<&Arc<Bundle>> {
        self.bundle.as_ref()
    }

    /// Rises with each bundle: cached identities of an older one are void.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Offending packets of verdicts that found no room.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Account one offending packet. `class_bytes(second)`: bytes of this mark at this point in that whole second of
    /// packet time, None when no longer known. `named`: what the payload of its flow showed so far. Revisions that are due
    /// go to `out`.
    pub fn offend<'a>(
        &mut self,
        offence: &Offence<'_>,
        named: impl Iterator<Item = &'a Arc<Signature>>,
        class_bytes: impl Fn(u64) -> Option<u64>,
        out: &mut Vec<Verdict>,
    ) {
        let key = key_of(offence);
        let mut found = self.by_key.get(&key).copied();
        if let Some(number) = found {
            if offence.began_ns().saturating_sub(self.open[number].last.ts_ns) >= CLOSE_NS {
                self.close(number, out);
                found = None;
            }
        }
        let number = match found {
            Some(number) if !self.open[number].is_shown_by(offence) => return,
            Some(number) => number,
            None if self.is_full(key.name) => {
                self.overflow += 1;
                return;
            }
            None => self.begin(key, offence),
        };
        self.open[number].add(offence, class_bytes);
        self.open[number].name(named);
        self.emit_if_due(number, offence.ts_ns, out);
    }

    fn emit_if_due(&mut self, number: usize, now_ns: u64, out: &mut Vec<Verdict>) {
        let open = &self.open[number];
        if open.revision == 0 || now_ns.saturating_sub(open.emitted_ns) >= SECOND {
            self.emit(number, now_ns, false, out);
        }
    }

    /// Account what is no single packet. Revisions that are due go to `out`.
    pub fn note(&mut self, note: Note<'_>, out: &mut Vec<Verdict>) {
        let offence = Offence {
            name: note.name,
            key: note.key,
            server_port: note.server_port,
            who: note.who,
            dscp: note.dscp,
            point: note.point,
            ts_ns: note.ts_ns,
            frame_len: 0,
            ip_id: note.ip_id,
            new_flow: false,
            changed_to: None,
            told: None,
            carrier: None,
        };
        let key = key_of(&offence);
        let mut found = self.by_key.get(&key).copied();
        if let Some(number) =
            found.filter(|number| note.ts_ns.saturating_sub(self.open[*number].last.ts_ns) >= CLOSE_NS)
        {
            self.close(number, out);
            found = None;
        }
        let number = match (found, note.joins) {
            (Some(number), Joins::SamePoint) if self.open[number].first.point != note.point => return,
            (Some(number), _) => number,
            (None, Joins::OnlyOpen) => return,
            (None, _) if self.is_full(key.name) => {
                self.overflow += 1;
                return;
            }
            (None, _) => self.begin(key, &offence),
        };
        self.open[number].join(&offence, note);
        self.emit_if_due(number, offence.ts_ns, out);
    }

    fn is_full(&self, name: Name) -> bool {
        let crowded = name == Name::UnknownIdentityInPriority && self.unknown >= MAX_UNKNOWN;
        crowded || self.open.len() >= MAX_OPEN
    }

    fn begin(&mut self, key: Key, offence: &Offence<'_>) -> usize {
        let realm = self.places.get(usize::from(offence.point)).map_or_else(String::new, |place| place.realm.clone());
        let mut parts = key.json(&realm);
        parts.push(json!(offence.began_ns()));
        self.open.push(Open::new(key, realm, identity(&Value::Array(parts)), offence));
        self.unknown += usize::from(key.name == Name::UnknownIdentityInPriority);
        self.by_key.insert(key, self.open.len() - 1);
        self.open.len() - 1
    }

    /// Packet time has come to `now_ns`: put out revisions that waited a second, close what has been silent.
    pub fn tick(&mut self, now_ns: u64, out: &mut Vec<Verdict>) {
        let mut number = 0;
        while number < self.open.len() {
            let open = &self.open[number];
            if now_ns.saturating_sub(open.last.ts_ns) >= CLOSE_NS {
                self.close(number, out);
                continue;
            }
            if open.dirty && now_ns.saturating_sub(open.emitted_ns) >= SECOND {
                self.emit(number, now_ns, false, out);
            }
            number += 1;
        }
    }

    /// The end of the capture: put out what has changed since its last revision.
    pub fn finish(&mut self, out: &mut Vec<Verdict>) {
        for number in 0..self.open.len() {
            if self.open[number].dirty {
                let now_ns = self.open[number].last.ts_ns;
                self.emit(number, now_ns, false, out);
            }
        }
    }

    fn close(&mut self, number: usize, out: &mut Vec<Verdict>) {
        let now_ns = self.open[number].last.ts_ns;
        self.emit(number, now_ns, true, out);
        let closed = self.open.swap_remove(number);
        self.by_key.remove(&closed.key);
        self.unknown -= usize::from(closed.key.name == Name::UnknownIdentityInPriority);
        if let Some(moved) = self.open.get(number) {
            self.by_key.insert(moved.key, number);
        }
    }

    fn emit(&mut self, number: usize, now_ns: u64, closed: bool, out: &mut Vec<Verdict>) {
        let open = &mut self.open[number];
        open.revision += 1;
        open.emitted_ns = now_ns;
        open.dirty = false;
        let verdict = self.verdict(&self.open[number], closed);
        out.push(verdict);
    }

    fn point(&self, point: u16) -> &str {
        self.places.get(usize::from(point)).map_or("", |place| place.name.as_str())
    }

    fn verdict(&self, open: &Open, closed: bool) -> Verdict {
        let key = &open.key;
        let signals = self.signals(open);
        let steps = open.packets.checked_ilog10().unwrap_or(0).min(3);
        let doubt = open.teller.as_ref().map_or(0, Teller::doubt);
        let percent = (40 + 15 * signals.len() as u32 + 5 * steps).min(99).saturating_sub(doubt);
        Verdict {
            id: open.id.clone(),
            revision: open.revision,
            name: key.name,
            realm: open.realm.clone(),
            point: self.point(open.first.point).to_owned(),
            src: address(key.version, key.src),
            dst: address(key.version, key.dst),
            proto: key.protocol(),
            server_port: key.port,
            dscp: key.dscp,
            packets: open.packets,
            bytes: open.bytes,
            first_ns: open.first.ts_ns,
            last_ns: open.last.ts_ns,
            persisted_ms: open.active_ns / 1_000_000,
            connections: open.connections,
            severity: self.severity(open),
            confidence: f64::from(percent) / 100.0,
            signals,
            identity: self.owner(open.who),
            evidence: self.evidence(open),
            closed,
        }
    }

    fn signals(&self, open: &Open) -> Vec<&'static str> {
        let persistence = self.bundle.as_ref().map_or(DEFAULT_PERSISTENCE_MS, |bundle| bundle.profile.persistence_ms);
        let mut signals = vec![match open.key.name {
            Name::ClassNotAllowed => "dscp-outside-allowance",
            Name::UnknownIdentityInPriority => "no-identity",
            Name::DscpRewritten => "mark-changed-in-network",
            Name::OverPeak => "over-peak",
            Name::OutsideWindow | Name::BulkIntoBusinessHours => "outside-window",
            other => other.as_str(),
        }];
        if let Some(extra) = &open.extra {
            signals.clone_from(&extra.signals);
        }
        if open.volume {
            signals.push("volume");
        }
        if open.active_ns / 1_000_000 >= persistence {
            signals.push("persisted");
        }
        if open.signatures.iter().any(|signature| signature.is_training()) {
            signals.push("training-signature");
        }
        signals
    }

    /// A rewritten mark that turns a forbidden one into an allowed one is the network doing its duty.
    fn severity(&self, open: &Open) -> &'static str {
        if let Some(extra) = &open.extra {
            return extra.severity.as_str();
        }
        let Some(bundle) = &self.bundle else { return "medium" };
        let (who, dscp) = (open.who, open.key.dscp);
        match open.key.name {
            Name::ClassNotAllowed if bundle.is_served_lower(who, dscp) => "info",
            Name::ClassNotAllowed if bundle.is_priority(dscp) => "high",
            Name::DscpRewritten => {
                let corrected = open.changed_to.iter().all(|(mark, _)| bundle.breach(who, *mark).is_none());
                if corrected && bundle.breach(who, dscp).is_some() {
                    "info"
                } else {
                    "medium"
                }
            }
            _ => "medium",
        }
    }

    fn owner(&self, who: u32) -> Option<Value> {
        let identity = self.bundle.as_ref()?.identity(who)?;
        let class = if identity.core { "core" } else { "non-core" };
        Some(json!({
            "name": identity.name, "prefix": identity.prefix, "business": identity.business, "owner": identity.owner,
            "class": class,
        }))
    }

    /// First and last offending packet, by which the raw packets can be fetched again, and what they were held against.
    fn evidence(&self, open: &Open) -> Vec<Value> {
        let seen = |kind: &str, seen: &Seen| {
            json!({
                "kind": kind, "point": self.point(seen.point), "ts_ns": seen.ts_ns, "sport": seen.sport,
                "dport": seen.dport, "ip_id": seen.ip_id,
            })
        };
        let kinds = match open.key.name {
            Name::QueueSaturated | Name::Microburst | Name::EcnSilent => ["first-interval", "last-interval"],
            _ => ["first-packet", "last-packet"],
        };
        let mut evidence = match &open.teller {
            None => vec![seen(kinds[0], &open.first), seen(kinds[1], &open.last)],
            Some(teller) => vec![teller.evidence()],
        };
        evidence.extend(open.carrier.iter().map(Carrier::evidence));
        if let Some(extra) = &open.extra {
            evidence.extend(extra.evidence());
        }
        if let Some(bundle) = self.bundle.as_ref().filter(|_| open.key.name.is_of_identity()) {
            let allowed = bundle.identity(open.who).map(|identity| identity.allowed);
            let allowed = allowed
                .filter(|bits| *bits != u64::MAX)
                .map(|bits| (0..64_u8).filter(|mark| bits & 1 << mark != 0).collect::<Vec<_>>());
            let mut allowance = json!({"kind": "allowance", "bundle": bundle.version, "allowed_dscp": allowed});
            if let Some(identity) = bundle.identity(open.who) {
                identity.window.iter().for_each(|window| allowance["active_window"] = json!(window.text));
                identity.peak_bps.iter().for_each(|bps| allowance["peak_mbps"] = json!(*bps as f64 / 1e6));
            }
            evidence.push(allowance);
        }
        evidence.extend(open.signatures.iter().map(|signature| {
            json!({
                "kind": "signature", "name": signature.name, "title": signature.title, "strength": signature.strength,
                "about": signature.kind, "visibility": signature.visibility,
            })
        }));
        if open.key.name == Name::DscpRewritten {
            let to: serde_json::Map<_, _> =
                open.changed_to.iter().map(|(mark, packets)| (mark.to_string(), json!(packets))).collect();
            evidence.push(json!({"kind": "rewritten", "from_dscp": open.key.dscp, "to_dscp": to}));
        }
        evidence
    }
}
