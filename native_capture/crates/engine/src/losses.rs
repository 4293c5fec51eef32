//! Packets that should have been seen at a further point, and those that an earlier point should have shown.

use std::collections::{HashMap, HashSet};

use nc_flow::FlowKey;

use crate::core::{Core, NO_FLOW};
use crate::path::{End, Path};

/// A way that fewer than one in this many packets of a source and destination take is not their way.
const RARE: u64 = 100;

/// Of one direction between two points.
#[derive(Clone, Debug)]
pub(crate) struct Lost {
    pub by_dscp: [u64; 64],
    pub by_pcp: [u64; 8],
}

impl Lost {
    const NONE: Self = Self { by_dscp: [0; 64], by_pcp: [0; 8] };

    pub fn all(&self) -> u64 {
        self.by_dscp.iter().sum()
    }
}

/// `missed`: per point, packets that it did not show although points before and after it on their way did, or it is where such
/// packets come in: the copy was lost, not the packet. `unmatched`: seen at one point, and nothing says that they should have passed
/// another. `unlocated`: lost where their way forks.
pub(crate) struct Losses {
    hops: HashMap<(usize, usize), Lost>,
    /// From and to, where packets pass regularly.
    pub ways: HashSet<(usize, usize)>,
    pub missed: Vec<u64>,
    pub unmatched: u64,
    pub unlocated: u64,
}

impl Losses {
    pub fn lost(&self, from: usize, to: usize) -> &Lost {
        self.hops.get(&(from, to)).unwrap_or(&Lost::NONE)
    }

    fn lose(&mut self, from: u16, to: u16, end: &End, packets: u64) {
        let lost = self.hops.entry((usize::from(from), usize::from(to))).or_insert(Lost::NONE);
        lost.by_dscp[usize::from(end.dscp & 63)] += packets;
        if let Some(count) = lost.by_pcp.get_mut(usize::from(end.pcp)) {
            *count += packets;
        }
    }
}

type Host = (u16, u8, u128);
type Pair = (Host, u128);

/// Packets that went from one point to the next.
type Ways = Vec<(u16, u16, u64)>;

fn host(key: &FlowKey, address: u128) -> Host {
    (key.realm, key.version, address)
}

fn pair(key: &FlowKey) -> Pair {
    (host(key, key.src), key.dst)
}

/// None with one point. A packet not seen where others of its source and destination went next is lost there; one not seen where the
/// others came from was missed there. Where none of them was seen twice, it is lost when its destination speaks from behind one other
/// point only.
pub(crate) fn losses(core: &Core) -> Option<Losses> {
    let path = core.path.as_ref()?;
    let mut losses = Losses {
        hops: HashMap::new(),
        ways: HashSet::new(),
        missed: vec![0; core.points.len()],
        unmatched: 0,
        unlocated: 0,
    };
    let mut homes: HashMap<Host, u32> = HashMap::new();
    for (number, flow) in core.flows.iter() {
        let key = core.flows.key(number);
        *homes.entry(host(&key, key.src)).or_default() |= 1 << flow.point;
    }
    let ways = ways(core, path, &mut losses.missed);
    losses.ways = ways.values().flatten().map(|(from, to, _)| (usize::from(*from), usize::from(*to))).collect();
    for (end, packets) in &path.ends {
        let key = core.flows.key(end.flow);
        match ways.get(&pair(&key)) {
            Some(ways) => along(&mut losses, ways, end, *packets),
            None => match homes.get(&host(&key, key.dst)) {
                Some(home) if home.count_ones() == 1 && home & end.points == 0 => {
                    losses.lose(end.last, home.trailing_zeros() as u16, end, *packets);
                }
                _ => losses.unmatched += packets,
            },
        }
    }
    Some(losses)
}

/// The ways of each source and destination. One that leaves out a point which others pass in between is a sighting missed there.
fn ways(core: &Core, path: &Path, missed: &mut [u64]) -> HashMap<Pair, Ways> {
    let mut all: HashMap<Pair, HashMap<(u16, u16), u64>> = HashMap::new();
    for ((flow, from, to), packets) in path.ways.iter().filter(|((flow, ..), _)| *flow != NO_FLOW) {
        *all.entry(pair(&core.flows.key(*flow))).or_default().entry((*from, *to)).or_default() += packets;
    }
    let sound = |(pair, found): (Pair, HashMap<(u16, u16), u64>)| {
        let total: u64 = found.values().sum();
        let between = |from: u16, to: u16| {
            found.keys().filter(|way| way.0 == from && found.contains_key(&(way.1, to))).map(|way| way.1).min()
        };
        let mut kept = Ways::new();
        for ((from, to), packets) in &found {
            match between(*from, *to) {
                Some(via) => missed[usize::from(via)] += packets,
                None if packets * RARE < total => {}
                None => kept.push((*from, *to, *packets)),
            }
        }
        kept.sort_unstable();
        (pair, kept)
    };
    all.into_iter().map(sound).collect()
}

fn along(losses: &mut Losses, ways: &Ways, end: &End, packets: u64) {
    let unseen = |point: u16| end.points & 1 << point == 0;
    let mut next = ways.iter().filter(|(from, to, _)| *from == end.last && unseen(*to)).map(|(_, to, _)| *to);
    match (next.next(), next.next()) {
        (Some(to), None) => losses.lose(end.last, to, end, packets),
        (Some(_), Some(_)) => losses.unlocated += packets,
        (None, _) => {}
    }
    let before = ways.iter().find(|(from, to, _)| *to == end.first && unseen(*from));
    if let Some((from, ..)) = before {
        losses.missed[usize::from(*from)] += packets;
    }
}
