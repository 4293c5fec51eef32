//! Which frames the kernel keeps: classic BPF, made from a pcap-filter(7) expression by the system's libpcap, which is loaded only when
//! a filter is asked for.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};
use std::mem::transmute_copy;
use std::ptr;

/// The names of libpcap's ABI since 0.8: that of its makers and that of Debian.
const LIBRARIES: [&CStr; 2] = [c"libpcap.so.1", c"libpcap.so.0.8"];
const NETMASK_UNKNOWN: c_uint = u32::MAX;
/// Longest program that the kernel takes (BPF_MAXINSNS).
const MOST: usize = 4_096;
/// Classic BPF: return, load a half word, jump if equal; where the kernel says a frame's EtherType (SKF_AD_PROTOCOL).
const RETURN: u16 = 0x06;
const LOAD: u16 = 0x28;
const JUMP: u16 = 0x15;
const ETHERTYPE: u32 = 0xffff_f000;
/// A neighbour's word is short, rare and worth nothing when it is cut.
const LLDP: u32 = 0x88cc;
const WHOLE: u32 = 1_600;

/// DLT_* of a frame that begins with an Ethernet header, and of one that begins with the IP header.
pub(crate) const ETHERNET: c_int = 1;
pub(crate) const RAW: c_int = 12;

/// What `pcap_compile` fills in (pcap/bpf.h); an instruction is laid out as the kernel's.
#[repr(C)]
struct Program {
    len: c_uint,
    code: *mut libc::sock_filter,
}

type OpenDead = unsafe extern "C" fn(c_int, c_int) -> *mut c_void;
type Compile = unsafe extern "C" fn(*mut c_void, *mut Program, *const c_char, c_int, c_uint) -> c_int;
type ErrorText = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type FreeCode = unsafe extern "C" fn(*mut Program);
type Close = unsafe extern "C" fn(*mut c_void);

struct Library {
    open_dead: OpenDead,
    compile: Compile,
    error_text: ErrorText,
    free_code: FreeCode,
    close: Close,
}

/// Keep `snaplen` bytes of every frame, and LLDP whole.
pub(crate) fn everything(snaplen: u32) -> Vec<libc::sock_filter> {
    let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    vec![step(LOAD, 0, ETHERTYPE), step(JUMP, 1, LLDP), step(RETURN, 0, snaplen.max(WHOLE)), step(RETURN, 0, snaplen)]
}

/// Keep `snaplen` bytes of the frames that `expression` describes. The error says what is wrong with it, and the cure.
pub(crate) fn compile(
    expression: &str,
    link: c_int,
    snaplen: u32,
) -> Result<Vec<libc::sock_filter>, (String, &'static str)> {
    if expression.split(|c: char| !c.is_alphanumeric()).any(|word| word == "vlan") {
        const CURE: &str = "Leave vlan out: what is said of addresses and ports holds for tagged frames, too";
        return Err(("vlan matches nothing, because the kernel takes the tag off before it filters".into(), CURE));
    }
    let Ok(text) = CString::new(expression) else {
        return Err(("holds a zero byte".into(), "Write it as tcpdump takes it"));
    };
    let Some(library) = load() else {
        const CURE: &str = "Install it (Debian: apt install libpcap0.8), or leave the filter out";
        return Err(("filters are compiled by libpcap, which is not installed".into(), CURE));
    };
    // SAFETY: the functions have the types that libpcap declares. The handle lives until `close`, `text` beyond it, and the
    // program's instructions until `free_code`; they are copied before.
    unsafe {
        let handle = (library.open_dead)(link, snaplen as c_int);
        if handle.is_null() {
            return Err(("libpcap has no memory".into(), "Try again"));
        }
        let mut program = Program { len: 0, code: ptr::null_mut() };
        let found = if (library.compile)(handle, &mut program, text.as_ptr(), 1, NETMASK_UNKNOWN) == 0 {
            let code = std::slice::from_raw_parts(program.code, program.len as usize).to_vec();
            (library.free_code)(&mut program);
            Ok(code)
        } else {
            let said = CStr::from_ptr((library.error_text)(handle)).to_string_lossy().into_owned();
            Err((said, "Write it as tcpdump takes it: man pcap-filter"))
        };
        (library.close)(handle);
        match found {
            Ok(code) if code.len() > MOST => {
                Err((format!("{} instructions, {MOST} at most", code.len()), "Make it simpler"))
            }
            other => other,
        }
    }
}

fn load() -> Option<Library> {
    // SAFETY: names end with a zero byte; the library stays loaded for good, so that its functions do, too.
    let handle = LIBRARIES.iter().find_map(|name| {
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        (!handle.is_null()).then_some(handle)
    })?;
    // SAFETY: each symbol is a function of the type that libpcap's headers give it, as large as a pointer.
    unsafe {
        Some(Library {
            open_dead: transmute_copy(&symbol(handle, c"pcap_open_dead")?),
            compile: transmute_copy(&symbol(handle, c"pcap_compile")?),
            error_text: transmute_copy(&symbol(handle, c"pcap_geterr")?),
            free_code: transmute_copy(&symbol(handle, c"pcap_freecode")?),
            close: transmute_copy(&symbol(handle, c"pcap_close")?),
        })
    }
}

fn symbol(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a handle that `dlopen` gave, and a name that ends with a zero byte.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
