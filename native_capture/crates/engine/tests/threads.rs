//! The same captures give the same bytes, however many threads read them.

use std::io::Write;
use std::path::{Path, PathBuf};

use nc_detect::Bundle;
use nc_engine::{analyse, Form, Request, Sink, Stopped};

#[derive(Default)]
struct Kept(Vec<u8>);

impl Sink for Kept {
    fn block(&mut self, bytes: &[u8]) -> Result<(), Stopped> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn tick(&mut self, _: u64, _: u64) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Wants no more after the first block.
struct Enough;

impl Sink for Enough {
    fn block(&mut self, _: &[u8]) -> Result<(), Stopped> {
        Err(Stopped)
    }

    fn tick(&mut self, _: u64, _: u64) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Numbers that look random (Knuth, MMIX).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn udp_or_tcp(chance: &mut Chance) -> Vec<u8> {
    let (src, dst, port) = (chance.below(40) as u8, chance.below(8) as u8, 40_000 + chance.below(900) as u16);
    let mark = [0, 46, 8, 34][chance.below(4) as usize] << 2;
    let is_tcp = chance.below(3) > 0;
    let payload: Vec<u8> = match (is_tcp, chance.below(6)) {
        (true, 0) => format!("GET / HTTP/1.1\r\nHost: h{}.example\r\n\r\n", chance.below(50)).into_bytes(),
        (_, size) => vec![size as u8; 40 * size as usize],
    };
    let transport = if is_tcp { 20 } else { 8 };
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, mark];
    frame.extend((20 + transport + payload.len() as u16).to_be_bytes());
    frame.extend((chance.below(65_536) as u16).to_be_bytes());
    frame.extend([0, 0, 64, if is_tcp { 6 } else { 17 }, 0, 0, 10, 1, 0, src, 10, 2, 0, dst]);
    frame.extend(port.to_be_bytes());
    frame.extend([0, if is_tcp { 80 } else { 53 }]);
    if is_tcp {
        frame.extend((chance.below(1 << 14) as u32).to_be_bytes());
        frame.extend([0, 0, 0, 0, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
    } else {
        frame.extend((8 + payload.len() as u16).to_be_bytes());
        frame.extend([0, 0]);
    }
    frame.extend(payload);
    frame
}

/// The first half of a datagram, or its second.
fn fragment(chance: &mut Chance) -> Vec<u8> {
    let mut frame = udp_or_tcp(chance);
    let (id, is_first) = (chance.below(8) as u8, chance.below(2) == 0);
    frame[19] = id;
    frame[18] = 0;
    (frame[20], frame[21]) = if is_first { (0x20, 0) } else { (0, 3) };
    (frame[23], frame[29], frame[33]) = (17, id % 3, 0);
    frame
}

/// An RDMA write in order, now and then with one left out, or a congestion notification.
fn rdma(chance: &mut Chance, number: usize) -> Vec<u8> {
    let (src, code) = (chance.below(5) as u8, if chance.below(30) == 0 { 0x81 } else { 0x0a });
    let mut frame =
        vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 26 << 2 | 2, 0, 60, 0, 1, 0x40, 0, 64, 17, 0, 0];
    frame.extend([10, 9, 0, src, 10, 9, 1, src, 0xc0, src, 0x12, 0xb7, 0, 40, 0, 0, code, 0, 0xff, 0xff, 0, 0, 0, src]);
    frame.extend((number as u32).to_be_bytes());
    frame.resize(74, 0);
    frame
}

/// A pause frame for priority 3, or something that is no IP.
fn other(chance: &mut Chance) -> Vec<u8> {
    let mut frame = vec![1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 8, 1, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    frame.resize(60, 0);
    frame[12] = if chance.below(2) == 0 { 0x88 } else { 0x99 };
    frame
}

/// Six in IPv6, tagged.
fn six(chance: &mut Chance) -> Vec<u8> {
    let mut frame =
        vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0x60, 7, 0x86, 0xdd, 0x6b, 0x80, 0, 0, 0, 20, 17, 64];
    for end in [chance.below(9) as u8, 200] {
        frame.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, end]);
    }
    frame.extend([0x9c, 0x40 + chance.below(9) as u8, 0, 53, 0, 20, 0, 0]);
    frame.resize(frame.len() + 12, 7);
    frame
}

