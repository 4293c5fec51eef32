//! One direction of one conversation, whoever told of it.

use std::borrow::Cow;
use std::net::IpAddr;
use std::ops::Deref;

/// Who counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The engine itself, from packets.
    #[default]
    Packets,
    Netflow5,
    Netflow9,
    Ipfix,
    Sflow,
}

impl Source {
    pub const ALL: [Self; 5] = [Self::Packets, Self::Netflow5, Self::Netflow9, Self::Ipfix, Self::Sflow];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Netflow5 => "netflow5",
            Self::Netflow9 => "netflow9",
            Self::Ipfix => "ipfix",
            Self::Sflow => "sflow",
        }
    }

    /// What no record of this source can say, by the names of `policyhub.flows/1` and of the columns; empty for packets.
    pub fn cannot_know(self) -> &'static [&'static str] {
        match self {
            Self::Packets => &[],
            Self::Netflow5 => &[
                "dscp-per-millisecond",
                "microbursts",
                "queues",
                "path",
                "tcp-health",
                "signatures",
                "payload",
                "marks-that-changed-within-a-flow",
                "frame-bytes",
                "vlan",
                "ipv6",
            ],
            Self::Netflow9 | Self::Ipfix => &[
                "dscp-per-millisecond",
                "microbursts",
                "queues",
                "path",
                "tcp-health",
                "signatures",
                "payload",
                "marks-that-changed-within-a-flow",
                "frame-bytes",
            ],
            Self::Sflow => &[
                "packets-not-sampled",
                "dscp-per-millisecond",
                "microbursts",
                "queues",
                "path",
                "tcp-health",
                "signatures",
                "payload",
                "first-and-last-packet",
            ],
        }
    }
}

/// Why the record was written (flowEndReason, RFC 5102 section 5.11.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    Idle = 1,
    Active = 2,
    Finished = 3,
    Forced = 4,
    NoRoom = 5,
}

impl End {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Active => "active",
            Self::Finished => "finished",
            Self::Forced => "end-of-capture",
            Self::NoRoom => "no-room",
        }
    }

    pub(crate) fn of(number: u64) -> Option<Self> {
        [Self::Idle, Self::Active, Self::Finished, Self::Forced, Self::NoRoom].into_iter().find(|e| *e as u64 == number)
    }
}

/// Packets and frame bytes that carried one mark. `bytes` is None where only bytes of IP are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub dscp: u8,
    pub packets: u64,
    pub bytes: Option<u64>,
}

/// The marks of one record, ascending. One, as nearly every record has, takes no room of its own.
#[derive(Clone, Debug)]
pub enum Marks {
    One(Mark),
    Several(Vec<Mark>),
}

impl Default for Marks {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Deref for Marks {
    type Target = [Mark];

    fn deref(&self) -> &[Mark] {
        match self {
            Self::One(mark) => std::slice::from_ref(mark),
            Self::Several(marks) => marks,
        }
    }
}

impl From<Vec<Mark>> for Marks {
    fn from(marks: Vec<Mark>) -> Self {
        Self::Several(marks)
    }
}

impl FromIterator<Mark> for Marks {
    fn from_iter<I: IntoIterator<Item = Mark>>(marks: I) -> Self {
        Self::Several(marks.into_iter().collect())
    }
}

impl PartialEq for Marks {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Marks {}

/// Names of the counts in [`Record::tcp`], as columns spell them after `tcp_`; add new ones at the end.
pub const TCP: [&str; TCP_COUNTS] =
    ["data_segments", "retransmitted", "syn_retransmitted", "fin_retransmitted", "zero_window"];
pub const TCP_COUNTS: usize = 5;

/// `src`, `dst`: IPv4 in the low 32 bits, `version` tells. `packets`, `bytes`, `ip_bytes`: as counted, never multiplied;
/// `bytes` of whole frames without FCS, `ip_bytes` from the IP header on. `sampling`: the source looked at one packet in so many,
/// 1 at all; None when it did not say. `marks`: ascending. Times in ns since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record<'a> {
    pub source: Source,
    pub exporter: Option<IpAddr>,
    pub point: Cow<'a, str>,
    pub realm: Cow<'a, str>,
    pub version: u8,
    pub src: u128,
    pub dst: u128,
    pub sport: u16,
    pub dport: u16,
    pub proto: u8,
    pub vlan: Option<u16>,
    pub inner_vlan: Option<u16>,
    pub server_port: Option<u16>,
    pub packets: Option<u64>,
    pub bytes: Option<u64>,
    pub ip_bytes: Option<u64>,
    pub sampling: Option<u32>,
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
    pub marks: Marks,
    pub tcp: [Option<u64>; TCP_COUNTS],
    pub signatures: Vec<Cow<'a, str>>,
    pub src_name: Option<Cow<'a, str>>,
    pub dst_name: Option<Cow<'a, str>>,
    pub ended: Option<End>,
}

impl Record<'_> {
    /// The address without what surrounds it; None unless `version` is 4 or 6.
    pub(crate) fn address(&self, value: u128) -> Option<IpAddr> {
        match self.version {
            4 => Some(IpAddr::from((value as u32).to_be_bytes())),
            6 => Some(IpAddr::from(value.to_be_bytes())),
            _ => None,
        }
    }

    /// The mark with the most packets; the smallest of equal ones.
    pub fn main_mark(&self) -> Option<u8> {
        if let Marks::One(only) = &self.marks {
            return Some(only.dscp);
        }
        let most = self.marks.iter().max_by_key(|mark| (mark.packets, std::cmp::Reverse(mark.dscp)));
        most.map(|mark| mark.dscp)
    }

    /// The counts alone, to be held against later ones of the same flow.
    pub fn without_names(&self) -> Record<'static> {
        Record {
            point: Cow::Borrowed(""),
            realm: Cow::Borrowed(""),
            marks: self.marks.clone(),
            signatures: Vec::new(),
            src_name: None,
            dst_name: None,
            ..*self
        }
    }

    /// What came after `earlier`, an older state of the same flow; it begins where that ended.
    pub fn since(self, earlier: &Record<'_>) -> Self {
        let less = |now: Option<u64>, before: Option<u64>| now.map(|now| now.saturating_sub(before.unwrap_or(0)));
        let mut tcp = self.tcp;
        for (count, before) in tcp.iter_mut().zip(earlier.tcp) {
            *count = less(*count, before);
        }
        let mark = |mark: &Mark| {
            let before = earlier.marks.iter().find(|known| known.dscp == mark.dscp);
            Mark {
                dscp: mark.dscp,
                packets: mark.packets - before.map_or(0, |known| known.packets).min(mark.packets),
                bytes: less(mark.bytes, before.and_then(|known| known.bytes)),
            }
        };
        let marks = self.marks.iter().map(mark).filter(|mark| mark.packets > 0).collect();
        Self {
            packets: less(self.packets, earlier.packets),
            bytes: less(self.bytes, earlier.bytes),
            ip_bytes: less(self.ip_bytes, earlier.ip_bytes),
            first_ns: earlier.last_ns.or(self.first_ns),
            marks,
            tcp,
            ..self
        }
    }
}
