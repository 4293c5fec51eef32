//! How long pause frames held a priority, per second of packet time: 802.3 annex 31B and 802.1Q clause 36.
//!
//! A frame stops a priority for its timer, in quanta of 512 bit times; a later frame replaces what is left, a timer of 0 ends it.

use nc_decode::{Packet, Stop};

const SECOND: u64 = 1_000_000_000;
/// Bits of one quantum.
const QUANTUM_BITS: f64 = 512.0;
/// Where nobody says how fast the link is. Slower links are held longer than computed, faster ones shorter.
pub const REFERENCE_BPS: u64 = 100_000_000_000;
/// Senders told apart at one point; a port has one neighbour.
const SENDERS: usize = 64;
/// Index of PAUSE, which stops the whole link; 0..=7 are the priorities of PFC.
pub const WHOLE_LINK: usize = 8;

/// One sender, one priority (or the whole link), one second. `watched_ns`: of that second; `longest_ns`: the longest unbroken stop
/// that was going on in it, from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseSecond {
    pub mac: u128,
    pub class: usize,
    pub first_ns: u64,
    pub last_ns: u64,
    pub watched_ns: u64,
    pub frames: u64,
    pub paused_ns: u64,
    pub longest_ns: u64,
}

/// Since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseTotals {
    pub stopped: u64,
    pub released: u64,
    pub paused_ns: u64,
    pub longest_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Hold {
    totals: PauseTotals,
    /// Paused up to here, counted up to there.
    until_ns: u64,
    counted_ns: u64,
    began_ns: u64,
    frames: u64,
    paused_ns: u64,
    longest_ns: u64,
    first_ns: u64,
    last_ns: u64,
}

struct Sender {
    mac: u128,
    holds: [Hold; 9],
}

/// The pause frames of one point.
pub struct PauseMeter {
    bps: Option<u64>,
    quantum_ns: f64,
    begun_ns: Option<u64>,
    senders: Vec<Sender>,
    overflow: u64,
}

impl Default for PauseMeter {
    fn default() -> Self {
        let quantum_ns = quantum(REFERENCE_BPS);
        Self { bps: None, quantum_ns, begun_ns: None, senders: Vec::new(), overflow: 0 }
    }
}

fn quantum(bps: u64) -> f64 {
    QUANTUM_BITS * 1e9 / bps as f64
}

impl PauseMeter {
    pub fn set_speed(&mut self, bps: u64) {
        (self.bps, self.quantum_ns) = (Some(bps), quantum(bps));
    }

    /// The link's speed, where it is known.
    pub fn speed(&self) -> Option<u64> {
        self.bps
    }

    pub fn is_empty(&self) -> bool {
        self.senders.is_empty()
    }

    /// Account one pause frame; `begun_ns`: when watching this point began.
    pub fn observe(&mut self, packet: &Packet, begun_ns: u64) {
        self.begun_ns.get_or_insert(begun_ns);
        let quantum_ns = self.quantum_ns;
        let Some(sender) = self.sender(packet.dst) else { return };
        let quanta = packet.quanta();
        if packet.stop == Stop::Pause {
            sender.holds[WHOLE_LINK].frame(packet.ts_ns, quanta[0], quantum_ns);
            return;
        }
        for (class, quanta) in quanta.iter().enumerate() {
            if packet.stop_classes >> class & 1 != 0 {
                sender.holds[class].frame(packet.ts_ns, *quanta, quantum_ns);
            }
        }
    }

    fn sender(&mut self, mac: u128) -> Option<&mut Sender> {
        let at = match self.senders.iter().position(|sender| sender.mac == mac) {
            Some(at) => at,
            None if self.senders.len() >= SENDERS => {
                self.overflow += 1;
                return None;
            }
            None => {
                self.senders.push(Sender { mac, holds: Default::default() });
                self.senders.len() - 1
            }
        };
        self.senders.get_mut(at)
    }

    /// The second that ends at, or is cut by, `end_ns`: one row for each sender and priority that stopped something in it.
    pub fn take(&mut self, end_ns: u64, out: &mut Vec<PauseSecond>) {
        let start_ns = end_ns.saturating_sub(1) / SECOND * SECOND;
        let watched_ns = end_ns - start_ns.max(self.begun_ns.unwrap_or(start_ns)).min(end_ns);
        for sender in &mut self.senders {
            for (class, hold) in sender.holds.iter_mut().enumerate() {
                out.extend(hold.take(end_ns).map(|row| PauseSecond { mac: sender.mac, class, watched_ns, ..row }));
            }
        }
    }

