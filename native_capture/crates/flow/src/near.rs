//! Memory that is brought near before it is needed.

#![allow(unsafe_code)]

/// Begin to load what `value` occupies; nothing waits for it. A hint that changes nothing else.
#[inline]
pub(crate) fn fetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        const LINE: usize = 64;
        let first = std::ptr::from_ref(value).cast::<i8>();
        let last = size_of::<T>().saturating_sub(1);
        for byte in (0..last).step_by(LINE).chain([last]) {
            // SAFETY: a prefetch reads and writes nothing and faults nowhere, whatever the address (Intel SDM, PREFETCHh).
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(byte)) }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(value);
}
