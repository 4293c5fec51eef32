//! Services in the report: those with most answers, of the sums of all tables.

use std::cmp::Reverse;
use std::ops::Range;

use nc_decode::proto;
use nc_detect::ServerPort;
use nc_flow::{address, protocol, FlowTable, ResponseTimes, Service};
use serde::Serialize;

use crate::core::Core;
use crate::health_rows::{count, HealthSums, Key, Services, Sum, Trips};
use crate::names::NameSource;

/// Services that are reported.
const ROWS: usize = 1_000;

/// Of the conversations' round trips: `p50_ns` is the middle of one figure each, its handshake or else its least.
#[derive(Serialize)]
struct TripsRow {
    min_ns: Option<u64>,
    p50_ns: Option<u64>,
    max_ns: Option<u64>,
}

/// `response_ns` counts from the last byte of a request to the first of its answer, as the point sees them: the round trip
/// between point and server (`rtt_server`) is in it.
#[derive(Serialize)]
pub(crate) struct ServiceRow<'a> {
    point: &'a str,
    server: String,
    server_port: ServerPort,
    proto: String,
    server_name: Option<&'a str>,
    name_source: Option<NameSource>,
    conversations: u64,
    /// None for UDP.
    health: Option<HealthSums>,
    rtt_client: TripsRow,
    rtt_server: TripsRow,
    responses: ResponseRow,
}

#[derive(Serialize)]
struct ResponseRow {
    count: u64,
    p50_ns: Option<u64>,
    p95_ns: Option<u64>,
    max_ns: Option<u64>,
}

/// One service: what tables told of it, by places in the list of all parts, and how many conversations they counted.
struct Told {
    key: Key,
    parts: Range<usize>,
    conversations: u64,
}

/// A conversation of a table, by its place, that belongs to a service which only others told apart.
struct Later {
    told: usize,
    table: usize,
    ways: [u32; 2],
}

/// `parts`: of each table; `later`: its conversations whose services others may tell apart. Sums are put together only of what is reported.
pub(crate) fn rows<'a>(core: &'a Core, mut parts: Vec<Services>, later: &[Vec<[u32; 2]>]) -> Vec<ServiceRow<'a>> {
    let tables = core.flows.tables();
    let places = parts
        .iter()
        .enumerate()
        .flat_map(|(table, services)| services.numbers.iter().map(move |(key, number)| (*key, table, *number)));
    let mut places: Vec<(Key, usize, usize)> = places.collect();
    places.sort_unstable();
    let mut all = told(&places, &parts);
    let later = belated(tables, &mut all, later);
    let answers = answers(tables);
    let most = |told: &Told| {
        let found = answers.binary_search_by_key(&told.key.1, |(service, _)| *service);
        (found.map_or(0, |at| answers[at].1), told.conversations)
    };
    let mut leading: Vec<_> = all.iter().enumerate().map(|(at, told)| (Reverse(most(told)), told.key, at)).collect();
    if leading.len() > ROWS {
        leading.select_nth_unstable(ROWS);
        leading.truncate(ROWS);
    }
    leading.sort_unstable();
    let row_of = |(_, key, at): (_, Key, usize)| {
        let mut sum = Sum::default();
        for (_, table, number) in &places[all[at].parts.clone()] {
            sum.merge(std::mem::take(&mut parts[*table].sums[*number]));
        }
        let from = later.partition_point(|later| later.told < at);
        for Later { table, ways, .. } in later[from..].iter().take_while(|later| later.told == at) {
            if let Some(talk) = tables[*table].measured(ways[0]) {
                count(&tables[*table], talk, &key.1, Some(&mut sum), None);
            }
        }
        row(core, key, sum, core.flows.responses(&key.1).as_ref())
    };
    leading.into_iter().map(row_of).collect()
}

/// Places by key, which they are sorted by.
fn told(places: &[(Key, usize, usize)], parts: &[Services]) -> Vec<Told> {
    let mut at = 0;
    let one = |some: &[(Key, usize, usize)]| {
        let counted = some.iter().map(|(_, table, number)| parts[*table].sums[*number].sums.conversations).sum();
        at += some.len();
        Told { key: some[0].0, parts: at - some.len()..at, conversations: counted }
    };
    places.chunk_by(|one, next| one.0 == next.0).map(one).collect()
}

/// Conversations that were not counted yet, by their services.
fn belated(tables: &[FlowTable], all: &mut [Told], later: &[Vec<[u32; 2]>]) -> Vec<Later> {
    let mut found = Vec::new();
    for (table, (flows, later)) in tables.iter().zip(later).enumerate() {
        for ways in later {
            let Some(talk) = flows.measured(ways[0]) else { continue };
            let key = (flows.flow(talk).point, flows.service(talk));
            if let Ok(told) = all.binary_search_by_key(&key, |told| told.key) {
                all[told].conversations += 1;
                found.push(Later { told, table, ways: *ways });
            }
        }
    }
    found.sort_by_key(|later| later.told);
    found
}

/// How many answers of each service were timed, in all tables; by service.
fn answers(tables: &[FlowTable]) -> Vec<(Service, u64)> {
    let mut all: Vec<(Service, u64)> = tables.iter().flat_map(FlowTable::answers).collect();
    all.sort_unstable();
    all.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    all
}

fn row<'a>(core: &'a Core, (point, service): Key, sum: Sum, times: Option<&ResponseTimes>) -> ServiceRow<'a> {
    let asked = sum.names.iter().max_by_key(|(number, count)| (*count, std::cmp::Reverse(*number)));
    let named = core.names.of(asked.map_or(0, |(number, _)| *number), &service, core.points_of(service.realm));
    let percentile = |percent| times?.percentile(percent);
    ServiceRow {
        point: &core.points[usize::from(point)].name,
        server: address(service.version, service.address),
        server_port: ServerPort::of(service.port),
        proto: protocol(service.proto).into_owned(),
        server_name: named.map(|(name, _)| name),
        name_source: named.map(|(_, source)| source),
        conversations: sum.sums.conversations,
        health: (service.proto == proto::TCP).then_some(sum.sums),
        rtt_client: sum.client.row(),
        rtt_server: sum.server.row(),
        responses: ResponseRow {
            count: times.map_or(0, ResponseTimes::count),
            p50_ns: percentile(50),
            p95_ns: percentile(95),
            max_ns: times.and_then(ResponseTimes::max),
        },
    }
}

impl Trips {
    fn row(mut self) -> TripsRow {
        self.one_each.sort_unstable();
        let middle = self.one_each.len().saturating_sub(1) / 2;
        TripsRow { min_ns: self.min_ns, p50_ns: self.one_each.get(middle).copied(), max_ns: self.max_ns }
    }
}
