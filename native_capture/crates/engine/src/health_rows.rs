//! TCP health in the report: of each flow, of each point, and of each service beside the time it takes to answer.

use std::collections::HashMap;
use std::hash::BuildHasher;

use nc_decode::proto;
use nc_detect::ServerPort;
use nc_flow::{address, protocol, FlowHealth, FlowTable, KeyedState, ResponseTimes, RoundTrips, Service};
use serde::Serialize;

use crate::core::Core;
use crate::media_rows::{stream_of, StreamOf};
use crate::names::NameSource;

/// Services that are summed up: those that answered, then those with troubles; the first of them are reported.
const MOST: usize = 10_000;
const ROWS: usize = 1_000;
/// Bits that say which services are summed up.
const CHOSEN: usize = 1 << 18;
/// Names of one service that are weighed against each other.
const NAMES: usize = 16;

/// `flows[].health`: of a direction of a TCP conversation. None where both directions are needed and one was seen.
#[derive(Serialize)]
pub(crate) struct HealthRow {
    fast: Option<u32>,
    timeout: Option<u32>,
    spurious: Option<u32>,
    out_of_order: Option<u32>,
    duplicate_acks: Option<u32>,
    zero_window_ns: u64,
    resets: u8,
    unanswered: bool,
    rtt: Option<RoundTripRow>,
}

/// From the point to the receiver and back.
#[derive(Serialize)]
struct RoundTripRow {
    handshake_ns: Option<u64>,
    min_ns: Option<u64>,
    median_ns: Option<u64>,
    max_ns: Option<u64>,
}

/// Sums of one point or service. `half_seen`: conversations of which one direction was seen: they are not in `fast` to `duplicate_acks`.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct HealthSums {
    conversations: u64,
    half_seen: u64,
    unanswered: u64,
    data_segments: u64,
    retransmitted: u64,
    fast: u64,
    timeout: u64,
    spurious: u64,
    out_of_order: u64,
    duplicate_acks: u64,
    zero_window_ns: u64,
    resets: u64,
}

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

/// One side of a service's round trips.
#[derive(Clone, Default)]
struct Trips {
    one_each: Vec<u64>,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
}

#[derive(Clone, Default)]
struct Sum {
    sums: HealthSums,
    /// What clients asked for, and how many did.
    names: Vec<(u16, u64)>,
    client: Trips,
    server: Trips,
}

type Key = (u16, Service);

/// Sums by service. They stand in a list, so that a map that grows moves their numbers only.
struct Services {
    numbers: HashMap<Key, usize, KeyedState>,
    sums: Vec<Sum>,
}

impl Services {
    fn new(hasher: KeyedState) -> Self {
        Self { numbers: HashMap::with_hasher(hasher), sums: Vec::new() }
    }

    fn get_mut(&mut self, key: &Key) -> Option<&mut Sum> {
        self.sums.get_mut(*self.numbers.get(key)?)
    }

    /// The service's, a new one when there is none.
    fn of(&mut self, key: Key) -> &mut Sum {
        let number = *self.numbers.entry(key).or_insert(self.sums.len());
        if number == self.sums.len() {
            self.sums.push(Sum::default());
        }
        &mut self.sums[number]
    }

    fn merge(&mut self, mut other: Self) {
        for (key, number) in other.numbers {
            self.of(key).merge(std::mem::take(&mut other.sums[number]));
        }
    }

    /// The bit of a service in [`Sums::is_chosen`].
    fn bit(&self, key: &Key) -> usize {
        self.numbers.hasher().hash_one(key) as usize % CHOSEN
    }
}

/// Sums of conversations of one table: of those that it has let go and at the end of those it holds. `points`: by number, as far as any
/// was seen.
pub(crate) struct Sums {
    points: Vec<HealthSums>,
    services: Services,
    /// A bit for each hash of a service that is there: most conversations have none, and to know that needs no look at the services.
    is_chosen: Vec<u64>,
    /// Most troubled services, and most media of conversations let go.
    most: usize,
    /// Conversations whose service another table may tell apart.
    later: Vec<[u32; 2]>,
    media: Vec<StreamOf>,
    directions: usize,
}

