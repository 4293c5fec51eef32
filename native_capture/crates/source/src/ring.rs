//! A live interface: AF_PACKET with a memory-mapped TPACKET_V3 ring (Linux Documentation/networking/packet_mmap.rst).
//!
//! The kernel writes blocks, we read those whose status says USER and hand them
//! back by writing KERNEL; an acquire load and a release store order the two.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Code, SourceError};
use crate::stamps::{card_clock, stamp, system_ns, Stamp, StampedBy};
use crate::{filter, Frame};

/// A block that is not full is handed over after this long.
const RETIRE_MS: u32 = 10;
const FRAME_SIZE: u32 = 2_048;
/// Where the sockaddr_ll stands behind the packet header.
const SLL_OFFSET: usize = size_of::<libc::tpacket3_hdr>().next_multiple_of(16);
const LINK_ETHERNET: u32 = 1;
const LINK_RAW: u32 = 101;

/// Since the ring was opened. `dropped`: packets the kernel had no room for, `full`: how often it found the ring full. `by_card`: of those
/// received, how many carry the time of the card's clock; `stray`: how many would have, but it is not set to UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingStats {
    pub received: u64,
    pub dropped: u64,
    pub full: u64,
    pub by_card: u64,
    pub stray: u64,
}

impl RingStats {
    /// Of two rings of one interface.
    pub fn plus(self, other: Self) -> Self {
        Self {
            received: self.received + other.received,
            dropped: self.dropped + other.dropped,
            full: self.full + other.full,
            by_card: self.by_card + other.by_card,
            stray: self.stray + other.stray,
        }
    }
}

/// `snaplen`: bytes kept of each frame; `ring_mb`: MiB of kernel memory for the ring; `filter`: which frames, as pcap-filter(7) says it
/// (None: all); `promiscuous`: frames for others, too, while the ring lives. `card_stamps`: times of the card's clock, which must stamp every
/// frame already.
#[derive(Clone, Debug)]
pub struct RingSettings {
    pub snaplen: u32,
    pub ring_mb: u32,
    pub filter: Option<String>,
    pub promiscuous: bool,
    pub card_stamps: bool,
}

/// Rings of one interface.
const MOST_RINGS: usize = 64;

/// One interface, or its share of one. Reads both directions, each packet once.
pub struct Ring {
    socket: OwnedFd,
    map: *mut u8,
    block_size: usize,
    blocks: usize,
    next: usize,
    interface: String,
    stats: RingStats,
    tagged: Vec<u8>,
    stamped_by: StampedBy,
}

// SAFETY: the mapping belongs to this value alone and is only reached through `&mut self`.
unsafe impl Send for Ring {}

impl Ring {
    /// `count` rings that share what comes to an interface (PACKET_FANOUT): all packets of a conversation come to the same one, by the
    /// kernel's symmetric hash of addresses and ports of the outer headers; fragments by their addresses. Together they have the memory
    /// of `settings`. Needs CAP_NET_RAW.
    pub fn open(interface: &str, settings: &RingSettings, count: usize) -> Result<Vec<Self>, SourceError> {
        let count = count.clamp(1, MOST_RINGS);
        let program = program(interface, settings)?;
        let stamped_by = stamped_by(interface, settings)?;
        let ring_mb = (settings.ring_mb as usize / count).max(1) as u32;
        let each = RingSettings { ring_mb, ..settings.clone() };
        if count == 1 {
            return Ok(vec![Self::one(interface, &each, &program, stamped_by)?]);
        }
        // Before a ring has joined the others it would see everything: until all have, none takes anything.
        let open = |_| Self::one(interface, &each, &filter::everything(0), stamped_by);
        let rings = (0..count).map(open).collect::<Result<Vec<_>, _>>()?;
        let refused = |error| refused(interface, &error);
        let mut group = None;
        for ring in &rings {
            group = Some(ring.join(group).map_err(refused)?);
        }
        rings.iter().try_for_each(|ring| set_filter(&ring.socket, &program)).map_err(refused)?;
        Ok(rings)
    }

