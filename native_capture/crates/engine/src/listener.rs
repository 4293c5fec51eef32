//! What exporters tell: judged, summed by flow, and never taken for more than it is.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use nc_detect::{Bundle, Judge, Offence, Place, Told, Verdict};
use nc_flow::{is_known_service, FlowKey, KeyedState};
use nc_records::{Heard, Malformed, Mark, Reader, Record, Source};

use crate::core::IDLE_NS;

/// Records of ICMP do not say whether the mark is the sender's own or that of the packet which an error answers.
const ICMP: [u8; 2] = [1, 58];

/// One flow as one exporter told it, in any number of records. `dscp`: packets and frame bytes per mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    pub source: Source,
    pub sampling: Option<u32>,
    pub server_port: u16,
    pub packets: Option<u64>,
    pub bytes: Option<u64>,
    pub ip_bytes: Option<u64>,
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
    pub records: u64,
    pub marks: Vec<Mark>,
}

/// Which flow, told by whom, at which point.
pub(crate) type SumKey = (FlowKey, IpAddr, u16);

/// A point at which exporters are heard.
pub(crate) struct Post {
    pub name: String,
    pub reader: Reader,
    pub unreadable: u64,
    /// The first message that could not be read.
    pub trouble: Option<String>,
}

/// `flows`: at most `limit`; when `forgets`, those silent for long make room.
pub(crate) struct Listener {
    pub posts: Vec<Post>,
    pub judge: Judge,
    pub flows: HashMap<SumKey, Sum, KeyedState>,
    pub verdicts: Vec<Verdict>,
    /// Records of flows that found no room.
    pub overflow: u64,
    limit: usize,
    forgets: bool,
    realms: Vec<String>,
    now_ns: u64,
}

impl Listener {
    pub fn new(names: &[String], limit: usize, forgets: bool) -> Self {
        let post = |name: &String| Post { name: name.clone(), reader: Reader::default(), unreadable: 0, trouble: None };
        let place = |name: &String| Place { name: name.clone(), realm: String::new() };
        Self {
            posts: names.iter().map(post).collect(),
            judge: Judge::new(names.iter().map(place).collect()),
            flows: HashMap::default(),
            verdicts: Vec::new(),
            overflow: 0,
            limit,
            forgets,
            realms: vec![String::new(); names.len()],
            now_ns: 0,
        }
    }

    pub fn set_bundle(&mut self, bundle: Arc<Bundle>) {
        for (post, realm) in self.posts.iter().zip(&mut self.realms) {
            bundle.realm_of(&post.name).clone_into(realm);
        }
        self.judge.set_bundle(bundle);
    }