/// What [`Sums`] come to.
pub(crate) struct SumRows<'a> {
    pub directions: usize,
    pub points: Vec<HealthSums>,
    pub services: Vec<ServiceRow<'a>>,
    pub media: Vec<StreamOf>,
}

impl Sums {
    /// One for each of `tables`.
    pub fn for_each(tables: usize) -> Vec<Self> {
        let hasher = KeyedState::default();
        let one = |_| Self {
            points: Vec::new(),
            services: Services::new(hasher.clone()),
            is_chosen: vec![0; CHOSEN / 64],
            most: MOST / tables,
            later: Vec::new(),
            media: Vec::new(),
            directions: 0,
        };
        (0..tables).map(one).collect()
    }

    /// Look at what the table lets go now.
    pub fn note_gone(&mut self, flows: &FlowTable) {
        flows.gone().for_each(|(ways, _)| self.choose(flows, ways));
        flows.gone().for_each(|(ways, _)| self.add(flows, ways, None));
        let room = self.most.saturating_sub(self.media.len());
        let gone = flows.gone().flat_map(|(ways, _)| ways);
        self.media.extend(gone.filter_map(|number| stream_of(flows, number)).take(room));
    }

    /// Bits of the services that these tell apart; none of one alone, which knows them.
    pub fn chosen(all: &[&Self]) -> Option<Vec<u64>> {
        let mut bits = vec![0; CHOSEN / 64];
        for sums in all {
            bits.iter_mut().zip(&sums.is_chosen).for_each(|(bits, more)| *bits |= more);
        }
        Some(bits).filter(|_| all.len() > 1)
    }

    /// Those of several tables as if of one.
    pub fn of(tables: &[FlowTable], mut all: Vec<Self>) -> Self {
        let later: Vec<_> = all.iter_mut().map(|sums| std::mem::take(&mut sums.later)).collect();
        let mut all = all.into_iter();
        let first = all.next().unwrap_or_else(|| Self::for_each(1).remove(0));
        let mut sums = all.fold(first, Self::merge);
        for (flows, ways) in
            tables.iter().zip(later).flat_map(|(flows, later)| later.into_iter().map(move |ways| (flows, ways)))
        {
            let Some(talk) = measured(flows, ways) else { continue };
            let key = (flows.flow(talk).point, flows.service(talk));
            if let Some(sum) = sums.services.get_mut(&key) {
                count(flows, talk, &key.1, Some(sum), None);
            }
        }
        sums
    }

    fn merge(mut self, other: Self) -> Self {
        self.points.resize(self.points.len().max(other.points.len()), HealthSums::default());
        self.points.iter_mut().zip(&other.points).for_each(|(sum, more)| sum.merge(more));
        self.services.merge(other.services);
        self.media.extend(other.media);
        self.directions += other.directions;
        self
    }

    /// Once all packets are counted, before any conversation that the table holds is summed up.
    pub fn choose_all(&mut self, flows: &FlowTable) {
        flows.conversations().for_each(|ways| self.choose(flows, ways));
    }

    /// Sum up a conversation that the table holds. `others`: bits of services that other tables tell apart, in whose sums it will be counted
    /// later.
    pub fn sum(&mut self, flows: &FlowTable, ways: [u32; 2], others: Option<&[u64]>) {
        self.add(flows, ways, others);
        self.directions += ways.into_iter().filter(|way| flows.flow(*way).packets() > 0).count();
        self.media.extend(ways.into_iter().filter_map(|number| stream_of(flows, number)));
    }

