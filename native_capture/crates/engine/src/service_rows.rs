//! Services in the report: those with most answers, of the sums of all tables.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::BuildHasher;

use nc_decode::proto;
use nc_detect::ServerPort;
use nc_flow::{address, protocol, FlowTable, KeyedState, ResponseTimes, Service};
use serde::Serialize;

use crate::core::Core;
use crate::health_rows::{HealthSums, Place, Sum, Sums, Trips};
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

/// A point and a service that was seen there.
pub(crate) type Key = (u16, Service);

/// Services that are summed up at the end: those that may be among the [`ROWS`] with most answers. Each has a number.
pub(crate) struct Chosen {
    numbers: HashMap<Key, u32, KeyedState>,
    /// With how many answers were timed.
    services: Vec<(Key, u64)>,
    /// A bit for each hash of one of them: most conversations have none, and to know that needs no look at the numbers.
    bits: Vec<u64>,
}

/// Bits in [`Chosen`].
const BITS: usize = 1 << 18;

impl Chosen {
    /// Of all that these tables tell apart, whose places they give away for those of the chosen.
    pub fn of(tables: &[FlowTable], points: u16, all: &mut [&mut Sums]) -> Self {
        let mut chosen = Self { numbers: HashMap::default(), services: Vec::new(), bits: vec![0; BITS / 64] };
        chosen.numbers.reserve(all.iter().map(|sums| sums.told.len()).sum());
        for key in all.iter().flat_map(|sums| sums.told.keys()) {
            let next = chosen.services.len();
            if *chosen.numbers.entry(*key).or_insert(next as u32) as usize == next {
                chosen.services.push((*key, 0));
            }
        }
        for (service, count) in tables.iter().flat_map(FlowTable::answers) {
            for point in 0..points {
                if let Some(number) = chosen.numbers.get(&(point, service)) {
                    chosen.services[*number as usize].1 += count;
                }
            }
        }
        chosen.narrow();
        all.iter_mut().for_each(|sums| chosen.take_over(sums));
        chosen
    }

    /// Leave those with as many answers as the last one that is reported.
    fn narrow(&mut self) {
        if self.services.len() > ROWS {
            let mut counts: Vec<u64> = self.services.iter().map(|(_, count)| *count).collect();
            let least = *counts.select_nth_unstable_by_key(ROWS - 1, |count| Reverse(*count)).1;
            self.services.retain(|(_, count)| *count >= least);
        }
        let numbers = self.services.iter().zip(0..).map(|((key, _), number)| (*key, number));
        self.numbers = HashMap::with_capacity_and_hasher(self.services.len(), self.numbers.hasher().clone());
        self.numbers.extend(numbers);
        for (key, _) in &self.services {
            let bit = self.bit(key);
            self.bits[bit / 64] |= 1 << (bit % 64);
        }
    }

    fn take_over(&self, sums: &mut Sums) {
        sums.places = vec![Place::default(); self.services.len()];
        for (key, place) in std::mem::take(&mut sums.told) {
            if let Some(number) = self.number(&key) {
                sums.places[number] = place;
            }
        }
    }

    fn bit(&self, key: &Key) -> usize {
        self.numbers.hasher().hash_one(key) as usize % BITS
    }

    /// None of a service that is not summed up.
    #[inline]
    pub fn number(&self, key: &Key) -> Option<usize> {
        let bit = self.bit(key);
        let is_one = self.bits[bit / 64] >> (bit % 64) & 1 != 0;
        is_one.then(|| self.numbers.get(key)).flatten().map(|number| *number as usize)
    }
}

/// `all`: of each table. Sums are put together only of what is reported.
pub(crate) fn rows<'a>(core: &'a Core, chosen: &Chosen, mut all: Vec<Sums>) -> Vec<ServiceRow<'a>> {
    let conversations = |number: usize| {
        let counted = all.iter().filter_map(|sums| sums.places.get(number)?.of(&sums.sums));
        counted.map(|sum| sum.sums.conversations).sum::<u64>()
    };
    let services = chosen.services.iter().enumerate();
    let mut leading: Vec<_> =
        services.map(|(number, (key, answers))| (Reverse((*answers, conversations(number))), *key, number)).collect();
    if leading.len() > ROWS {
        leading.select_nth_unstable(ROWS);
        leading.truncate(ROWS);
    }
    leading.sort_unstable();
    let row_of = |(_, key, number): (_, Key, usize)| {
        let mut sum = Sum::default();
        for sums in &mut all {
            sums.places[number].take(&mut sums.sums).into_iter().for_each(|part| sum.merge(part));
        }
        row(core, key, sum, core.flows.responses(&key.1).as_ref())
    };
    leading.into_iter().map(row_of).collect()
}

fn row<'a>(core: &'a Core, (point, service): Key, sum: Sum, times: Option<&ResponseTimes>) -> ServiceRow<'a> {
    let asked = sum.names.iter().max_by_key(|(number, count)| (*count, std::cmp::Reverse(*number)));
    let named = core.names.of(asked.map_or(0, |(number, _)| *number), &service, core.points_of(service.realm));
    let percentile = |percent| times?.percentile(percent);
    ServiceRow {
        point: &core.points[usize::from(point)].name,
        server: address(service.version, service.address()),
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
