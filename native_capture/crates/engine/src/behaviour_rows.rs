//! `behaviour` of `policyhub.flows/1`.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use nc_detect::ServerPort;
use nc_flow::{address, protocol, Pace, PaceKey, PACE_STEP_BITS};
use serde::Serialize;

use crate::account::Ground;
use crate::behaviour::{groups, on_share, ways, Grid, Group, Host};
use crate::core::Core;
use crate::flows::Paces;

/// Rows without a wish for fewer, and those whose rhythm is looked for.
const ROWS: usize = 1_000;
const WITH_RHYTHM: usize = 64;

/// `bulk`: the largest of `bulk_total`. `groups`: those that keep time best first. `left_out`: steps that found no room, so that rhythms
/// may end before the run does.
#[derive(Default, Serialize)]
pub(crate) struct BehaviourRow<'a> {
    step_ns: u64,
    bulk_total: usize,
    bulk: Vec<BulkRow<'a>>,
    groups: Vec<GroupRow<'a>>,
    left_out: u64,
}

impl BehaviourRow<'_> {
    pub fn keep_groups(&mut self, most: usize) {
        self.groups.truncate(most);
    }
}

/// One way between two hosts and a service, all its connections. `filled`: see [`Pace::filled`]; `on_share`: steps with packets from the
/// first to the last.
#[derive(Serialize)]
struct BulkRow<'a> {
    point: &'a str,
    src: String,
    dst: String,
    identity: Option<&'a str>,
    proto: String,
    server_port: ServerPort,
    to_server: bool,
    dscp: Option<u8>,
    connections: u64,
    packets: u64,
    bytes: u64,
    filled: f64,
    first_ns: u64,
    last_ns: u64,
    on_share: f64,
    period_ns: Option<u64>,
}

#[derive(Serialize)]
struct HostRow<'a> {
    address: String,
    identity: Option<&'a str>,
}

/// `named`: what payload shows between these hosts.
#[derive(Serialize)]
struct GroupRow<'a> {
    hosts: Vec<HostRow<'a>>,
    ways: usize,
    bytes: u64,
    together: f64,
    balance: f64,
    period_ns: Option<u64>,
    first_ns: u64,
    last_ns: u64,
    named: Vec<String>,
}

/// What payload shows, with the two hosts whose conversation does.
pub(crate) type Named = BTreeSet<(Host, Host, String)>;

/// `named`: see [`inside`].
pub(crate) fn row<'a>(
    ground: &'a Ground,
    named: impl Fn(&Group) -> Vec<String>,
    paces: &Paces,
    top: Option<usize>,
) -> BehaviourRow<'a> {
    let (step_ns, left_out, paces) = (1 << PACE_STEP_BITS, paces.overflow, &paces.all);
    let Some(grid) = Grid::over(paces.iter().map(|(_, pace)| pace)) else {
        return BehaviourRow { step_ns, left_out, ..BehaviourRow::default() };
    };
    let mut largest: Vec<&(PaceKey, Pace)> = paces.iter().collect();
    largest.sort_by_key(|(key, pace)| (Reverse(pace.bytes), *key));
    largest.truncate(top.unwrap_or(ROWS));
    let bulk = largest.into_iter().enumerate().map(|(place, (key, pace))| {
        let period_ns = if place < WITH_RHYTHM { grid.period_ns(pace) } else { None };
        bulk_row(ground, key, pace, period_ns)
    });
    let groups = groups(&grid, &ways(&grid, paces));
    BehaviourRow {
        step_ns,
        bulk_total: paces.len(),
        bulk: bulk.collect(),
        groups: groups.iter().map(|group| group_row(ground, named(group), group)).collect(),
        left_out,
    }
}

fn bulk_row<'a>(ground: &'a Ground, key: &PaceKey, pace: &Pace, period_ns: Option<u64>) -> BulkRow<'a> {
    BulkRow {
        point: ground.places.get(usize::from(key.point)).map_or("", |place| &place.name),
        src: address(key.version, key.src),
        dst: address(key.version, key.dst),
        identity: ground.name_of(key.point, key.version, key.src),
        proto: protocol(key.proto).into_owned(),
        server_port: if key.server_port == 0 { ServerPort::Ephemeral } else { ServerPort::Number(key.server_port) },
        to_server: key.to_server,
        dscp: key.dscp,
        connections: pace.connections,
        packets: pace.packets,
        bytes: pace.bytes,
        filled: rounded(pace.filled()),
        first_ns: pace.first_ns,
        last_ns: pace.last_ns,
        on_share: rounded(on_share(pace)),
        period_ns,
    }
}

fn group_row<'a>(ground: &'a Ground, named: Vec<String>, group: &Group) -> GroupRow<'a> {
    let host = |((_, version, host), point): &(Host, u16)| HostRow {
        address: address(*version, *host),
        identity: ground.name_of(*point, *version, *host),
    };
    GroupRow {
        hosts: group.hosts.iter().map(host).collect(),
        ways: group.ways,
        bytes: group.bytes,
        together: rounded(group.together),
        balance: rounded(group.balance),
        period_ns: group.period_ns,
        first_ns: group.first_ns,
        last_ns: group.last_ns,
        named,
    }
}

/// Signatures of conversations that are still in the tables.
pub(crate) fn named(core: &Core) -> Named {
    let mut all = Named::new();
    for (number, _) in core.flows.iter() {
        let (flows, place) = core.flows.at(number);
        let tally = flows.tally(place);
        if tally.into_iter().next().is_none() {
            continue;
        }
        let key = flows.key(place);
        let [src, dst] = [key.src, key.dst].map(|host| (key.realm, key.version, host));
        all.extend(core.ground.signatures_in(tally).map(|(signature, _)| (src, dst, signature.name.clone())));
    }
    all
}

/// What payload shows between hosts of the group, each name once.
pub(crate) fn inside(named: &Named, group: &Group) -> Vec<String> {
    let is_in = |host: &Host| group.hosts.iter().any(|(known, _)| known == host);
    let inside = named.iter().filter(|(src, dst, _)| is_in(src) && is_in(dst));
    let names: BTreeSet<&String> = inside.map(|(.., name)| name).collect();
    names.into_iter().cloned().collect()
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
