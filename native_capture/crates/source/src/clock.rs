//! What the kernel knows of the system's clock, which stamps frames: whether something keeps it right, and how far off it may be.
#![allow(unsafe_code)]

use std::mem::zeroed;

/// What an error is set to while nobody tells one, in microseconds (NTP_PHASE_LIMIT of the kernel).
const NEVER_TOLD: libc::c_long = 16_000_000;

/// adjtimex(2), as chronyd and ntpd keep it. `synchronised`: somebody says so, and not for too long. `estimated_error_ns` and
/// `max_error_ns` are theirs; None while unsynchronised, and from those who only say that they keep it (systemd-timesyncd, phc2sys): their
/// largest error begins at 0 with every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemClock {
    pub synchronised: bool,
    pub estimated_error_ns: Option<u64>,
    pub max_error_ns: Option<u64>,
}

/// Needs no privilege and changes nothing. None when the kernel does not tell.
pub fn system_clock() -> Option<SystemClock> {
    // SAFETY: plain numbers, all zero is a value of the type; with `modes` 0 nothing is set.
    let mut found: libc::timex = unsafe { zeroed() };
    // SAFETY: `found` is valid for writing.
    let state = unsafe { libc::adjtimex(&raw mut found) };
    (state >= 0).then(|| told(found.status, found.esterror, found.maxerror))
}

/// `estimated`, `most`: microseconds.
fn told(status: libc::c_int, estimated: libc::c_long, most: libc::c_long) -> SystemClock {
    let synchronised = status & libc::STA_UNSYNC == 0;
    let is_told = synchronised && (1..NEVER_TOLD).contains(&estimated);
    let ns = |us: libc::c_long| u64::try_from(us).ok().map(|us| us * 1_000).filter(|_| is_told);
    SystemClock { synchronised, estimated_error_ns: ns(estimated), max_error_ns: ns(most) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: SystemClock = SystemClock { synchronised: true, estimated_error_ns: None, max_error_ns: None };

    #[test]
    fn errors_are_those_of_whoever_keeps_the_clock() {
        let kept = SystemClock { estimated_error_ns: Some(37_000), max_error_ns: Some(2_140_000), ..UNKNOWN };
        assert_eq!(told(libc::STA_PLL, 37, 2_140), kept);
    }

    #[test]
    fn one_who_tells_no_error_leaves_it_unknown() {
        assert_eq!(told(libc::STA_PLL, 0, 16_500), UNKNOWN, "timesyncd sets both to 0");
        assert_eq!(told(0, NEVER_TOLD, 500), UNKNOWN, "phc2sys sets the largest only");
    }

    #[test]
    fn a_clock_that_nobody_keeps_has_no_error_that_could_be_told() {
        let alone = SystemClock { synchronised: false, ..UNKNOWN };
        assert_eq!(told(libc::STA_UNSYNC, NEVER_TOLD, NEVER_TOLD), alone);
        // chronyd without `rtcsync` tells errors and leaves the bit as it is
        assert_eq!(told(libc::STA_UNSYNC, 37, 2_140), alone);
    }

    #[test]
    fn this_machine_answers() {
        let clock = system_clock().expect("adjtimex answers everybody");
        assert!(clock.synchronised || clock.max_error_ns.is_none(), "{clock:?}");
    }
}
