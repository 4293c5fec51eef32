//! Frames onto a wire, for measurements: `send_frames INTERFACE FRAMES_PER_SECOND SECONDS [FLOWS]`; 0 a second is as many as go. What was
//! sent goes to standard output as JSON. Linux, root.
//!
//! Ethernet and IPv4, UDP and TCP in the sizes of an office's mix, to a MAC address that nobody has: hosts take no notice of them.
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Frames of one call, and different ones.
const BATCH: usize = 64;
const FRAMES: usize = 8_192;
/// Behind by more than this, what is missing is not made up for: the receiver would see a burst that nobody asked for.
const LATE: Duration = Duration::from_millis(50);

struct Wire(OwnedFd);

impl Wire {
    /// Past the queueing discipline (PACKET_QDISC_BYPASS, packet(7)).
    fn open(interface: &str) -> io::Result<Self> {
        let name = CString::new(interface)?;
        // SAFETY: `name` ends with a zero byte; the other call has no pointers.
        let (index, fd) =
            unsafe { (libc::if_nametoindex(name.as_ptr()), libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)) };
        if index == 0 || fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let on: libc::c_int = 1;
        // SAFETY: plain numbers, all zero is a value of the type.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = index as i32;
        // SAFETY: both pointers are valid for reading as many bytes as the sizes say.
        let bound = unsafe {
            libc::setsockopt(fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, (&raw const on).cast(), 4);
            libc::bind(fd, (&raw const address).cast(), size_of::<libc::sockaddr_ll>() as u32)
        };
        if bound == 0 {
            Ok(Self(socket))
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// How many of these the kernel took.
    fn send(&self, frames: &[Vec<u8>]) -> io::Result<usize> {
        let mut parts: Vec<libc::iovec> = frames
            .iter()
            .map(|frame| libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() })
            .collect();
        let message = |part: &mut libc::iovec| {
            // SAFETY: plain numbers and pointers, all zero is a value of the type.
            let mut message: libc::mmsghdr = unsafe { zeroed() };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            message
        };
        let mut messages: Vec<libc::mmsghdr> = parts.iter_mut().map(message).collect();
        // SAFETY: as many messages as said, each with one part that outlives the call; nothing of a frame is written.
        match unsafe { libc::sendmmsg(self.0.as_raw_fd(), messages.as_mut_ptr(), messages.len() as u32, 0) } {
            sent @ 0.. => Ok(sent as usize),
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::ENOBUFS) => Ok(0),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Frame `number` of a flow: a fifth of the flows is UDP, a tenth is marked EF.
fn frame(number: usize, flows: usize) -> Vec<u8> {
    let flow = number.wrapping_mul(0x9e37_79b1) % flows;
    let (is_udp, mark, back) = (flow % 5 == 0, if flow % 10 == 3 { 46 } else { 0 }, number % 5 < 2);
    let size = [66, 66, 90, 594, 66, 1_514, 66, 90, 594, 66][number % 10_usize];
    let mut ends = [[10, 64, (flow >> 8) as u8, flow as u8], [172, 16, (flow >> 16) as u8, (flow % 250) as u8]];
    let mut ports = [10_000 + (flow % 50_000) as u16, if is_udp { 5_004 } else { 443 }];
    if back {
        ends.reverse();
        ports.reverse();
    }
    let mut frame = vec![2, 0, 0, 0, 0, 0x77, 2, 0, 0, 0, 0, 0x66, 8, 0, 0x45, mark << 2];
    frame.extend((size as u16 - 14).to_be_bytes());
    frame.extend((number as u16).to_be_bytes());
    frame.extend([0x40, 0, 63, if is_udp { 17 } else { 6 }, 0, 0]);
    frame.extend(ends.concat());
    frame.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    if is_udp {
        frame.extend((size as u16 - 34).to_be_bytes());
        frame.extend([0, 0]);
    } else {
        frame.extend((number as u32).to_be_bytes());
        frame.extend([0, 0, 0, 1, 0x50, 0x10, 1, 0xf6, 0, 0, 0, 0]);
    }
    frame.resize(size, number as u8);
    frame
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [interface, rate, seconds, flows @ ..] = arguments.as_slice() else {
        return Err("send_frames INTERFACE FRAMES_PER_SECOND SECONDS [FLOWS]".into());
    };
    let (mut rate, seconds): (f64, f64) = (rate.parse()?, seconds.parse()?);
    let flows = flows.first().map_or(Ok(5_000), |text| text.parse())?;
    if rate <= 0.0 {
        rate = f64::INFINITY;
    }
    let frames: Vec<Vec<u8>> = (0..FRAMES).map(|number| frame(number, flows)).collect();
    let wire = Wire::open(interface)?;
    let (began, mut sent, mut forgiven, mut at) = (Instant::now(), 0_u64, 0.0, 0);
    while began.elapsed().as_secs_f64() < seconds {
        let due = began.elapsed().as_secs_f64() * rate - forgiven;
        let behind = due - sent as f64;
        if behind < BATCH as f64 {
            sleep(Duration::from_micros(100));
            continue;
        }
        if rate.is_finite() && behind > rate * LATE.as_secs_f64() {
            forgiven += behind - BATCH as f64;
        }
        let taken = wire.send(&frames[at..at + BATCH])?;
        sent += taken as u64;
        at = (at + BATCH) % FRAMES;
    }
    let took = began.elapsed().as_secs_f64();
    println!(r#"{{"sent": {sent}, "seconds": {took:.3}, "per_second": {:.0}}}"#, sent as f64 / took);
    Ok(())
}
