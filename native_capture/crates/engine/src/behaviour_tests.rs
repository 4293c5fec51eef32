use super::*;

/// Bytes of step `n` on a way from host to host.
fn pace(from: u128, to: u128, bytes: impl Fn(u64) -> u64) -> (PaceKey, Pace) {
    let key = PaceKey {
        point: 0,
        realm: 0,
        version: 4,
        src: from,
        dst: to,
        proto: 6,
        server_port: 0,
        to_server: false,
        dscp: Some(0),
    };
    let steps: Vec<(u64, u64)> = (0..600).map(|n| (n + 9, bytes(n))).filter(|step| step.1 > 0).collect();
    let bytes = steps.iter().map(|step| step.1).sum();
    // Without segments what counts is the size of packets.
    (key, Pace { connections: 1, packets: bytes / 1_500, bytes, steps, ..Pace::default() })
}

fn told(paces: &[(PaceKey, Pace)]) -> Vec<(usize, f64, Option<u64>)> {
    let Some(grid) = Grid::over(paces.iter().map(|(_, pace)| pace)) else { return Vec::new() };
    let found = groups(&grid, &ways(&grid, paces));
    found.iter().map(|group| (group.hosts.len(), group.together, group.period_ns)).collect()
}

/// On for two steps of seven.
fn beat(n: u64) -> u64 {
    if n % 7 < 2 {
        30_000
    } else {
        0
    }
}

/// Another beat, which is not the first one's.
fn other(n: u64) -> u64 {
    if n % 11 < 4 {
        20_000
    } else {
        0
    }
}

#[test]
fn a_ring_and_a_mesh_that_keep_time_are_a_group_with_their_rhythm() {
    let ring = [pace(1, 2, beat), pace(2, 3, beat), pace(3, 1, beat)];
    let found = told(&ring);
    assert_eq!(found.iter().map(|row| (row.0, row.2)).collect::<Vec<_>>(), [(3, Some(7 << 26))]);
    assert!(found[0].1 > 0.99);
    // What the point sees of a ring whose third way does not pass it, beside a backup.
    let part = [pace(1, 2, beat), pace(2, 3, beat), pace(7, 8, other)];
    assert_eq!(told(&part).iter().map(|row| row.0).collect::<Vec<_>>(), [3]);
}

#[test]
fn pairs_servers_strangers_and_steady_senders_are_none() {
    assert!(told(&[pace(1, 2, beat), pace(2, 1, beat)]).is_empty());
    assert!(told(&[pace(9, 1, beat), pace(9, 2, beat), pace(9, 3, beat)]).is_empty());
    assert!(told(&[pace(1, 9, beat), pace(2, 9, beat), pace(3, 9, beat)]).is_empty());
    assert!(told(&[pace(1, 2, beat), pace(2, 3, other), pace(3, 1, |n| other(n + 3))]).is_empty());
    assert!(told(&[pace(1, 2, |_| 9_000), pace(2, 3, |_| 9_000), pace(3, 1, |_| 9_000)]).is_empty());
    assert!(told(&[pace(1, 2, beat), pace(3, 4, beat), pace(5, 6, beat)]).is_empty());
    let little = |n| beat(n) / 10;
    assert!(told(&[pace(1, 2, beat), pace(2, 3, little)]).is_empty());
    let once = |n| if (50..200).contains(&n) { 40_000 } else { 0 };
    assert!(told(&[pace(1, 2, once), pace(2, 3, once)]).is_empty());
}

#[test]
fn a_long_run_is_looked_at_in_longer_steps() {
    let slow = |n: u64| if n % 2 == 0 { 900_000 } else { 0 };
    let stretch = |(key, pace): (PaceKey, Pace)| {
        let steps = pace.steps.iter().map(|(step, bytes)| (step * 128, *bytes)).collect();
        (key, Pace { steps, ..pace })
    };
    let paces = [pace(1, 2, slow), pace(2, 3, slow)].map(stretch);
    assert_eq!(told(&paces).iter().map(|row| (row.0, row.2)).collect::<Vec<_>>(), [(3, Some(256 << 26))]);
}

#[test]
fn who_hardly_pauses_has_no_rhythm() {
    let period = |bytes: fn(u64) -> u64| {
        let rows = [pace(1, 2, bytes)];
        Grid::over(rows.iter().map(|(_, pace)| pace)).and_then(|grid| grid.period_ns(&rows[0].1))
    };
    assert_eq!(period(beat), Some(7 << 26));
    // Always on, with a swing of its bytes that would be one: a transfer at full speed wanders so.
    assert_eq!(period(|n| if n % 9 < 5 { 40_000 } else { 20_000 }), None);
    // A pause of one step in 20 is too little, one in 19 is not.
    assert_eq!(period(|n| if n % 20 == 19 { 0 } else { 30_000 }), None);
    assert_eq!(period(|n| if n % 19 == 18 { 0 } else { 30_000 }), Some(19 << 26));
}
