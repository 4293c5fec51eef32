//! What an interface lost before a packet came to any ring.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;

/// Counters of the device (rtnl_link_stats, if_link.h), which wrap at 32 bits. `missed`: frames that the card had no room for.
/// `dropped`: frames that the kernel dropped; those of protocols that this host does not speak count there although every capture has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    pub missed: u32,
    pub dropped: u32,
}

/// The first fields of rtnl_link_stats.
#[repr(C)]
#[derive(Clone, Copy)]
struct LinkStats {
    /// rx_packets, tx_packets, rx_bytes, tx_bytes, rx_errors, tx_errors
    before: [u32; 6],
    rx_dropped: u32,
    /// tx_dropped, multicast, collisions, and the rx errors of length, over, crc, frame, fifo
    between: [u32; 8],
    rx_missed: u32,
}

/// The counters of an interface of this thread's network namespace; None when there is no such interface.
pub fn lost(interface: &str) -> Option<Lost> {
    let mut first = ptr::null_mut();
    // SAFETY: `first` is valid for writing; on success it begins a list that `freeifaddrs` ends.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return None;
    }
    let (mut at, mut found) = (first, None);
    while !at.is_null() && found.is_none() {
        // SAFETY: entries are valid until `freeifaddrs`; names end with a zero byte; an entry of family AF_PACKET carries rtnl_link_stats.
        unsafe {
            let entry = &*at;
            let is_link = !entry.ifa_addr.is_null() && i32::from((*entry.ifa_addr).sa_family) == libc::AF_PACKET;
            if is_link && !entry.ifa_data.is_null() && CStr::from_ptr(entry.ifa_name).to_bytes() == interface.as_bytes()
            {
                let stats = ptr::read_unaligned(entry.ifa_data.cast::<LinkStats>());
                found = Some(Lost { missed: stats.rx_missed, dropped: stats.rx_dropped });
            }
            at = entry.ifa_next;
        }
    }
    // SAFETY: the list that `getifaddrs` made, once; nothing borrows from it any more.
    unsafe { libc::freeifaddrs(first) };
    found
}
