//! The queues of one port, replayed: who would wait, and who would be dropped, at the configured rates, bursts and buffers.
//!
//! An estimate by construction: the device's own clock, its other ports and its stalls are not seen. The model is that of a
//! hierarchical token bucket (and of guaranteed-rate schedulers in switches): a class sends at its guaranteed rate by itself, above it
//! from what the link has left, never above its ceiling. A bucket may go into debt by one packet.

use std::collections::VecDeque;

use crate::fill::FillMeter;

/// One class as configured. `limit`: packets, or bytes when `by_bytes`. `strict`: served before all others, up to its ceiling.
#[derive(Clone, Debug)]
pub struct QueueSetting {
    pub name: String,
    pub rate_bps: u64,
    pub ceil_bps: u64,
    pub limit: u64,
    pub by_bytes: bool,
    pub strict: bool,
}

/// Time at which the bucket's balance is zero again; it may be up to `burst_ns` in the past.
struct Bucket {
    byte_ns: f64,
    burst_ns: f64,
    zero_ns: f64,
}

impl Bucket {
    fn new(rate_bps: u64, burst_bytes: u32) -> Self {
        let byte_ns = 8e9 / rate_bps.max(1) as f64;
        Self { byte_ns, burst_ns: byte_ns * f64::from(burst_bytes), zero_ns: f64::MIN }
    }

    fn charge(&mut self, now_ns: f64, bytes: u32) {
        self.zero_ns = self.zero_ns.max(now_ns - self.burst_ns) + self.byte_ns * f64::from(bytes);
    }
}

struct Class {
    rate: Bucket,
    ceil: Bucket,
    limit: u64,
    by_bytes: bool,
    strict: bool,
    waiting: VecDeque<(u64, u32)>,
    borrowed: f64,
    meter: FillMeter,
    drops: u64,
    dropped_bytes: u64,
}

/// All classes of a port. Arrivals must come in order of time.
pub struct PortQueues {
    link: Bucket,
    classes: Vec<Class>,
}

impl PortQueues {
    pub fn new(link_bps: u64, burst_bytes: u32, settings: &[QueueSetting]) -> Self {
        let class = |setting: &QueueSetting| Class {
            rate: Bucket::new(setting.rate_bps, burst_bytes),
            ceil: Bucket::new(setting.ceil_bps, burst_bytes),
            limit: setting.limit,
            by_bytes: setting.by_bytes,
            strict: setting.strict,
            waiting: VecDeque::new(),
            borrowed: 0.0,
            meter: FillMeter::new(setting.limit, setting.by_bytes),
            drops: 0,
            dropped_bytes: 0,
        };
        Self { link: Bucket::new(link_bps, burst_bytes), classes: settings.iter().map(class).collect() }
    }

    /// A packet of `class` arrives; false when its queue is full and it would be dropped.
    pub fn arrive(&mut self, class: usize, ns: u64, flow: u32, bytes: u32) -> bool {
        self.serve(ns);
        let Some(queue) = self.classes.get_mut(class) else { return true };
        let room = if queue.by_bytes { u64::from(bytes) } else { 1 };
        if queue.meter.level() + room > queue.limit {
            queue.drops += 1;
            queue.dropped_bytes += u64::from(bytes);
            queue.meter.advance(ns);
            return false;
        }
        queue.waiting.push_back((ns, bytes));
        queue.meter.enter(ns, flow, bytes);
        true
    }

    /// Let everything leave that may leave up to `ns`.
    fn serve(&mut self, ns: u64) {
        while let Some((class, at, borrows)) = self.next() {
            if at > ns as f64 {
                return;
            }
            self.send(class, at, borrows);
        }
    }

    /// The class that sends next, when, and whether from the link's spare.
    fn next(&self) -> Option<(usize, f64, bool)> {
        let mut best: Option<(usize, f64, bool, f64)> = None;
        for (number, class) in self.classes.iter().enumerate() {
            let Some((came, _)) = class.waiting.front() else { continue };
            let ready = class.ceil.zero_ns.max(*came as f64);
            let own = if class.strict { ready } else { ready.max(class.rate.zero_ns) };
            let spare = ready.max(self.link.zero_ns);
            let (at, borrows) = if own <= spare { (own, false) } else { (spare, true) };
            // Earliest first; then own rate before borrowed, then who borrowed least for its rate.
            let rank = if class.strict { -1.0 } else { f64::from(u8::from(borrows)) + class.borrowed * 1e-18 };
            if best.is_none_or(|(_, when, _, other)| at < when || at == when && rank < other) {
                best = Some((number, at, borrows, rank));
            }
        }
        best.map(|(number, at, borrows, _)| (number, at, borrows))
    }

