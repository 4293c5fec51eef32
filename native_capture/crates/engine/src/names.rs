//! Names of servers as the captures themselves tell them: what clients asked for, and what DNS answered.

use std::collections::HashMap;

use nc_decode::{dns_answers, host, proto, server_name, Packet};
use nc_flow::{KeyedState, Service};
use serde::Serialize;

/// Different names; their number is two bytes and 0 means none.
const NAMES: usize = 65_535;
/// Addresses with a name from DNS.
const ADDRESSES: usize = 1 << 17;
const DNS: u16 = 53;

/// Where a name was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NameSource {
    TlsSni,
    HttpHost,
    Dns,
}

pub(crate) type Named<'a> = (&'a str, NameSource);

/// A name in small letters, and the (version, address) that DNS gave for it.
pub(crate) struct Told {
    name: (String, NameSource),
    addresses: Vec<(u8, u128)>,
}

/// What the payload of this packet tells of names. Few packets are worth a closer look.
#[inline]
pub(crate) fn told(packet: &Packet, bytes: &[u8]) -> Option<Told> {
    let payload = bytes.get(usize::from(packet.payload_at)..).filter(|_| packet.payload_at > 0)?;
    let first = *payload.first()?;
    let may_tell = match packet.proto {
        proto::TCP => first == 22 || first.is_ascii_uppercase(),
        proto::UDP => packet.sport == DNS,
        _ => false,
    };
    may_tell.then(|| tells(packet, payload)).flatten()
}

#[cold]
fn tells(packet: &Packet, payload: &[u8]) -> Option<Told> {
    let payload = &payload[..payload.len().min(packet.payload_len as usize)];
    if packet.proto == proto::UDP {
        return answers(payload);
    }
    let sni = server_name(payload).map(|name| (name, NameSource::TlsSni));
    let (name, source) = sni.or_else(|| host(payload).map(|name| (name, NameSource::HttpHost)))?;
    Some(Told { name: (name.to_ascii_lowercase(), source), addresses: Vec::new() })
}

fn answers(payload: &[u8]) -> Option<Told> {
    let mut addresses = Vec::new();
    let name = dns_answers(payload, |version, address| addresses.push((version, address)))?;
    let name = (name.as_str().to_ascii_lowercase(), NameSource::Dns);
    (!addresses.is_empty()).then_some(Told { name, addresses })
}

/// Bounded: what finds no room is counted.
#[derive(Default)]
pub(crate) struct Names {
    all: Vec<(String, NameSource)>,
    numbers: HashMap<(String, NameSource), u16, KeyedState>,
    /// (point, version, address)
    by_address: HashMap<(u16, u8, u128), u16, KeyedState>,
    pub overflow: u64,
}

impl Names {
    /// Keep what the payload of a packet of `point` told; a name that its client asks for is noted in the packet.
    pub fn keep(&mut self, point: u16, packet: &mut Packet, told: &Told) {
        let number = self.number(&told.name);
        if told.name.1 != NameSource::Dns {
            packet.name = number;
            return;
        }
        for (version, address) in told.addresses.iter().filter(|_| number != 0) {
            let address = (point, *version, *address);
            if self.by_address.len() < ADDRESSES || self.by_address.contains_key(&address) {
                self.by_address.insert(address, number);
            } else {
                self.overflow += 1;
            }
        }
    }

    /// 0 when there is no room.
    fn number(&mut self, name: &(String, NameSource)) -> u16 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        if self.all.len() >= NAMES {
            self.overflow += 1;
            return 0;
        }
        self.all.push(name.clone());
        self.numbers.insert(name.clone(), self.all.len() as u16);
        self.all.len() as u16
    }

    /// What the client of a conversation asked for (`asked`, 0 for nothing), or else what DNS called the server's address, at
    /// one of `points`: those of its realm.
    pub fn of(&self, asked: u16, service: &Service, points: impl IntoIterator<Item = u16>) -> Option<Named<'_>> {
        let by_address = |point| self.by_address.get(&(point, service.version, service.address())).copied();
        let number =
            if asked != 0 || self.by_address.is_empty() { asked } else { points.into_iter().find_map(by_address)? };
        let (name, source) = self.all.get(usize::from(number).checked_sub(1)?)?;
        Some((name, *source))
    }
}
