//! The report of export traffic: `policyhub.flows/1` with null for whatever exporters cannot know.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use nc_detect::ServerPort;
use nc_flow::{address, protocol};
use nc_records::{Mark, Source};
use nc_source::SourceError;
use serde_json::{json, Map, Value};

use crate::damage::{damage, tell};
use crate::exports::Told;
use crate::listener::{Listener, Post, Sum, SumKey};

pub(crate) fn write(listener: &mut Listener, files: &[Told], top: Option<usize>) -> Vec<u8> {
    let mut verdicts = std::mem::take(&mut listener.verdicts);
    verdicts.reverse();
    let mut seen = BTreeSet::new();
    // Only the newest revision of each.
    verdicts.retain(|verdict| seen.insert(verdict.id.clone()));
    verdicts.sort_by(|a, b| (a.first_ns, &a.id).cmp(&(b.first_ns, &b.id)));
    let captures = listener.posts.iter().zip(files);
    tell(&mut verdicts, captures.map(|(post, file)| (post.name.as_str(), file.error.as_ref())));
    let bundle = listener.judge.bundle().map(|bundle| bundle.version.clone());
    let mut flows: Vec<(&SumKey, &Sum)> = listener.flows.iter().collect();
    flows.sort_unstable_by_key(|(key, sum)| (Reverse(sum.size()), **key));
    let points = listener.posts.iter().zip(files).enumerate();
    let report = json!({
        "schema": "policyhub.flows/1",
        "engine": env!("CARGO_PKG_VERSION"),
        "bundle": bundle,
        "judging": bundle.is_some(),
        "not_evaluated": ["queues", "microbursts", "roce", "path", "signatures"],
        "not_visible": [],
        "points": points.map(|(number, (post, file))| point_row(number as u16, post, file, &flows)).collect::<Vec<_>>(),
        "flows_total": flows.len(),
        "flows": flows.iter().take(top.unwrap_or(usize::MAX)).map(|(key, sum)| flow_row(listener, key, sum)).collect::<Vec<_>>(),
        "verdicts": verdicts,
        "path": null,
        "roce": null,
        "overflow": {"flows": listener.overflow, "verdicts": listener.judge.overflow()},
    });
    report.to_string().into_bytes()
}

impl Sum {
    /// What orders flows: frame bytes, or bytes of IP where only those are known.
    fn size(&self) -> u64 {
        self.bytes.or(self.ip_bytes).unwrap_or(0)
    }
}

/// A sum of which one part is not known is not known.
fn total(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values.sum()
}

fn point_row(number: u16, post: &Post, file: &Told, flows: &[(&SumKey, &Sum)]) -> Value {
    let own: Vec<&Sum> = flows.iter().filter(|(key, _)| key.2 == number).map(|(_, sum)| *sum).collect();
    let sources: BTreeSet<Source> = own.iter().map(|sum| sum.source).collect();
    let cannot_know: BTreeSet<&str> = sources.iter().flat_map(|source| source.cannot_know()).copied().collect();
    json!({
        "name": post.name,
        "file": file.path.display().to_string(),
        "packets": total(own.iter().map(|sum| sum.packets)),
        "bytes": total(own.iter().map(|sum| sum.bytes)),
        "ip_bytes": total(own.iter().map(|sum| sum.ip_bytes)),
        "non_ip": null,
        "first_ns": own.iter().filter_map(|sum| sum.first_ns).min(),
        "last_ns": own.iter().filter_map(|sum| sum.last_ns).max(),
        "truncated": file.error.as_ref().is_some_and(SourceError::is_partial),
        "damage": damage(file.error.as_ref()),
        "error": file.error.as_ref().map(ToString::to_string),
        "decode_errors": post.unreadable,
        "first_unreadable": post.trouble,
        "export_packets": file.packets,
        "other_packets": file.other,
        "dscp": marks_row(own.iter().flat_map(|sum| &sum.marks)),
        "queues": [], "microbursts": [], "saturations": [],
        "tcp": null,
        "sources": sources.iter().map(|source| source.as_str()).collect::<Vec<_>>(),
        "cannot_know": cannot_know,
        "exporters": exporter_rows(post),
    })
}

fn exporter_rows(post: &Post) -> Vec<Value> {
    let mut all: Vec<_> = post.reader.exporters().collect();
    all.sort_by_key(|(address, _)| *address);
    let row = |(address, exporter): (std::net::IpAddr, &nc_records::Exporter)| {
        let tally = &exporter.tally;
        let mut interfaces: Vec<_> = exporter.interfaces.values().collect();
        interfaces.sort_by_key(|counters| counters.interface);
        let counters = |c: &&nc_records::Counters| {
            json!({
                "interface": c.interface, "speed_bps": c.speed_bps, "in_bytes": c.in_bytes, "in_packets": c.in_packets,
                "in_discards": c.in_discards, "in_errors": c.in_errors, "out_bytes": c.out_bytes,
                "out_packets": c.out_packets, "out_discards": c.out_discards, "out_errors": c.out_errors,
            })
        };
        json!({
            "exporter": address.to_string(), "source": exporter.source.map(Source::as_str), "sampling": exporter.sampling,
            "messages": tally.messages, "records": tally.records, "lost": tally.lost, "waiting": tally.waiting,
            "given_up": tally.given_up, "unreadable": tally.unreadable, "without_addresses": tally.without_addresses,
            "interfaces": interfaces.iter().map(counters).collect::<Vec<_>>(),
        })
    };
    all.into_iter().map(row).collect()
}

fn marks_row<'a>(marks: impl Iterator<Item = &'a Mark>) -> Value {
    let mut sums: [Option<(u64, Option<u64>)>; 64] = [None; 64];
    for mark in marks {
        let sum = &mut sums[usize::from(mark.dscp & 63)];
        *sum = Some(match *sum {
            None => (mark.packets, mark.bytes),
            Some((packets, bytes)) => (packets + mark.packets, bytes.zip(mark.bytes).map(|(a, b)| a + b)),
        });
    }
    let rows = sums.iter().enumerate().filter_map(|(mark, sum)| {
        let (packets, bytes) = (*sum)?;
        Some((mark.to_string(), json!({"packets": packets, "bytes": bytes, "peak_1ms_bytes": null})))
    });
    Value::Object(rows.collect::<Map<_, _>>())
}

fn flow_row(listener: &Listener, (key, exporter, point): &SumKey, sum: &Sum) -> Value {
    let name = |at| {
        let bundle = listener.judge.bundle()?;
        let realm = &listener.judge.places().get(usize::from(*point))?.realm;
        Some(bundle.identity(bundle.find(realm, key.version, at))?.name.clone())
    };
    json!({
        "point": listener.posts[usize::from(*point)].name,
        "source": sum.source.as_str(),
        "exporter": exporter.to_string(),
        "sampling": sum.sampling,
        "records": sum.records,
        "src": address(key.version, key.src),
        "dst": address(key.version, key.dst),
        "sport": key.sport,
        "dport": key.dport,
        "proto": protocol(key.proto),
        "vlan": key.tags().0,
        "server_port": ServerPort::of(sum.server_port),
        "packets": sum.packets,
        "bytes": sum.bytes,
        "ip_bytes": sum.ip_bytes,
        "first_ns": sum.first_ns,
        "last_ns": sum.last_ns,
        "dscp": marks_row(sum.marks.iter()),
        "tcp": null,
        "signatures": [],
        "identity": {"src": name(key.src), "dst": name(key.dst)},
        "cannot_know": sum.source.cannot_know(),
    })
}
