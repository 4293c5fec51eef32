//! Names of servers in payload: TLS server name indication (RFC 6066, 3), Host of HTTP/1 (RFC 9112, 3.2), answers of DNS
//! (RFC 1035, 4). Total like the rest: what ends early or is no name gives None.

use crate::{be16, be32};

/// Longest name (RFC 1035, 3.1).
const LONGEST: usize = 255;
const METHODS: [&[u8]; 9] =
    [b"GET ", b"POST ", b"PUT ", b"HEAD ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"CONNECT ", b"TRACE "];
/// Bytes of a request in which Host is looked for.
const HEAD: usize = 2_048;
/// Answers of one message that are looked at.
const ANSWERS: usize = 64;
const RESPONSE: u8 = 0x80;
const A: u16 = 1;
const AAAA: u16 = 28;

/// The server that a TLS client asks for, in the first segment of its hello.
pub fn server_name(payload: &[u8]) -> Option<&str> {
    if payload.first() != Some(&22) || payload.get(1) != Some(&3) || payload.get(5) != Some(&1) {
        return None;
    }
    // record 5, handshake 4, version 2, random 32
    let session = 43;
    let suites = session + 1 + usize::from(*payload.get(session)?);
    let methods = suites + 2 + usize::from(be16(payload, suites)?);
    let mut at = methods + 1 + usize::from(*payload.get(methods)?) + 2;
    loop {
        let length = usize::from(be16(payload, at + 2)?);
        if be16(payload, at)? == 0 {
            // list length 2, type 1, length 2
            let name = usize::from(be16(payload, at + 7)?);
            return plain(payload.get(at + 9..at + 9 + name)?);
        }
        at += 4 + length;
    }
}

/// The Host of an HTTP request without its port, in the segment that the request begins with.
pub fn host(payload: &[u8]) -> Option<&str> {
    if !METHODS.iter().any(|method| payload.starts_with(method)) {
        return None;
    }
    let head = &payload[..payload.len().min(HEAD)];
    let mut lines = head.split(|byte| *byte == b'\n').skip(1).take_while(|line| line.len() > 1);
    let line = lines.find(|line| line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"host:")))?;
    // A line without its end was cut.
    let text = line[5..].strip_suffix(b"\r")?.trim_ascii();
    let is_port = |tail: &[u8]| !tail.is_empty() && tail.iter().all(u8::is_ascii_digit);
    let end = text.iter().rposition(|byte| *byte == b':').filter(|colon| is_port(&text[colon + 1..]));
    plain(&text[..end.unwrap_or(text.len())])
}

fn plain(name: &[u8]) -> Option<&str> {
    let is_plain = !name.is_empty() && name.len() <= LONGEST && name.iter().all(u8::is_ascii_graphic);
    std::str::from_utf8(name).ok().filter(|_| is_plain)
}

/// A name put together from its labels.
#[derive(Clone, Copy)]
pub struct DnsName {
    bytes: [u8; LONGEST],
    length: usize,
}

impl DnsName {
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or("")
    }

    fn push(&mut self, label: &[u8]) -> Option<()> {
        let dot = usize::from(self.length > 0);
        let end = self.length + dot + label.len();
        if end > LONGEST || !label.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        self.bytes[self.length] = b'.';
        self.bytes[self.length + dot..end].copy_from_slice(label);
        self.length = end;
        Some(())
    }
}

/// Hand over each address (version, address) that a DNS response over UDP gives to the name that was asked for; returns that name.
pub fn dns_answers(payload: &[u8], mut address: impl FnMut(u8, u128)) -> Option<DnsName> {
    let refused = payload.get(3)? & 15 != 0;
    if payload.get(2)? & RESPONSE == 0 || refused || be16(payload, 4)? != 1 {
        return None;
    }
    let answers = usize::from(be16(payload, 6)?);
    let (name, mut at) = question(payload)?;
    for _ in 0..answers.min(ANSWERS) {
        at = skip_name(payload, at)?;
        let (kind, length) = (be16(payload, at)?, usize::from(be16(payload, at + 8)?));
        let data = payload.get(at + 10..at + 10 + length)?;
        match (kind, length) {
            (A, 4) => address(4, u128::from(be32(data, 0)?)),
            (AAAA, 16) => address(6, data.iter().fold(0, |all, byte| all << 8 | u128::from(*byte))),
            _ => {}
        }
        at += 10 + length;
    }
    Some(name)
}

/// The name asked for, and where the answers begin. It stands first and is never compressed.
fn question(payload: &[u8]) -> Option<(DnsName, usize)> {
    let mut name = DnsName { bytes: [0; LONGEST], length: 0 };
    let mut at = 12;
    loop {
        let length = usize::from(*payload.get(at)?);
        if length == 0 {
            return (name.length > 0).then_some((name, at + 5));
        }
        if length > 63 {
            return None;
        }
        name.push(payload.get(at + 1..at + 1 + length)?)?;
        at += 1 + length;
    }
}

fn skip_name(payload: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match usize::from(*payload.get(at)?) {
            0 => return Some(at + 1),
            length if length < 64 => at += 1 + length,
            length if length >= 192 => return Some(at + 2),
            _ => return None,
        }
    }
}
