//! Floating-point numbers in a payload, told by their exponents: the high byte of every fourth (fp32) or second (bf16) byte lies within a
//! few values, its neighbours are spread evenly. Gradients, weights and activations look so; text, compressed and encrypted bytes do not.

use std::sync::{Arc, LazyLock};

use nc_decode::Packet;

use super::format::{Direction, Kind, Signature, Strength, Transport, Visibility};

/// Numbers of what a packet shows, beyond those of signature files.
pub(super) const FP32: u8 = 253;
pub(super) const BF16: u8 = 254;
/// Looked at, and no column of exponents there.
pub(super) const NEITHER: u8 = 255;

/// One in so many packets is looked at, of those with so much payload.
const ONE_IN: u32 = 16;
const LEAST_PAYLOAD: u32 = 1_000;
/// Bytes looked at: fewer show too little, more cost time.
const LEAST: usize = 48;
const MOST: usize = 160;
/// Behind the transport headers of RoCE (BTH, RETH; InfiniBand volume 1, 9.2 and 9.3).
const ROCE_HEADERS: usize = 28;
/// Sign aside, high bytes of numbers from 1e-9 to 32.
const EXPONENTS: std::ops::RangeInclusive<u8> = 0x30..=0x42;
/// Share of such bytes in a column above those of the others, in percent.
const MARGIN: usize = 40;

/// Is this packet one of those that are looked at? Which ones depends on the packet alone, so that every point looks at the same.
#[inline]
pub(super) fn is_sampled(packet: &Packet) -> bool {
    packet.payload_len >= LEAST_PAYLOAD
        && packet.seq.wrapping_mul(0x9e37_79b1) < u32::MAX / ONE_IN
        && (packet.is_tcp() || packet.has_bth)
}

/// What a payload shows: a number, or 0 when it is too short to say.
pub(super) fn show(packet: &Packet, payload: &[u8]) -> u8 {
    let payload = payload.get(if packet.has_bth { ROCE_HEADERS } else { 0 }..).unwrap_or(&[]);
    let whole = payload.len().min(MOST) / 8 * 8;
    if whole < LEAST {
        return 0;
    }
    let columns = columns(&payload[..whole]);
    if is_fp32(&columns) {
        FP32
    } else if is_bf16(&columns) {
        BF16
    } else {
        NEITHER
    }
}

/// Of every eighth byte from each of eight places: how many of a hundred look like the high byte of a number, and how many have the top
/// bit.
type Columns = [(usize, usize); 8];

fn columns(payload: &[u8]) -> Columns {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const TOPS: u64 = ONES << 7;
    // Eight bytes at once, each counted in its own byte of a sum: there are fewer than 256 rows.
    let (mut exponents, mut tops) = (0, 0);
    for row in payload.chunks_exact(8) {
        let row = u64::from_le_bytes(row.try_into().unwrap_or_default());
        let low = row & !TOPS;
        // The top bit of a byte tells whether it reaches so far.
        let reaches = |least: u8| low + ONES * u64::from(0x80 - least);
        exponents += (reaches(*EXPONENTS.start()) & !reaches(EXPONENTS.end() + 1) & TOPS) >> 7;
        tops += (row & TOPS) >> 7;
    }
    let rows = payload.len() / 8;
    let share = |sums: u64, at: usize| 100 * usize::from(sums.to_le_bytes()[at]) / rows;
    std::array::from_fn(|at| (share(exponents, at), share(tops, at)))
}

/// One column in four stands out, in both halves of eight (of double precision only one does); the byte below the exponent's, whose top
/// bit is the exponent's last, and the rest are no text.
fn is_fp32(columns: &Columns) -> bool {
    let share = |at: usize| (columns[at].0 + columns[at + 4].0) / 2;
    let Some(high) = (0..4).max_by_key(|at| share(*at)) else { return false };
    let others = (0..4).filter(|at| *at != high);
    let second = others.clone().map(share).max().unwrap_or(100);
    let even = |at: usize| columns[at].0.abs_diff(columns[at + 4].0) < MARGIN;
    share(high) > second + MARGIN && even(high) && others.filter(|at| is_spread(columns, *at)).count() >= 2
}

