//! What is fuzzed, each a function of any bytes that must neither panic nor break what its assertions say.
//!
//! The fuzzer (`main.rs`) and the tests of the engine (`crates/engine/tests/fuzz_corpus.rs`) run the same functions.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nc_decode::{decode, has_aeth, icrc_holds, Acknowledge, Lldp, Packet, NO_VLAN};
use nc_detect::Bundle;
use nc_engine::{analyse, opened_frame, Form, Opener, Opening, Request, Sink, Stopped};
use nc_flow::{FlowKey, FlowTable, Fragments, Limits, Signature, Signatures, TcpTracker};
use nc_records::{write_line, Block, Heard, IpfixWriter, Reader};
use nc_source::{CaptureFile, Code, Frame, SourceError};

pub type Target = fn(&[u8]);

pub const ALL: [(&str, Target); 9] = [
    ("headers", headers),
    ("tunnel", tunnel),
    ("transport", transport),
    ("rdma", rdma),
    ("files", files),
    ("signatures", signatures),
    ("settings", settings),
    ("records", records),
    ("opened", opened),
];

const LINKS: [u32; 18] = [0, 1, 9, 12, 14, 50, 101, 104, 105, 107, 108, 113, 127, 147, 228, 229, 276, u32::MAX];
const ETHERNET: u32 = 1;
/// Chassis, port and time to live.
const LLDP: [u8; 12] = [2, 2, 7, b'c', 4, 2, 7, b'p', 6, 2, 0, 9];

/// Frames of all link types, one after the other; fragments are put to their first.
fn headers(bytes: &[u8]) {
    let mut fragments = Fragments::default();
    for (head, frame) in pieces(bytes) {
        let (kind, more) = (usize::from(head) % LINKS.len(), usize::from(head) / LINKS.len());
        let packet = check(LINKS[kind], more as u32, frame);
        let ports = fragments.ports(&packet);
        assert!(packet.is_fragment() || packet.is_icmp() || ports == (packet.sport, packet.dport));
    }
}

/// What stands behind the header that announces a tunnel.
fn tunnel(bytes: &[u8]) {
    let Some((kind, carried)) = bytes.split_first() else { return };
    let udp = |port: u16| [&[0x30, 0x39][..], &port.to_be_bytes(), &[0; 4]].concat();
    let (proto, head) = match kind % 10 {
        0 => (47, Vec::new()),
        1 => (4, Vec::new()),
        2 => (41, Vec::new()),
        3 => (17, udp(4_789)),
        4 => (17, udp(4_790)),
        5 => (17, udp(6_081)),
        6 => (17, udp(2_152)),
        7 => (17, udp(3_544)),
        8 => (17, udp(6_635)),
        _ => (51, Vec::new()),
    };
    let packet = check(ETHERNET, 0, &ethernet_ipv4(proto, &[&head, carried].concat()));
    assert!(packet.is_ip());
}

/// TCP, UDP, SCTP and ICMP between few hosts: the table keeps every packet, and the two counts of TCP agree.
fn transport(bytes: &[u8]) {
    let mut table = FlowTable::new(Limits { flows: 8, idle_ns: Some(60_000_000_000) });
    let mut tracker = TcpTracker::new(usize::MAX);
    let (mut now_ns, mut given) = (0, 0_u64);
    for (head, segment) in pieces(bytes) {
        let proto = [6, 17, 132, 1][usize::from(head & 3)];
        let mut packet = check(ETHERNET, 0, &ethernet_ipv4(proto, segment));
        now_ns += u64::from(head) << 30;
        (packet.ts_ns, packet.dscp) = (now_ns, head >> 2);
        if head & 4 != 0 {
            (packet.src, packet.dst) = (packet.dst, packet.src);
        }
        let key = FlowKey::of(&packet, 0, (packet.sport, packet.dport));
        given += 1;
        let alone = packet.is_tcp().then(|| tracker.observe(key, &packet));
        if let Some((number, event)) = table.observe(key, 0, &packet) {
            let flow = table.flow(number);
            assert!(flow.first_ns <= flow.last_ns && flow.last_ns == now_ns && flow.packets() <= given);
            assert_eq!(table.marks(number).iter().map(|(_, mark)| mark.bytes).sum::<u64>(), flow.bytes());
            assert_eq!(table.key(number), key);
            assert!(flow.packets() < given || alone.is_none_or(|alone| alone == event));
        }
        assert!(table.iter().map(|(_, flow)| flow.packets()).sum::<u64>() + table.overflow() <= given);
        table.expire(now_ns, 4);
    }
}

