//! Frames that a mirror wrapped (ERSPAN; VXLAN, Geneve and GRE of packet brokers and clouds): at such a point what is inside *is* the
//! frame, as though it had been captured there.

use std::collections::BTreeMap;
use std::str::FromStr;

use nc_decode::{decode, length_at, network_at, Carried, Packet, Tunnel};
use nc_flow::protocol;
use nc_source::Frame;
use serde::Serialize;

use crate::frame_time::{FrameTimes, TimeBy, TimeReader};
use crate::inspect::Mirrors;
use crate::layers::tunnel_name;

const ETHERNET: u32 = 1;
const RAW_IP: u32 = 101;
/// Names of frames that were not wrapped; more are counted together.
const MOST: usize = 64;
const OTHERS: &str = "others";
/// Bytes in front of a wrapped frame: Ethernet with two tags, IPv6, UDP, Geneve with some options.
pub(crate) const ROOM: u32 = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrap {
    Erspan,
    Vxlan,
    Geneve,
    Gre,
}

/// How the frames of a point are wrapped. `id`: only those of this ERSPAN session, VNI or GRE key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwrap {
    wrap: Wrap,
    id: Option<u32>,
}

impl FromStr for Unwrap {
    type Err = String;

    /// `erspan`, `vxlan`, `geneve` or `gre`, with `:ID` or without.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, id) = text.split_once(':').map_or((text, None), |(name, id)| (name, Some(id)));
        let wrap = match name {
            "erspan" => Some(Wrap::Erspan),
            "vxlan" => Some(Wrap::Vxlan),
            "geneve" => Some(Wrap::Geneve),
            "gre" => Some(Wrap::Gre),
            _ => None,
        };
        let id = id.map(u32::from_str).transpose();
        match (wrap, id) {
            (Some(wrap), Ok(id)) => Ok(Self { wrap, id }),
            _ => Err(format!(
                "unwrap {text:?}: write erspan, vxlan, geneve or gre, with the number of the session, VNI or key behind a colon where \
                 several come to one point, e.g. erspan:10"
            )),
        }
    }
}

impl Unwrap {
    fn is_wrapped(&self, packet: &Packet) -> bool {
        let fits = match self.wrap {
            Wrap::Erspan => matches!(packet.tunnel, Tunnel::Erspan1 | Tunnel::Erspan2 | Tunnel::Erspan3),
            Wrap::Vxlan => packet.tunnel == Tunnel::Vxlan,
            Wrap::Geneve => packet.tunnel == Tunnel::Geneve,
            Wrap::Gre => packet.tunnel == Tunnel::Gre,
        };
        fits && packet.carried != Carried::Mpls && self.id.is_none_or(|id| id == packet.tunnel_id)
    }

    /// As long as what the outer packet carries: beyond its end the link pads.
    fn inside<'a>(&self, packet: &Packet, frame: &Frame<'a>) -> Option<Frame<'a>> {
        self.is_wrapped(packet).then_some(())?;
        let at = usize::from(packet.carried_at);
        let outer_at = network_at(frame.link, frame.bytes).map(|(at, _)| at);
        let end = outer_at.map_or(usize::MAX, |at| at.saturating_add(packet.l3_len as usize));
        let end = end.min(frame.frame_len as usize);
        let bytes = frame.bytes.get(at..end.min(frame.bytes.len())).filter(|bytes| !bytes.is_empty())?;
        let link = if packet.carried == Carried::Ip { RAW_IP } else { ETHERNET };
        Some(Frame { link, frame_len: (end - at) as u32, bytes, ..*frame })
    }
}

/// What came of a point's frames. `cut`: inside, the mirror kept less than the whole; `not_wrapped`: by what they are.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Unwrapped {
    #[serde(flatten)]
    pub mirrors: Mirrors,
    cut: u64,
    not_wrapped: BTreeMap<String, u64>,
}

