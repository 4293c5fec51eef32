//! The queues of the device between the points: which port and class a packet passes, replayed and measured.

use std::collections::{BTreeMap, VecDeque};

use nc_decode::Packet;
use nc_flow::{FillMeter, Passages, PortQueues, QueueSetting, Slice};
use serde::Deserialize;

use crate::queue_watch::Waiting;

/// Largest debt and saving of a token bucket when the configuration names none: one full Ethernet frame and some.
const BURST_BYTES: u32 = 1_600;
/// A port that names no buffer is modelled with this many packets (Linux pfifo's default).
const QUEUE_PACKETS: u64 = 1_000;
const MBPS: f64 = 1e6;
/// Losses of one class remembered until the interval they belong to is judged; older ones are of no interval.
const MOST_LOSSES: usize = 65_536;
const LOSS_NS: u64 = 10_000_000_000;

/// The queues file of the contract (`data/scenarios/*/queues.json`), with `sides` for single points.
#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    device: Option<String>,
    observation_points: BTreeMap<String, String>,
    link_mbps: f64,
    classes: BTreeMap<String, ClassConfig>,
    #[serde(default)]
    burst_bytes: Option<u32>,
    #[serde(default)]
    ports: BTreeMap<String, PortConfig>,
    #[serde(default)]
    sides: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct ClassConfig {
    dscp: Marks,
    rate_mbps: f64,
    ceil_mbps: Option<f64>,
    queue_pkts: Option<u64>,
    queue_bytes: Option<u64>,
    #[serde(default)]
    strict: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Marks {
    Listed(Vec<u8>),
    Rest(String),
}

#[derive(Deserialize)]
struct PortConfig {
    point: String,
    arrivals_from: String,
    link_mbps: Option<f64>,
}

/// IP version, network, prefix length.
type Prefix = (u8, u128, u8);

/// What one class of one port showed. `measured`: None unless both points are given.
pub(crate) struct ClassQueue {
    pub name: String,
    pub marks: Vec<u8>,
    pub measured: Option<(Passages, FillMeter)>,
    /// When a packet was lost, and whether it was of a core business.
    losses: VecDeque<(u64, bool)>,
    /// Packets that left a nearly full queue able to carry a congestion mark, and those that carried it.
    marks_of_full: (u64, u64),
}

/// What was lost while a queue was nearly full, and how it marked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    pub all: u64,
    pub of_core: u64,
    pub could_be_marked: u64,
    pub marked: u64,
}

pub(crate) struct PortState {
    pub name: String,
    pub arrives: Option<usize>,
    pub leaves: Option<usize>,
    pub classes: Vec<ClassQueue>,
    /// None when nobody can say what arrives: the arrival point is not given, or it stands alone without its side.
    pub estimated: Option<PortQueues>,
    class_of: [u8; 64],
    side: Vec<Prefix>,
    link_bps: u64,
}

/// All ports of the file whose points are among those given.
pub(crate) struct Queues {
    /// The device's name, when the file gives one.
    pub device: Option<String>,
    pub ports: Vec<PortState>,
    pub waiting: VecDeque<Waiting>,
    alone: bool,
}

impl Queues {
    /// `names`: the points given; each may be a key or a value of `observation_points`. The error is one line with the cure.
    pub fn parse(text: &[u8], names: &[String]) -> Result<Self, String> {
        let config: Config = serde_json::from_slice(text).map_err(|error| format!("queues: {error}"))?;
        let number = |point: &str| {
            let other = config.observation_points.get(point);
            names.iter().position(|name| name == point || Some(name) == other)
        };
        if config.classes.is_empty() {
            return Err("queues: no class. Give those of the ports, each with its marks and its rate".into());
        }
        let settings = settings(&config)?;
        let class_of = class_of(&config)?;
        let mut ports = Vec::new();
        for (name, port) in &config.ports {
            let (arrives, leaves) = (number(&port.arrivals_from), number(&port.point));
            let side = sides(&config, &port.arrivals_from)?;
            let link = bps(port.link_mbps.unwrap_or(config.link_mbps), "link_mbps")?;
            let alone = names.len() == 1;
            let can_estimate = arrives.is_some() && (!alone || !side.is_empty());
            let queues = || PortQueues::new(link, config.burst_bytes.unwrap_or(BURST_BYTES), &settings);
            let measures = arrives.is_some() && leaves.is_some();
            let class = |(number, setting): (usize, &QueueSetting)| ClassQueue {
                name: setting.name.clone(),
                marks: (0..64).filter(|mark| usize::from(class_of[usize::from(*mark)]) == number).collect(),
                measured: measures.then(|| (Passages::default(), FillMeter::new(setting.limit, setting.by_bytes))),
                losses: VecDeque::new(),
                marks_of_full: (0, 0),
            };
            ports.push(PortState {
                name: name.clone(),
                arrives,
                leaves,
                classes: settings.iter().enumerate().map(class).collect(),
                estimated: can_estimate.then(queues),
                class_of,
                side,
                link_bps: link,
            });
        }
        let device = config.device;
        Ok(Self { device, ports, waiting: VecDeque::new(), alone: names.len() == 1 })
    }