fn is_spread(columns: &Columns, at: usize) -> bool {
    (20..=80).contains(&((columns[at].1 + columns[at + 4].1) / 2))
}

/// Every second column stands out.
fn is_bf16(columns: &Columns) -> bool {
    (0..2).any(|high| {
        let shares = |of: usize| (0..4).map(move |n| columns[of + 2 * n].0);
        let least = shares(high).min().unwrap_or(0);
        let rest = shares(1 - high).max().unwrap_or(100);
        least > rest + MARGIN / 2
            && shares(high).sum::<usize>() > shares(1 - high).sum::<usize>() + 4 * MARGIN
            && [1 - high, 3 - high].iter().all(|at| is_spread(columns, *at))
    })
}

static NAMED: LazyLock<[Arc<Signature>; 2]> = LazyLock::new(|| {
    [("fp32-tensors", "fp32", 32), ("bf16-tensors", "bf16", 16)].map(|(name, form, bits)| {
        Arc::new(Signature {
            name: name.to_owned(),
            title: format!("Numbers of {bits} bits ({form}) as gradients, weights and activations are"),
            kind: Kind::Tensors,
            strength: Strength::Likely,
            visibility: Visibility::MidLife,
            transport: Transport::Tcp,
            direction: Direction::Both,
            ports: Vec::new(),
            packets: 20,
            source: "IEEE 754 single precision and its upper half".to_owned(),
            verified_on: String::new(),
            any: Vec::new(),
        })
    })
});

/// The names that columns have; see [`FP32`], [`BF16`].
pub(super) fn named(number: u8) -> Option<&'static Arc<Signature>> {
    match number {
        FP32 => Some(&NAMED[0]),
        BF16 => Some(&NAMED[1]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values between -1 and 1 around zero, most of them small, from a linear congruential generator (Knuth, MMIX).
    fn numbers(count: usize) -> impl Iterator<Item = f32> {
        let mut state = 1_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..count).map(move |_| next() * next() * 0.1)
    }

    fn shown(bytes: &[u8]) -> u8 {
        show(&Packet::default(), bytes)
    }

    #[test]
    fn numbers_are_known_at_any_place_in_the_row() {
        let single: Vec<u8> = numbers(60).flat_map(f32::to_le_bytes).collect();
        let half: Vec<u8> = numbers(120).flat_map(|n| ((n.to_bits() >> 16) as u16).to_le_bytes()).collect();
        for from in 0..8 {
            assert_eq!((shown(&single[from..]), shown(&half[from..])), (FP32, BF16), "{from}");
            assert_eq!(shown(&single[from..from + LEAST]), FP32);
        }
        assert_eq!(shown(&single[..LEAST - 1]), 0);
    }

    #[test]
    fn doubles_text_counters_and_chance_are_no_tensors() {
        let double: Vec<u8> = numbers(60).flat_map(|n| f64::from(n).to_le_bytes()).collect();
        let wide: Vec<u8> = "1,2,3,4,5,6,7,8,9,0,".repeat(9).encode_utf16().flat_map(u16::to_le_bytes).collect();
        let counters: Vec<u8> = (0..60_u32).flat_map(|n| (n * 77 + 0x3a00_0000).to_le_bytes()).collect();
        let audio: Vec<u8> = (0..120).flat_map(|n| (((f64::from(n) / 3.0).sin() * 3e4) as i16).to_le_bytes()).collect();
        for bytes in [double, wide, audio, counters, "12 4 5 6 ".repeat(30).into(), vec![0x3f; 200], vec![0; 200]] {
            for from in 0..8 {
                assert_eq!(shown(&bytes[from..]), NEITHER, "{from} {:?}", &bytes[..16]);
            }
        }
        let mut wrong = 0;
        let mut state = 7_u64;
        for _ in 0..20_000 {
            let chance: Vec<u8> = (0..LEAST)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 56) as u8
                })
                .collect();
            wrong += usize::from(shown(&chance) != NEITHER);
        }
        assert!(wrong < 200, "{wrong}");
    }
}