/// RoCE of both versions, pause frames and LLDP.
fn rdma(bytes: &[u8]) {
    for (head, rest) in pieces(bytes) {
        let frame = match head & 7 {
            4 => [&[2; 12][..], &[0x88, 0xcc], rest].concat(),
            5 => [&[2; 12][..], &[0x88, 0xcc], &LLDP, rest].concat(),
            0 => ethernet_ipv4(17, &[&[0xc0, 0, 0x12, 0xb7, 0, 0, 0, 0], rest].concat()),
            1 => [&[2; 12][..], &[0x89, 0x15], rest].concat(),
            2 => [&[2; 12][..], &[0x88, 0x08], rest].concat(),
            _ => [&[2; 12][..], &[0x81, 0, head, 5, 0x89, 0x15], rest].concat(),
        };
        assert!(Lldp::read(&frame, 14).0.is_none_or(|lldp| lldp.ieee.applications().count() <= frame.len() / 3));
        let packet = check(ETHERNET, u32::from(head >> 6), &frame);
        if packet.has_bth && has_aeth(packet.opcode) {
            let _ = Acknowledge::of(packet.syndrome);
        }
        let _ = icrc_holds(&frame, if head & 7 == 3 { 18 } else { 14 });
        assert!(packet.seq < 1 << 24 || !packet.has_bth);
        assert!(packet.dest_qp < 1 << 24);
    }
}

/// A capture file in any format. However its bytes come, the same is read, and the same is wrong with it; only how many packed bytes a
/// decompressor took before it gave up may differ.
fn files(bytes: &[u8]) {
    let (whole, slow) = (read(bytes, usize::MAX), read(bytes, 7));
    assert_eq!(whole.0, slow.0);
    let code = |error: &Option<SourceError>| error.as_ref().map(|error| error.code);
    assert_eq!(code(&whole.1), code(&slow.1));
    if !matches!(code(&whole.1), Some(Code::Damaged | Code::Truncated)) {
        assert_eq!(whole.1, slow.1);
    }
    assert!(whole.0.iter().all(|(_, _, wire, captured)| usize::try_from(*wire).is_ok_and(|wire| wire >= *captured)));
}

/// A signature file, a zero byte, and a payload that it and all built-in ones look at.
fn signatures(bytes: &[u8]) {
    static BUILT_IN: OnceLock<Signatures> = OnceLock::new();
    let built_in = BUILT_IN.get_or_init(|| Signatures::load(None).unwrap_or_default());
    let (text, payload) = at_zero(bytes);
    let frame = ethernet_ipv4(
        6,
        &[&[0x9c, 0x40, 0x27, 0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x18, 1, 0, 0, 0, 0, 0], payload].concat(),
    );
    let packet = check(ETHERNET, 0, &frame);
    let number = built_in.sight(&packet, &frame);
    assert!(number == 0 || built_in.get(number).is_some());
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Ok(own) = Signature::parse("own.json", text).and_then(|own| Signatures::new(vec![("own.json".into(), own)]))
    {
        assert!(own.sight(&packet, &frame) <= 1);
        let _ = own.beyond(|_| payload.len());
    }
}

