//! IPFIX messages (RFC 7011) of conversations, both directions in one data record (RFC 5103); a file is one message after the
//! other (RFC 5655).

use crate::elements::{id, own, ENTERPRISE, REVERSE, REVERSE_BIT, UNKNOWN};
use crate::record::{Record, TCP_COUNTS};

const HEADER: usize = 16;
const TEMPLATE_SET: u16 = 2;
/// Of a field whose length stands in the record.
const VARIABLE: u16 = u16::MAX;
/// Of the first of four templates: IPv4, IPv4 answered, IPv6, IPv6 answered.
const FIRST_TEMPLATE: u16 = 256;
/// Seconds from 1900 to 1970 (RFC 5905, section 6).
const NTP_EPOCH_S: u64 = 2_208_988_800;
const SECOND_NS: u64 = 1_000_000_000;

/// A field of a template, and how its value is written. `width` in bytes.
struct Field {
    id: u16,
    width: u16,
    own: bool,
    write: fn(&Record<'_>, &mut Vec<u8>),
}

const fn iana(id: u16, width: u16, write: fn(&Record<'_>, &mut Vec<u8>)) -> Field {
    Field { id, width, own: false, write }
}

const fn ours(id: u16, width: u16, write: fn(&Record<'_>, &mut Vec<u8>)) -> Field {
    Field { id, width, own: true, write }
}

fn put(out: &mut Vec<u8>, width: usize, value: u64) {
    out.extend_from_slice(&value.to_be_bytes()[8 - width..]);
}

fn known(out: &mut Vec<u8>, value: Option<u64>) {
    put(out, 8, value.unwrap_or(UNKNOWN));
}

/// Length in one byte or three (RFC 7011, section 7), then the bytes; no more than one record can hold.
fn put_variable(out: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(1_024)];
    if bytes.len() < 255 {
        out.push(bytes.len() as u8);
    } else {
        out.push(255);
        put(out, 2, bytes.len() as u64);
    }
    out.extend_from_slice(bytes);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(255);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    put_variable(out, &text.as_bytes()[..end]);
}

/// The 64 bit time format of NTP: seconds since 1900 and a fraction (RFC 7011, 6.1.10).
fn put_ntp(out: &mut Vec<u8>, ns: u64) {
    put(out, 4, (ns / SECOND_NS + NTP_EPOCH_S) & 0xffff_ffff);
    // Rounded up, so that reading it back by rounding down gives the same nanosecond.
    put(out, 4, ((ns % SECOND_NS) << 32).div_ceil(SECOND_NS));
}

fn tcp(at: usize, record: &Record<'_>, out: &mut Vec<u8>) {
    known(out, record.tcp[at]);
}

const KEYS: &[Field] = &[
    iana(id::PROTOCOL, 1, |r, out| out.push(r.proto)),
    iana(id::SOURCE_PORT, 2, |r, out| put(out, 2, r.sport.into())),
    iana(id::DESTINATION_PORT, 2, |r, out| put(out, 2, r.dport.into())),
    iana(id::END_REASON, 1, |r, out| out.push(r.ended.map_or(0, |end| end as u8))),
    iana(id::DOMAIN_NAME, VARIABLE, |r, out| put_text(out, &r.point)),
    ours(own::REALM, VARIABLE, |r, out| put_text(out, &r.realm)),
    ours(own::SOURCE_NAME, VARIABLE, |r, out| put_text(out, r.src_name.as_deref().unwrap_or(""))),
    ours(own::DESTINATION_NAME, VARIABLE, |r, out| put_text(out, r.dst_name.as_deref().unwrap_or(""))),
    ours(own::SIGNATURES, VARIABLE, |r, out| put_text(out, &r.signatures.join(","))),
    ours(own::SERVER_PORT, 4, |r, out| put(out, 4, r.server_port.map_or(u64::from(u32::MAX), u64::from))),
];

/// What each direction has of its own.
const COUNTS: &[Field] = &[
    iana(id::PACKETS, 8, |r, out| put(out, 8, r.packets.unwrap_or(0))),
    iana(id::OCTETS, 8, |r, out| put(out, 8, r.ip_bytes.unwrap_or(0))),
    iana(id::LAYER2_OCTETS, 8, |r, out| put(out, 8, r.bytes.unwrap_or(0))),
    iana(id::CLASS, 1, |r, out| out.push(r.main_mark().unwrap_or(0) << 2)),
    iana(id::DOT1Q_VLAN, 2, |r, out| put(out, 2, r.vlan.unwrap_or(0).into())),
    iana(id::DOT1Q_CUSTOMER, 2, |r, out| put(out, 2, r.inner_vlan.unwrap_or(0).into())),
    iana(id::FIRST_MS, 8, |r, out| put(out, 8, r.first_ns.unwrap_or(0) / 1_000_000)),
    iana(id::LAST_MS, 8, |r, out| put(out, 8, r.last_ns.unwrap_or(0) / 1_000_000)),
    iana(id::FIRST_NS, 8, |r, out| put_ntp(out, r.first_ns.unwrap_or(0))),
    iana(id::LAST_NS, 8, |r, out| put_ntp(out, r.last_ns.unwrap_or(0))),
    ours(own::MARKS, VARIABLE, put_marks),
    ours(own::TCP, 8, |r, out| tcp(0, r, out)),
    ours(own::TCP + 1, 8, |r, out| tcp(1, r, out)),
    ours(own::TCP + 2, 8, |r, out| tcp(2, r, out)),
    ours(own::TCP + 3, 8, |r, out| tcp(3, r, out)),
    ours(own::TCP + 4, 8, |r, out| tcp(4, r, out)),
];

const _: () = assert!(TCP_COUNTS == 5, "give a new TCP count its element here and in OWN");

fn put_marks(record: &Record<'_>, out: &mut Vec<u8>) {
    let mut bytes = Vec::with_capacity(record.marks.len() * 17);
    for mark in &record.marks {
        bytes.push(mark.dscp);
        put(&mut bytes, 8, mark.packets);
        known(&mut bytes, mark.bytes);
    }
    put_variable(out, &bytes);
}

/// Collects data records into messages. `limit`: most bytes of one (UDP: what fits a packet). Sequence numbers count data records
/// (RFC 7011, 3.1).
pub struct IpfixWriter {
    domain: u32,
    limit: usize,
    sequence: u32,
    /// Data records that wait, in sets of one template each.
    body: Vec<u8>,
    waiting: u32,
    open: Option<(u16, usize)>,
    one: Vec<u8>,
    export_s: u32,
}

impl IpfixWriter {
    /// `limit`: at least 512.
    pub fn new(domain: u32, limit: usize) -> Self {
        let limit = limit.clamp(512, usize::from(u16::MAX));
        Self { domain, limit, sequence: 0, body: Vec::new(), waiting: 0, open: None, one: Vec::new(), export_s: 0 }
    }

    /// A message with all templates: first in a file or connection, again and again over UDP (RFC 7011, 8.4).
    pub fn templates(&self, export_s: u32, out: &mut Vec<u8>) {
        let mut set = Vec::new();
        for number in 0..4 {
            put_template(number, &mut set);
        }
        self.message(export_s, &[&TEMPLATE_SET.to_be_bytes(), &length(set.len() + 4), &set], out);
    }

    /// Account one conversation; messages that became full go to `out`. `reverse`: the other direction, where it was seen.
    pub fn add(&mut self, forward: &Record<'_>, reverse: Option<&Record<'_>>, out: &mut Vec<u8>) {
        let template = FIRST_TEMPLATE + 2 * u16::from(forward.version == 6) + u16::from(reverse.is_some());
        let mut one = std::mem::take(&mut self.one);
        one.clear();
        put_record(forward, reverse, &mut one);
        if HEADER + self.body.len() + 4 + one.len() > self.limit {
            self.flush(out);
        }
        let newest = reverse.map_or(forward.last_ns, |reverse| reverse.last_ns.max(forward.last_ns));
        self.export_s = self.export_s.max((newest.unwrap_or(0) / SECOND_NS) as u32);
        self.close_set(template);
        self.body.extend_from_slice(&one);
        self.waiting += 1;
        self.one = one;
    }

    /// Everything that waits, as a message; nothing when nothing waits.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        if self.waiting == 0 {
            return;
        }
        self.close_set(0);
        self.message(self.export_s, &[&self.body], out);
        self.sequence = self.sequence.wrapping_add(self.waiting);
        self.waiting = 0;
        self.body.clear();
    }

