//! Whose clock stamps frames: the system's, or that of a card which somebody has told to stamp every frame
//! (Linux Documentation/networking/timestamping.rst). Asking needs no privilege; nothing here sets anything.
#![allow(unsafe_code)]

use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// SIOCETHTOOL and ETHTOOL_GET_TS_INFO (sockios.h, ethtool.h), HWTSTAMP_FILTER_ALL (net_tstamp.h).
const SIOCETHTOOL: libc::c_ulong = 0x8946;
const GET_TS_INFO: u32 = 0x41;
const FILTER_ALL: libc::c_int = 1;
/// A card whose clock is further off than this from the system's is not set to UTC.
const FAR_NS: u64 = 1_000_000_000;

/// ethtool_ts_info.
#[repr(C)]
#[derive(Clone, Copy)]
struct TsInfo {
    command: u32,
    stamping: u32,
    clock: i32,
    tx_types: u32,
    tx_reserved: [u32; 3],
    rx_filters: u32,
    rx_reserved: [u32; 3],
}

/// `clock`: number of the card's clock, as in /dev/ptpN; interfaces of one card may share it. `can_stamp`: frames that come in, all of them.
/// `stamps_all`: it does so now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CardClock {
    pub clock: Option<u32>,
    pub can_stamp: bool,
    pub stamps_all: bool,
}

/// What an interface of this thread's network namespace says; nothing of an interface that says nothing.
pub fn card_clock(interface: &str) -> CardClock {
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return CardClock::default();
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: plain numbers, all zero is a value of the types.
    let (mut info, mut config): (TsInfo, libc::hwtstamp_config) = unsafe { (zeroed(), zeroed()) };
    info.command = GET_TS_INFO;
    let knows = ask(&socket, interface, SIOCETHTOOL, &mut info);
    let raw = libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
    CardClock {
        clock: u32::try_from(info.clock).ok().filter(|_| knows),
        can_stamp: knows && info.stamping & raw == raw && info.rx_filters >> FILTER_ALL & 1 != 0,
        stamps_all: ask(&socket, interface, libc::SIOCGHWTSTAMP, &mut config) && config.rx_filter == FILTER_ALL,
    }
}

/// Let the kernel fill `data` in; false when it does not.
fn ask<T>(socket: &OwnedFd, interface: &str, request: libc::c_ulong, data: &mut T) -> bool {
    debug_assert!(size_of::<T>() >= size_of::<libc::hwtstamp_config>());
    // SAFETY: plain numbers and bytes, all zero is a value of the type.
    let mut asked: libc::ifreq = unsafe { zeroed() };
    for (to, from) in asked.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    asked.ifr_ifru.ifru_data = ptr::from_mut(data).cast();
    // SAFETY: `asked` names an interface and points to `data`, which is what `request` writes.
    unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut asked) == 0 }
}

/// Whose clock is to stamp the frames of a ring; a card's by its number, where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampedBy {
    System,
    Card(Option<u32>),
}

impl StampedBy {
    /// The times of both may be compared to the nanosecond.
    pub fn is_one_with(self, other: Self) -> bool {
        self == other && self != Self::Card(None)
    }
}

/// By which clock one frame was stamped. `Stray`: by a card's that is not set to UTC, so that the stamp is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    System,
    Card,
    Stray,
}

/// `status`: tp_status of a frame; `read_ns`: the system's time when it was read.
pub(crate) fn stamp(status: u32, stamp_ns: u64, read_ns: u64) -> Stamp {
    match status & libc::TP_STATUS_TS_RAW_HARDWARE {
        0 => Stamp::System,
        _ if stamp_ns.abs_diff(read_ns) <= FAR_NS => Stamp::Card,
        _ => Stamp::Stray,
    }
}

/// The system's time in nanoseconds since 1970.
pub(crate) fn system_ns() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000_000_000_000;
    const CARD: u32 = libc::TP_STATUS_USER | libc::TP_STATUS_TS_RAW_HARDWARE;

    #[test]
    fn the_status_says_whose_stamp_it_is() {
        for status in [libc::TP_STATUS_USER, libc::TP_STATUS_USER | libc::TP_STATUS_TS_SOFTWARE] {
            assert_eq!(stamp(status, NOW - 1_000, NOW), Stamp::System);
            assert_eq!(stamp(status, NOW - 90_000_000_000, NOW), Stamp::System, "it waited long in the ring");
        }
        assert_eq!(stamp(CARD | libc::TP_STATUS_VLAN_VALID, NOW - 1_000, NOW), Stamp::Card);
    }

    #[test]
    fn a_card_that_is_not_set_to_utc_is_not_believed() {
        assert_eq!(stamp(CARD, NOW + 37_000_000_000, NOW), Stamp::Stray, "TAI");
        assert_eq!(stamp(CARD, 12_000_000_000, NOW), Stamp::Stray, "seconds since it was switched on");
        assert_eq!(stamp(CARD, NOW + FAR_NS, NOW), Stamp::Card);
        assert_eq!(stamp(CARD, NOW - FAR_NS - 1, NOW), Stamp::Stray);
    }

    #[test]
    fn two_cards_are_one_clock_when_they_say_so() {
        let (system, card) = (StampedBy::System, |number| StampedBy::Card(number));
        assert!(system.is_one_with(system) && card(Some(1)).is_one_with(card(Some(1))));
        for (one, other) in [(system, card(Some(0))), (card(Some(0)), card(Some(1))), (card(None), card(None))] {
            assert!(!one.is_one_with(other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn an_interface_without_a_clock_stamps_nothing() {
        for interface in ["lo", "nothere0", "a-name-that-is-far-too-long-for-it"] {
            assert_eq!(card_clock(interface), CardClock::default());
        }
    }
}