impl Unwrapped {
    /// Of two rings of one interface. A session's frames all come to one of them, by their outer addresses.
    pub fn add(&mut self, other: &Self) {
        self.mirrors.add(&other.mirrors);
        self.cut += other.cut;
        for (name, count) in &other.not_wrapped {
            *self.not_wrapped.entry(name.clone()).or_default() += count;
        }
    }

    #[cold]
    fn leave(&mut self, packet: &Packet) {
        let name = name(packet);
        let known = self.not_wrapped.len() < MOST || self.not_wrapped.contains_key(&name);
        *self.not_wrapped.entry(if known { name } else { OTHERS.into() }).or_default() += 1;
    }
}

/// Of a frame that is not wrapped as it should be.
fn name(packet: &Packet) -> String {
    match packet {
        Packet { error: Some(_), .. } => "unreadable".into(),
        Packet { frag_offset: 1.., .. } => "fragment".into(),
        Packet { tunnel: Tunnel::None, version: 0, .. } => "not IP".into(),
        Packet { tunnel: Tunnel::None, proto, .. } => protocol(*proto).into_owned(),
        Packet { tunnel, tunnel_id, .. } => format!("{} {tunnel_id}", tunnel_name(*tunnel)),
    }
}

/// What is done with the frames of a point before they are looked at: nothing, as by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    pub unwrap: Option<Unwrap>,
    pub times: Option<TimeBy>,
}

/// What came of it.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Opened {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwrap: Option<Unwrapped>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<FrameTimes>,
}

impl Opened {
    /// Of two rings of one interface.
    pub fn add(&mut self, other: &Self) {
        if let (Some(one), Some(other)) = (&mut self.unwrap, &other.unwrap) {
            one.add(other);
        }
        if let (Some(one), Some(other)) = (&mut self.times, &other.times) {
            one.add(other);
        }
    }
}

/// Opens the frames of one capture or ring.
#[derive(Debug)]
pub struct Opener {
    unwrap: Option<Unwrap>,
    told: Unwrapped,
    times: Option<TimeReader>,
    tagged: Vec<u8>,
}

impl Opener {
    /// None where nothing is to be done.
    pub fn new(opening: Opening) -> Option<Self> {
        let Opening { unwrap, times } = opening;
        let opener =
            || Self { unwrap, told: Unwrapped::default(), times: times.map(TimeReader::new), tagged: Vec::new() };
        (opening != Opening::default()).then(opener)
    }

    /// Frames that came to be unwrapped, and those whose times were asked for; None where that was not wished.
    pub fn frames(&self) -> (Option<u64>, Option<u64>) {
        let Opened { unwrap, times } = self.told();
        let all = |unwrap: Unwrapped| unwrap.mirrors.frames + unwrap.not_wrapped.values().sum::<u64>();
        (unwrap.map(all), times.map(|times| times.frames + times.without.values().sum::<u64>()))
    }

    pub(crate) fn told(&self) -> Opened {
        let times = self.times.as_ref().map(|times| times.told.clone());
        Opened { unwrap: self.unwrap.map(|_| self.told.clone()), times }
    }

    /// The frame inside, at its own time; None for one that is not wrapped as it should be, which is counted.
    pub fn open<'a>(&'a mut self, frame: &Frame<'a>) -> Option<Frame<'a>> {
        let Self { unwrap, told, times, tagged } = self;
        let Some(unwrap) = unwrap else { return Some(read(times, *frame)) };
        let packet = decode(frame.link, frame.ts_ns, frame.frame_len, frame.bytes);
        let Some(inside) = unwrap.inside(&packet, frame) else {
            told.leave(&packet);
            return None;
        };
        told.mirrors.count(&packet, frame.bytes);
        let (kept, whole) = (inside.bytes.len(), whole(&inside));
        told.cut += u64::from(whole > inside.frame_len && kept == inside.frame_len as usize);
        let ts_ns = times.as_mut().map_or(frame.ts_ns, |times| times.erspan(&packet, frame.bytes, frame.ts_ns));
        let inside = Frame { ts_ns, frame_len: whole, ..inside };
        Some(match lost_tag(&packet, frame.bytes, inside.bytes) {
            None => read(times, inside),
            Some(tag) => read(times, with_tag(inside, tag, tagged)),
        })
    }
}

