//! The engine alone, for measurements: `measure FILE...` analyses each file in a thread of its own, with records for nobody; with
//! THREADS in its environment each in so many. It ends with the most bytes that were resident at once (Linux).

use std::path::PathBuf;
use std::thread;

use nc_engine::{analyse, AnalyseError, Form, Request, Sink, Stopped};

struct Nowhere;

impl Sink for Nowhere {
    fn block(&mut self, _: &[u8]) -> Result<(), Stopped> {
        Ok(())
    }

    fn tick(&mut self, _: u64, _: u64) -> Result<(), Stopped> {
        Ok(())
    }
}

fn one(path: PathBuf) -> Result<usize, AnalyseError> {
    let points = vec![("point".to_owned(), path)];
    let request = Request {
        points,
        bundle: None,
        queues: None,
        clock_errors: Vec::new(),
        openings: Vec::new(),
        series: false,
        clock: false,
        top: Some(0),
        signatures: None,
        records: Some(Form::Ipfix { domain: 1, limit: 1_400 }),
        threads: std::env::var("THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(1),
    };
    analyse(request, &mut Nowhere).map(|report| report.len())
}

/// The high-water mark of this process (proc_pid_status(5), VmHWM).
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

fn main() -> Result<(), AnalyseError> {
    let threads: Vec<_> = std::env::args_os().skip(1).map(|path| thread::spawn(|| one(path.into()))).collect();
    for thread in threads {
        match thread.join() {
            Ok(report) => println!("report of {} bytes", report?),
            Err(_) => std::process::exit(1),
        }
    }
    println!("{}", resident().unwrap_or_default());
    Ok(())
}
