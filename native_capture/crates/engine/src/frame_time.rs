//! Times that stand in frames: of a switch in ERSPAN III, of a packet broker in a trailer or behind the addresses. At a point that asks for
//! them they take the place of the capture's own, and what bears them is no part of the frame.

use std::collections::BTreeMap;
use std::str::FromStr;

use nc_decode::{Erspan, Packet};
use nc_source::Frame;
use serde::Serialize;

use crate::anchor::{Anchored, Anchors};
use crate::trailers::{arista, ixia, metamako, vss, Borne};

const HOUR: i64 = 3_600_000_000_000;

/// Who stamped the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBy {
    Erspan,
    Metamako,
    Vss,
    Ixia,
    Arista,
}

const NAMES: [(&str, TimeBy); 5] = [
    ("erspan", TimeBy::Erspan),
    ("metamako", TimeBy::Metamako),
    ("vss", TimeBy::Vss),
    ("ixia", TimeBy::Ixia),
    ("arista", TimeBy::Arista),
];

impl FromStr for TimeBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = NAMES.iter().find(|(name, _)| *name == text).map(|(_, by)| *by);
        known.ok_or_else(|| format!("timestamps {text:?}: write erspan, metamako, vss, ixia or arista"))
    }
}

impl TimeBy {
    pub(crate) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, by)| *by == self).map_or("", |(name, _)| name)
    }
}

/// What came of them. `without`: frames that keep the capture's time, by the reason. `least_ns`, `most_ns`: by how much the capture's time is
/// later than the frame's. `error_ns`, `unit_ns`, `resets`: of ERSPAN, whose clock has an epoch of its own, see [`Anchors`].
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct FrameTimes {
    pub by: &'static str,
    pub frames: u64,
    pub without: BTreeMap<&'static str, u64>,
    pub least_ns: Option<i64>,
    pub most_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets: Option<u64>,
}

impl FrameTimes {
    fn note(&mut self, late_ns: i64) {
        self.frames += 1;
        self.least_ns = Some(self.least_ns.map_or(late_ns, |least| least.min(late_ns)));
        self.most_ns = Some(self.most_ns.map_or(late_ns, |most| most.max(late_ns)));
    }

    /// Of two rings of one interface.
    pub fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        for (why, count) in &other.without {
            *self.without.entry(why).or_default() += count;
        }
        self.least_ns = self.least_ns.into_iter().chain(other.least_ns).min();
        self.most_ns = self.most_ns.max(other.most_ns);
        self.unit_ns = self.unit_ns.max(other.unit_ns);
        self.error_ns = self.error_ns.max(other.error_ns);
        self.resets = self.resets.map(|resets| resets + other.resets.unwrap_or(0)).or(other.resets);
    }

    /// Why there is no use in asking: frames came, and none bears a time.
    pub fn refusal(&self, point: &str) -> Option<String> {
        let (why, _) = self.without.iter().max_by_key(|(_, count)| **count).filter(|_| self.frames == 0)?;
        let frames: u64 = self.without.values().sum();
        let by = self.by;
        Some(format!(
            "timestamps of {point}: none of {frames} frames has a time by {by} ({why}). Leave it out, or name who stamps them"
        ))
    }
}

/// Reads the times of one capture or ring.
#[derive(Debug)]
pub(crate) struct TimeReader {
    by: TimeBy,
    pub told: FrameTimes,
    anchors: Anchors,
    joined: Vec<u8>,
}

impl TimeReader {
    pub fn new(by: TimeBy) -> Self {
        let is_erspan = by == TimeBy::Erspan;
        let resets = is_erspan.then_some(0);
        let told = FrameTimes { by: by.name(), resets, ..FrameTimes::default() };
        Self { by, told, anchors: Anchors::default(), joined: Vec::new() }
    }

    /// The time that an ERSPAN header gives the frame inside; `ns`: of the capture.
    pub fn erspan(&mut self, packet: &Packet, bytes: &[u8], ns: u64) -> u64 {
        if self.by != TimeBy::Erspan {
            return ns;
        }
        let Some(erspan) = Erspan::of(packet, bytes) else { return self.keep("no ERSPAN III", ns) };
        let stamp = match erspan.time() {
            Ok(stamp) => stamp,
            Err(why) => return self.keep(why, ns),
        };
        let found = self.anchors.place((packet.src, packet.dst, packet.tunnel_id), &stamp, ns);
        self.told.unit_ns = self.told.unit_ns.max(Some(stamp.unit_ns));
        self.told.error_ns = Some(self.anchors.error_ns() + self.told.unit_ns.unwrap_or(0));
        self.told.resets = Some(self.anchors.resets());
        match found {
            Anchored::At { ns, late_ns } => {
                self.told.note(late_ns);
                ns
            }
            Anchored::Strange => self.keep("the clock was set", ns),
            Anchored::NoRoom => self.keep("too many mirrors", ns),
        }
    }

    fn keep(&mut self, why: &'static str, ns: u64) -> u64 {
        *self.told.without.entry(why).or_default() += 1;
        ns
    }

    /// The frame without what a broker added to it, at the broker's time.
    pub fn read<'a>(&'a mut self, frame: &Frame<'a>) -> Frame<'a> {
        let read = match self.by {
            TimeBy::Erspan => return *frame,
            TimeBy::Metamako => metamako,
            TimeBy::Vss => vss,
            TimeBy::Ixia => ixia,
            TimeBy::Arista => arista,
        };
        let near = |ns: u64| (ns.wrapping_sub(frame.ts_ns) as i64).abs() <= HOUR;
        let borne = match read(frame, &near) {
            Ok(borne) => borne,
            Err(why) => {
                self.keep(why, frame.ts_ns);
                return *frame;
            }
        };
        self.told.note(frame.ts_ns.wrapping_sub(borne.ns()) as i64);
        match borne {
            Borne::Behind { ns, frame_len } => {
                let bytes = &frame.bytes[..frame.bytes.len().min(frame_len as usize)];
                Frame { ts_ns: ns, frame_len, bytes, ..*frame }
            }
            Borne::Between { ns, length } => {
                self.joined.clear();
                self.joined.extend_from_slice(&frame.bytes[..12]);
                self.joined.extend_from_slice(&frame.bytes[12 + length..]);
                Frame { ts_ns: ns, frame_len: frame.frame_len - length as u32, bytes: &self.joined, ..*frame }
            }
        }
    }
}