    fn one(
        interface: &str,
        settings: &RingSettings,
        program: &[libc::sock_filter],
        stamped_by: StampedBy,
    ) -> Result<Self, SourceError> {
        let index = interface_index(interface)?;
        let socket = new_socket().map_err(|error| refused(interface, &error))?;
        let ring_bytes = settings.ring_mb.clamp(1, 4_096) as usize * (1 << 20);
        let block_size = if ring_bytes >= 8 << 20 { 1 << 20 } else { ring_bytes / 8 };
        let blocks = ring_bytes / block_size;
        if settings.promiscuous {
            listen_to_all(&socket, index).map_err(|error| refused(interface, &error))?;
        }
        if settings.card_stamps {
            stamp_by(&socket, libc::SOF_TIMESTAMPING_RAW_HARDWARE).map_err(|error| refused(interface, &error))?;
        }
        let map = set_up(&socket, program, block_size, blocks).map_err(|error| refused(interface, &error))?;
        let ring = Self {
            socket,
            map,
            block_size,
            blocks,
            next: 0,
            interface: interface.to_owned(),
            stats: RingStats::default(),
            tagged: Vec::with_capacity(settings.snaplen as usize + 4),
            stamped_by,
        };
        // Bound last: the ring must stand before the first packet comes.
        bind(&ring.socket, index).map_err(|error| refused(interface, &error))?;
        Ok(ring)
    }

