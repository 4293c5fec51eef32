//! Captures of export traffic, or files of IPFIX messages, to one report.

use std::fs::File;
use std::io::{BufReader, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nc_decode::{decode, proto, Packet};
use nc_detect::Bundle;
use nc_records::Reader;
use nc_source::{CaptureFile, Code, Frame, SourceError};

use crate::exports_report::write;
use crate::listener::Listener;
use crate::offline::AnalyseError;
use crate::recording::{Form, Outlet, Recorder, Sink};

/// Flows told apart in a report.
const FLOWS: usize = 1 << 20;
/// Messages between two looks at whether to go on.
const TICK: u64 = 1 << 12;
/// Of the messages in a file: nobody says who sent them.
const NOBODY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
const IPFIX_HEAD: usize = 16;

/// What exporters sent. `points`: name, and a capture of their datagrams or a file of IPFIX messages (RFC 5655); `ports`: UDP ports of
/// collectors in captures.
#[derive(Debug)]
pub struct ExportRequest {
    pub points: Vec<(String, PathBuf)>,
    pub ports: Vec<u16>,
    pub bundle: Option<Bundle>,
    pub top: Option<usize>,
    pub records: Option<Form>,
}

/// One file. `other`: packets that are no datagram to a collector; `error`: why reading ended early.
pub(crate) struct Told {
    pub path: PathBuf,
    pub packets: u64,
    pub other: u64,
    pub error: Option<SourceError>,
}

/// Read every file and report in `policyhub.flows/1` (UTF-8 JSON), with null where exporters cannot know.
pub fn analyse_exports(request: ExportRequest, sink: &mut dyn Sink) -> Result<Vec<u8>, AnalyseError> {
    let names: Vec<String> = request.points.iter().map(|(name, _)| name.clone()).collect();
    let mut run = Run {
        listener: Listener::new(&names, FLOWS, false),
        recorder: request.records.map(Outlet::new).map(|outlet| (outlet.recorder(), outlet)),
        messages: 0,
        sink,
    };
    if let Some(bundle) = request.bundle {
        run.listener.set_bundle(Arc::new(bundle));
    }
    let mut files = Vec::new();
    for (point, (_, path)) in request.points.iter().enumerate() {
        let mut file = Told { path: path.clone(), packets: 0, other: 0, error: None };
        if is_ipfix(path) {
            run.messages_of(point, &mut file)?;
        } else {
            run.capture(point, &request.ports, &mut file)?;
        }
        files.push(file);
    }
    run.listener.finish();
    if let Some((recorder, outlet)) = &mut run.recorder {
        outlet.give(recorder.take(true), run.sink)?;
        outlet.finish(run.sink)?;
    }
    Ok(write(&mut run.listener, &files, request.top))
}

struct Run<'s> {
    listener: Listener,
    recorder: Option<(Recorder, Outlet)>,
    messages: u64,
    sink: &'s mut dyn Sink,
}