fn frame(chance: &mut Chance, number: usize) -> Vec<u8> {
    match chance.below(16) {
        0 => fragment(chance),
        1 => rdma(chance, number),
        2 => other(chance),
        3 => six(chance),
        _ => udp_or_tcp(chance),
    }
}

/// Four minutes of packets with a pause in the middle after which flows are over; the last `missing` bytes of the file are not there.
fn capture(folder: &Path, name: &str, seed: u64, packets: usize, missing: usize) -> PathBuf {
    let mut chance = Chance(seed);
    let mut bytes = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    let mut ns = 1_700_000_000_000_000_000_u64;
    for number in 0..packets {
        let frame = frame(&mut chance, number);
        ns += chance.below(2_000_000) + if number == packets / 2 { 400_000_000_000 } else { 0 };
        let kept = if chance.below(9) == 0 { frame.len() - 1 } else { frame.len() };
        for word in [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, kept as u32, frame.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(&frame[..kept]);
    }
    bytes.truncate(bytes.len() - missing);
    let path = folder.join(name);
    std::fs::File::create(&path).and_then(|mut file| file.write_all(&bytes)).expect("a file");
    path
}

/// Few of the senders are known, and may use no mark; those that nobody knows may not use 46.
fn bundle() -> Bundle {
    let text = br#"{"schema": "flowguard.bundle/1", "version": "v", "priority_dscp": [46], "service_rank": {},
        "identities": [{"prefix": "10.1.0.0/28", "name": "few", "class": "non-core", "allowed_dscp": [0]}],
        "points": {}, "profile": {"name": "lab", "persistence_ms": 1000, "min_signals": 1}}"#;
    Bundle::parse(text).expect("a bundle")
}

fn request(paths: &[PathBuf], records: Option<Form>, threads: usize) -> Request {
    let points = paths.iter().enumerate().map(|(number, path)| (format!("p{number}"), path.clone())).collect();
    Request {
        points,
        bundle: Some(bundle()),
        queues: None,
        clock_errors: Vec::new(),
        openings: Vec::new(),
        series: false,
        clock: false,
        top: None,
        signatures: None,
        records,
        threads,
    }
}

/// The report and the records.
fn told(paths: &[PathBuf], records: Option<Form>, threads: usize) -> (String, Vec<u8>) {
    let mut sink = Kept::default();
    let report = analyse(request(paths, records, threads), &mut sink).expect("a report");
    (String::from_utf8(report).expect("text"), sink.0)
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("nc-threads-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn every_number_of_threads_gives_the_same_report_and_the_same_records() {
    let folder = folder("same");
    // More than a reading thread may have waiting, and no whole number of blocks.
    let long = capture(&folder, "long.pcap", 1, 9_345, 0);
    let damaged = capture(&folder, "damaged.pcap", 2, 2_048, 7);
    let short = capture(&folder, "short.pcap", 3, 3, 0);
    let ipfix = Form::Ipfix { domain: 7, limit: 1_400 };
    for (paths, records) in [
        (vec![long.clone()], Some(ipfix)),
        (vec![long.clone()], Some(Form::Columns)),
        (vec![damaged.clone()], None),
        (vec![damaged, short, long], None),
    ] {
        let one = told(&paths, records, 1);
        for told in ["\"flows_total\":", "class-not-allowed", "unknown-identity", "h7.example"] {
            assert!(one.0.contains(told), "{told}");
        }
        assert!(one.1.is_empty() == records.is_none());
        for threads in [2, 5] {
            assert!(told(&paths, records, threads) == one, "{paths:?} {threads}");
        }
    }
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_run_that_is_stopped_leaves_its_reading_threads_behind() {
    let folder = folder("stopped");
    let paths = [capture(&folder, "long.pcap", 4, 40_000, 0)];
    let error = analyse(request(&paths, Some(Form::Columns), 2), &mut Enough).expect_err("stopped");
    assert_eq!(error.to_string(), "stopped");
    std::fs::remove_dir_all(folder).expect("removed");
}
