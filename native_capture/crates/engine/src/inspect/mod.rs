//! A first look at captures: what the mirror that made them does to packets. Figures only; what they mean is said elsewhere.

mod copies;
mod mirrors;
mod streams;
mod times;

use std::path::{Path, PathBuf};

use nc_decode::{decode, Packet, Tunnel, NO_PCP};
use nc_source::{CaptureFile, SourceError};
use serde::Serialize;

use copies::Copies;
pub(crate) use mirrors::Mirrors;
use mirrors::{Interval, Intervals};
use streams::Streams;
use times::Times;

use crate::unwrap::{opened, Opener, Opening, Unwrap, Unwrapped};

/// Largest IP packet of plain Ethernet (IEEE 802.3 3.2.7), and of the jumbo frames that switches commonly carry.
const MTU: u32 = 1_500;
const JUMBO: u32 = 9_216;

/// A capture and the moments between which its frames are counted apart (ns, ascending): readings of the source port's counters. Where
/// `unwrap` says how its frames are wrapped, others are left out; else ERSPAN is looked into wherever it stands.
#[derive(Debug)]
pub struct Inspected {
    pub name: String,
    pub path: PathBuf,
    pub marks: Vec<u64>,
    pub unwrap: Option<Unwrap>,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    points: Vec<PointRow>,
}

#[derive(Default, Serialize)]
struct Sizes {
    frames: u64,
    bytes: u64,
    /// Frames of which the capture kept less than all, and the most it kept of one.
    cut: u64,
    most_kept: u64,
    largest_ip: u32,
    over_mtu: u64,
    over_jumbo: u64,
    /// TCP packets over the MTU whose payload is a whole multiple of a usual segment (1,448 or 1,460 bytes): joined by an offload.
    joined: u64,
    tagged: u64,
    with_priority: u64,
    non_ip: u64,
    /// 802.3x and PFC frames.
    pause: u64,
}

#[derive(Serialize)]
struct PointRow {
    name: String,
    file: String,
    error: Option<String>,
    #[serde(flatten)]
    sizes: Sizes,
    times: Times,
    copies: Copies,
    streams: Streams,
    mirrors: Mirrors,
    intervals: Vec<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unwrap: Option<Unwrapped>,
}

/// `policyhub.inspect/1` as JSON (UTF-8). A damaged capture is looked at up to the damage, which is told.
pub fn inspect(captures: &[Inspected]) -> Result<Vec<u8>, SourceError> {
    let points = captures.iter().map(point).collect::<Result<Vec<_>, _>>()?;
    Ok(serde_json::to_vec(&Report { schema: "policyhub.inspect/1", points }).unwrap_or_default())
}

fn point(capture: &Inspected) -> Result<PointRow, SourceError> {
    let mut row = PointRow {
        name: capture.name.clone(),
        file: capture.path.display().to_string(),
        error: None,
        sizes: Sizes::default(),
        times: Times::default(),
        copies: Copies::default(),
        streams: Streams::default(),
        mirrors: Mirrors::default(),
        intervals: Vec::new(),
        unwrap: None,
    };
    let mut intervals = Intervals::new(&capture.marks);
    let mut opener = Opener::new(Opening { unwrap: capture.unwrap, times: None });
    row.error = read(&capture.path, &mut opener, &mut row, &mut intervals)?.map(|error| error.to_string());
    row.times.finish();
    row.streams.finish();
    row.intervals = intervals.rows;
    if let Some(told) = opener.and_then(|opener| opener.told().unwrap) {
        row.mirrors = told.mirrors.clone();
        row.unwrap = Some(told);
    }
    Ok(row)
}

fn read(
    path: &Path,
    opener: &mut Option<Opener>,
    row: &mut PointRow,
    intervals: &mut Intervals,
) -> Result<Option<SourceError>, SourceError> {
    let mut file = CaptureFile::open(path)?;
    loop {
        let frame = match file.next_frame() {
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(error)),
        };
        let Some(frame) = opened(opener, &frame) else { continue };
        let outer = decode(frame.link, frame.ts_ns, frame.frame_len, frame.bytes);
        let packet = row.mirrors.unpack(&outer, frame.bytes);
        row.sizes.count(&packet, frame.bytes.len(), frame.frame_len);
        row.times.count(frame.ts_ns);
        intervals.count(frame.ts_ns, packet.frame_len);
        if packet.is_ip() && packet.error.is_none() && !packet.is_fragment() && packet.tunnel == Tunnel::None {
            row.copies.count(&packet);
            row.streams.count(&packet);
        }
    }
}

impl Sizes {
    fn count(&mut self, packet: &Packet, kept: usize, frame_len: u32) {
        self.frames += 1;
        self.bytes += u64::from(packet.frame_len);
        if (kept as u64) < u64::from(frame_len) {
            self.cut += 1;
            self.most_kept = self.most_kept.max(kept as u64);
        }
        self.tagged += u64::from(packet.pcp != NO_PCP);
        self.with_priority += u64::from(packet.pcp != NO_PCP && packet.pcp > 0);
        self.pause += u64::from(packet.stop != nc_decode::Stop::None);
        self.non_ip += u64::from(!packet.is_ip());
        self.largest_ip = self.largest_ip.max(packet.l3_len);
        if packet.l3_len > MTU {
            self.over_mtu += 1;
            self.over_jumbo += u64::from(packet.l3_len > JUMBO);
            let whole = |segment| packet.payload_len >= 2 * segment && packet.payload_len % segment == 0;
            self.joined += u64::from(packet.is_tcp() && (whole(1_448) || whole(1_460)));
        }
    }
}