impl Run<'_> {
    fn capture(&mut self, point: usize, ports: &[u16], told: &mut Told) -> Result<(), AnalyseError> {
        let mut file = CaptureFile::open(&told.path).map_err(AnalyseError::Source)?;
        loop {
            let frame = match file.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(()),
                Err(error) => {
                    told.error = Some(error);
                    return Ok(());
                }
            };
            told.packets += 1;
            let packet = decode(frame.link, frame.ts_ns, frame.frame_len, frame.bytes);
            match datagram(&packet, &frame, ports) {
                Some(bytes) => {
                    let place = format!("packet {}", told.packets);
                    self.hear(point, (address(&packet), packet.ts_ns), bytes, &place)?;
                }
                None => told.other += 1,
            }
        }
    }

    /// A file of messages ends at the first one that cannot be read: where the next begins is not known.
    fn messages_of(&mut self, point: usize, told: &mut Told) -> Result<(), AnalyseError> {
        let unreadable = |error: std::io::Error| {
            let what = format!("cannot be read ({error})");
            damaged(&told.path, Code::Unreadable, 0, what)
        };
        let mut file = BufReader::new(File::open(&told.path).map_err(unreadable).map_err(AnalyseError::Source)?);
        let mut at = 0;
        loop {
            let mut bytes = vec![0; IPFIX_HEAD];
            let have = read_up_to(&mut file, &mut bytes).map_err(unreadable).map_err(AnalyseError::Source)?;
            if have == 0 {
                return Ok(());
            }
            let len = usize::from(u16::from_be_bytes([bytes[2], bytes[3]])).max(IPFIX_HEAD);
            let mut rest = vec![0; len - IPFIX_HEAD];
            let more = read_up_to(&mut file, &mut rest).map_err(unreadable).map_err(AnalyseError::Source)?;
            if have + more < len {
                let what = format!("the file ends after {} of {len} bytes of this message", have + more);
                told.error = Some(damaged(&told.path, Code::Truncated, at, what));
                return Ok(());
            }
            bytes.extend_from_slice(&rest);
            told.packets += 1;
            let export_s = u64::from(u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]));
            let is_ipfix = bytes.starts_with(&[0, 10]);
            let fault = match self.hear(point, (NOBODY, export_s.saturating_add(1) * 1_000_000_000), &bytes, "")? {
                _ if !is_ipfix => Some((0, "no message of IPFIX begins here".to_owned())),
                fault => fault,
            };
            if let Some((offset, what)) = fault {
                told.error = Some(damaged(&told.path, Code::Corrupt, at + offset as u64, what));
                return Ok(());
            }
            at += len as u64;
        }
    }

    /// One message; what is wrong with it, and where.
    fn hear(
        &mut self,
        point: usize,
        (exporter, ts_ns): (IpAddr, u64),
        bytes: &[u8],
        place: &str,
    ) -> Result<Option<(usize, String)>, AnalyseError> {
        let Self { listener, recorder, .. } = self;
        let heard = listener.hear(point, exporter, ts_ns, bytes, &mut |record| {
            if let Some((recorder, _)) = recorder {
                recorder.write(record, None);
            }
        });
        let fault = heard.err().map(|fault| (fault.at, fault.what));
        if let Some((at, what)) = &fault {
            listener.posts[point].trouble.get_or_insert_with(|| format!("{place}, byte {at} of the message: {what}"));
        }
        if let Some((recorder, outlet)) = &mut self.recorder {
            outlet.give(recorder.take(false), self.sink)?;
        }
        self.messages += 1;
        if self.messages % TICK == 0 {
            self.sink.tick(self.messages, self.recorder.as_ref().map_or(0, |(recorder, _)| recorder.records))?;
        }
        Ok(fault)
    }
}

fn damaged(path: &Path, code: Code, offset: u64, what: String) -> SourceError {
    let cure = "Copy the file again; everything before this byte was read";
    SourceError { code, place: path.display().to_string(), offset: Some(offset), what, cure }
}

fn read_up_to(file: &mut impl Read, into: &mut [u8]) -> std::io::Result<usize> {
    let mut have = 0;
    while have < into.len() {
        match file.read(&mut into[have..]) {
            Ok(0) => break,
            Ok(count) => have += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(have)
}

/// Whether the file begins with a message of IPFIX; what cannot be opened is told when it is read as a capture.
fn is_ipfix(path: &Path) -> bool {
    let mut head = [0; 2];
    let is_file = path.is_file();
    is_file && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == [0, 10]
}

/// The bytes of a whole datagram to one of these ports, when they begin as messages of exporters do.
fn datagram<'f>(packet: &Packet, frame: &Frame<'f>, ports: &[u16]) -> Option<&'f [u8]> {
    let is_ours = packet.proto == proto::UDP && packet.has_transport && ports.contains(&packet.dport);
    if !is_ours || packet.payload_at == 0 || packet.is_fragment() {
        return None;
    }
    let above = frame.bytes.get(usize::from(packet.payload_at)..)?;
    let whole = above.get(..packet.payload_len as usize).unwrap_or(above);
    Reader::knows(whole).then_some(whole)
}

fn address(packet: &Packet) -> IpAddr {
    match packet.version {
        6 => IpAddr::from(packet.src.to_be_bytes()),
        _ => IpAddr::from((packet.src as u32).to_be_bytes()),
    }
}
