//! The clocks of several captures, compared by the packets that they share before anything is analysed.

use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::path::PathBuf;

use nc_correlate::{identity_of, Bounds, Clocks as Limits};
use nc_decode::decode;
use nc_flow::{FlowKey, KeyedState};
use nc_source::CaptureFile;
use serde::Serialize;

use crate::unwrap::{opened, Opener, Opening};

/// Frames looked at per capture.
const SAMPLE: usize = 65_536;

/// What the report says of the clocks of two points.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ClockRow {
    pub basis: &'static str,
    /// By how much the second clock was taken to be ahead; delays are corrected by it.
    pub offset_ns: i64,
    pub error_ns: Option<u64>,
    /// The bounds that packets (and errors that were given) set.
    pub at_least_ns: Option<i64>,
    pub at_most_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    #[serde(skip)]
    trusted: bool,
}

impl ClockRow {
    /// Whether a delay may be told: it is not smaller than what the clocks may be off.
    pub fn allows(&self, ns: u64) -> bool {
        self.trusted && self.error_ns.is_none_or(|error| ns >= error)
    }
}

/// The clocks of all points. The first one's is the reference, or true time where errors against it were given.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    limits: Limits,
    /// By how much each clock is taken to be ahead of the reference.
    pub offsets: Vec<i64>,
    given: bool,
    sound: bool,
}

impl Clocks {
    /// Nothing is known; live, where one machine's clock stamps every interface.
    pub fn unknown(points: usize) -> Self {
        Self { limits: Limits::new(points), offsets: vec![0; points], given: false, sound: true }
    }

    /// Look at the beginnings of captures; `errors`: of a clock against true time, where known.
    pub fn compare(captures: &[Sampled], errors: &[(usize, u64)]) -> Self {
        let mut clocks = Self::unknown(captures.len());
        let hashers = Default::default();
        let samples: Vec<Sample> = captures.iter().map(|capture| sample(capture, &hashers)).collect();
        for a in 0..samples.len() {
            for b in a + 1..samples.len() {
                clocks.sound &= bound(&mut clocks.limits, (a, b), &samples[a], &samples[b]);
            }
        }
        let truth = clocks.limits.truth();
        for (point, error) in errors {
            let error = i64::try_from(*error).unwrap_or(i64::MAX / 4);
            clocks.limits.at_most(truth, *point, error);
            clocks.limits.at_most(*point, truth, error);
        }
        clocks.given = !errors.is_empty();
        clocks.sound &= clocks.limits.settle();
        if clocks.sound && !clocks.agree() {
            let reference = if clocks.given { truth } else { 0 };
            let offset = |point| clocks.limits.between(reference, point).middle().unwrap_or(0);
            clocks.offsets = (0..captures.len()).map(offset).collect();
        }
        clocks
    }

    /// Nothing contradicts that all clocks are one.
    fn agree(&self) -> bool {
        let points = self.offsets.len();
        (0..points).all(|a| (0..points).all(|b| self.limits.between(a, b).holds(0)))
    }

    pub fn row(&self, from: usize, to: usize) -> ClockRow {
        let bounds = if self.sound { self.limits.between(from, to) } else { Bounds::default() };
        let offset_ns = self.offsets[to] - self.offsets[from];
        let corrected = self.offsets.iter().any(|offset| *offset != 0);
        let error_ns = bounds.error(offset_ns).filter(|_| corrected || self.given);
        let (basis, reason) = match (self.sound, corrected, self.given, error_ns) {
            (false, ..) => (
                "inconsistent",
                Some("the clocks drift by more than the packets' way takes, or an error was given too small"),
            ),
            (_, _, true, Some(_)) => ("given", Some("the figure is finer than the clocks' error")),
            (_, true, _, Some(_)) => ("estimated", Some("the figure is finer than the error of the estimated offset")),
            (_, true, _, None) | (_, _, true, None) => {
                ("bound", Some("packets of one direction only bound the offset on one side"))
            }
            (_, false, false, _) => ("assumed", None),
        };
        let trusted = basis == "assumed" || error_ns.is_some();
        ClockRow {
            basis,
            offset_ns,
            error_ns,
            at_least_ns: bounds.at_least,
            at_most_ns: bounds.at_most,
            reason,
            trusted,
        }
    }
}