    /// Whether any queue is looked at: a file may speak of other points only, or of marks only.
    pub fn are_any(&self) -> bool {
        self.ports
            .iter()
            .any(|port| port.estimated.is_some() || port.classes.iter().any(|class| class.measured.is_some()))
    }

    /// Keep the fill of every millisecond.
    pub fn record(&mut self) {
        for port in &mut self.ports {
            if let Some(queues) = &mut port.estimated {
                queues.record();
            }
            port.classes.iter_mut().filter_map(|class| class.measured.as_mut()).for_each(|(_, meter)| meter.record());
        }
    }

    /// A packet that `point` is the first, or the only one, to show. Port and class where it would have been dropped, if only the
    /// replay can say so.
    pub fn first(&mut self, point: u16, packet: &Packet, flow: u32) -> Option<(usize, usize)> {
        let mut dropped = None;
        for (number, port) in self.ports.iter_mut().enumerate() {
            let is_here = port.arrives == Some(usize::from(point));
            if !is_here || self.alone && !port.side.iter().any(|prefix| holds(prefix, packet)) {
                continue;
            }
            if let Some(queues) = &mut port.estimated {
                let class = usize::from(port.class_of[usize::from(packet.dscp & 63)]);
                if !queues.arrive(class, packet.ts_ns, flow, packet.frame_len) && port.leaves.is_none() {
                    dropped = Some((number, class));
                }
            }
        }
        dropped
    }

    /// A packet that came in at `from` and left at `to`. Its class is that of the mark it left with.
    pub fn passed(&mut self, from: u16, to: u16, entry_ns: u64, packet: &Packet, flow: u32) {
        let way = (Some(usize::from(from)), Some(usize::from(to)));
        for port in self.ports.iter_mut().filter(|port| (port.arrives, port.leaves) == way) {
            let class = usize::from(port.class_of[usize::from(packet.dscp & 63)]);
            let queue = port.classes.get_mut(class).and_then(|class| class.measured.as_mut());
            if let Some((passages, meter)) = queue {
                passages.passed(entry_ns, packet.ts_ns, flow, packet.frame_len, meter);
                if meter.is_open() && packet.ecn != 0 {
                    let marks = &mut port.classes[class].marks_of_full;
                    *marks = (marks.0 + 1, marks.1 + u64::from(packet.ecn == 3));
                }
            }
        }
    }

    pub fn lost(&mut self, port: usize, class: usize, ns: u64, is_core: bool) {
        let Some(class) = self.ports[port].classes.get_mut(class) else { return };
        while class.losses.front().is_some_and(|(at, _)| *at + LOSS_NS < ns) || class.losses.len() >= MOST_LOSSES {
            class.losses.pop_front();
        }
        class.losses.push_back((ns, is_core));
    }

    /// A packet that arrived at `point` with this mark and left nowhere.
    pub fn vanished(&mut self, point: u16, dscp: u8, ns: u64, is_core: bool) {
        for number in 0..self.ports.len() {
            let port = &self.ports[number];
            if port.arrives == Some(usize::from(point)) && port.leaves.is_some() {
                self.lost(number, usize::from(port.class_of[usize::from(dscp & 63)]), ns, is_core);
            }
        }
    }

