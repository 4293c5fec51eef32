//! TCP health in the report: of each flow, of each point, and of each service beside the time it takes to answer.

use std::collections::HashMap;
use std::hash::BuildHasher;

use nc_decode::proto;
use nc_flow::{FlowHealth, FlowTable, KeyedState, RoundTrips, Service};
use serde::Serialize;

use crate::core::Core;
use crate::media_rows::{stream_of, StreamOf};
use crate::service_rows::{self, ServiceRow};

/// Services that are summed up: those that answered, then those with troubles.
const MOST: usize = 10_000;
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
    pub conversations: u64,
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

/// One side of a service's round trips.
#[derive(Clone, Default)]
pub(crate) struct Trips {
    pub one_each: Vec<u64>,
    pub min_ns: Option<u64>,
    pub max_ns: Option<u64>,
}

#[derive(Clone, Default)]
pub(crate) struct Sum {
    pub sums: HealthSums,
    /// What clients asked for, and how many did.
    pub names: Vec<(u16, u64)>,
    pub client: Trips,
    pub server: Trips,
}

pub(crate) type Key = (u16, Service);

/// Sums by service. They stand in a list, so that a map that grows moves their numbers only.
pub(crate) struct Services {
    pub numbers: HashMap<Key, usize, KeyedState>,
    pub sums: Vec<Sum>,
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

    /// Once all packets are counted, before any conversation that the table holds is summed up.
    pub fn choose_all(&mut self, flows: &mut FlowTable) {
        flows.wind_up(|flows, ways| self.choose(flows, ways));
    }

    /// Sum up a conversation that the table holds. `others`: bits of services that other tables tell apart, in whose sums it will be counted
    /// later.
    pub fn sum(&mut self, flows: &FlowTable, ways: [u32; 2], others: Option<&[u64]>) {
        self.add(flows, ways, others);
        self.directions += flows.directions(ways[0]);
        self.media.extend(ways.into_iter().filter_map(|number| stream_of(flows, number)));
    }

    /// Those of all tables together.
    pub fn rows(all: Vec<Self>, core: &Core) -> SumRows<'_> {
        let mut points = vec![HealthSums::default(); core.points.len()];
        let (mut directions, mut media) = (0, Vec::new());
        let (mut parts, mut later) = (Vec::new(), Vec::new());
        for sums in all {
            points.iter_mut().zip(&sums.points).for_each(|(sum, more)| sum.merge(more));
            directions += sums.directions;
            media.extend(sums.media);
            parts.push(sums.services);
            later.push(sums.later);
        }
        SumRows { directions, points, services: service_rows::rows(core, parts, &later), media }
    }

    /// Services that answered something, and those in trouble, are told apart.
    fn choose(&mut self, flows: &FlowTable, ways: [u32; 2]) {
        let Some(talk) = flows.measured(ways[0]) else { return };
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
        let Some(talk) = flows.measured(ways[0]) else { return };
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
pub(crate) fn count(
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

    pub fn merge(&mut self, other: Self) {
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
