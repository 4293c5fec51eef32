//! Records by column, in the memory layout of Apache Arrow's columnar format: whoever writes Parquet wraps the bytes, copies nothing.
//!
//! A block is: length of the head (u32 LE), head (JSON), padding, buffers. The head:
//! `{"rows": n, "columns": [{"name", "kind", "nulls": n, "buffers": [[offset, length], ..]}]}`,
//! offsets from the first buffer, which stands at the next multiple of 8 after the head.
//! Buffers by kind: number and time: validity, values (i64); text: validity, offsets (i32), bytes;
//! texts: offsets (i32), offsets of the texts (i32), bytes; marks: offsets (i32), dscp, packets, validity of bytes, bytes (i64 each).

use serde_json::json;

use crate::ndjson::write_plain;
use crate::record::{Mark, Record};
use crate::schema::{Kind, Value, COLUMNS};

/// Buffers begin at multiples of this.
const ALIGN: usize = 8;

/// Columns that grow by one row at a time.
pub struct Block {
    columns: Vec<Builder>,
    rows: usize,
}

impl Default for Block {
    fn default() -> Self {
        Self { columns: COLUMNS.iter().map(|column| Builder::new(column.kind)).collect(), rows: 0 }
    }
}

impl Block {
    pub fn add(&mut self, record: &Record<'_>) {
        for (column, builder) in COLUMNS.iter().zip(&mut self.columns) {
            builder.add(&(column.of)(record));
        }
        self.rows += 1;
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes of all rows; the block is empty afterwards.
    pub fn take(&mut self) -> Vec<u8> {
        let full = std::mem::take(self);
        let mut body = Vec::new();
        let mut columns = Vec::new();
        let mut places = Vec::new();
        for builder in &full.columns {
            places.push(builder.write(&mut body));
        }
        for ((column, builder), places) in COLUMNS.iter().zip(&full.columns).zip(places) {
            columns.push(json!({
                "name": column.name, "kind": column.kind.as_str(), "nulls": builder.nulls, "buffers": places,
            }));
        }
        let head = json!({"rows": full.rows, "columns": columns}).to_string();
        let begin = (4 + head.len()).next_multiple_of(ALIGN);
        let mut block = Vec::with_capacity(begin + body.len());
        block.extend_from_slice(&(head.len() as u32).to_le_bytes());
        block.extend_from_slice(head.as_bytes());
        block.resize(begin, b' ');
        block.extend_from_slice(&body);
        block
    }
}

/// Validity bits, least significant first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.len % 8 == 0 {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.len % 8);
        }
        self.len += 1;
    }
}

/// One column. `values`: i64 cells, or those of the marks (three each).
struct Builder {
    kind: Kind,
    valid: Bits,
    nulls: usize,
    values: Vec<i64>,
    packets: Vec<i64>,
    bytes: Vec<i64>,
    offsets: Vec<i32>,
    inner: Vec<i32>,
    text: Vec<u8>,
}

impl Builder {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            valid: Bits::default(),
            nulls: 0,
            values: Vec::new(),
            packets: Vec::new(),
            bytes: Vec::new(),
            offsets: vec![0],
            inner: vec![0],
            text: Vec::new(),
        }
    }

    fn add(&mut self, value: &Value<'_>) {
        match (self.kind, value) {
            (Kind::Marks, Value::Marks(marks)) => marks.iter().for_each(|mark| self.add_mark(mark)),
            (Kind::Texts, Value::Texts(texts)) => {
                for text in texts.iter() {
                    self.text.extend_from_slice(text.as_bytes());
                    self.inner.push(self.text.len() as i32);
                }
            }
            (Kind::Number | Kind::Time, value) => self.add_number(match value {
                Value::Number(number) => Some(*number),
                _ => None,
            }),
            (_, value) => {
                let is_known = !matches!(value, Value::Null);
                self.valid.push(is_known);
                self.nulls += usize::from(!is_known);
                write_plain(value, &mut self.text);
            }
        }
        self.offsets.push(match self.kind {
            Kind::Marks => self.values.len(),
            Kind::Texts => self.inner.len() - 1,
            _ => self.text.len(),
        } as i32);
    }

    /// A count beyond what a signed number holds is not known any more.
    fn add_number(&mut self, number: Option<u64>) {
        let number = number.and_then(|number| i64::try_from(number).ok());
        self.valid.push(number.is_some());
        self.nulls += usize::from(number.is_none());
        let into = if self.kind == Kind::Marks { &mut self.bytes } else { &mut self.values };
        into.push(number.unwrap_or(0));
    }

    fn add_mark(&mut self, mark: &Mark) {
        self.values.push(mark.dscp.into());
        self.packets.push(i64::try_from(mark.packets).unwrap_or(i64::MAX));
        self.add_number(mark.bytes);
    }

    fn write(&self, body: &mut Vec<u8>) -> Vec<(usize, usize)> {
        let valid = self.valid.bytes.clone();
        let buffers = match self.kind {
            Kind::Number | Kind::Time => vec![valid, long(&self.values)],
            Kind::Text => vec![valid, short(&self.offsets), self.text.clone()],
            Kind::Texts => vec![short(&self.offsets), short(&self.inner), self.text.clone()],
            Kind::Marks => {
                vec![short(&self.offsets), long(&self.values), long(&self.packets), valid, long(&self.bytes)]
            }
        };
        let place = |buffer: Vec<u8>| {
            let at = body.len();
            body.extend_from_slice(&buffer);
            body.resize(body.len().next_multiple_of(ALIGN), 0);
            (at, buffer.len())
        };
        buffers.into_iter().map(place).collect()
    }
}

fn long(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn short(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_says_where_each_buffer_stands() {
        let mut block = Block::default();
        for packets in [Some(1), None, Some(3)] {
            block.add(&Record { packets, point: "p".into(), ..Record::default() });
        }
        let bytes = block.take();
        let len = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        let head: serde_json::Value = serde_json::from_slice(&bytes[4..4 + len]).unwrap_or_default();
        let begin = (4 + len).next_multiple_of(ALIGN);
        let column = |name| head["columns"].as_array().and_then(|all| all.iter().find(|c| c["name"] == name).cloned());
        let packets = column("packets").unwrap_or_default();
        let place = |c: &serde_json::Value, n: usize| begin + c["buffers"][n][0].as_u64().unwrap_or(0) as usize;
        assert_eq!((&head["rows"], &packets["nulls"]), (&3.into(), &1.into()));
        assert_eq!(bytes[place(&packets, 0)], 0b101);
        assert_eq!(bytes[place(&packets, 1) + 16], 3);
        assert_eq!(block.rows(), 0);
    }
}
