//! IPFIX messages (RFC 7011) of conversations, both directions in one data record (RFC 5103); a file is one message after the
//! other (RFC 5655).

use std::borrow::Cow;

use crate::elements::{id, own, ENTERPRISE, REVERSE, REVERSE_BIT, UNKNOWN};
use crate::record::{Mark, Record, TCP_COUNTS};

const HEADER: usize = 16;
const TEMPLATE_SET: u16 = 2;
/// Of a field whose length stands in the record.
const VARIABLE: u16 = u16::MAX;
/// Of the first of four templates: IPv4, IPv4 answered, IPv6, IPv6 answered.
const FIRST_TEMPLATE: u16 = 256;
/// Seconds from 1900 to 1970 (RFC 5905, section 6).
const NTP_EPOCH_S: u64 = 2_208_988_800;
const SECOND_NS: u64 = 1_000_000_000;
/// Bytes of one mark in `markCounts`.
const MARK: usize = 17;
/// A field of a template. `width` in bytes.
struct Field {
    id: u16,
    width: u16,
    own: bool,
}

/// Fields of the registry (`iana`) and our own (`ours`) by number and width; one list makes the template and the straight line of code that
/// writes a record. Those of a fixed width stand together, in brackets, with the number that is written; others have what writes them.
macro_rules! fields {
    ($table:ident, $write:ident, |$record:ident, $out:ident| $(
        [$($kind:ident($id:expr, $width:literal) $value:expr;)*]
        $($of:ident($other:expr, VARIABLE) $put:expr;)*
    )*) => {
        const $table: &[Field] = &[$($($kind($id, $width),)* $($of($other, VARIABLE),)*)*];

        fn $write($record: &Record<'_>, $out: &mut Vec<u8>) {
            $(
                put_together($out, [$((u64::from($value), $width)),*], [0; 0 $(+ $width)*]);
                $($put;)*
            )*
        }
    };
}

/// Numbers, each in so many bytes, which are known where this is called: one write for all of them.
#[inline(always)]
fn put_together<const COUNT: usize, const LEN: usize>(
    out: &mut Vec<u8>,
    numbers: [(u64, usize); COUNT],
    mut bytes: [u8; LEN],
) {
    let mut at = 0;
    for (number, width) in numbers {
        bytes[at..at + width].copy_from_slice(&number.to_be_bytes()[8 - width..]);
        at += width;
    }
    out.extend_from_slice(&bytes);
}

const fn iana(id: u16, width: u16) -> Field {
    Field { id, width, own: false }
}

const fn ours(id: u16, width: u16) -> Field {
    Field { id, width, own: true }
}

/// The last `WIDTH` bytes of a big-endian number.
#[inline]
fn put<const WIDTH: usize>(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_be_bytes();
    if let Some(bytes) = bytes.last_chunk::<WIDTH>() {
        out.extend_from_slice(bytes);
    }
}

#[inline]
fn known(value: Option<u64>) -> u64 {
    value.unwrap_or(UNKNOWN)
}

/// Length in one byte or three (RFC 7011, section 7), then the bytes; no more than one record can hold.
fn put_variable(out: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(1_024)];
    if bytes.len() < 255 {
        out.push(bytes.len() as u8);
    } else {
        out.push(255);
        put::<2>(out, bytes.len() as u64);
    }
    out.extend_from_slice(bytes);
}

#[inline(always)]
fn put_text(out: &mut Vec<u8>, text: &str) {
    if text.is_empty() {
        return out.push(0);
    }
    let mut end = text.len().min(255);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    put_variable(out, &text.as_bytes()[..end]);
}

