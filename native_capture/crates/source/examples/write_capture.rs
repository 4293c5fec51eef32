//! Captures for measurements: `write_capture KIND FILE [PACKETS [FLOWS]]`. What stands in the file goes to standard output as JSON.
//!
//! Microsecond pcap of Ethernet and IPv4 with right lengths and header checksums; TCP numbers rise per direction without a
//! loss; the same arguments give the same bytes. UDP and TCP checksums are 0, the ICRC of RoCE is filler.

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

/// `weight`: share of a flow in the packets. `life`: the mean share of the capture that it lives, None for all of it.
struct Kind {
    name: &'static str,
    packets: usize,
    flows: usize,
    seconds: u64,
    life: Option<f64>,
    backwards: f64,
    weight: fn(&mut Random) -> f64,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "enterprise",
        packets: 5_000_000,
        flows: 300_000,
        seconds: 60,
        life: Some(0.05),
        backwards: 0.4,
        weight: |random| random.unit().max(1e-9).powf(-1.0 / 1.1) - 0.95, // Pareto: few flows carry most packets
    },
    Kind {
        name: "many",
        packets: 3_000_000,
        flows: 1_500_000,
        seconds: 30,
        life: None,
        backwards: 0.4,
        weight: |_| 1.0,
    },
    Kind {
        name: "roce",
        packets: 2_000_000,
        flows: 256,
        seconds: 5,
        life: None,
        backwards: 0.12,
        weight: |random| random.unit() + 0.2,
    },
    Kind {
        name: "bulk",
        packets: 2_000_000,
        flows: 200,
        seconds: 10,
        life: None,
        backwards: 0.03,
        weight: |random| random.unit() + 0.2,
    },
];

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of the values, by their weights of 100.
    fn pick<T: Copy>(&mut self, from: &[(T, u32)]) -> T {
        let mut left = self.below(from.iter().map(|(_, weight)| weight).sum());
        for (value, weight) in from {
            if left < *weight {
                return *value;
            }
            left -= weight;
        }
        from[0].0
    }
}

/// `sent`: payload bytes of each direction, for RoCE its next packet number. `left`: packets to come.
#[derive(Clone)]
struct Flow {
    src: u32,
    dst: u32,
    sport: u16,
    dport: u16,
    udp: bool,
    dscp: u8,
    sent: [u32; 2],
    seen: u32,
    left: u32,
}

fn flow(kind: &Kind, number: u32, random: &mut Random) -> Flow {
    let (src, dst, sport, dport, marks): (u32, u32, u32, u16, &[(u8, u32)]) = match kind.name {
        "enterprise" => {
            let dst = match random.below(2) {
                0 => 0xac10_0000 | random.below(1 << 12),
                _ => 0x5d00_0000 | random.below(1 << 22),
            };
            let ports = [
                (443, 45),
                (80, 10),
                (53, 20),
                (8443, 5),
                (3306, 5),
                (1433, 3),
                (445, 4),
                (5060, 3),
                (123, 3),
                (22, 2),
            ];
            let marks = &[(0, 70), (46, 6), (34, 6), (26, 5), (18, 5), (10, 3), (8, 4), (48, 1)];
            (0x0a00_0000 | random.below(1 << 18), dst, 1024 + random.below(64_511), random.pick(&ports), marks)
        }
        "many" => {
            // Every flow is another one: hosts and ports are counted through.
            let (host, port) = (number >> 3, 1_024 + (number & 7) * 8_000 + random.below(8_000));
            let ports = [(443, 20), (80, 20), (53, 20), (22, 20), (445, 20)];
            (0x0a00_0000 | host, 0xac10_0000 | random.below(1 << 16), port, random.pick(&ports), &[(0, 90), (46, 10)])
        }
        "roce" => {
            let (src, dst) = (0x0a14_0000 | number >> 3, 0x0a14_0080 | random.below(128));
            (src, dst, 0xc000 | random.below(1 << 14), 4_791, &[(26, 90), (24, 6), (0, 4)])
        }
        _ => {
            let ports = [(29_500, 20), (29_501, 20), (2_049, 20), (6_379, 20), (12_345, 20)];
            let (src, dst) = (0x0a08_0000 | random.below(64), 0x0a09_0000 | random.below(64));
            (src, dst, 32_768 + number, random.pick(&ports), &[(0, 50), (46, 25), (26, 25)])
        }
    };
    let quic = kind.name == "enterprise" && dport == 443 && random.below(4) == 0;
    let udp = quic || matches!(dport, 53 | 5_060 | 123 | 4_791);
    Flow { src, dst, sport: sport as u16, dport, udp, dscp: random.pick(marks), sent: [0; 2], seen: 0, left: 0 }
}

