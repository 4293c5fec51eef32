//! Gives away for good what only opening a capture needs (capabilities(7)).
#![allow(unsafe_code)]

use std::io;
use std::mem::zeroed;

/// _LINUX_CAPABILITY_VERSION_3: two words for 64 capabilities.
const VERSION: u32 = 0x2008_0522;
const CAPABILITIES: libc::c_ulong = 64;

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// From here on this thread and those it starts have no capability and cannot get any: no new privileges by exec, ambient set and, where
/// that is allowed (CAP_SETPCAP), bounding set empty. Sockets and mappings that are open go on working.
pub fn drop_privileges() -> io::Result<()> {
    // SAFETY: prctl with plain numbers.
    unsafe {
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        for capability in 0..CAPABILITIES {
            // Refused without CAP_SETPCAP: no new privileges makes the bounding set harmless.
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        check(libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))?;
    }
    let header = Header { version: VERSION, pid: 0 };
    // SAFETY: plain numbers, all zero is a value of the type.
    let none: [Sets; 2] = unsafe { zeroed() };
    // SAFETY: a header of version 3 and two sets, as capset(2) asks.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) as libc::c_int })
}

fn check(code: libc::c_int) -> io::Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