    /// Begin a set of `template`, unless it is open; 0 opens none.
    fn close_set(&mut self, template: u16) {
        if self.open.is_some_and(|(open, _)| open == template) {
            return;
        }
        if let Some((_, at)) = self.open.take() {
            let len = length(self.body.len() - at);
            self.body[at + 2..at + 4].copy_from_slice(&len);
        }
        if template > 0 {
            self.open = Some((template, self.body.len()));
            self.body.extend_from_slice(&template.to_be_bytes());
            self.body.extend_from_slice(&[0, 0]);
        }
    }

    fn message(&self, export_s: u32, parts: &[&[u8]], out: &mut Vec<u8>) {
        let len = HEADER + parts.iter().map(|part| part.len()).sum::<usize>();
        out.extend_from_slice(&10_u16.to_be_bytes());
        out.extend_from_slice(&length(len));
        for word in [export_s, self.sequence, self.domain] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        parts.iter().for_each(|part| out.extend_from_slice(part));
    }
}

fn length(len: usize) -> [u8; 2] {
    u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes()
}

fn addresses(is_v6: bool) -> [(u16, u16); 2] {
    match is_v6 {
        true => [(id::SOURCE_V6, 16), (id::DESTINATION_V6, 16)],
        false => [(id::SOURCE_V4, 4), (id::DESTINATION_V4, 4)],
    }
}