/// When (nanoseconds, upper 40 bits) which flow (lower 24 bits) sends.
fn times(kind: &Kind, flows: &mut [Flow], packets: usize, random: &mut Random) -> Vec<u64> {
    let weights: Vec<f64> = flows.iter().map(|_| (kind.weight)(random)).collect();
    let (whole, extra) = (weights.iter().sum::<f64>(), (packets - flows.len()) as f64);
    let (mut upto, mut given, mut all) = (0.0, 0, Vec::with_capacity(packets));
    let span = (kind.seconds * 1_000_000_000) as f64;
    for (number, (flow, weight)) in flows.iter_mut().zip(weights).enumerate() {
        upto += weight / whole;
        let target = (upto * extra).round() as usize;
        flow.left = (1 + target - given) as u32;
        given = target;
        let life = match kind.life {
            Some(mean) => (0.002 - mean * random.unit().max(1e-9).ln()).min(1.0),
            None => 1.0,
        };
        let start = random.unit() * (1.0 - life);
        for _ in 0..flow.left {
            let at = (start + random.unit() * life) * span;
            all.push((at as u64) << 24 | number as u64);
        }
    }
    all.sort_unstable();
    all
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, path, sizes @ ..] = arguments.as_slice() else {
        return Err("write_capture KIND FILE [PACKETS [FLOWS]]".into());
    };
    let kind = KINDS.iter().find(|kind| kind.name == name).ok_or("KIND is enterprise, many, roce or bulk")?;
    let size = |at: usize, usual: usize| sizes.get(at).map_or(Ok(usual), |text| text.parse());
    let (packets, flows) = (size(0, kind.packets)?, size(1, kind.flows)?);
    if flows > packets || flows >= 1 << 24 || flows == 0 {
        return Err("FLOWS is 1 to PACKETS, below 16,777,216".into());
    }
    let mut random = Random(7);
    let mut all: Vec<Flow> = (0..flows as u32).map(|number| flow(kind, number, &mut random)).collect();
    let order = times(kind, &mut all, packets, &mut random);
    let noise: Vec<u8> = (0..1 << 20).map(|_| random.next() as u8).collect();
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    out.write_all(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0])?;
    let (mut bytes, mut frame) = (0, Vec::with_capacity(2_048));
    for (number, time) in order.iter().enumerate() {
        let (ns, flow) = (time >> 24, &mut all[(time & 0xff_ffff) as usize]);
        write_frame(kind, number as u32, (time & 0xff_ffff) as u32, flow, &noise, &mut random, &mut frame);
        let length = frame.len() as u32;
        for word in [1_700_000_000 + (ns / 1_000_000_000) as u32, (ns / 1_000 % 1_000_000) as u32, length, length] {
            out.write_all(&word.to_le_bytes())?;
        }
        out.write_all(&frame)?;
        bytes += u64::from(length);
    }
    out.flush()?;
    println!(r#"{{"kind": "{name}", "packets": {packets}, "flows": {flows}, "bytes": {bytes}}}"#);
    Ok(())
}