    /// Share packets with the rings of `group`, or begin one, whose number the kernel chooses and comes back.
    fn join(&self, group: Option<u16>) -> io::Result<u16> {
        let kind = match group {
            None => libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_UNIQUEID,
            Some(_) => libc::PACKET_FANOUT_HASH,
        };
        let wanted = kind << 16 | libc::c_uint::from(group.unwrap_or(0));
        set_option(&self.socket, libc::SOL_PACKET, libc::PACKET_FANOUT, &wanted)?;
        let mut found: libc::c_uint = 0;
        let mut size = size_of::<libc::c_uint>() as libc::socklen_t;
        let (socket, found_at) = (self.socket.as_raw_fd(), ptr::addr_of_mut!(found).cast());
        // SAFETY: `found` and `size` are valid for writing and `size` says how much.
        match unsafe { libc::getsockopt(socket, libc::SOL_PACKET, libc::PACKET_FANOUT, found_at, &mut size) } {
            0 => Ok(found as u16),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Hand every waiting frame to `sink`; returns how many. At most once around the ring, so that it always ends.
    pub fn drain(&mut self, mut sink: impl FnMut(&Frame<'_>)) -> usize {
        let mut count = 0;
        for _ in 0..self.blocks {
            // SAFETY: `next < blocks`, so the block lies inside the mapping made by `set_up`.
            let block = unsafe { self.map.add(self.next * self.block_size) };
            // SAFETY: block_status is an aligned u32 at this place of every block; the kernel writes it atomically.
            let status = unsafe {
                &*ptr::addr_of!((*block.cast::<libc::tpacket_block_desc>()).hdr.bh1.block_status).cast::<AtomicU32>()
            };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                break;
            }
            count += self.walk(block, &mut sink);
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.blocks;
        }
        count
    }

    fn walk(&mut self, block: *const u8, sink: &mut impl FnMut(&Frame<'_>)) -> usize {
        // SAFETY: the status says USER, so the kernel does not write this block until it is handed back; the mapping
        // outlives the slice, which ends before `drain` hands the block back.
        let bytes = unsafe { std::slice::from_raw_parts(block, self.block_size) };
        // SAFETY: every block begins with its descriptor, and blocks are page aligned.
        let header = unsafe { (*block.cast::<libc::tpacket_block_desc>()).hdr.bh1 };
        let read_ns = if self.stamped_by == StampedBy::System { 0 } else { system_ns() };
        let mut at = header.offset_to_first_pkt as usize;
        let mut count = 0;
        for _ in 0..header.num_pkts {
            let end = at + SLL_OFFSET + size_of::<libc::sockaddr_ll>();
            let Some(head) = bytes.get(at..end) else { break };
            // SAFETY: `head` is long enough for both structures; read_unaligned asks for no alignment.
            let (packet, sll) = unsafe {
                (
                    ptr::read_unaligned(head.as_ptr().cast::<libc::tpacket3_hdr>()),
                    ptr::read_unaligned(head.as_ptr().add(SLL_OFFSET).cast::<libc::sockaddr_ll>()),
                )
            };
            let from = at + usize::from(packet.tp_mac);
            if let Some(data) = bytes.get(from..from + packet.tp_snaplen as usize) {
                count += usize::from(self.offer(&packet, &sll, (data, read_ns), sink));
            }
            if packet.tp_next_offset == 0 {
                break;
            }
            at += packet.tp_next_offset as usize;
        }
        self.stats.received += count as u64;
        count
    }

    /// Give one frame to `sink`, its VLAN tag put back; false for the second copy that loopback shows.
    fn offer(
        &mut self,
        packet: &libc::tpacket3_hdr,
        sll: &libc::sockaddr_ll,
        (data, read_ns): (&[u8], u64),
        sink: &mut impl FnMut(&Frame<'_>),
    ) -> bool {
        let loopback = sll.sll_hatype == libc::ARPHRD_LOOPBACK;
        if loopback && sll.sll_pkttype == libc::PACKET_OUTGOING {
            return false;
        }
        let link = if loopback || sll.sll_hatype == libc::ARPHRD_ETHER { LINK_ETHERNET } else { LINK_RAW };
        let mut ts_ns = u64::from(packet.tp_sec) * 1_000_000_000 + u64::from(packet.tp_nsec);
        if self.stamped_by != StampedBy::System {
            ts_ns = self.believed(packet.tp_status, ts_ns, read_ns);
        }
        let mut frame = Frame { ts_ns, link, frame_len: packet.tp_len, bytes: data };
        if packet.tp_status & libc::TP_STATUS_VLAN_VALID != 0 && link == LINK_ETHERNET && data.len() >= 12 {
            let tpid = match packet.tp_status & libc::TP_STATUS_VLAN_TPID_VALID {
                0 => 0x8100,
                _ => packet.hv1.tp_vlan_tpid,
            };
            self.tagged.clear();
            self.tagged.extend_from_slice(&data[..12]);
            self.tagged.extend_from_slice(&tpid.to_be_bytes());
            self.tagged.extend_from_slice(&(packet.hv1.tp_vlan_tci as u16).to_be_bytes());
            self.tagged.extend_from_slice(&data[12..]);
            frame.frame_len += 4;
            frame.bytes = &self.tagged;
        }
        sink(&frame);
        true
    }

    /// The time of a frame where a card may have stamped it, see [`stamp`]; counts whose it is. After the first that cannot be believed the
    /// kernel is told to stamp again.
    fn believed(&mut self, status: u32, stamp_ns: u64, read_ns: u64) -> u64 {
        match stamp(status, stamp_ns, read_ns) {
            Stamp::System => stamp_ns,
            Stamp::Card => {
                self.stats.by_card += 1;
                stamp_ns
            }
            Stamp::Stray => {
                if self.stats.stray == 0 {
                    // Refused, the next ones come here as well.
                    let _ = stamp_by(&self.socket, 0);
                }
                self.stats.stray += 1;
                read_ns
            }
        }
    }

    /// Counters since the ring was opened; asks the kernel.
    pub fn stats(&mut self) -> RingStats {
        // SAFETY: plain numbers, all zero is a value of the type.
        let mut found: libc::tpacket_stats_v3 = unsafe { zeroed() };
        let mut size = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
        // SAFETY: `found` and `size` are valid for writing and `size` says how much. The kernel resets its counters.
        let code = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                ptr::addr_of_mut!(found).cast(),
                &mut size,
            )
        };
        if code == 0 {
            self.stats.dropped += u64::from(found.tp_drops);
            self.stats.full += u64::from(found.tp_freeze_q_cnt);
        }
        self.stats
    }

    pub fn stamped_by(&self) -> StampedBy {
        self.stamped_by
    }

    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Take the pending error (a link that went down) so that polling works again; the kernel re-attaches the socket
    /// by itself when the link comes back.
    fn clear_error(&self) {
        let mut error: libc::c_int = 0;
        let mut size = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: `error` and `size` are valid for writing and `size` says how much.
        unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                ptr::addr_of_mut!(error).cast(),
                &mut size,
            );
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `set_up` made; nothing borrows from it, since frames live only inside `drain`.
        unsafe { libc::munmap(self.map.cast(), self.block_size * self.blocks) };
    }
}

/// Wait until one of the rings has a block, at most `timeout_ms`.
pub fn wait_readable(rings: &[Ring], timeout_ms: i32) {
    let mut polled: Vec<libc::pollfd> = rings
        .iter()
        .map(|ring| libc::pollfd { fd: ring.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    // SAFETY: `polled` is a valid array of that many pollfd.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout_ms) };
    if ready > 0 {
        for (ring, state) in rings.iter().zip(&polled) {
            if state.revents & libc::POLLERR != 0 {
                ring.clear_error();
            }
        }
    }
}

fn refused(interface: &str, error: &io::Error) -> SourceError {
    let cure = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "Run as root or give the program CAP_NET_RAW",
        Some(libc::ENOMEM | libc::ENOBUFS) => "Ask for a smaller ring (ring_mb)",
        Some(libc::ENETDOWN) => "Bring the interface up: ip link set INTERFACE up",
        _ => "Check the interface with: ip link show",
    };
    SourceError::new(Code::Interface, interface, None, format!("cannot capture ({error})"), cure)
}

/// Whose clock stamps; a card that does not stamp everything is refused.
fn stamped_by(interface: &str, settings: &RingSettings) -> Result<StampedBy, SourceError> {
    if !settings.card_stamps {
        return Ok(StampedBy::System);
    }
    let card = card_clock(interface);
    if card.stamps_all {
        return Ok(StampedBy::Card(card.clock));
    }
    let cure =
        "Make it (hwstamp_ctl -i INTERFACE -r 1) and keep its clock right (phc2sys), or take timestamps = \"system\"";
    Err(SourceError::new(Code::Interface, interface, None, "its card does not stamp every frame", cure))
}

/// Which time stamps the kernel prefers, SOF_TIMESTAMPING_*; 0 for its own.
fn stamp_by(socket: &OwnedFd, kind: libc::c_uint) -> io::Result<()> {
    set_option(socket, libc::SOL_PACKET, libc::PACKET_TIMESTAMP, &kind)
}

/// There is such an interface (it may be down).
pub fn is_there(interface: &str) -> bool {
    interface_index(interface).is_ok()
}

fn interface_index(interface: &str) -> Result<libc::c_int, SourceError> {
    let name = CString::new(interface).unwrap_or_default();
    // SAFETY: `name` ends with a zero byte.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(SourceError::new(
            Code::Interface,
            interface,
            None,
            "no such interface",
            "List the interfaces with: ip link show",
        )),
        index => Ok(index as libc::c_int),
    }
}