fn put_names(out: &mut Vec<u8>, names: &[Cow<'_, str>]) {
    match names {
        [] => out.push(0),
        _ => put_text(out, &names.join(",")),
    }
}

/// The 64 bit time format of NTP: seconds since 1900 and a fraction (RFC 7011, 6.1.10).
#[inline]
fn ntp(ns: Option<u64>) -> u64 {
    let ns = ns.unwrap_or(0);
    let seconds = (ns / SECOND_NS + NTP_EPOCH_S) << 32;
    // Rounded up, so that reading it back by rounding down gives the same nanosecond.
    seconds | ((ns % SECOND_NS) << 32).div_ceil(SECOND_NS)
}

fields! {
    KEYS, put_keys, |r, out|
    [
        iana(id::PROTOCOL, 1) r.proto;
        iana(id::SOURCE_PORT, 2) r.sport;
        iana(id::DESTINATION_PORT, 2) r.dport;
        iana(id::END_REASON, 1) r.ended.map_or(0, |end| end as u8);
    ]
    iana(id::DOMAIN_NAME, VARIABLE) put_text(out, &r.point);
    ours(own::REALM, VARIABLE) put_text(out, &r.realm);
    ours(own::SOURCE_NAME, VARIABLE) put_text(out, r.src_name.as_deref().unwrap_or(""));
    ours(own::DESTINATION_NAME, VARIABLE) put_text(out, r.dst_name.as_deref().unwrap_or(""));
    ours(own::SIGNATURES, VARIABLE) put_names(out, &r.signatures);
    [
        ours(own::SERVER_PORT, 4) r.server_port.map_or(u32::MAX, u32::from);
    ]
}

// What each direction has of its own.
fields! {
    COUNTS, put_counts, |r, out|
    [
        iana(id::PACKETS, 8) r.packets.unwrap_or(0);
        iana(id::OCTETS, 8) r.ip_bytes.unwrap_or(0);
        iana(id::LAYER2_OCTETS, 8) r.bytes.unwrap_or(0);
        iana(id::CLASS, 1) r.main_mark().unwrap_or(0) << 2;
        iana(id::DOT1Q_VLAN, 2) r.vlan.unwrap_or(0);
        iana(id::DOT1Q_CUSTOMER, 2) r.inner_vlan.unwrap_or(0);
        iana(id::FIRST_MS, 8) r.first_ns.unwrap_or(0) / 1_000_000;
        iana(id::LAST_MS, 8) r.last_ns.unwrap_or(0) / 1_000_000;
        iana(id::FIRST_NS, 8) ntp(r.first_ns);
        iana(id::LAST_NS, 8) ntp(r.last_ns);
    ]
    ours(own::MARKS, VARIABLE) put_marks(out, &r.marks);
    [
        ours(own::TCP, 8) known(r.tcp[0]);
        ours(own::TCP + 1, 8) known(r.tcp[1]);
        ours(own::TCP + 2, 8) known(r.tcp[2]);
        ours(own::TCP + 3, 8) known(r.tcp[3]);
        ours(own::TCP + 4, 8) known(r.tcp[4]);
    ]
}

const _: () = assert!(TCP_COUNTS == 5, "give a new TCP count its element here and in OWN");

fn put_marks(out: &mut Vec<u8>, marks: &[Mark]) {
    let numbers = |mark: &Mark| [(u64::from(mark.dscp), 1), (mark.packets, 8), (known(mark.bytes), 8)];
    if let [mark] = marks {
        let [dscp, packets, bytes] = numbers(mark);
        return put_together(out, [(MARK as u64, 1), dscp, packets, bytes], [0; MARK + 1]);
    }
    let mut bytes = Vec::with_capacity(marks.len() * MARK);
    marks.iter().for_each(|mark| put_together(&mut bytes, numbers(mark), [0; MARK]));
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
    /// Room for a record that does not fit.
    spare: Vec<u8>,
    waiting: u32,
    open: Option<(u16, usize)>,
    export_s: u32,
}

impl IpfixWriter {
    /// `limit`: at least 512.
    pub fn new(domain: u32, limit: usize) -> Self {
        let limit = limit.clamp(512, usize::from(u16::MAX));
        Self { domain, limit, sequence: 0, body: Vec::new(), spare: Vec::new(), waiting: 0, open: None, export_s: 0 }
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
        let before = self.body.len();
        self.close_set(template);
        let at = self.body.len();
        put_record(forward, reverse, &mut self.body);
        if HEADER + before + 4 + (self.body.len() - at) > self.limit {
            self.put_off(before, at, template, out);
        }
        let newest = reverse.map_or(forward.last_ns, |reverse| reverse.last_ns.max(forward.last_ns));
        self.export_s = self.export_s.max((newest.unwrap_or(0) / SECOND_NS) as u32);
        self.waiting += 1;
    }

    /// The record from `at` on does not fit: what stands `before` it is a message, and it begins the next one.
    #[cold]
    fn put_off(&mut self, before: usize, at: usize, template: u16, out: &mut Vec<u8>) {
        let mut record = std::mem::take(&mut self.spare);
        record.clear();
        record.extend_from_slice(&self.body[at..]);
        self.body.truncate(before);
        if before < at {
            // The set that was begun for it is gone; the one before it was closed.
            self.open = None;
        }
        self.flush(out);
        self.close_set(template);
        self.body.extend_from_slice(&record);
        self.spare = record;
    }

    /// Of the next message.
    pub fn sequence(&self) -> u32 {
        self.sequence
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
    #[inline]
    fn close_set(&mut self, template: u16) {
        if self.open.is_none_or(|(open, _)| open != template) {
            self.change_set(template);
        }
    }

    fn change_set(&mut self, template: u16) {
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

/// Move the sequence numbers of whole messages on by `by`: what several writers wrote one after the other becomes one transport session.
pub fn renumber(messages: &mut [u8], by: u32) {
    let mut at = 0;
    while let Some(head) = messages.get_mut(at..at + HEADER) {
        let sequence = u32::from_be_bytes([head[8], head[9], head[10], head[11]]).wrapping_add(by);
        head[8..12].copy_from_slice(&sequence.to_be_bytes());
        at += usize::from(u16::from_be_bytes([head[2], head[3]])).max(HEADER);
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
    put::<2>(out, (FIRST_TEMPLATE + number).into());
    put::<2>(out, fields.len() as u64);
    for (id, width, enterprise) in fields {
        put::<2>(out, u64::from(id) | if enterprise.is_some() { 0x8000 } else { 0 });
        put::<2>(out, width.into());
        if let Some(number) = enterprise {
            put::<4>(out, number.into());
        }
    }
}

fn put_record(forward: &Record<'_>, reverse: Option<&Record<'_>>, out: &mut Vec<u8>) {
    for value in [forward.src, forward.dst] {
        match forward.version {
            6 => out.extend_from_slice(&value.to_be_bytes()),
            _ => put::<4>(out, value as u64),
        }
    }
    put_keys(forward, out);
    put_counts(forward, out);
    if let Some(reverse) = reverse {
        // The direction of the side that began (RFC 5103, section 6.3: initiator).
        out.push(1);
        put_counts(reverse, out);
    }
}