    /// Losses and marks of a class between two moments; they are asked for in order of time, each once.
    pub fn losses(&mut self, port: usize, class: usize, from_ns: u64, to_ns: u64) -> Losses {
        let class = &mut self.ports[port].classes[class];
        let (could_be_marked, marked) = std::mem::take(&mut class.marks_of_full);
        let mut found = Losses { could_be_marked, marked, ..Losses::default() };
        class.losses.retain(|(ns, is_core)| {
            let is_in = (from_ns..=to_ns).contains(ns);
            found.all += u64::from(is_in);
            found.of_core += u64::from(is_in && *is_core);
            *ns > to_ns
        });
        found
    }

    /// Nothing that happened before `ns` will be told any more.
    pub fn settle(&mut self, ns: u64) {
        for port in &mut self.ports {
            if let Some(queues) = &mut port.estimated {
                queues.settle(ns);
            }
            for (passages, meter) in port.classes.iter_mut().filter_map(|class| class.measured.as_mut()) {
                passages.settle(ns, meter);
            }
        }
    }

    /// Ports that are fed from this point and have a class whose queue is nearly full, or was just now.
    pub fn nearly_full(&self, point: usize) -> impl Iterator<Item = &PortState> {
        let measures = |class: &ClassQueue| class.measured.as_ref().is_some_and(|(_, meter)| meter.is_open());
        let estimates =
            |port: &PortState, class| port.estimated.as_ref().is_some_and(|queues| queues.meter(class).is_open());
        let is_full = move |port: &&PortState| {
            (0..).zip(&port.classes).any(|(number, class)| measures(class) || estimates(port, number))
        };
        self.ports.iter().filter(move |port| port.arrives == Some(point)).filter(is_full)
    }

    /// Measure where a port's two points have one clock, as `is_one` says; elsewhere its queues are estimated.
    pub fn measure_only(&mut self, is_one: impl Fn(usize, usize) -> bool) {
        for port in &mut self.ports {
            if port.arrives.zip(port.leaves).is_some_and(|(from, to)| !is_one(from, to)) {
                port.classes.iter_mut().for_each(|class| class.measured = None);
            }
        }
    }

    /// A running engine tells by slices only.
    pub fn forget_bursts(&mut self) {
        for port in &mut self.ports {
            for class in 0..port.classes.len() {
                port.estimated.iter_mut().for_each(|queues| queues.meter_mut(class).forget_bursts());
                port.classes[class].measured.iter_mut().for_each(|(_, meter)| meter.forget_bursts());
            }
        }
    }

    /// Intervals with a queue nearly full, by the better of measurement and estimate, in order of their ends.
    pub fn take_slices(&mut self) -> Vec<(usize, usize, Slice)> {
        let mut all = Vec::new();
        for (number, port) in self.ports.iter_mut().enumerate() {
            for class in 0..port.classes.len() {
                let estimated =
                    port.estimated.as_mut().map(|queues| std::mem::take(&mut queues.meter_mut(class).slices));
                let measured =
                    port.classes[class].measured.as_mut().map(|(_, meter)| std::mem::take(&mut meter.slices));
                let slices = measured.or(estimated).unwrap_or_default();
                all.extend(slices.into_iter().map(|slice| (number, class, slice)));
            }
        }
        all.sort_by_key(|(port, class, slice)| (slice.end_ns, *port, *class));
        all
    }

    pub fn class_of(&self, port: usize, mark: u8) -> usize {
        usize::from(self.ports[port].class_of[usize::from(mark & 63)])
    }

    /// The point by which a port's packets leave, or else at which they arrive.
    pub fn place(&self, port: usize) -> u16 {
        let port = &self.ports[port];
        port.leaves.or(port.arrives).unwrap_or_default() as u16
    }

    /// Port, class, and whether its fill is measured or estimated.
    pub fn names(&self, port: usize, class: usize) -> (&str, &str, &'static str) {
        let class = &self.ports[port].classes[class];
        let basis = if class.measured.is_some() { "measured" } else { "estimated" };
        (&self.ports[port].name, &class.name, basis)
    }

