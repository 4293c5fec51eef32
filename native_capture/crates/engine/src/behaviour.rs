//! What bulk behaves like, where bytes name nothing: pairs of hosts however many connections they take, and groups of hosts that send
//! and pause together. It ranks; it says of nobody what he does.

use nc_flow::{Pace, PaceKey, PACE_STEP_BITS};

/// The time of a run is cut into so many steps at most.
const STEPS: u64 = 4_096;
/// Steps are joined by 1, 2, 4 and 8: rhythms of very different length.
const SCALES: usize = 4;
/// Ways that are compared with each other, the largest.
const WAYS: usize = 256;
/// A way of so many bytes, of packets so full, is bulk.
const LEAST_BYTES: u64 = 100_000;
const LEAST_FILLED: f64 = 0.5;
/// Two ways keep time when their bytes correlate so much, so many standard errors above chance, in so many steps, in which both
/// began or paused so often, and when one carries at least this part of the other's bytes.
const ALIKE: f64 = 0.4;
const ERRORS: f64 = 5.0;
const LEAST_STEPS: usize = 40;
const CHANGES: usize = 6;
const BALANCE: f64 = 0.4;
/// Fewer hosts are a transfer.
const HOSTS: usize = 3;
/// A rhythm is told from so much correlation with itself on; of its multiples the first that is nearly as good counts.
const RHYTHM: f64 = 0.25;
const NEARLY: f64 = 0.8;
const RHYTHM_STEPS: usize = 2_048;
/// Who sends in this share of the steps, or more, pauses too little to come again: what its bytes do then is noise.
const ALWAYS_ON: f64 = 0.95;

/// A host inside its realm, as one of its packets has it.
pub(crate) type Host = (u16, u8, u128);

/// One way between two hosts, of all services. `point`: one that showed it.
pub(crate) struct Way {
    pub src: Host,
    pub dst: Host,
    pub point: u16,
    pub bytes: u64,
    /// Bytes of each step of the run, by scale, and the first and last step with any.
    series: Vec<Vec<f64>>,
    first: usize,
    last: usize,
}

/// `together`: mean correlation of the ways that keep time; `balance`: smallest of them by the largest.
pub(crate) struct Group {
    pub hosts: Vec<(Host, u16)>,
    pub ways: usize,
    pub bytes: u64,
    pub together: f64,
    pub balance: f64,
    pub period_ns: Option<u64>,
    pub first_ns: u64,
    pub last_ns: u64,
}

/// The time of a run in steps.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    origin: u64,
    count: usize,
    shift: u32,
}

impl Grid {
    /// None without any step.
    pub fn over<'a>(paces: impl Iterator<Item = &'a Pace> + Clone) -> Option<Self> {
        let origin = paces.clone().filter_map(|pace| pace.steps.first()).map(|step| step.0).min()?;
        let end = paces.filter_map(|pace| pace.steps.last()).map(|step| step.0).max()?;
        let mut shift = 0;
        while (end - origin) >> shift >= STEPS {
            shift += 1;
        }
        Some(Self { origin, count: ((end - origin) >> shift) as usize + 1, shift })
    }

    fn at(&self, step: u64) -> usize {
        ((step - self.origin) >> self.shift) as usize
    }

    fn ns(&self, steps: usize) -> u64 {
        (steps as u64) << (self.shift + PACE_STEP_BITS)
    }

    fn time(&self, place: usize) -> u64 {
        (self.origin << PACE_STEP_BITS) + self.ns(place)
    }

    fn series<'a>(&self, paces: impl Iterator<Item = &'a Pace>) -> Vec<f64> {
        let mut series = vec![0.0; self.count];
        for (step, bytes) in paces.flat_map(|pace| &pace.steps) {
            series[self.at(*step)] += *bytes as f64;
        }
        series
    }

    /// After how long this comes again; None when it has no rhythm, or hardly pauses.
    pub fn period_ns(&self, pace: &Pace) -> Option<u64> {
        if on_share(pace) >= ALWAYS_ON {
            return None;
        }
        let series = self.series(std::iter::once(pace));
        let (first, last) = ends(&series)?;
        self.rhythm(&series[first..=last])
    }

    fn rhythm(&self, series: &[f64]) -> Option<u64> {
        let (mut series, mut joined) = (series.to_vec(), 1);
        while series.len() > RHYTHM_STEPS {
            (series, joined) = (join(&series), joined * 2);
        }
        let lags = series.len() / 3;
        let alike: Vec<f64> =
            (0..=lags).map(|lag| correlation(&series[lag..], &series[..series.len() - lag])).collect();
        let is_peak =
            |lag: &usize| alike[*lag] >= RHYTHM && alike[*lag] > alike[lag - 1] && alike[*lag] >= alike[lag + 1];
        let peaks: Vec<usize> = (2..lags).filter(is_peak).collect();
        let best = peaks.iter().map(|lag| alike[*lag]).max_by(f64::total_cmp)?;
        let first = peaks.into_iter().find(|lag| alike[*lag] >= NEARLY * best)?;
        Some(self.ns(first * joined))
    }
}