    /// Directions summed up, sums of each point, the services with most answers first, and media.
    pub fn rows(mut self, core: &Core) -> SumRows<'_> {
        self.points.resize(core.points.len(), HealthSums::default());
        SumRows {
            directions: self.directions,
            points: self.points,
            services: rows(core, self.services),
            media: self.media,
        }
    }

    /// Services that answered something, and those in trouble, are told apart.
    fn choose(&mut self, flows: &FlowTable, ways: [u32; 2]) {
        let Some(talk) = measured(flows, ways) else { return };
        let troubled = || self.services.sums.len() < self.most && flows.is_troubled(talk);
        if flows.has_answered(talk) || troubled() {
            let key = (flows.flow(talk).point, flows.service(talk));
            let bit = self.services.bit(&key);
            self.is_chosen[bit / 64] |= 1 << (bit % 64);
            self.services.of(key);
        }
    }

    /// `others`: see [`Sums::sum`].
    fn add(&mut self, flows: &FlowTable, ways: [u32; 2], others: Option<&[u64]>) {
        let Some(talk) = measured(flows, ways) else { return };
        let key = (flows.flow(talk).point, flows.service(talk));
        let bit = self.services.bit(&key);
        let is_in = |chosen: &[u64]| chosen[bit / 64] >> (bit % 64) & 1 != 0;
        let sum = if is_in(&self.is_chosen) { self.services.get_mut(&key) } else { None };
        if sum.is_none() && others.is_some_and(is_in) {
            self.later.push(ways);
        }
        count(flows, talk, &key.1, sum, Some(&mut self.points));
    }
}

/// Count one conversation in its service and at its point.
#[inline]
fn count(
    flows: &FlowTable,
    talk: u32,
    service: &Service,
    mut sum: Option<&mut Sum>,
    mut points: Option<&mut Vec<HealthSums>>,
) {
    let (whole, is_tcp) = (flows.is_answered(talk), service.proto == proto::TCP);
    if let Some(sum) = &mut sum {
        sum.sums.conversations += u64::from(!is_tcp);
        sum.name(flows.name(talk), 1);
    }
    for number in [talk, talk ^ 1].into_iter().filter(|_| is_tcp) {
        let flow = flows.flow(number);
        if flow.packets() == 0 {
            continue;
        }
        let (health, segments) = (flows.health_but_times(number), flows.data_segments(number));
        if let Some(points) = &mut points {
            let point = usize::from(flow.point);
            if point >= points.len() {
                points.resize(point + 1, HealthSums::default());
            }
            points[point].add(&health, segments, whole, number == talk);
        }
        if let Some(sum) = &mut sum {
            sum.sums.add(&health, segments, whole, number == talk);
            sum.add_trips(&flows.round_trips(number), flows.key(number).dport == service.port);
        }
    }
}

/// A conversation by which services are judged, by the number of a direction that was seen.
fn measured(flows: &FlowTable, [one, other]: [u32; 2]) -> Option<u32> {
    let seen = if flows.flow(one).packets() > 0 { one } else { other };
    Some(seen).filter(|talk| flows.is_measured(*talk))
}

fn rows(core: &Core, services: Services) -> Vec<ServiceRow<'_>> {
    let Services { numbers, mut sums } = services;
    let told = |(key, number): (Key, usize)| {
        let most = (core.flows.answers(&key.1), sums[number].sums.conversations);
        (std::cmp::Reverse(most), key, number)
    };
    let mut all: Vec<_> = numbers.into_iter().map(told).collect();
    if all.len() > ROWS {
        all.select_nth_unstable(ROWS);
        all.truncate(ROWS);
    }
    all.sort_unstable();
    let row = |(_, key, number): (_, Key, usize)| {
        row(core, key, std::mem::take(&mut sums[number]), core.flows.responses(&key.1).as_ref())
    };
    all.into_iter().map(row).collect()
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