    pub fn percent(&self, port: usize, class: usize, level: u64) -> u64 {
        let port = &self.ports[port];
        let measured = port.classes[class].measured.as_ref().map(|(_, meter)| meter.percent(level));
        let estimated = || port.estimated.as_ref().map(|queues| queues.meter(class).percent(level));
        measured.or_else(estimated).unwrap_or_default() as u64
    }

    /// Speed of the link by which packets leave at a point, in bit/s.
    pub fn speed_of(&self, point: usize) -> Option<u64> {
        self.ports.iter().find(|port| port.leaves == Some(point)).map(|port| port.link_bps)
    }

    /// Watching begins with the first packet of a point.
    pub fn begin(&mut self, point: u16, ns: u64) {
        for port in self.ports.iter_mut().filter(|port| port.arrives == Some(usize::from(point))) {
            if let Some(queues) = &mut port.estimated {
                queues.advance(ns);
            }
            port.classes
                .iter_mut()
                .filter_map(|class| class.measured.as_mut())
                .for_each(|(_, meter)| meter.advance(ns));
        }
    }

    /// The capture ended; `last_ns` by point.
    pub fn finish(&mut self, last_ns: &[Option<u64>]) {
        for port in &mut self.ports {
            let Some(end) = port.arrives.and_then(|point| last_ns[point]) else { continue };
            if let Some(queues) = &mut port.estimated {
                queues.finish(end);
            }
            for (passages, meter) in port.classes.iter_mut().filter_map(|class| class.measured.as_mut()) {
                passages.finish(end, meter);
            }
        }
    }
}

fn settings(config: &Config) -> Result<Vec<QueueSetting>, String> {
    let setting = |(name, class): (&String, &ClassConfig)| {
        let ceil = class.ceil_mbps.unwrap_or(config.link_mbps);
        let limit = class.queue_bytes.or(class.queue_pkts).unwrap_or(QUEUE_PACKETS);
        if limit == 0 {
            return Err(format!("queues: class {name} has a buffer of 0. Give queue_pkts or queue_bytes above 0"));
        }
        Ok(QueueSetting {
            name: name.clone(),
            rate_bps: bps(class.rate_mbps, &format!("rate_mbps of class {name}"))?,
            ceil_bps: bps(ceil, &format!("ceil_mbps of class {name}"))?,
            limit,
            by_bytes: class.queue_bytes.is_some(),
            strict: class.strict,
        })
    };
    config.classes.iter().map(setting).collect()
}

fn bps(mbps: f64, what: &str) -> Result<u64, String> {
    let bps = mbps * MBPS;
    match (1.0..=1e15).contains(&bps) {
        true => Ok(bps as u64),
        false => Err(format!("queues: {what} is {mbps}. Give a rate above 0")),
    }
}

/// Class number by mark; a mark that no class lists belongs to the one that takes the rest, else to none (255).
fn class_of(config: &Config) -> Result<[u8; 64], String> {
    let mut table = [u8::MAX; 64];
    if config.classes.len() > 64 {
        return Err("queues: more than 64 classes. Give those of one port".into());
    }
    for (number, class) in config.classes.values().enumerate() {
        if matches!(&class.dscp, Marks::Rest(word) if word == "rest") {
            table.iter_mut().for_each(|entry| *entry = number as u8);
        }
    }
    for (number, (name, class)) in config.classes.iter().enumerate() {
        match &class.dscp {
            Marks::Rest(word) if word == "rest" => {}
            Marks::Rest(word) => {
                return Err(format!("queues: class {name}: {word:?} is no list of marks. Give numbers or \"rest\""))
            }
            Marks::Listed(marks) => {
                for mark in marks {
                    let entry = table.get_mut(usize::from(*mark));
                    *entry.ok_or(format!("queues: class {name}: DSCP {mark} is not in 0..63"))? = number as u8;
                }
            }
        }
    }
    Ok(table)
}

fn sides(config: &Config, point: &str) -> Result<Vec<Prefix>, String> {
    let other = config.observation_points.get(point).map(String::as_str);
    let given = config.sides.iter().find(|(name, _)| *name == point || Some(name.as_str()) == other);
    given.map_or(Ok(Vec::new()), |(_, prefixes)| prefixes.iter().map(|text| prefix(text)).collect())
}

