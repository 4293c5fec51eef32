//! TCP health in the report: of each flow, of each point, and of each service beside the time it takes to answer.

use std::collections::HashMap;

use nc_decode::proto;
use nc_flow::{FlowHealth, FlowTable, KeyedState, RoundTrips, Service, Signs, Troubles};
use serde::Serialize;

use crate::core::Core;
use crate::media_rows::{stream_of, StreamOf};
use crate::service_rows::{self, Chosen, Key, ServiceRow};

/// Services that are summed up: those that answered, then those with troubles.
const MOST: usize = 10_000;
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

/// Sums of conversations of one table: of those that it has let go and at the end of those it holds. `points`: by number, as far as any
/// was seen.
pub(crate) struct Sums {
    points: Vec<HealthSums>,
    /// Services that this table tells apart, with the place of their sums: see [`Chosen`], which takes them over at the end.
    pub told: HashMap<Key, Place, KeyedState>,
    /// Places of sums by the number of the service among those chosen.
    pub places: Vec<Place>,
    pub sums: Vec<Sum>,
    /// Most troubled services, and most media of conversations let go.
    most: usize,
    media: Vec<StreamOf>,
    directions: usize,
}

/// In a list of sums; none before the first conversation was counted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place(u32);

impl Place {
    pub fn of<'s>(&self, sums: &'s [Sum]) -> Option<&'s Sum> {
        sums.get((self.0 as usize).checked_sub(1)?)
    }

    pub fn take(&self, sums: &mut [Sum]) -> Option<Sum> {
        sums.get_mut((self.0 as usize).checked_sub(1)?).map(std::mem::take)
    }

    fn of_mut<'s>(&mut self, sums: &'s mut Vec<Sum>) -> Option<&'s mut Sum> {
        if self.0 == 0 {
            sums.push(Sum::default());
            self.0 = sums.len() as u32;
        }
        sums.get_mut(self.0 as usize - 1)
    }
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
        let one = |_| Self {
            points: Vec::new(),
            told: HashMap::default(),
            places: Vec::new(),
            sums: Vec::new(),
            most: MOST / tables,
            media: Vec::new(),
            directions: 0,
        };
        (0..tables).map(one).collect()
    }

    /// Look at what the table lets go now.
    pub fn note_gone(&mut self, flows: &FlowTable) {
        flows.gone().for_each(|(ways, _)| self.choose(flows, ways));
        for (ways, _) in flows.gone() {
            let Some((talk, key)) = judged(flows, ways) else { continue };
            let sum = self.told.get_mut(&key).and_then(|place| place.of_mut(&mut self.sums));
            count(flows, talk, &key.1, sum, &mut self.points);
        }
        let room = self.most.saturating_sub(self.media.len());
        let gone = flows.gone().flat_map(|(ways, _)| ways);
        self.media.extend(gone.filter_map(|number| stream_of(flows, number)).take(room));
    }

    /// Once all packets are counted, before any conversation that the table holds is summed up.
    pub fn choose_all(&mut self, flows: &mut FlowTable) {
        flows.wind_up(|flows, ways| self.choose(flows, ways));
    }

    /// Sum up a conversation that the table holds.
    pub fn sum(&mut self, flows: &FlowTable, ways: [u32; 2], chosen: &Chosen) {
        self.directions += flows.directions(ways[0]);
        if flows.may_have_media(ways[0]) {
            self.media.extend(ways.into_iter().filter_map(|number| stream_of(flows, number)));
        }
        let Some((talk, key)) = judged(flows, ways) else { return };
        let place = chosen.number(&key).and_then(|number| self.places.get_mut(number));
        let sum = place.and_then(|place| place.of_mut(&mut self.sums));
        count(flows, talk, &key.1, sum, &mut self.points);
    }

    /// Those of all tables together.
    pub fn rows<'a>(mut all: Vec<Self>, chosen: &Chosen, core: &'a Core) -> SumRows<'a> {
        let mut points = vec![HealthSums::default(); core.points.len()];
        let (mut directions, mut media) = (0, Vec::new());
        for sums in &mut all {
            points.iter_mut().zip(&sums.points).for_each(|(sum, more)| sum.merge(more));
            directions += sums.directions;
            media.append(&mut sums.media);
        }
        SumRows { directions, points, services: service_rows::rows(core, chosen, all), media }
    }

    /// Services that answered something, and those in trouble, are told apart.
    fn choose(&mut self, flows: &FlowTable, ways: [u32; 2]) {
        let Some(talk) = flows.measured(ways[0]) else { return };
        let troubled = || self.told.len() < self.most && flows.is_troubled(talk);
        if flows.has_answered(talk) || troubled() {
            self.told.entry((flows.flow(talk).point, flows.service(talk))).or_default();
        }
    }
}

/// The direction by which a conversation's service is judged, and that service.
#[inline]
fn judged(flows: &FlowTable, ways: [u32; 2]) -> Option<(u32, Key)> {
    let talk = flows.measured(ways[0])?;
    Some((talk, (flows.flow(talk).point, flows.service(talk))))
}

/// Count one conversation in its service and at its point.
#[inline]
fn count(flows: &FlowTable, talk: u32, service: &Service, mut sum: Option<&mut Sum>, points: &mut Vec<HealthSums>) {
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
        let signs = flows.signs(number);
        let point = usize::from(flow.point);
        if point >= points.len() {
            points.resize(point + 1, HealthSums::default());
        }
        points[point].add(&signs, whole, number == talk);
        if let Some(sum) = &mut sum {
            sum.sums.add(&signs, whole, number == talk);
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
    #[inline]
    fn add(&mut self, signs: &Signs, whole: bool, is_first: bool) {
        self.conversations += u64::from(is_first);
        self.half_seen += u64::from(is_first && !whole);
        self.unanswered += u64::from(signs.unanswered);
        self.data_segments += u64::from(signs.data_segments);
        self.resets += u64::from(signs.resets);
        if let Some(troubles) = &signs.troubles {
            self.add_troubles(troubles, whole);
        }
    }

    #[cold]
    fn add_troubles(&mut self, troubles: &Troubles, whole: bool) {
        self.retransmitted += u64::from(troubles.retransmitted);
        self.zero_window_ns = self.zero_window_ns.saturating_add(troubles.zero_window_ns);
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