/// The first and the last step with bytes.
/// Steps with packets, from the first to the last.
pub(crate) fn on_share(pace: &Pace) -> f64 {
    let steps = pace.steps.first().zip(pace.steps.last()).map_or(1, |(first, last)| last.0 - first.0 + 1);
    pace.steps.len() as f64 / steps as f64
}

fn ends(series: &[f64]) -> Option<(usize, usize)> {
    let has_any = |bytes: &f64| *bytes > 0.0;
    Some((series.iter().position(has_any)?, series.iter().rposition(has_any)?))
}

/// Pairs of steps as one; a last one alone stays.
fn join(series: &[f64]) -> Vec<f64> {
    series.chunks(2).map(|pair| pair.iter().sum()).collect()
}

/// Pearson's, 0 where one of them never changes.
fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let count = one.len() as f64;
    let means = (one.iter().sum::<f64>() / count, other.iter().sum::<f64>() / count);
    let (mut both, mut squares) = (0.0, (0.0, 0.0));
    for (a, b) in one.iter().zip(other) {
        let (a, b) = (a - means.0, b - means.1);
        both += a * b;
        squares = (squares.0 + a * a, squares.1 + b * b);
    }
    let spread = (squares.0 * squares.1).sqrt();
    if spread > 0.0 {
        both / spread
    } else {
        0.0
    }
}

/// How often it began or paused: libraries that keep time say small things in their pauses, too.
fn changes(series: &[f64]) -> usize {
    let half = series.iter().sum::<f64>() / series.len().max(1) as f64 / 2.0;
    series.windows(2).filter(|pair| (pair[0] > half) != (pair[1] > half)).count()
}

/// The largest ways of bulk between hosts. `paces`: by key, ascending.
pub(crate) fn ways(grid: &Grid, paces: &[(PaceKey, Pace)]) -> Vec<Way> {
    let hosts = |key: &PaceKey| ((key.realm, key.version, key.src), (key.realm, key.version, key.dst));
    let mut bulk: Vec<&(PaceKey, Pace)> = paces.iter().filter(|(_, pace)| pace.filled() >= LEAST_FILLED).collect();
    bulk.sort_by_key(|(key, _)| (hosts(key), *key));
    let mut all: Vec<(u64, &[&(PaceKey, Pace)])> = bulk
        .chunk_by(|a, b| hosts(&a.0) == hosts(&b.0))
        .map(|rows| (rows.iter().map(|(_, pace)| pace.bytes).sum(), rows))
        .filter(|(bytes, _)| *bytes >= LEAST_BYTES)
        .collect();
    all.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    all.truncate(WAYS);
    all.into_iter().filter_map(|(bytes, rows)| way(grid, bytes, rows)).collect()
}

fn way(grid: &Grid, bytes: u64, rows: &[&(PaceKey, Pace)]) -> Option<Way> {
    let key = &rows.first()?.0;
    let mut series = vec![grid.series(rows.iter().map(|(_, pace)| pace))];
    let (first, last) = ends(&series[0])?;
    while series.len() < SCALES {
        series.push(join(&series[series.len() - 1]));
    }
    let host = |address| (key.realm, key.version, address);
    Some(Way { src: host(key.src), dst: host(key.dst), point: key.point, bytes, series, first, last })
}