fn prefix(text: &str) -> Result<Prefix, String> {
    let wrong = || format!("queues: {text:?} is no prefix. Write 10.1.0.0/16");
    let (address, length) = text.split_once('/').unwrap_or((text, ""));
    let (version, bits, width) = match address.parse() {
        Ok(std::net::IpAddr::V4(v4)) => (4, u128::from(u32::from(v4)), 32),
        Ok(std::net::IpAddr::V6(v6)) => (6, u128::from(v6), 128),
        Err(_) => return Err(wrong()),
    };
    let length: u8 = if length.is_empty() { width } else { length.parse().map_err(|_| wrong())? };
    width.checked_sub(length).map(|free| (version, bits, free)).ok_or_else(wrong)
}

/// The third number is how many low bits are free.
fn holds((version, bits, free): &Prefix, packet: &Packet) -> bool {
    packet.version == *version
        && packet.src.checked_shr(u32::from(*free)).unwrap_or(0) == bits.checked_shr(u32::from(*free)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"observation_points": {"a": "in0", "b": "out0"}, "link_mbps": 20,
        "classes": {"EF": {"dscp": [46], "rate_mbps": 4, "ceil_mbps": 4, "queue_pkts": 25}, "BE": {"dscp": "rest", "rate_mbps": 12}},
        "ports": {"out0": {"point": "b", "arrivals_from": "a"}}, "sides": {"in0": ["10.0.0.0/8", "2001:db8::/32"]}}"#;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_single_point_is_estimated_from_what_comes_from_its_side() {
        let mut queues = Queues::parse(TEXT.as_bytes(), &names(&["a"])).expect("valid");
        for src in [0x0a00_0001, 0x0b00_0001] {
            queues.first(0, &Packet { version: 4, src, dscp: 46, frame_len: 100, ..Packet::default() }, 1);
        }
        let port = &queues.ports[0];
        assert!(port.classes.iter().all(|class| class.measured.is_none()));
        let levels = port.estimated.as_ref().map(|port| (port.meter(0).level(), port.meter(1).level()));
        assert_eq!(levels, Some((0, 1)));
    }

    #[test]
    fn points_may_be_named_by_their_interface_and_two_measure() {
        let queues = Queues::parse(TEXT.as_bytes(), &names(&["out0", "in0"])).expect("valid");
        let port = &queues.ports[0];
        assert_eq!((port.arrives, port.leaves, port.classes.len()), (Some(1), Some(0), 2));
        assert!(port.classes.iter().all(|class| class.measured.is_some()));
        assert_eq!(port.classes[1].marks, [46]);
    }

    #[test]
    fn two_points_of_different_clocks_measure_nothing() {
        for (is_one, measured) in [(true, 2), (false, 0)] {
            let mut queues = Queues::parse(TEXT.as_bytes(), &names(&["out0", "in0"])).expect("valid");
            queues.measure_only(|from, to| (from, to) == (1, 0) && is_one);
            let port = &queues.ports[0];
            assert_eq!(port.classes.iter().filter(|class| class.measured.is_some()).count(), measured);
            assert!(port.estimated.is_some());
        }
    }

    #[test]
    fn a_single_point_without_its_side_says_nothing() {
        let text = TEXT.replace("in0\": [", "zz\": [");
        let queues = Queues::parse(text.as_bytes(), &names(&["a"])).expect("valid");
        assert!(queues.ports[0].estimated.is_none());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_cure() {
        for (from, to, told) in [
            ("\"rate_mbps\": 4", "\"rate_mbps\": 0", "rate_mbps of class EF is 0"),
            ("[46]", "[64]", "DSCP 64 is not in 0..63"),
            ("\"rest\"", "\"others\"", "no list of marks"),
            ("10.0.0.0/8", "10.0.0.0/33", "no prefix"),
            ("queue_pkts\": 25", "queue_pkts\": 0", "buffer of 0"),
            ("\"link_mbps\": 20,", "", "link_mbps"),
        ] {
            let text = TEXT.replace(from, to);
            let error = Queues::parse(text.as_bytes(), &names(&["a"])).err().unwrap_or_default();
            assert!(error.contains(told), "{error}");
        }
    }
}