fn write_frame(
    kind: &Kind,
    number: u32,
    index: u32,
    flow: &mut Flow,
    noise: &[u8],
    random: &mut Random,
    frame: &mut Vec<u8>,
) {
    let back = flow.seen > 0 && random.unit() < kind.backwards;
    let congested = back && random.below(20) == 0;
    let size: u16 = match kind.name {
        "enterprise" => random.pick(&[(66, 400), (90, 183), (594, 250), (1_514, 167)]),
        "many" => random.pick(&[(66, 70), (90, 20), (594, 10)]),
        "roce" if back => 62 + 12 * u16::from(congested),
        "roce" => 1_082,
        _ if back => 66,
        _ => 1_514,
    };
    let is_roce = kind.name == "roce";
    let (src, dst) = if back { (flow.dst, flow.src) } else { (flow.src, flow.dst) };
    let ecn = if !is_roce {
        0
    } else if random.below(100) == 0 {
        3
    } else {
        2
    };
    let mark = if is_roce && congested { 48 } else { flow.dscp };
    frame.clear();
    frame.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, mark << 2 | ecn]);
    frame.extend((size - 14).to_be_bytes());
    frame.extend((number as u16).to_be_bytes());
    frame.extend([0x40, 0, 63, if flow.udp { 17 } else { 6 }, 0, 0]);
    frame.extend(src.to_be_bytes());
    frame.extend(dst.to_be_bytes());
    let sum = frame[14..34].chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    let (sport, dport) = if back && !is_roce { (flow.dport, flow.sport) } else { (flow.sport, flow.dport) };
    frame.extend(sport.to_be_bytes());
    frame.extend(dport.to_be_bytes());
    match (is_roce, flow.udp) {
        (true, _) => rdma(index, flow, size, (back, congested), frame),
        (false, true) => {
            frame.extend((size - 34).to_be_bytes());
            frame.extend([0, 0]);
        }
        (false, false) => tcp(number, flow, size, back, frame),
    }
    let rest = usize::from(size) - frame.len();
    let from = (number as usize).wrapping_mul(61) % (noise.len() - rest);
    frame.extend(&noise[from..from + rest]);
    flow.seen += 1;
    flow.left -= 1;
}

/// Sequence numbers on; the first segment has SYN, the last FIN; the small ones carry timestamps and no data.
fn tcp(number: u32, flow: &mut Flow, size: u16, back: bool, frame: &mut Vec<u8>) {
    let [own, other] = if back { [1, 0] } else { [0, 1] };
    let first = [1_001_u32, 5_001];
    let flags = match (flow.seen, flow.left, size) {
        (0, ..) => 0x02,
        (_, 1, _) => 0x11,
        (_, _, 66) => 0x10,
        _ => 0x18,
    };
    frame.extend(first[own].wrapping_add(flow.sent[own]).to_be_bytes());
    frame.extend(first[other].wrapping_add(flow.sent[other]).to_be_bytes());
    frame.extend([if size == 66 { 0x80 } else { 0x50 }, flags, 1, 0xf6, 0, 0, 0, 0]);
    if size == 66 {
        frame.extend([1, 1, 8, 10]);
        frame.extend(number.to_be_bytes());
        frame.extend([0; 4]);
    } else {
        flow.sent[own] = flow.sent[own].wrapping_add(u32::from(size) - 54);
    }
    flow.sent[own] = flow.sent[own].wrapping_add(u32::from(flags & 3 != 0));
}

/// RDMA writes of 64 packets, their acknowledgements, and now and then a congestion notification.
fn rdma(index: u32, flow: &mut Flow, size: u16, (back, congested): (bool, bool), frame: &mut Vec<u8>) {
    frame.extend((size - 34).to_be_bytes());
    frame.extend([0, 0]);
    let place = flow.sent[0] % 64;
    let (code, qp, psn) = match (back, congested, place) {
        (true, true, _) => (0x81, 0x10 + index, 0),
        (true, false, _) => (0x11, 0x10 + index, flow.sent[0].wrapping_sub(1)),
        (false, _, 0) => (0x06, 0x10_000 + index, flow.sent[0]),
        (false, _, 63) => (0x08, 0x10_000 + index, flow.sent[0]),
        _ => (0x07, 0x10_000 + index, flow.sent[0]),
    };
    frame.extend([code, 0x40, 0xff, 0xff]);
    frame.extend(qp.to_be_bytes());
    frame.extend((psn & 0xff_ffff | u32::from(!back && place == 63) << 31).to_be_bytes());
    match (code, back) {
        (0x11, _) => frame.extend([0x1f, 0, 0, 0]),
        (0x81, _) => frame.extend([0; 16]),
        _ => flow.sent[0] = flow.sent[0].wrapping_add(1),
    }
}
