//! The same captures give the same bytes, however many threads read them.

use std::io::Write;
use std::path::{Path, PathBuf};

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

/// Four minutes of packets with a pause in the middle after which flows are over; the last `missing` bytes of the file are not there.
fn capture(folder: &Path, name: &str, seed: u64, packets: usize, missing: usize) -> PathBuf {
    let mut chance = Chance(seed);
    let mut bytes = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    let mut ns = 1_700_000_000_000_000_000_u64;
    for number in 0..packets {
        let frame = udp_or_tcp(&mut chance);
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

fn request(paths: &[PathBuf], records: Option<Form>, threads: usize) -> Request {
    let points = paths.iter().enumerate().map(|(number, path)| (format!("p{number}"), path.clone())).collect();
    Request {
        points,
        bundle: None,
        queues: None,
        clock_errors: Vec::new(),
        series: false,
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
    for (paths, records) in [(vec![long.clone()], Some(Form::Ndjson)), (vec![damaged, short, long], None)] {
        let one = told(&paths, records, 1);
        assert!(one.0.contains("\"flows_total\":") && one.1.is_empty() == records.is_none());
        for threads in [2, 3] {
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
