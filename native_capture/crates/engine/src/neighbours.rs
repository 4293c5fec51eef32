//! Who says by LLDP that it stands at a point, and what it says of lossless classes: the newest word of each.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use nc_decode::{Application, Dcbx, Ets, Identifier, Lldp, Packet, Pfc, Selector, ROCE_V2_PORT};
use serde::Serialize;

use crate::fabric::hex;

/// Neighbours of one point; a link has one or two, a mirror of a whole switch as many as it has ports.
const MOST: usize = 1_024;
const MAC_CHASSIS: u8 = 4;
const MAC_PORT: u8 = 3;
const NETWORK_ADDRESS: u8 = 5;

/// One row of `points[].lldp`. `ttl_s` 0: it takes back what it said. `complete`: its last frame was read to the end; otherwise what
/// is null or missing may have stood there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Neighbour {
    chassis: String,
    port: String,
    sender: String,
    frames: u64,
    last_ns: u64,
    ttl_s: u16,
    system_name: Option<String>,
    port_description: Option<String>,
    complete: bool,
    dcbx: Vec<DcbxRow>,
}

/// `roce_priority`: what applications say of RoCEv2, null where they say nothing or several things.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct DcbxRow {
    dialect: &'static str,
    pfc: Option<PfcRow>,
    ets: Option<EtsRow>,
    ets_recommended: Option<EtsRow>,
    applications: Vec<ApplicationRow>,
    roce_priority: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PfcRow {
    enabled: Vec<u8>,
    willing: bool,
    classes: u8,
}

/// `class_of`: by priority; `percent` and `algorithm`: by class. A CEE group 15 has no limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct EtsRow {
    willing: Option<bool>,
    classes: Option<u8>,
    class_of: [u8; 8],
    percent: [u8; 8],
    algorithm: Option<Vec<&'static str>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ApplicationRow {
    selector: String,
    protocol: u16,
    priorities: Vec<u8>,
}

/// What this frame says; None when it is no LLDP or not even its sender can be read.
pub(crate) fn neighbour(packet: &Packet, bytes: &[u8]) -> Option<Neighbour> {
    let (lldp, result) = Lldp::read(bytes, usize::from(packet.carried_at));
    let lldp = lldp?;
    let sender = hex(bytes.get(6..12)?, ":");
    let dialects = [("ieee", &lldp.ieee), ("cee", &lldp.cee)];
    Some(Neighbour {
        chassis: identifier(&lldp.chassis, MAC_CHASSIS),
        port: identifier(&lldp.port, MAC_PORT),
        sender,
        frames: 1,
        last_ns: packet.ts_ns,
        ttl_s: lldp.ttl_s,
        system_name: lldp.system_name.map(text),
        port_description: lldp.port_description.map(text),
        complete: result.is_ok(),
        dcbx: dialects.into_iter().filter(|(_, said)| !said.is_empty()).map(|(name, said)| dcbx(name, said)).collect(),
    })
}

impl Neighbour {
    /// The same, another time.
    fn says_as(&self, other: &Self) -> bool {
        let timeless = |row: &Self| Self { frames: 0, last_ns: 0, ..row.clone() };
        timeless(self) == timeless(other)
    }
}

/// The newest of each sender, which its chassis and port name (802.1AB, 9.2.2.1: the MSAP identifier). `overflow`: frames of senders
/// beyond [`MOST`].
#[derive(Default)]
pub(crate) struct Neighbours {
    by_sender: BTreeMap<(String, String), Neighbour>,
    pub overflow: u64,
    has_news: bool,
}

impl Neighbours {
    pub fn keep(&mut self, mut new: Neighbour) {
        let key = (new.chassis.clone(), new.port.clone());
        let has_room = self.by_sender.len() < MOST;
        match self.by_sender.get_mut(&key) {
            Some(old) if old.last_ns > new.last_ns => old.frames += new.frames,
            Some(old) => {
                self.has_news |= !old.says_as(&new);
                new.frames += old.frames;
                *old = new;
            }
            None if has_room => {
                self.has_news = true;
                self.by_sender.insert(key, new);
            }
            None => self.overflow += 1,
        }
    }

    pub fn rows(&self) -> Vec<&Neighbour> {
        self.by_sender.values().collect()
    }

    /// Whether somebody came, went, or says something else than when this was asked last. Who has not said it again in time is forgotten
    /// (802.1AB, 9.2.7: rxInfoAge).
    pub fn take_news(&mut self, now_ns: u64) -> bool {
        let before = self.by_sender.len();
        self.by_sender.retain(|_, row| row.last_ns.saturating_add(u64::from(row.ttl_s) * 1_000_000_000) >= now_ns);
        std::mem::take(&mut self.has_news) | (self.by_sender.len() < before)
    }
}

