//! One record, one line of JSON.

use std::io::Write;
use std::net::IpAddr;

use crate::record::{Mark, Record};
use crate::schema::{Value, COLUMNS};

/// Append one line, with every column of [`COLUMNS`].
pub fn write_line(record: &Record<'_>, out: &mut Vec<u8>) {
    let mut before = b'{';
    for column in COLUMNS {
        out.push(before);
        out.push(b'"');
        out.extend_from_slice(column.name.as_bytes());
        out.extend_from_slice(b"\":");
        write_value(&(column.of)(record), out);
        before = b',';
    }
    out.extend_from_slice(b"}\n");
}

fn write_value(value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Number(number) => write_number(*number, out),
        Value::Text(text) => write_text(text, out),
        Value::Address(_) | Value::Protocol(_) => {
            out.push(b'"');
            write_plain(value, out);
            out.push(b'"');
        }
        Value::Marks(marks) => write_list(marks, out, write_mark),
        Value::Texts(texts) => write_list(texts, out, |text, out| write_text(text, out)),
    }
}

/// Addresses and protocols as text without quotes.
pub(crate) fn write_plain(value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Address(IpAddr::V4(address)) => {
            for (at, part) in address.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                write_number(part.into(), out);
            }
        }
        Value::Address(IpAddr::V6(address)) => append(out, format_args!("{address}")),
        Value::Protocol(number) => match nc_decode::protocol_name(*number) {
            Some(name) => out.extend_from_slice(name.as_bytes()),
            None => write_number((*number).into(), out),
        },
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        _ => {}
    }
}

fn write_mark(mark: &Mark, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"dscp\":");
    write_number(mark.dscp.into(), out);
    out.extend_from_slice(b",\"packets\":");
    write_number(mark.packets, out);
    out.extend_from_slice(b",\"bytes\":");
    write_value(&mark.bytes.map_or(Value::Null, Value::Number), out);
    out.push(b'}');
}

fn write_list<T>(items: &[T], out: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        append(out, format_args!("{}", serde_json::Value::from(text)));
    }
}

/// Decimal digits; the formatter of the library costs more than all the rest of a line.
fn write_number(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a Vec cannot fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_with_null_for_what_is_not_known() {
        let record = Record { point: "a\"\n中".into(), version: 4, src: 0x0a00_0001, proto: 6, ..Record::default() };
        let mut line = Vec::new();
        write_line(&record, &mut line);
        let read: serde_json::Value = serde_json::from_slice(&line).unwrap_or_default();
        assert_eq!(
            (&read["point"], &read["src"], &read["proto"]),
            (&"a\"\n中".into(), &"10.0.0.1".into(), &"tcp".into())
        );
        assert!(read["packets"].is_null() && read["dscp"].as_array().is_some_and(Vec::is_empty));
        assert_eq!(read.as_object().map(serde_json::Map::len), Some(COLUMNS.len()));
    }

    #[test]
    fn numbers_are_written_whole() {
        for number in [0, 9, 10, 1_234_567_890_123_456_789, u64::MAX] {
            let mut out = Vec::new();
            write_number(number, &mut out);
            assert_eq!(out, number.to_string().as_bytes());
        }
    }
}