/// A capture whose beginning is looked at; `realm`: its number.
pub(crate) struct Sampled {
    pub path: PathBuf,
    pub realm: u16,
    pub opening: Opening,
}

/// Time, TTL and flow of packets that are alike to no other in the sample; None for the others.
type Sample = HashMap<u128, Option<(u64, u8, FlowKey)>, KeyedState>;

/// What cannot be read is left out: the analysis itself says so.
fn sample(Sampled { path, realm, opening }: &Sampled, hashers: &(KeyedState, KeyedState)) -> Sample {
    let mut found = Sample::default();
    let (realm, mut opener) = (*realm, Opener::new(*opening));
    let is_file = path.metadata().is_ok_and(|about| about.is_file());
    let Some(mut file) = CaptureFile::open(path).ok().filter(|_| is_file) else { return found };
    for _ in 0..SAMPLE {
        let Ok(Some(frame)) = file.next_frame() else { break };
        let Some(frame) = opened(&mut opener, &frame) else { continue };
        let packet = decode(frame.link, frame.ts_ns, frame.frame_len, frame.bytes);
        if !packet.is_ip() || packet.is_fragment() || packet.error.is_some() {
            continue;
        }
        let id = identity_of(&packet, realm, hashers) ^ u128::from(packet.checksum) << 64;
        let key = FlowKey { vlan: 0, ..FlowKey::of(&packet, realm, (packet.sport, packet.dport)) };
        match found.entry(id) {
            Entry::Vacant(place) => {
                place.insert(Some((packet.ts_ns, packet.ttl, key)));
            }
            Entry::Occupied(mut place) => *place.get_mut() = None,
        }
    }
    found
}

/// Of one flow: least and most apparent delay from the first to the second point, and least and most hops counted by TTL.
#[derive(Clone, Copy)]
struct Apparent {
    least: i64,
    most: i64,
    hops: (i16, i16),
}

impl Apparent {
    /// 1 when every packet lost TTL on the way from the first point to the second, -1 the other way; 0: TTL does not tell.
    fn way(&self) -> i16 {
        match self.hops {
            (1.., _) => 1,
            (_, ..=-1) => -1,
            _ => 0,
        }
    }
}

/// What packets at both points say; false when both directions of one conversation contradict each other.
fn bound(limits: &mut Limits, (a, b): (usize, usize), first: &Sample, second: &Sample) -> bool {
    let mut flows: HashMap<FlowKey, Apparent> = HashMap::new();
    for (id, one) in first {
        let (Some((ns, ttl, key)), Some(Some((other_ns, other_ttl, _)))) = (one, second.get(id)) else { continue };
        let delay = i64::try_from(i128::from(*other_ns) - i128::from(*ns)).unwrap_or(0);
        let hops = i16::from(*ttl) - i16::from(*other_ttl);
        let seen = flows.entry(*key).or_insert(Apparent { least: delay, most: delay, hops: (hops, hops) });
        (seen.least, seen.most) = (seen.least.min(delay), seen.most.max(delay));
        seen.hops = (seen.hops.0.min(hops), seen.hops.1.max(hops));
    }
    let mut sound = true;
    for (key, seen) in &flows {
        let back = flows.get(&key.reversed());
        let forward = match (seen.way(), back) {
            (1.., _) => true,
            (..=-1, _) => false,
            (0, Some(back)) if seen.least >= back.most => true,
            (0, Some(back)) if back.least >= seen.most => false,
            (0, Some(_)) => {
                sound = false;
                continue;
            }
            (0, None) => continue,
        };
        if forward {
            limits.at_most(a, b, seen.least);
        } else {
            limits.at_most(b, a, -seen.most);
        }
    }
    sound
}