impl HealthSums {
    fn merge(&mut self, other: &Self) {
        self.conversations += other.conversations;
        self.half_seen += other.half_seen;
        self.unanswered += other.unanswered;
        self.data_segments += other.data_segments;
        self.retransmitted += other.retransmitted;
        self.fast += other.fast;
        self.timeout += other.timeout;
        self.spurious += other.spurious;
        self.out_of_order += other.out_of_order;
        self.duplicate_acks += other.duplicate_acks;
        self.zero_window_ns = self.zero_window_ns.saturating_add(other.zero_window_ns);
        self.resets += other.resets;
    }

    /// `is_first`: of the directions of a conversation.
    fn add(&mut self, health: &FlowHealth, data_segments: u32, whole: bool, is_first: bool) {
        let troubles = &health.troubles;
        self.conversations += u64::from(is_first);
        self.half_seen += u64::from(is_first && !whole);
        self.unanswered += u64::from(health.unanswered);
        self.data_segments += u64::from(data_segments);
        self.retransmitted += u64::from(troubles.retransmitted);
        self.zero_window_ns = self.zero_window_ns.saturating_add(troubles.zero_window_ns);
        self.resets += u64::from(health.resets);
        if whole {
            self.fast += u64::from(troubles.fast);
            self.timeout += u64::from(troubles.timeout);
            self.spurious += u64::from(troubles.spurious);
            self.out_of_order += u64::from(troubles.out_of_order);
            self.duplicate_acks += u64::from(troubles.duplicate_acks);
        }
    }
}

impl Sum {
    fn name(&mut self, asked: u16, times: u64) {
        if let Some((_, count)) = self.names.iter_mut().find(|(number, _)| *number == asked) {
            *count += times;
        } else if asked != 0 && self.names.len() < NAMES {
            self.names.push((asked, times));
        }
    }

    fn merge(&mut self, other: Self) {
        self.sums.merge(&other.sums);
        other.names.into_iter().for_each(|(asked, times)| self.name(asked, times));
        self.client.merge(other.client);
        self.server.merge(other.server);
    }

    fn add_trips(&mut self, trips: &RoundTrips, to_server: bool) {
        let side = if to_server { &mut self.server } else { &mut self.client };
        let given = || trips.handshake_ns.into_iter().chain(trips.min_ns);
        side.one_each.extend(trips.handshake_ns.or(trips.min_ns));
        side.min_ns = side.min_ns.into_iter().chain(given()).min();
        side.max_ns = side.max_ns.into_iter().chain(given()).chain(trips.max_ns).max();
    }
}

impl Trips {
    fn merge(&mut self, other: Self) {
        self.one_each.extend(other.one_each);
        self.min_ns = self.min_ns.into_iter().chain(other.min_ns).min();
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    fn row(mut self) -> TripsRow {
        self.one_each.sort_unstable();
        let middle = self.one_each.len().saturating_sub(1) / 2;
        TripsRow { min_ns: self.min_ns, p50_ns: self.one_each.get(middle).copied(), max_ns: self.max_ns }
    }
}

/// None for what is not TCP. `whole`: both directions were seen.
pub(crate) fn health_row(health: &FlowHealth, whole: bool) -> HealthRow {
    let troubles = &health.troubles;
    let of_both = |count: u32| whole.then_some(count);
    let trips = &health.round_trips;
    let RoundTrips { handshake_ns, min_ns, median_ns, max_ns } = *trips;
    HealthRow {
        fast: of_both(troubles.fast),
        timeout: of_both(troubles.timeout),
        spurious: of_both(troubles.spurious),
        out_of_order: of_both(troubles.out_of_order),
        duplicate_acks: of_both(troubles.duplicate_acks),
        zero_window_ns: troubles.zero_window_ns,
        resets: health.resets,
        unanswered: health.unanswered,
        rtt: (*trips != RoundTrips::default()).then_some(RoundTripRow { handshake_ns, min_ns, median_ns, max_ns }),
    }
}