fn put_template(number: u16, out: &mut Vec<u8>) {
    let (is_v6, is_answered) = (number & 2 != 0, number & 1 != 0);
    let mut fields: Vec<(u16, u16, Option<u32>)> = addresses(is_v6).map(|(id, width)| (id, width, None)).to_vec();
    let forward = |field: &Field| (field.id, field.width, field.own.then_some(ENTERPRISE));
    fields.extend(KEYS.iter().chain(COUNTS).map(forward));
    if is_answered {
        fields.push((id::BIFLOW, 1, None));
        fields.extend(COUNTS.iter().map(|field| match field.own {
            true => (field.id | REVERSE_BIT, field.width, Some(ENTERPRISE)),
            false => (field.id, field.width, Some(REVERSE)),
        }));
    }
    put(out, 2, (FIRST_TEMPLATE + number).into());
    put(out, 2, fields.len() as u64);
    for (id, width, enterprise) in fields {
        put(out, 2, u64::from(id) | if enterprise.is_some() { 0x8000 } else { 0 });
        put(out, 2, width.into());
        if let Some(number) = enterprise {
            put(out, 4, number.into());
        }
    }
}

fn put_record(forward: &Record<'_>, reverse: Option<&Record<'_>>, out: &mut Vec<u8>) {
    for value in [forward.src, forward.dst] {
        let bytes = value.to_be_bytes();
        out.extend_from_slice(if forward.version == 6 { &bytes } else { &bytes[12..] });
    }
    KEYS.iter().chain(COUNTS).for_each(|field| (field.write)(forward, out));
    if let Some(reverse) = reverse {
        // The direction of the side that began (RFC 5103, section 6.3: initiator).
        out.push(1);
        COUNTS.iter().for_each(|field| (field.write)(reverse, out));
    }
}