/// Protocol 0: nothing is received before `bind` names one.
fn new_socket() -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The kernel's program for these settings.
fn program(interface: &str, settings: &RingSettings) -> Result<Vec<libc::sock_filter>, SourceError> {
    let snaplen = settings.snaplen.max(64);
    let Some(expression) = &settings.filter else { return Ok(filter::everything(snaplen)) };
    let link = if is_ethernet(interface) { filter::ETHERNET } else { filter::RAW };
    filter::compile(expression, link, snaplen).map_err(|(what, cure)| {
        SourceError::new(Code::Interface, interface, None, format!("filter {expression:?}: {what}"), cure)
    })
}

/// Frames begin with an Ethernet header, as those of loopback do; an interface that does not say is taken for one of these.
fn is_ethernet(interface: &str) -> bool {
    let Ok(socket) = new_socket() else { return true };
    // SAFETY: plain numbers and bytes, all zero is a value of the type.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: `request` is valid for reading and writing; on success its hardware address was filled in.
    unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, &raw mut request) != 0
            || matches!(request.ifr_ifru.ifru_hwaddr.sa_family, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK)
    }
}

fn listen_to_all(socket: &OwnedFd, index: libc::c_int) -> io::Result<()> {
    // SAFETY: plain numbers, all zero is a value of the type.
    let mut member: libc::packet_mreq = unsafe { zeroed() };
    member.mr_ifindex = index;
    member.mr_type = libc::PACKET_MR_PROMISC as libc::c_ushort;
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &member)
}

fn set_up(socket: &OwnedFd, program: &[libc::sock_filter], block: usize, blocks: usize) -> io::Result<*mut u8> {
    set_filter(socket, program)?;
    set_option(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V3 as libc::c_int))?;
    let request = libc::tpacket_req3 {
        tp_block_size: block as u32,
        tp_block_nr: blocks as u32,
        tp_frame_size: FRAME_SIZE,
        tp_frame_nr: (block as u32 / FRAME_SIZE) * blocks as u32,
        tp_retire_blk_tov: RETIRE_MS,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
    let (length, rights) = (block * blocks, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: a new mapping of a ring of exactly this size; the kernel chooses the address.
    let map = unsafe { libc::mmap(ptr::null_mut(), length, rights, libc::MAP_SHARED, socket.as_raw_fd(), 0) };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(map.cast())
}

/// In the place of the one before.
fn set_filter(socket: &OwnedFd, program: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

fn bind(socket: &OwnedFd, index: libc::c_int) -> io::Result<()> {
    // SAFETY: plain numbers, all zero is a value of the type.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` is a sockaddr_ll of that size.
    match unsafe { libc::bind(socket.as_raw_fd(), ptr::addr_of!(address).cast(), size) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_option<T>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is valid for reading `size` bytes during the call.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, ptr::from_ref(value).cast(), size) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
