//! One verdict that is still open, and what makes two offences the same verdict.

use std::sync::Arc;

use nc_flow::{address, protocol, Signature};
use serde_json::{json, Value};

use crate::carrier::Carrier;
use crate::extra::Extra;
use crate::judge::{Note, Offence, ROCE_V1};
use crate::told::{Teller, Told};
use crate::verdict::{Name, ServerPort};

const SECOND: u64 = 1_000_000_000;
/// Different signatures kept of the flows of one verdict.
const MAX_SIGNATURES: usize = 8;
/// Signal "volume": this share of the mark's bytes at the point in a whole second, with at least so many packets.
const VOLUME_SHARE: u64 = 10;
const VOLUME_PACKETS: u64 = 20;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub src: u128,
    pub dst: u128,
    pub realm: u16,
    pub version: u8,
    pub proto: u8,
    pub port: ServerPort,
    pub dscp: u8,
    pub name: Name,
}

#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub point: u16,
    pub ts_ns: u64,
    pub sport: u16,
    pub dport: u16,
    pub ip_id: u32,
}

pub(crate) struct Open {
    pub key: Key,
    pub realm: String,
    pub id: String,
    pub revision: u64,
    pub who: u32,
    pub packets: u64,
    pub bytes: u64,
    pub connections: u64,
    pub active_ns: u64,
    pub first: Seen,
    pub last: Seen,
    pub emitted_ns: u64,
    pub dirty: bool,
    pub volume: bool,
    pub second: u64,
    pub second_packets: u64,
    pub second_bytes: u64,
    pub changed_to: Vec<(u8, u64)>,
    pub signatures: Vec<Arc<Signature>>,
    pub extra: Option<Box<Extra>>,
    pub teller: Option<Teller>,
    pub carrier: Option<Carrier>,
}

pub(crate) fn key_of(offence: &Offence<'_>) -> Key {
    Key {
        src: offence.key.src,
        dst: offence.key.dst,
        realm: offence.key.realm,
        version: offence.key.version,
        proto: offence.key.proto,
        port: ServerPort::of(offence.server_port),
        dscp: offence.dscp,
        name: offence.name,
    }
}

impl Key {
    pub fn protocol(&self) -> String {
        match self.name {
            Name::PfcPause | Name::PfcStorm => "mac-control".into(),
            name if !name.is_of_identity() && self.proto == ROCE_V1 => "roce-v1".into(),
            _ => protocol(self.proto).into_owned(),
        }
    }

    pub fn json(&self, realm: &str) -> Vec<Value> {
        vec![
            json!(realm),
            json!(address(self.version, self.src)),
            json!(address(self.version, self.dst)),
            json!(self.protocol()),
            json!(self.port),
            json!(self.dscp),
            json!(self.name),
        ]
    }
}

impl Open {
    pub fn new(key: Key, realm: String, id: String, offence: &Offence<'_>) -> Self {
        let seen = Seen { ts_ns: offence.began_ns(), ..Seen::of(offence) };
        Self {
            key,
            realm,
            id,
            revision: 0,
            who: offence.who,
            packets: 0,
            bytes: 0,
            connections: 0,
            active_ns: 0,
            first: seen,
            last: seen,
            emitted_ns: offence.ts_ns,
            dirty: false,
            volume: false,
            second: offence.ts_ns / SECOND,
            second_packets: 0,
            second_bytes: 0,
            changed_to: Vec::new(),
            signatures: Vec::new(),
            extra: None,
            teller: offence.told.map(Teller::new),
            carrier: offence.carrier,
        }
    }

    /// The same packets may be seen inside a tunnel and outside, in several copies of it, or in one of another point. They count once: as
    /// they were seen first.
    pub fn is_shown_by(&self, offence: &Offence<'_>) -> bool {
        match (&self.carrier, &offence.carrier) {
            (None, None) => true,
            (Some(first), Some(carrier)) => self.first.point == offence.point && first.is_like(carrier),
            _ => false,
        }
    }

    pub fn join(&mut self, offence: &Offence<'_>, note: Note<'_>) {
        if note.packets > 0 {
            self.active_ns += offence.ts_ns.saturating_sub(self.last.ts_ns).min(SECOND);
            self.last = Seen { ts_ns: offence.ts_ns.max(self.last.ts_ns), ..Seen::of(offence) };
        }
        self.who = offence.who;
        self.packets += note.packets;
        self.bytes += note.bytes;
        self.connections = self.connections.max(1);
        self.dirty = true;
        let extra = self.extra.get_or_insert_default();
        extra.join(note);
        self.connections = self.connections.max(extra.dest_qps.len() as u64);
    }

    /// Keep the signatures of the offending flows, each once.
    pub fn name<'a>(&mut self, named: impl Iterator<Item = &'a Arc<Signature>>) {
        for signature in named {
            let is_new = self.signatures.iter().all(|known| known.name != signature.name);
            if is_new && self.signatures.len() < MAX_SIGNATURES {
                self.signatures.push(Arc::clone(signature));
                self.dirty = true;
            }
        }
    }

    /// Account a record: its time counts where no earlier one covered it, a second for each packet at most.
    fn add_told(&mut self, offence: &Offence<'_>, told: &Told) {
        self.dirty = true;
        if !self.teller.as_mut().is_some_and(|teller| teller.hears(told)) {
            return;
        }
        let (packets, bytes) = told.estimate();
        let news = offence.ts_ns.saturating_sub(self.last.ts_ns.max(offence.began_ns()));
        self.active_ns += news.min(packets.saturating_mul(SECOND));
        if offence.ts_ns >= self.last.ts_ns {
            self.last = Seen::of(offence);
        }
        self.who = offence.who;
        self.packets = self.packets.saturating_add(packets);
        self.bytes = self.bytes.saturating_add(bytes);
        self.connections += u64::from(offence.new_flow || self.connections == 0);
    }

    pub fn add(&mut self, offence: &Offence<'_>, class_bytes: impl Fn(u64) -> Option<u64>) {
        if let Some(told) = &offence.told {
            return self.add_told(offence, told);
        }
        let second = offence.ts_ns / SECOND;
        if second != self.second {
            if let Some(all) = class_bytes(self.second) {
                self.volume |= self.second_packets >= VOLUME_PACKETS && self.second_bytes * 100 >= all * VOLUME_SHARE;
            }
            (self.second, self.second_packets, self.second_bytes) = (second, 0, 0);
        }
        self.second_packets += 1;
        self.second_bytes += u64::from(offence.frame_len);
        self.active_ns += offence.ts_ns.saturating_sub(self.last.ts_ns).min(SECOND);
        self.last = Seen::of(offence);
        self.who = offence.who;
        self.packets += 1;
        self.bytes += u64::from(offence.frame_len);
        self.connections += u64::from(offence.new_flow || self.packets == 1);
        self.dirty = true;
        if let Some(mark) = offence.changed_to {
            match self.changed_to.iter_mut().find(|(known, _)| *known == mark) {
                Some((_, packets)) => *packets += 1,
                None => self.changed_to.push((mark, 1)),
            }
        }
    }
}

impl Seen {
    pub fn of(offence: &Offence<'_>) -> Self {
        let (sport, dport) = (offence.key.sport, offence.key.dport);
        Self { point: offence.point, ts_ns: offence.ts_ns, sport, dport, ip_id: offence.ip_id }
    }
}
