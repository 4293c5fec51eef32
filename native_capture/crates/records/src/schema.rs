//! The columns of flow records, the same in NDJSON and Parquet: docs/flow-records.md explains each.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::record::{Mark, Record};

/// What a column holds. `Time`: ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    Time,
    Text,
    Marks,
    Texts,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Time => "time",
            Self::Text => "text",
            Self::Marks => "marks",
            Self::Texts => "texts",
        }
    }
}

/// One cell.
#[derive(Debug)]
pub enum Value<'r> {
    Null,
    Number(u64),
    Text(&'r str),
    Address(IpAddr),
    /// Number of an IP protocol, written as its name where it has a common one.
    Protocol(u8),
    Marks(&'r [Mark]),
    Texts(&'r [Cow<'r, str>]),
}

/// `of`: the cell of one record.
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    pub of: for<'r> fn(&'r Record<'_>) -> Value<'r>,
}

const fn column(name: &'static str, kind: Kind, of: for<'r> fn(&'r Record<'_>) -> Value<'r>) -> Column {
    Column { name, kind, of }
}

fn number<T: Into<u64>>(value: Option<T>) -> Value<'static> {
    value.map_or(Value::Null, |value| Value::Number(value.into()))
}

fn text<'r>(value: &'r Option<Cow<'_, str>>) -> Value<'r> {
    value.as_deref().map_or(Value::Null, Value::Text)
}

fn address(value: Option<IpAddr>) -> Value<'static> {
    value.map_or(Value::Null, Value::Address)
}

macro_rules! tcp {
    ($at:literal, $name:literal) => {
        column($name, Kind::Number, |r| number(r.tcp[$at]))
    };
}

/// In the order they are written; a test holds the TCP columns against [`crate::TCP`].
pub const COLUMNS: &[Column] = &[
    column("source", Kind::Text, |r| Value::Text(r.source.as_str())),
    column("exporter", Kind::Text, |r| address(r.exporter)),
    column("point", Kind::Text, |r| Value::Text(&r.point)),
    column("realm", Kind::Text, |r| Value::Text(&r.realm)),
    column("src", Kind::Text, |r| address(r.address(r.src))),
    column("dst", Kind::Text, |r| address(r.address(r.dst))),
    column("sport", Kind::Number, |r| Value::Number(r.sport.into())),
    column("dport", Kind::Number, |r| Value::Number(r.dport.into())),
    column("proto", Kind::Text, |r| Value::Protocol(r.proto)),
    column("vlan", Kind::Number, |r| number(r.vlan)),
    column("inner_vlan", Kind::Number, |r| number(r.inner_vlan)),
    column("server_port", Kind::Number, |r| number(r.server_port)),
    column("first_ns", Kind::Time, |r| number(r.first_ns)),
    column("last_ns", Kind::Time, |r| number(r.last_ns)),
    column("packets", Kind::Number, |r| number(r.packets)),
    column("bytes", Kind::Number, |r| number(r.bytes)),
    column("ip_bytes", Kind::Number, |r| number(r.ip_bytes)),
    column("sampling", Kind::Number, |r| number(r.sampling)),
    column("dscp", Kind::Marks, |r| Value::Marks(&r.marks)),
    tcp!(0, "tcp_data_segments"),
    tcp!(1, "tcp_retransmitted"),
    tcp!(2, "tcp_syn_retransmitted"),
    tcp!(3, "tcp_fin_retransmitted"),
    tcp!(4, "tcp_zero_window"),
    column("signatures", Kind::Texts, |r| Value::Texts(&r.signatures)),
    column("src_identity", Kind::Text, |r| text(&r.src_name)),
    column("dst_identity", Kind::Text, |r| text(&r.dst_name)),
    column("ended", Kind::Text, |r| r.ended.map_or(Value::Null, |end| Value::Text(end.as_str()))),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TCP;

    #[test]
    fn every_tcp_count_has_its_column() {
        let named: Vec<_> = COLUMNS.iter().filter_map(|column| column.name.strip_prefix("tcp_")).collect();
        assert_eq!(named, TCP);
        for (at, name) in TCP.iter().enumerate() {
            let mut record = Record::default();
            record.tcp[at] = Some(7);
            let column = COLUMNS.iter().find(|column| column.name.strip_prefix("tcp_") == Some(name));
            assert!(column.is_some_and(|column| matches!((column.of)(&record), Value::Number(7))));
        }
    }
}
