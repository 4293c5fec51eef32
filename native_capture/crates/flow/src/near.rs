//! Memory that is brought near before it is needed, and memory in large pages.

// The only unsafe code of this crate.
#![allow(unsafe_code)]

/// Begin to load what `value` occupies; nothing waits for it. A hint that changes nothing else.
#[inline(always)]
pub(crate) fn fetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        const LINE: usize = 64;
        let first = std::ptr::from_ref(value).cast::<i8>();
        let last = size_of::<T>().saturating_sub(1);
        // A count that the compiler knows: no loop is left.
        for line in 0..=last / LINE + 1 {
            let byte = (line * LINE).min(last);
            // SAFETY: a prefetch reads and writes nothing and faults nowhere, whatever the address (Intel SDM, PREFETCHh).
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(byte)) }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(value);
}

/// Ask for large pages under the room of `values`: fewer faults, fewer misses of address translation (Linux: transparent huge pages,
/// madvise(2)). Advice: where it is refused, nothing is lost. Give it before anything is written there. `but_first`: the first of them
/// is left as it is, for the little that small captures need.
#[allow(clippy::ptr_arg, reason = "a slice does not tell the room")]
pub(crate) fn in_large_pages<T>(values: &Vec<T>, but_first: bool) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 2 << 20;
        let first = values.as_ptr().cast::<u8>();
        let skip = first.align_offset(PAGE) + if but_first { PAGE } else { 0 };
        let room = (values.capacity() * size_of::<T>()).saturating_sub(skip) / PAGE * PAGE;
        if room > 0 {
            let first = first.wrapping_add(skip).cast_mut();
            // SAFETY: the range lies within the allocation; the advice says how it is backed and changes nothing that stands there.
            unsafe { libc::madvise(first.cast(), room, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (values, but_first);
}