/// How well two ways keep time, at the scale that shows it best; None when they do not.
fn in_time(one: &Way, other: &Way) -> Option<f64> {
    let (less, more) = (one.bytes.min(other.bytes) as f64, one.bytes.max(other.bytes) as f64);
    if less < BALANCE * more {
        return None;
    }
    let (first, last) = (one.first.max(other.first), one.last.min(other.last));
    let at = |scale: usize| {
        let window = first >> scale..(last >> scale) + 1;
        if window.len() < LEAST_STEPS {
            return None;
        }
        let pair = [one, other].map(|way| &way.series[scale][window.clone()]);
        let alike = correlation(pair[0], pair[1]);
        let is_sure = alike >= ALIKE && alike * (window.len() as f64).sqrt() >= ERRORS;
        (is_sure && pair.iter().all(|series| changes(series) >= CHANGES)).then_some(alike)
    };
    (0..SCALES).filter_map(at).max_by(f64::total_cmp)
}

/// Three hosts or more, on ways that keep time and meet, one of which passes on what it gets from another than it sends to: a ring, a mesh
/// or a chain. A server with its clients, and a pair, are none.
pub(crate) fn groups(grid: &Grid, ways: &[Way]) -> Vec<Group> {
    let mut lead: Vec<usize> = (0..ways.len()).collect();
    let mut found = Vec::new();
    for (place, one) in ways.iter().enumerate() {
        for (other_place, other) in ways.iter().enumerate().skip(place + 1) {
            let meets = [one.src, one.dst].iter().any(|host| [other.src, other.dst].contains(host));
            let Some(alike) = (if meets { in_time(one, other) } else { None }) else { continue };
            found.push((place, alike));
            let (from, to) = (lead[other_place], lead[place]);
            lead.iter_mut().filter(|lead| **lead == from).for_each(|lead| *lead = to);
        }
    }
    let mut leads = lead.clone();
    leads.sort_unstable();
    leads.dedup();
    let group = |leader: usize| {
        let members: Vec<&Way> =
            ways.iter().zip(&lead).filter(|(_, lead)| **lead == leader).map(|(way, _)| way).collect();
        let alike: Vec<f64> =
            found.iter().filter(|(place, _)| lead[*place] == leader).map(|(_, alike)| *alike).collect();
        group_of(grid, &members, &alike)
    };
    let mut all: Vec<Group> = leads.into_iter().filter_map(group).collect();
    all.sort_by(|a, b| b.together.total_cmp(&a.together).then(b.bytes.cmp(&a.bytes)));
    all
}

fn group_of(grid: &Grid, ways: &[&Way], alike: &[f64]) -> Option<Group> {
    let mut hosts: Vec<(Host, u16)> =
        ways.iter().flat_map(|way| [(way.src, way.point), (way.dst, way.point)]).collect();
    hosts.sort_unstable();
    hosts.dedup_by_key(|(host, _)| *host);
    let passes_on = ways.iter().any(|into| ways.iter().any(|out| into.dst == out.src && into.src != out.dst));
    if hosts.len() < HOSTS || !passes_on {
        return None;
    }
    let sizes = || ways.iter().map(|way| way.bytes);
    let (first, last) = (ways.iter().map(|way| way.first).min()?, ways.iter().map(|way| way.last).max()?);
    let sum: Vec<f64> = (first..=last).map(|step| ways.iter().map(|way| way.series[0][step]).sum()).collect();
    Some(Group {
        hosts,
        ways: ways.len(),
        bytes: sizes().sum(),
        together: alike.iter().sum::<f64>() / alike.len().max(1) as f64,
        balance: sizes().min()? as f64 / sizes().max()? as f64,
        period_ns: grid.rhythm(&sum),
        first_ns: grid.time(first),
        last_ns: grid.time(last + 1),
    })
}

#[cfg(test)]
#[path = "behaviour_tests.rs"]
mod tests;
