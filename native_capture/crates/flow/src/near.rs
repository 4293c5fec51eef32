//! Memory that is brought near before it is needed, and memory in large pages.

// Beside `room.rs` the only unsafe code of this crate.
#![allow(unsafe_code)]

/// Begin to load what `value` occupies; nothing waits for it. A hint that changes nothing else.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    fetch_at(value);
}

/// The same of a place where there need not be a value yet.
#[inline(always)]
pub(crate) fn fetch_at<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        let first = place.cast::<i8>();
        let last = size_of::<T>().saturating_sub(1);
        // A count that the compiler knows: no loop is left.
        // A value as large as its alignment begins and ends in one line.
        let is_in_one = size_of::<T>() == align_of::<T>() || align_of::<T>() >= LINE;
        for line in 0..=last / LINE + usize::from(!is_in_one) {
            let byte = (line * LINE).min(last);
            // SAFETY: a prefetch reads and writes nothing and faults nowhere, whatever the address (Intel SDM, PREFETCHh).
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(byte)) }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(place);
}

/// Bytes of a cache line, and of a large page, as processors have them.
pub(crate) const LINE: usize = 64;
pub(crate) const LARGE_PAGE: usize = 2 << 20;

/// Ask for large pages under `bytes` from `first` on: fewer faults, fewer misses of address translation (Linux: transparent huge pages,
/// madvise(2)). Advice: where it is refused, nothing is lost. Give it before anything is written there.
pub(crate) fn in_large_pages(first: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        let skip = first.align_offset(LARGE_PAGE);
        let room = bytes.saturating_sub(skip) / LARGE_PAGE * LARGE_PAGE;
        if room > 0 {
            // SAFETY: the range lies within what the caller has allocated; the advice says how it is backed and changes nothing that stands
            // there.
            unsafe { libc::madvise(first.wrapping_add(skip).cast(), room, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (first, bytes);
}
