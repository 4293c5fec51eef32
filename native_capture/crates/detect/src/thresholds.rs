//! From when on something is worth a verdict. Nothing but numbers, each with where it comes from.

pub use nc_flow::{PASSES_EVERYWHERE, STUCK_ROUNDS};

/// A share of marked packets is a share of at least so many data packets of one flow in one second: below, chance decides.
pub const RATE_PACKETS: u64 = 100;
/// Per cent of a flow's data packets in a second that carry CE: up to 1 % an ECN queue does its daily work (fabric baseline of
/// docs/verdicts.md: warn from 1 %, critical from 10 %).
pub const CE_PCT: u64 = 1;
pub const CE_HIGH_PCT: u64 = 10;
/// Congestion notifications to one queue pair in one second. A receiver sends at most one in 50 us (IBA annex A17.9.3, DCQCN);
/// single ones are the daily work.
pub const NOTIFICATIONS: u64 = 5;
/// Per cent of a flow's data packets in a second without ECT: a switch can only drop these.
pub const NOT_ECT_PCT: u64 = 90;
/// Data packets of one queue pair with another mark than its first ones, in one second.
pub const OTHER_MARKS: u64 = 16;
/// Stop frames of one priority in one second: a few are what flow control is for (fabric baseline: ok below 0.1 % of time).
pub const PAUSE_FRAMES: u64 = 10;
/// Share of time paused from which a pause is told, and from which it is a storm, in thousandths (baseline: warn 0.1 %, critical 5 %).
pub const PAUSE_PER_MILLE: u64 = 1;
pub const STORM_PER_MILLE: u64 = 50;
/// A share of time is a share of at least so much of it.
pub const STORM_WATCHED_NS: u64 = 100_000_000;
/// An unbroken stop this long is a storm whatever the share: watchdogs of switches detect from 100 ms on (SONiC PFC watchdog,
/// 100 to 400 ms).
pub const STORM_UNBROKEN_NS: u64 = 100_000_000;
/// A queue nearly full for less is a microburst, for longer saturated (contract, Definitions).
pub const MICROBURST_NS: u64 = 500_000_000;
/// A sender of a mark that is not its own is named before others when it filled so many per cent of the queue.
pub const OFFENDER_PCT: u64 = 10;
/// Packets that could have been marked, of a queue nearly full, from which "none was" means something.
pub const ECT_PACKETS: u64 = 20;
/// A flow begun within its hours is bulk from so many bytes on: below, it is the end of a session.
pub const BULK_BYTES: u64 = 100_000_000;
/// What the addresses of one identity may send in a minute outside its hours: time, names and logins (133 kbit/s).
pub const UPKEEP_BYTES: u64 = 1_000_000;