    /// MAC address of the sender, priority or [`WHOLE_LINK`], and what it did.
    pub fn totals(&self) -> impl Iterator<Item = (u128, usize, PauseTotals)> + '_ {
        self.senders.iter().flat_map(|sender| {
            let holds = sender.holds.iter().enumerate();
            holds.filter(|(_, hold)| hold.totals.stopped + hold.totals.released > 0).map(|(class, hold)| {
                let left = PauseTotals { paused_ns: hold.totals.paused_ns + hold.paused_ns, ..hold.totals };
                (sender.mac, class, left)
            })
        })
    }

    /// Frames of senders that found no room.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }
}

impl Hold {
    fn frame(&mut self, ns: u64, quanta: u16, quantum_ns: f64) {
        self.settle(ns);
        if quanta == 0 {
            self.totals.released += 1;
            self.until_ns = self.until_ns.min(ns);
            return;
        }
        if self.until_ns < ns || self.totals.stopped == 0 {
            self.began_ns = ns;
        }
        self.totals.stopped += 1;
        if self.frames == 0 {
            self.first_ns = ns;
        }
        self.last_ns = ns;
        self.frames += 1;
        self.counted_ns = self.counted_ns.max(ns);
        self.until_ns = ns + (f64::from(quanta) * quantum_ns) as u64;
    }

    /// Count what was paused up to `ns`.
    fn settle(&mut self, ns: u64) {
        let to = self.until_ns.min(ns);
        if to > self.counted_ns {
            self.paused_ns += to - self.counted_ns;
            self.counted_ns = to;
            self.longest_ns = self.longest_ns.max(to - self.began_ns);
            self.totals.longest_ns = self.totals.longest_ns.max(to - self.began_ns);
        }
    }

    fn take(&mut self, end_ns: u64) -> Option<PauseSecond> {
        self.settle(end_ns);
        let found = self.frames > 0 || self.paused_ns > 0;
        let row = PauseSecond {
            mac: 0,
            class: 0,
            first_ns: if self.frames > 0 { self.first_ns } else { self.last_ns },
            last_ns: self.last_ns,
            watched_ns: 0,
            frames: self.frames,
            paused_ns: self.paused_ns,
            longest_ns: self.longest_ns,
        };
        self.totals.paused_ns += self.paused_ns;
        (self.frames, self.paused_ns, self.longest_ns) = (0, 0, 0);
        found.then_some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pfc(ts_ns: u64, class: usize, quanta: u16) -> Packet {
        let frame = Packet { ts_ns, stop: Stop::Pfc, stop_classes: 1 << class, dst: 7, ..Packet::default() };
        Packet { src: u128::from(quanta) << (class * 16), ..frame }
    }

    fn run(bps: Option<u64>, frames: &[(u64, u16)], end_ns: u64) -> PauseSecond {
        let mut meter = PauseMeter::default();
        if let Some(bps) = bps {
            meter.set_speed(bps);
        }
        let mut out = Vec::new();
        for (ns, quanta) in frames {
            meter.observe(&pfc(*ns, 3, *quanta), 0);
        }
        meter.take(end_ns, &mut out);
        assert_eq!(out.len(), 1);
        out[0]
    }

    #[test]
    fn a_later_frame_replaces_what_is_left() {
        // 1000 quanta of 512 ns at 1 Gbit/s
        let row = run(Some(1_000_000_000), &[(0, 1_000), (100_000, 1_000), (700_000, 1_000), (800_000, 0)], 2_000_000);
        assert_eq!((row.frames, row.paused_ns, row.longest_ns), (3, 612_000 + 100_000, 612_000));
        assert_eq!((row.class, row.mac, row.watched_ns), (3, 7, 2_000_000));
    }

    #[test]
    fn a_stop_that_goes_on_is_split_between_seconds_and_remembers_its_beginning() {
        let mut meter = PauseMeter::default();
        meter.set_speed(10_000_000_000);
        let mut out = Vec::new();
        for ms in 900..1_200 {
            if ms == 1_000 {
                meter.take(SECOND, &mut out);
            }
            meter.observe(&pfc(ms * 1_000_000, 3, 65_535), 0);
        }
        meter.observe(&pfc(1_200_000_000, 3, 0), 0);
        meter.take(2 * SECOND, &mut out);
        let told: Vec<_> = out.iter().map(|row| (row.frames, row.paused_ns, row.longest_ns)).collect();
        assert_eq!(told, [(100, 100_000_000, 100_000_000), (200, 200_000_000, 300_000_000)]);
        assert_eq!(meter.totals().map(|(_, _, sum)| sum.paused_ns).collect::<Vec<_>>(), [300_000_000]);
    }

    #[test]
    fn without_a_speed_that_of_the_reference_is_taken() {
        let row = run(None, &[(0, 65_535)], SECOND);
        assert_eq!(row.paused_ns, 335_539);
    }
}