    fn send(&mut self, number: usize, at: f64, borrows: bool) {
        let class = &mut self.classes[number];
        let Some((_, bytes)) = class.waiting.pop_front() else { return };
        class.rate.charge(at, bytes);
        class.ceil.charge(at, bytes);
        self.link.charge(at, bytes);
        if borrows {
            class.borrowed += f64::from(bytes) * class.rate.byte_ns;
        }
        class.meter.leave(at as u64);
    }

    pub fn advance(&mut self, ns: u64) {
        self.serve(ns);
        self.classes.iter_mut().for_each(|class| class.meter.advance(ns));
    }

    pub fn finish(&mut self, ns: u64) {
        self.serve(ns);
        self.classes.iter_mut().for_each(|class| class.meter.finish(ns));
    }

    /// Nothing more arrives up to `ns`.
    pub fn settle(&mut self, ns: u64) {
        self.serve(ns);
        self.classes.iter_mut().for_each(|class| class.meter.settle(ns));
    }

    /// Keep every millisecond of every class.
    pub fn record(&mut self) {
        self.classes.iter_mut().for_each(|class| class.meter.record());
    }

    pub fn meter_mut(&mut self, class: usize) -> &mut FillMeter {
        &mut self.classes[class].meter
    }

    pub fn meter(&self, class: usize) -> &FillMeter {
        &self.classes[class].meter
    }

    /// Packets and bytes that would have been dropped.
    pub fn drops(&self, class: usize) -> (u64, u64) {
        (self.classes[class].drops, self.classes[class].dropped_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn setting(name: &str, rate: u64, ceil: u64, limit: u64) -> QueueSetting {
        QueueSetting { name: name.into(), rate_bps: rate, ceil_bps: ceil, limit, by_bytes: false, strict: false }
    }

    #[test]
    fn a_class_drains_at_its_ceiling_and_drops_what_finds_no_room() {
        let mut port = PortQueues::new(20_000_000, 1_600, &[setting("EF", 4_000_000, 4_000_000, 25)]);
        port.advance(0);
        let kept = (0..40).filter(|_| port.arrive(0, MS, 1, 1_500)).count();
        assert_eq!(port.drops(0).0, 40 - kept as u64);
        // two leave at once (the burst of 1600 bytes and the debt of one packet), 25 wait
        assert_eq!(kept, 27);
        port.advance(10_000 * MS);
        assert_eq!(port.meter(0).level(), 0);
    }

    #[test]
    fn what_the_link_has_left_is_borrowed_up_to_the_ceiling() {
        let settings = [setting("BE", 1_000_000, 10_000_000, 1_000)];
        let mut port = PortQueues::new(10_000_000, 1_600, &settings);
        for _ in 0..100 {
            port.arrive(0, 0, 1, 1_250);
        }
        // 98 packets wait; at 10 Mbit/s one of 1250 bytes leaves each ms
        port.advance(50 * MS);
        assert!((46..=50).contains(&port.meter(0).level()), "{}", port.meter(0).level());
    }

    #[test]
    fn a_saturating_class_does_not_touch_the_guaranteed_rate_of_another() {
        let settings = [setting("EF", 4_000_000, 4_000_000, 25), setting("BE", 6_000_000, 10_000_000, 100)];
        let mut port = PortQueues::new(10_000_000, 1_600, &settings);
        let mut lost = 0;
        for ms in 0..1_000 {
            for _ in 0..4 {
                port.arrive(1, ms * MS, 2, 1_500);
            }
            lost += u64::from(!port.arrive(0, ms * MS, 1, 450));
        }
        assert_eq!(lost, 0);
        assert!(port.drops(1).0 > 2_000);
        assert!(port.meter(0).level() <= 1);
    }
}