fn read<'a>(times: &'a mut Option<TimeReader>, frame: Frame<'a>) -> Frame<'a> {
    match times {
        None => frame,
        Some(times) => times.read(&frame),
    }
}

/// The tag that the switch took from the frame and told beside it.
fn with_tag<'a>(frame: Frame<'a>, tag: [u8; 4], tagged: &'a mut Vec<u8>) -> Frame<'a> {
    tagged.clear();
    tagged.extend_from_slice(&frame.bytes[..12]);
    tagged.extend_from_slice(&tag);
    tagged.extend_from_slice(&frame.bytes[12..]);
    Frame { frame_len: frame.frame_len + 4, bytes: tagged, ..frame }
}

/// Of each of the points `names`.
pub(crate) fn each<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    openings: &[(String, Opening)],
) -> Result<Vec<Opening>, String> {
    for (name, Opening { unwrap, times }) in openings {
        if !names.clone().any(|point| point == name) {
            return Err(format!("unwrap or timestamps of {name}: no such point. Name a point"));
        }
        if *times == Some(TimeBy::Erspan) && unwrap.is_none_or(|unwrap| unwrap.wrap != Wrap::Erspan) {
            return Err(format!(
                "timestamps of {name} by erspan: its frames are not unwrapped. Unwrap it from erspan as well"
            ));
        }
    }
    let of = |name| openings.iter().find(|(point, _)| point == name).map(|(_, opening)| *opening);
    Ok(names.map(|name| of(name).unwrap_or_default()).collect())
}

/// `frame` itself at a point where nothing is to be done.
#[inline]
pub fn opened<'a>(opener: &'a mut Option<Opener>, frame: &Frame<'a>) -> Option<Frame<'a>> {
    match opener {
        None => Some(*frame),
        Some(opener) => opener.open(frame),
    }
}

/// Length on the wire: a mirror that cuts frames leaves the IP header, which knows.
fn whole(frame: &Frame<'_>) -> u32 {
    let told = network_at(frame.link, frame.bytes)
        .filter(|(_, kind)| matches!(kind, 0 | 0x0800 | 0x86dd))
        .and_then(|(at, _)| Some(at + length_at(frame.bytes, at)?));
    told.map_or(frame.frame_len, |told| frame.frame_len.max(told as u32))
}

