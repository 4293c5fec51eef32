//! Sets of cells as sorted, disjoint, closed spans: the algebra of one axis.

use std::rc::Rc;

/// First and last cell, both inside.
pub type Span = (u32, u32);
/// A set of cells; shared, since most pieces of a box keep most of its axes.
pub type Cells = Rc<[Span]>;

/// Number of cells.
pub fn size(a: &[Span]) -> u64 {
    a.iter().map(|&(low, high)| u64::from(high - low) + 1).sum()
}

/// Number of cells that both hold.
pub fn common(a: &[Span], b: &[Span]) -> u64 {
    let (mut i, mut j, mut total) = (0, 0, 0);
    while let (Some(&(al, ah)), Some(&(bl, bh))) = (a.get(i), b.get(j)) {
        let (low, high) = (al.max(bl), ah.min(bh));
        if low <= high {
            total += u64::from(high - low) + 1;
        }
        if ah < bh {
            i += 1;
        } else {
            j += 1;
        }
    }
    total
}

/// Whether both hold some cell.
pub fn meets(a: &[Span], b: &[Span]) -> bool {
    let (mut i, mut j) = (0, 0);
    while let (Some(&(al, ah)), Some(&(bl, bh))) = (a.get(i), b.get(j)) {
        if al.max(bl) <= ah.min(bh) {
            return true;
        }
        if ah < bh {
            i += 1;
        } else {
            j += 1;
        }
    }
    false
}

/// The cells that both hold.
pub fn and(a: &[Span], b: &[Span]) -> Cells {
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while let (Some(&(al, ah)), Some(&(bl, bh))) = (a.get(i), b.get(j)) {
        let (low, high) = (al.max(bl), ah.min(bh));
        if low <= high {
            out.push((low, high));
        }
        if ah < bh {
            i += 1;
        } else {
            j += 1;
        }
    }
    out.into()
}

/// The cells of `a` that `b` does not hold.
pub fn minus(a: &[Span], b: &[Span]) -> Cells {
    let (mut out, mut j) = (Vec::new(), 0);
    for &(low, high) in a {
        let mut start = low;
        let mut open = true;
        while b.get(j).is_some_and(|&(_, end)| end < low) {
            j += 1;
        }
        for &(bl, bh) in b.iter().skip(j).take_while(|&&(bl, _)| bl <= high) {
            if bl > start {
                out.push((start, bl - 1));
            }
            if bh >= high {
                open = false;
                break;
            }
            start = start.max(bh + 1);
        }
        if open {
            out.push((start, high));
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(bits: u16) -> Vec<Span> {
        let mut out: Vec<Span> = Vec::new();
        for cell in 0..16 {
            if bits >> cell & 1 == 1 {
                match out.last_mut() {
                    Some(last) if last.1 + 1 == cell => last.1 = cell,
                    _ => out.push((cell, cell)),
                }
            }
        }
        out
    }

    fn bits(spans: &[Span]) -> u16 {
        spans.iter().flat_map(|&(low, high)| low..=high).map(|cell| 1 << cell).sum()
    }

    #[test]
    fn agrees_with_bit_sets() {
        let mut seed = 7_u32;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (a, b) = ((seed >> 16) as u16, (seed.wrapping_mul(2_654_435_761) >> 16) as u16);
            let (x, y) = (cells(a), cells(b));
            assert_eq!(bits(&and(&x, &y)), a & b);
            assert_eq!(bits(&minus(&x, &y)), a & !b);
            assert_eq!(common(&x, &y), u64::from((a & b).count_ones()));
            assert_eq!(meets(&x, &y), a & b != 0);
            assert_eq!(size(&x), u64::from(a.count_ones()));
        }
    }
}