/// A bundle, a zero byte, and a file of queues: what is accepted judges a small capture of two points without harm.
fn settings(bytes: &[u8]) {
    static CAPTURE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let capture = CAPTURE.get_or_init(small_capture).as_ref().expect("the capture beside the sources");
    let (bundle, queues) = at_zero(bytes);
    let bundle = Bundle::parse(bundle).ok();
    if let Some(bundle) = &bundle {
        for address in [0, 0x0a00_0001, u128::MAX] {
            let who = bundle.find(bundle.realm_of("in0"), 4, address).max(bundle.find("", 6, address));
            let _ = (bundle.breach(who, 46), bundle.is_served_lower(who, 8));
        }
    }
    let queues = (!queues.is_empty()).then(|| queues.to_vec());
    if bundle.is_none() && queues.as_ref().is_none_or(|text| !text.starts_with(b"{")) {
        return;
    }
    for names in [&["in0", "out0"][..], &["in0"]] {
        let points = names.iter().map(|name| ((*name).to_owned(), capture.clone())).collect();
        let bundle = bundle.as_ref().and_then(|_| Bundle::parse(at_zero(bytes).0).ok());
        let records = Some(Form::Ndjson);
        let queues = queues.clone();
        let request = Request {
            points,
            bundle,
            queues,
            clock_errors: Vec::new(),
            openings: Vec::new(),
            series: true,
            clock: true,
            top: Some(3),
            signatures: None,
            records,
            threads: 1,
        };
        if let Err(error) = analyse(request, &mut Lines) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}

/// Messages of exporters (IPFIX, NetFlow, sFlow); what they tell can be written in every form.
fn records(bytes: &[u8]) {
    let mut reader = Reader::default();
    let (mut writer, mut block, mut out) = (IpfixWriter::new(1, 1_400), Block::default(), Vec::new());
    for (head, message) in pieces(bytes) {
        let exporter = IpAddr::V4(Ipv4Addr::new(192, 0, 2, head & 1));
        let told = reader.message(exporter, u64::from(head) << 32, message, &mut |heard| {
            let Heard::Flow(record) = heard else { return };
            let mut line = Vec::new();
            write_line(&record, &mut line);
            assert!(line.iter().filter(|byte| **byte == b'\n').count() <= 1 && std::str::from_utf8(&line).is_ok());
            writer.add(&record, None, &mut out);
            block.add(&record);
        });
        assert!(told.is_err() || Reader::knows(message));
    }
    writer.flush(&mut out);
    let _ = block.take();
    let told = reader.exporters().map(|(_, exporter)| exporter.tally.messages).sum::<u64>();
    assert_eq!(told, pieces(bytes).count() as u64);
}

/// Frames that a mirror wrapped, or to which a broker added a time: two points open them, or say in a line why there is nothing.
fn opened(bytes: &[u8]) {
    const WRAPS: [&str; 5] = ["erspan", "vxlan", "geneve:5", "gre", "erspan:10"];
    const TIMES: [&str; 5] = ["erspan", "metamako", "vss", "ixia", "arista"];
    let Some((choice, frames)) = bytes.split_first() else { return };
    let opening = Opening {
        unwrap: (choice & 8 == 0).then(|| WRAPS[usize::from(choice & 7) % 5].parse().expect("a wrap")),
        times: (choice & 16 == 0).then(|| TIMES[usize::from(choice >> 5) % 5].parse().expect("a broker")),
    };
    let (mut opener, mut now_ns) = (Opener::new(opening), 1_700_000_000_000_000_000);
    let mut count = 0;
    for (head, frame) in pieces(frames) {
        now_ns += u64::from(head) << 22;
        let (link, more) = (LINKS[usize::from(head) % LINKS.len()], u32::from(head >> 6) * 9);
        let link = if head & 1 == 0 { ETHERNET } else { link };
        let frame = Frame { ts_ns: now_ns, link, frame_len: frame.len() as u32 + more, bytes: frame };
        count += 1;
        let Some(found) = opened_frame(&mut opener, &frame) else { continue };
        assert!(found.bytes.len() <= frame.bytes.len() + 4 && found.frame_len as usize >= found.bytes.len());
        assert!(found.frame_len <= frame.frame_len.max(65_600) + 4);
        check(found.link, found.frame_len - found.bytes.len() as u32, found.bytes);
    }
    let told = opener.as_ref().map(Opener::frames);
    assert!(told.is_none_or(
        |(unwrapped, timed)| unwrapped.is_none_or(|all| all == count) && timed.is_none_or(|all| all <= count)
    ));
}

/// Whole lines of JSON.
struct Lines;

impl Sink for Lines {
    fn block(&mut self, bytes: &[u8]) -> Result<(), Stopped> {
        assert!(bytes.ends_with(b"\n") && std::str::from_utf8(bytes).is_ok());
        Ok(())
    }

    fn tick(&mut self, _: u64, _: u64) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Decode a frame, look into all that it carries, and hold what every packet must be.
fn check(link: u32, more: u32, frame: &[u8]) -> Packet {
    let packet = decode(link, 0, frame.len() as u32 + more, frame);
    let inner = packet.innermost(frame);
    assert!(inner.is_none_or(|inner| inner.frame_len <= packet.frame_len));
    for packet in [Some(packet), inner].into_iter().flatten() {
        assert!(matches!(packet.version, 0 | 4 | 6));
        assert!(packet.dscp < 64 && packet.ecn < 4);
        assert!(packet.vlan == NO_VLAN || packet.vlan < 4_096);
        assert!(packet.error.is_none_or(|error| !error.to_string().is_empty()));
    }
    packet
}

fn ethernet_ipv4(proto: u8, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(20 + rest.len()).unwrap_or(u16::MAX).to_be_bytes();
    let ip = [0x45, 0xb8, length[0], length[1], 0, 7, 0, 0, 64, proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&[2; 12][..], &[0x08, 0x00], &ip, rest].concat()
}

/// Pieces of the bytes: a free byte, a length, so many bytes.
fn pieces(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let ([head, length], rest) = bytes.split_first_chunk::<2>()?;
        let (piece, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        bytes = rest;
        Some((*head, piece))
    })
}

fn at_zero(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

/// At most so many bytes at a time, as a pipe gives them.
struct Slow(io::Cursor<Vec<u8>>, usize);

impl Read for Slow {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(self.1);
        self.0.read(&mut into[..most])
    }
}

type Frames = Vec<(u64, u32, u32, usize)>;

/// Time, link type, wire length and captured length of all frames, and the error at which reading ended.
fn read(bytes: &[u8], step: usize) -> (Frames, Option<SourceError>) {
    let slow = Slow(io::Cursor::new(bytes.to_vec()), step);
    let mut frames = Vec::new();
    let mut file = match CaptureFile::read("bytes", Box::new(slow)) {
        Ok(file) => file,
        Err(error) => return (frames, Some(error)),
    };
    loop {
        match file.next_frame() {
            Ok(Some(frame)) => frames.push((frame.ts_ns, frame.link, frame.frame_len, frame.bytes.len())),
            Ok(None) => return (frames, None),
            Err(error) => {
                assert!(matches!(file.next_frame(), Ok(None)));
                return (frames, Some(error));
            }
        }
    }
}

/// A few packets of two marks, made by `write_capture enterprise fuzz/small.pcap 16 3`.
fn small_capture() -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.map(|folder| folder.join("fuzz/small.pcap")).find(|path| path.is_file())
}