fn dcbx(dialect: &'static str, said: &Dcbx<'_>) -> DcbxRow {
    let roce: Vec<u8> = said.applications().filter(is_roce).flat_map(|app| bits(app.priorities)).collect();
    DcbxRow {
        dialect,
        pfc: said.pfc.map(|pfc: Pfc| PfcRow { enabled: bits(pfc.enabled), willing: pfc.willing, classes: pfc.classes }),
        ets: said.ets.map(ets),
        ets_recommended: said.recommended.map(ets),
        applications: said.applications().map(application).collect(),
        roce_priority: roce.first().copied().filter(|first| roce.iter().all(|other| other == first)),
    }
}

fn is_roce(app: &Application) -> bool {
    app.protocol == ROCE_V2_PORT && matches!(app.selector, Selector::UdpPort | Selector::Port)
}

fn application(app: Application) -> ApplicationRow {
    let selector = match app.selector {
        Selector::EtherType => "ethertype".to_owned(),
        Selector::TcpPort => "tcp-port".to_owned(),
        Selector::UdpPort => "udp-port".to_owned(),
        Selector::Port => "port".to_owned(),
        Selector::Dscp => "dscp".to_owned(),
        Selector::Other(number) => number.to_string(),
    };
    ApplicationRow { selector, protocol: app.protocol, priorities: bits(app.priorities) }
}

/// Transmission selection algorithms of 802.1Q, table D-4.
fn ets(ets: Ets) -> EtsRow {
    let name = |number: &u8| match number {
        0 => "strict",
        1 => "credit",
        2 => "ets",
        255 => "vendor",
        _ => "other",
    };
    EtsRow {
        willing: ets.willing,
        classes: ets.classes,
        class_of: ets.class_of,
        percent: ets.percent,
        algorithm: ets.algorithm.map(|all| all.iter().map(name).collect()),
    }
}

fn bits(set: u8) -> Vec<u8> {
    (0..8).filter(|bit| set >> bit & 1 != 0).collect()
}

/// An address as people write it; a name as it is; anything else in hexadecimal.
fn identifier(id: &Identifier<'_>, mac: u8) -> String {
    match (id.kind, id.bytes) {
        (kind, bytes) if kind == mac && bytes.len() == 6 => hex(bytes, ":"),
        (NETWORK_ADDRESS, [1, a, b, c, d]) => Ipv4Addr::new(*a, *b, *c, *d).to_string(),
        (NETWORK_ADDRESS, [2, rest @ ..]) if rest.len() == 16 => {
            Ipv6Addr::from_bits(rest.iter().fold(0, |all, byte| all << 8 | u128::from(*byte))).to_string()
        }
        (_, bytes) => match std::str::from_utf8(bytes) {
            Ok(name) if !name.chars().any(char::is_control) => name.to_owned(),
            _ => hex(bytes, ""),
        },
    }
}

/// Anybody on the link wrote it: nothing in it may steer a terminal. Some end it with the zero of their language.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(port: &str, last_ns: u64) -> Neighbour {
        let port = Identifier { kind: 5, bytes: port.as_bytes() };
        let bytes =
            [&[2; 12][..], &[0x88, 0xcc, 2, 2, 7, b'c', 4, port.bytes.len() as u8 + 1, 5], port.bytes, &[6, 2, 0, 9]];
        let packet = Packet { ts_ns: last_ns, carried_at: 14, ..Packet::default() };
        neighbour(&packet, &bytes.concat()).expect("complete")
    }

    #[test]
    fn the_newest_word_of_each_sender_is_kept_whatever_the_order() {
        let mut all = Neighbours::default();
        for (port, ns) in [("a", 5), ("b", 1), ("a", 9), ("a", 7)] {
            all.keep(said(port, ns));
        }
        let rows: Vec<_> = all.rows().iter().map(|row| (row.port.clone(), row.frames, row.last_ns)).collect();
        assert_eq!(rows, [("a".into(), 3, 9), ("b".into(), 1, 1)]);
    }

    #[test]
    fn senders_without_end_are_counted_and_not_kept() {
        let mut all = Neighbours::default();
        for number in 0..MOST + 3 {
            all.keep(said(&number.to_string(), 1));
        }
        all.keep(said("0", 2));
        assert_eq!((all.rows().len(), all.overflow), (MOST, 3));
    }

    #[test]
    fn identifiers_are_written_as_their_kind_says_and_nothing_steers_a_terminal() {
        let written = |kind, bytes: &[u8]| identifier(&Identifier { kind, bytes }, MAC_PORT);
        assert_eq!(written(MAC_PORT, &[0, 1, 2, 3, 4, 0xff]), "00:01:02:03:04:ff");
        assert_eq!(written(NETWORK_ADDRESS, &[1, 10, 0, 0, 1]), "10.0.0.1");
        assert_eq!(written(NETWORK_ADDRESS, &[&[2, 0xfe, 0x80][..], &[0; 14]].concat()), "fe80::");
        assert_eq!(written(7, &[27, b'[']), "1b5b");
        assert_eq!(text(b"a\x1b[2J\xff\0"), "a\u{fffd}[2J\u{fffd}");
    }
}
