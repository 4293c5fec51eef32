//! Numbers that a verdict of the network or of a queue collects besides its packets.

/// One number of the evidence of kind `counted`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Packets sent again.
    Repeated,
    /// Numbers jumped over and not confirmed by anybody.
    Missing,
    SequenceNaks,
    /// Seen at one point and not at the other, between which the pair's packets pass.
    LostBetween,
    AfterSilence,
    LargestFrame,
    CeMarks,
    Notifications,
    RnrNaks,
    NotEct,
    OtherMarks,
    Frames,
    PausedUs,
    LongestUs,
    SharePct,
    Intervals,
    LongestMs,
    PeakPct,
    QueueBytes,
    Lost,
    LostOfCore,
}

pub(crate) const FIGURES: usize = 21;

impl Figure {
    pub(crate) const ALL: [(Figure, &'static str); FIGURES] = [
        (Figure::Repeated, "repeated"),
        (Figure::Missing, "missing"),
        (Figure::SequenceNaks, "sequence_naks"),
        (Figure::LostBetween, "lost_between"),
        (Figure::AfterSilence, "after_silence"),
        (Figure::LargestFrame, "largest_frame"),
        (Figure::CeMarks, "ce"),
        (Figure::Notifications, "cnp"),
        (Figure::RnrNaks, "rnr_naks"),
        (Figure::NotEct, "not_ect"),
        (Figure::OtherMarks, "other_marks"),
        (Figure::Frames, "frames"),
        (Figure::PausedUs, "paused_us"),
        (Figure::LongestUs, "longest_us"),
        (Figure::SharePct, "share_pct"),
        (Figure::Intervals, "intervals"),
        (Figure::LongestMs, "longest_ms"),
        (Figure::PeakPct, "peak_fill_pct"),
        (Figure::QueueBytes, "queue_bytes"),
        (Figure::Lost, "lost"),
        (Figure::LostOfCore, "lost_of_core"),
    ];

    /// Sums, but for what is the most at any time.
    pub(crate) fn merge(self, into: &mut u64, value: u64) {
        match self {
            Figure::LargestFrame | Figure::LongestUs | Figure::SharePct | Figure::LongestMs | Figure::PeakPct => {
                *into = (*into).max(value);
            }
            _ => *into += value,
        }
    }
}