    /// One message that came from `exporter` to a point; `each` sees its records. What is wrong with it is counted, told once, and
    /// given back.
    pub fn hear(
        &mut self,
        point: usize,
        exporter: IpAddr,
        ts_ns: u64,
        bytes: &[u8],
        each: &mut dyn FnMut(&Record<'_>),
    ) -> Result<(), Malformed> {
        let Self { posts, judge, flows, verdicts, overflow, limit, forgets, realms, now_ns } = self;
        let post = &mut posts[point];
        let (name, realm) = (post.name.as_str(), realms[point].as_str());
        let mut newest_ns = *now_ns;
        let bundle = judge.bundle().cloned();
        let result = post.reader.message(exporter, ts_ns, bytes, &mut |heard| {
            let Heard::Flow(record) = heard else { return };
            let record = complete(record, name, realm, bundle.as_deref());
            newest_ns = newest_ns.max(record.last_ns.filter(|ns| *ns <= ts_ns).unwrap_or(0));
            let key = key_of(&record, point as u16);
            let by = record.exporter.unwrap_or(exporter);
            let sum = match flows.len() < *limit || flows.contains_key(&(key, by, point as u16)) {
                true => Some(flows.entry((key, by, point as u16)).or_default()),
                false => None,
            };
            *overflow += u64::from(sum.is_none());
            let is_new = sum.is_some_and(|sum| {
                sum.add(&record);
                sum.records == 1
            });
            offend(judge, &record, &key, (point as u16, by, is_new), verdicts);
            each(&record);
        });
        *now_ns = newest_ns;
        judge.tick(newest_ns, verdicts);
        if *forgets && flows.len() >= *limit {
            flows.retain(|_, sum| sum.last_ns.unwrap_or(0).saturating_add(IDLE_NS) > newest_ns);
        }
        if result.is_err() {
            post.unreadable += 1;
        }
        result
    }

    pub fn finish(&mut self) {
        self.judge.finish(&mut self.verdicts);
    }
}

impl Sum {
    fn add(&mut self, record: &Record<'_>) {
        let plus = |sum: Option<u64>, more: Option<u64>| match (sum, more) {
            (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
            // Not known of one record is not known of the whole.
            (Some(_), None) if self.records > 0 => None,
            (None, more) if self.records == 0 => more,
            _ => None,
        };
        self.packets = plus(self.packets, record.packets);
        self.bytes = plus(self.bytes, record.bytes);
        self.ip_bytes = plus(self.ip_bytes, record.ip_bytes);
        self.first_ns =
            record.first_ns.map_or(self.first_ns, |ns| Some(self.first_ns.map_or(ns, |first| first.min(ns))));
        self.last_ns = self.last_ns.max(record.last_ns);
        self.source = record.source;
        self.sampling = record.sampling.or(self.sampling);
        self.server_port = server_port(record);
        self.records += 1;
        for mark in record.marks.iter() {
            match self.marks.iter_mut().find(|known| known.dscp == mark.dscp) {
                Some(known) => {
                    known.packets = known.packets.saturating_add(mark.packets);
                    known.bytes = known.bytes.zip(mark.bytes).map(|(a, b)| a.saturating_add(b));
                }
                None => self.marks.push(*mark),
            }
        }
    }
}

/// Where it was told, and who its addresses are.
fn complete<'r>(record: Record<'r>, name: &'r str, realm: &'r str, bundle: Option<&'r Bundle>) -> Record<'r> {
    let who = |address| {
        let bundle = bundle?;
        Some(bundle.identity(bundle.find(realm, record.version, address))?.name.as_str().into())
    };
    let (src_name, dst_name) = (who(record.src), who(record.dst));
    Record {
        point: if record.point.is_empty() { name.into() } else { record.point },
        realm: if record.realm.is_empty() { realm.into() } else { record.realm },
        server_port: record.server_port,
        src_name: src_name.or(record.src_name),
        dst_name: dst_name.or(record.dst_name),
        ..record
    }
}

fn key_of(record: &Record<'_>, point: u16) -> FlowKey {
    let tag = |id: Option<u16>| u32::from(id.unwrap_or(nc_decode::NO_VLAN));
    FlowKey {
        src: record.src,
        dst: record.dst,
        sport: record.sport,
        dport: record.dport,
        vlan: tag(record.vlan) << 16 | tag(record.inner_vlan),
        realm: point,
        proto: record.proto,
        version: record.version,
    }
}

/// As told, or else the port that names a service; the smaller of two that do.
fn server_port(record: &Record<'_>) -> u16 {
    let (to, from) = (record.dport, record.sport);
    let guess = match (is_known_service(to), is_known_service(from)) {
        (true, true) => to.min(from),
        (false, true) => from,
        _ => to,
    };
    record.server_port.unwrap_or(guess)
}

fn offend(
    judge: &mut Judge,
    record: &Record<'_>,
    key: &FlowKey,
    (point, exporter, new_flow): (u16, IpAddr, bool),
    out: &mut Vec<Verdict>,
) {
    let Some(bundle) = judge.bundle().cloned() else { return };
    let Some(last_ns) = record.last_ns.filter(|_| !ICMP.contains(&record.proto)) else { return };
    let who = bundle.find(&record.realm, record.version, record.src);
    for mark in record.marks.iter() {
        let Some(name) = bundle.breach(who, mark.dscp) else { continue };
        let all = (record.bytes.or(record.ip_bytes).unwrap_or(0), record.packets.unwrap_or(0));
        let told = Told {
            source: record.source.as_str(),
            exporter,
            sampling: record.sampling,
            packets: mark.packets,
            // A record has one mark nearly always; of several, each gets its share.
            bytes: mark
                .bytes
                .unwrap_or_else(|| (u128::from(all.0) * u128::from(mark.packets) / u128::from(all.1.max(1))) as u64),
            span_ns: last_ns.saturating_sub(record.first_ns.unwrap_or(last_ns)),
            cannot_know: record.source.cannot_know(),
        };
        let offence = Offence {
            name,
            key,
            server_port: server_port(record),
            who,
            dscp: mark.dscp,
            point,
            ts_ns: last_ns,
            frame_len: 0,
            ip_id: 0,
            new_flow,
            changed_to: None,
            told: Some(told),
            carrier: None,
        };
        judge.offend(&offence, std::iter::empty(), |_| None, out);
    }
}