/// ERSPAN II (draft-foschiano-erspan, 4.2): VLAN and COS of a frame that had a tag (En = 2) and came without it.
fn lost_tag(packet: &Packet, outer: &[u8], inside: &[u8]) -> Option<[u8; 4]> {
    if packet.tunnel != Tunnel::Erspan2 {
        return None;
    }
    let at = usize::from(packet.carried_at).checked_sub(8)?;
    let [first, second, third] = *outer.get(at..at + 3)?.first_chunk()?;
    let is_gone = third >> 3 & 3 == 2 && !matches!(inside.get(12..14)?, [0x81, 0x00] | [0x88, 0xa8]);
    is_gone.then_some([0x81, 0x00, third & 0xe0 | first & 0x0f, second])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARRIED: [u8; 42] = {
        let mut frame = [0; 42];
        (frame[12], frame[14], frame[17], frame[23]) = (0x08, 0x45, 28, 17);
        frame
    };

    /// ERSPAN II; `head`: its first four bytes.
    fn wrapped(head: [u8; 4], carried: &[u8]) -> Vec<u8> {
        let length = (20 + 16 + carried.len()) as u8;
        let ip = [0x45, 0, 0, length, 0, 1, 0, 0, 64, 47, 0, 0, 192, 0, 2, 1, 192, 0, 2, 9];
        let gre = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 7];
        [&[2; 12][..], &[8, 0], &ip, &gre, &head, &[0; 4], carried].concat()
    }

    fn open(text: &str, bytes: &[u8], frame_len: u32) -> (Option<(u32, Vec<u8>)>, Unwrapped) {
        let unwrap = Some(text.parse().expect("a wrap"));
        let mut opener = Opener::new(Opening { unwrap, times: None }).expect("something to do");
        let found = opener.open(&Frame { ts_ns: 5, link: 1, frame_len, bytes });
        let found = found.map(|frame| (frame.frame_len, frame.bytes.to_vec()));
        (found, opener.told)
    }

    #[test]
    fn a_frame_is_as_long_as_its_outer_packet_or_its_own_ip_header_says() {
        let frame = wrapped([0x10, 0, 0, 10], &CARRIED);
        let padded = [&frame[..], &[9; 6]].concat();
        assert_eq!(open("erspan", &padded, 98).0, Some((42, CARRIED.to_vec())));
        let (found, told) = open("erspan:10", &frame[..80], 92);
        assert_eq!((found, told.cut), (Some((42, CARRIED[..30].to_vec())), 0), "cut by the capture");
        let (found, told) = open("erspan", &wrapped([0x10, 0, 0, 10], &CARRIED[..30]), 80);
        assert_eq!((found, told.cut), (Some((42, CARRIED[..30].to_vec())), 1), "cut by the mirror");
    }

    #[test]
    fn a_tag_told_beside_the_frame_is_put_back_and_one_that_is_there_stays() {
        let head = [0x11, 0x2c, 5 << 5 | 2 << 3, 10];
        let tagged = [&CARRIED[..12], &[0x81, 0, 0xa1, 0x2c], &CARRIED[12..]].concat();
        assert_eq!(open("erspan", &wrapped(head, &CARRIED), 92).0, Some((46, tagged.clone())));
        assert_eq!(open("erspan", &wrapped(head, &tagged), 96).0, Some((46, tagged)));
        let stub = open("erspan", &wrapped(head, &CARRIED[..9]), 59).0;
        assert_eq!(stub, Some((9, CARRIED[..9].to_vec())), "no room for a tag");
    }

    #[test]
    fn others_are_named() {
        let frame = wrapped([0x10, 0, 0, 10], &CARRIED);
        for (text, bytes, name) in [
            ("erspan:11", &frame[..], "erspan-2 10"),
            ("vxlan", &frame, "erspan-2 10"),
            ("gre", &frame[..40], "unreadable"),
            ("erspan", &CARRIED, "udp"),
            ("erspan", &[0; 14], "not IP"),
        ] {
            let (found, told) = open(text, bytes, bytes.len() as u32);
            assert_eq!(
                (found, told.not_wrapped, told.mirrors.frames),
                (None, [(name.to_owned(), 1)].into(), 0),
                "{text}"
            );
        }
    }

    #[test]
    fn names_are_few() {
        let mut told = Unwrapped::default();
        for id in 0..100 {
            told.leave(&Packet { tunnel: Tunnel::Vxlan, tunnel_id: id, version: 4, ..Packet::default() });
        }
        assert_eq!(
            (told.not_wrapped.values().sum::<u64>(), told.not_wrapped.len(), told.not_wrapped[OTHERS]),
            (100, MOST + 1, 36)
        );
    }

    #[test]
    fn a_wrap_is_read_or_refused_in_a_line() {
        assert_eq!("gre:7".parse(), Ok(Unwrap { wrap: Wrap::Gre, id: Some(7) }));
        for text in ["", "gtp", "gre:", "gre:x", "erspan:-1", "vxlan:1:2"] {
            assert!(
                text.parse::<Unwrap>().is_err_and(|why| why.contains("write erspan") && !why.contains('\n')),
                "{text}"
            );
        }
    }
}
