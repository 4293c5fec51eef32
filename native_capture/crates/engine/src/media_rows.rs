//! RTP streams, and what a listener would think of them: `flows[].rtp`, and all of them in `media`.

use nc_flow::{address, FlowKey, FlowTable, Media};
use serde::Serialize;

use crate::core::Core;

/// Codecs whose impairment is published: payload type, name, impairment Ie and robustness against loss Bpl (ITU-T G.113,
/// appendix I; G.711 with packet loss concealment).
const CODECS: [(u8, &str, f64, f64); 4] = [
    (0, "G.711 u-law", 0.0, 25.1),
    (8, "G.711 A-law", 0.0, 25.1),
    (4, "G.723.1", 15.0, 16.1),
    (18, "G.729A", 11.0, 19.0),
];
/// Rating without any impairment (ITU-T G.107, default values).
const BEST: f64 = 93.2;
const ASSUMES: &str = "E-model (ITU-T G.107) of the codec with loss concealment, random loss, a buffer of twice the jitter, no delay of the network";

#[derive(Serialize)]
pub(crate) struct MediaRow {
    ssrc: u32,
    payload_type: u8,
    codec: Option<&'static str>,
    streams: u32,
    packets: u64,
    expected: u64,
    lost: u64,
    late: u64,
    jitter_ns: Option<u64>,
    max_jitter_ns: Option<u64>,
    mos: Option<f64>,
    mos_assumes: Option<&'static str>,
}

/// Streams in `media`: those that lost most.
const ROWS: usize = 1_000;

/// One stream with its ends.
#[derive(Serialize)]
pub(crate) struct StreamRow<'a> {
    point: &'a str,
    src: String,
    sport: u16,
    dst: String,
    dport: u16,
    #[serde(flatten)]
    media: MediaRow,
}

/// A stream, its flow and the point that saw it.
pub(crate) type StreamOf = (Media, FlowKey, u16);

pub(crate) fn stream_of(flows: &FlowTable, number: u32) -> Option<StreamOf> {
    Some((flows.media(number)?, flows.key(number), flows.flow(number).point))
}

/// Those that lost the greatest share first. `flows`: streams as their flows have them; of several points each has its own.
pub(crate) fn streams(core: &Core, flows: Vec<StreamOf>) -> Vec<StreamRow<'_>> {
    let several = core.points.iter().any(|point| point.media.is_some());
    let mut all = if several { of_points(core) } else { flows };
    all.sort_unstable_by_key(|(media, key, point)| {
        let lost_ppm = media.lost.saturating_mul(1_000_000) / media.expected.max(1);
        (std::cmp::Reverse((lost_ppm, media.packets)), *point, *key, media.source)
    });
    let row = |(media, key, point): StreamOf| {
        let (src, dst) = (address(key.version, key.src), address(key.version, key.dst));
        let point = core.points[usize::from(point)].name.as_str();
        StreamRow { point, src, sport: key.sport, dst, dport: key.dport, media: media_row(&media) }
    };
    all.into_iter().take(ROWS).map(row).collect()
}

/// Packets of streams for which a point had no room.
pub(crate) fn media_overflow(core: &Core) -> u64 {
    core.points.iter().filter_map(|point| point.media.as_ref()).map(|media| media.overflow()).sum()
}

fn of_points(core: &Core) -> Vec<StreamOf> {
    let points = core.points.iter().zip(0..).filter_map(|(point, number)| Some((point.media.as_ref()?, number)));
    points.flat_map(|(media, number)| media.streams().map(move |(key, media)| (media, key, number))).collect()
}

pub(crate) fn media_row(media: &Media) -> MediaRow {
    let codec = CODECS.iter().find(|(payload_type, ..)| *payload_type == media.payload_type);
    let loss_pct = 100.0 * media.lost as f64 / media.expected.max(1) as f64;
    let mos =
        codec.zip(media.jitter_ns).map(|((_, _, ie, bpl), jitter)| mos(*ie, *bpl, loss_pct, 2.0 * jitter as f64 / 1e6));
    MediaRow {
        ssrc: media.source,
        payload_type: media.payload_type,
        codec: codec.map(|(_, name, ..)| *name),
        streams: media.streams,
        packets: media.packets,
        expected: media.expected,
        lost: media.lost,
        late: media.late,
        jitter_ns: media.jitter_ns,
        max_jitter_ns: media.max_jitter_ns,
        mos: mos.map(|mos| (mos * 100.0).round() / 100.0),
        mos_assumes: mos.map(|_| ASSUMES),
    }
}

/// Mean opinion score, 1 to 4.5. G.107, 7.2 (delay as simplified by Cole and Rosenbluth 2001), 7.3 (loss), annex B (score).
fn mos(ie: f64, bpl: f64, loss_pct: f64, delay_ms: f64) -> f64 {
    let late = (delay_ms - 177.3).max(0.0);
    let delayed = 0.024 * delay_ms + 0.11 * late;
    let spoiled = ie + (95.0 - ie) * loss_pct / (loss_pct + bpl);
    let rating = (BEST - delayed - spoiled).clamp(0.0, 100.0);
    1.0_f64.max(1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_e_model() {
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 0.01, "{found} {expected}");
        // R of 93.2 is 4.41; G.729A without loss has R of 82.2, 4.11; G.711 with 5 % loss 77.4, 3.93
        near(mos(0.0, 25.1, 0.0, 0.0), 4.41);
        near(mos(11.0, 19.0, 0.0, 0.0), 4.11);
        near(mos(0.0, 25.1, 5.0, 0.0), 3.93);
        near(mos(0.0, 25.1, 100.0, 900.0), 1.0);
    }

    #[test]
    fn an_unknown_payload_type_has_no_score() {
        let media = Media {
            source: 1,
            payload_type: 111,
            streams: 1,
            packets: 9,
            expected: 10,
            lost: 1,
            late: 0,
            jitter_ns: None,
            max_jitter_ns: None,
        };
        assert!(media_row(&media).mos.is_none());
        let known = media_row(&Media { payload_type: 0, jitter_ns: Some(0), ..media });
        assert!(known.mos.is_some_and(|mos| mos < 4.0) && known.mos_assumes.is_some());
    }
}
