//! NetFlow v9 (RFC 3954) and IPFIX (RFC 7011): sets of templates and of the data that they describe.

use super::fields::{Clock, Raw};
use super::templates::{Early, Field, Key, Template, VARIABLE};
use super::{Envelope, Exporter, Heard};
use crate::bytes::{Bytes, Malformed};
use crate::record::Source;

/// `message`: behind the version.
pub(super) fn read_v9(
    state: &mut Exporter,
    envelope: Envelope,
    mut message: Bytes<'_>,
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<(), Malformed> {
    message.u16("the count of records")?;
    let uptime_ms = message.u32("the uptime")?;
    let export_ns = u64::from(message.u32("the time")?) * 1_000_000_000;
    let sequence = message.u32("the sequence number")?;
    let domain = message.u32("the source id")?;
    state.follow(Source::Netflow9, domain.into(), sequence, Some(1));
    let clock = Clock { export_ns, uptime_ms: Some(uptime_ms) };
    read_sets(state, envelope, (Source::Netflow9, domain), clock, message, heard).map(|_| ())
}

/// `message`: behind the version.
pub(super) fn read_ipfix(
    state: &mut Exporter,
    envelope: Envelope,
    mut message: Bytes<'_>,
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<(), Malformed> {
    let len = usize::from(message.u16("the length")?);
    if len < 16 || len - 4 > message.len() {
        let what = format!("the message claims {len} bytes, {} are there", message.len() + 4);
        return Err(Malformed { at: 2, what });
    }
    let mut message = message.part(len - 4, "the message")?;
    let export_ns = u64::from(message.u32("the time")?) * 1_000_000_000;
    let sequence = message.u32("the sequence number")?;
    let domain = message.u32("the observation domain")?;
    let clock = Clock { export_ns, uptime_ms: None };
    let counted = read_sets(state, envelope, (Source::Ipfix, domain), clock, message, heard);
    state.follow(Source::Ipfix, domain.into(), sequence, counted.as_ref().ok().copied().flatten());
    counted.map(|_| ())
}

/// Returns how many data records there were; None when some could not be counted, because their template is missing.
fn read_sets(
    state: &mut Exporter,
    envelope: Envelope,
    (source, domain): (Source, u32),
    clock: Clock,
    mut message: Bytes<'_>,
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<Option<u32>, Malformed> {
    let mut records = Some(0);
    // NetFlow v9 messages may end in padding.
    while message.len() >= 4 {
        let (id, len) = (message.u16("a set's number")?, usize::from(message.u16("a set's length")?));
        if source == Source::Netflow9 && (id, len) == (0, 0) {
            break;
        }
        if len < 4 {
            return Err(message.bad(format!("a set of {len} bytes, less than its own head")));
        }
        let set = message.part(len - 4, "a set")?;
        match (source, id) {
            (Source::Netflow9, 0) | (Source::Ipfix, 2) => drop(state.cache.read_set(source, domain, set, false)?),
            (Source::Netflow9, 1) | (Source::Ipfix, 3) => drop(state.cache.read_set(source, domain, set, true)?),
            (_, 256..) => {
                let key = (source, domain, id);
                let count = match state.cache.get(&key) {
                    Some(template) => Some(read_data(state, envelope, &key, &template, clock, set, heard)?),
                    None => {
                        state.cache.keep(Early { key, clock, at: set.at(), bytes: set.rest().to_vec() });
                        None
                    }
                };
                records = records.zip(count).map(|(sum, count)| sum + count);
                continue;
            }
            // Set numbers that are not assigned (RFC 7011, 3.3.2).
            _ => continue,
        }
        for early in state.cache.ready() {
            if let Some(template) = state.cache.get(&early.key) {
                let set = Bytes::from(&early.bytes, early.at);
                read_data(state, envelope, &early.key, &template, early.clock, set, heard)?;
            }
        }
    }
    Ok(records)
}

fn read_data(
    state: &mut Exporter,
    envelope: Envelope,
    key: &Key,
    template: &Template,
    clock: Clock,
    mut set: Bytes<'_>,
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<u32, Malformed> {
    let mut count = 0;
    // What is shorter than any record is padding (RFC 7011, 3.3.1).
    while set.len() >= template.least {
        let mut raw = Raw::default();
        for field in &template.fields {
            raw.take(field, read_field(&mut set, field)?);
        }
        count += 1;
        if template.is_options {
            raw.about_exporter(&mut state.cache, key.1);
        } else if !raw.tell(key, envelope, clock, &state.cache, heard) {
            state.tally.without_addresses += 1;
        }
    }
    Ok(count)
}

fn read_field<'a>(set: &mut Bytes<'a>, field: &Field) -> Result<&'a [u8], Malformed> {
    let mut width = usize::from(field.width);
    if field.width == VARIABLE {
        width = usize::from(set.u8("a field's length")?);
        if width == 255 {
            width = usize::from(set.u16("a field's length")?);
        }
    }
    set.take(width, "a field")
}
