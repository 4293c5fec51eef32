//! Numbers of IPFIX information elements (IANA ipfix registry; those below 128 are NetFlow v9's, too), and our own.

/// RFC 5103: elements of the other direction of a conversation.
pub(crate) const REVERSE: u32 = 29_305;
/// Our own elements are under the number that RFC 5612 sets aside for documentation: PolicyHub has none of its own yet.
pub const ENTERPRISE: u32 = 32_473;
/// An own element of the other direction has this bit set (RFC 5103, section 6.2).
pub(crate) const REVERSE_BIT: u16 = 0x4000;
/// An own number that is not known.
pub(crate) const UNKNOWN: u64 = u64::MAX;

pub(crate) mod id {
    pub const OCTETS: u16 = 1;
    pub const PACKETS: u16 = 2;
    pub const PROTOCOL: u16 = 4;
    pub const CLASS: u16 = 5;
    pub const SOURCE_PORT: u16 = 7;
    pub const SOURCE_V4: u16 = 8;
    pub const DESTINATION_PORT: u16 = 11;
    pub const DESTINATION_V4: u16 = 12;
    pub const LAST_UPTIME: u16 = 21;
    pub const FIRST_UPTIME: u16 = 22;
    pub const OUT_OCTETS: u16 = 23;
    pub const OUT_PACKETS: u16 = 24;
    pub const SOURCE_V6: u16 = 27;
    pub const DESTINATION_V6: u16 = 28;
    pub const SAMPLING_INTERVAL: u16 = 34;
    pub const SAMPLER: u16 = 48;
    pub const SAMPLER_INTERVAL: u16 = 50;
    pub const VLAN: u16 = 58;
    pub const OCTETS_TOTAL: u16 = 85;
    pub const PACKETS_TOTAL: u16 = 86;
    pub const END_REASON: u16 = 136;
    pub const FIRST_S: u16 = 150;
    pub const LAST_S: u16 = 151;
    pub const FIRST_MS: u16 = 152;
    pub const LAST_MS: u16 = 153;
    pub const FIRST_US: u16 = 154;
    pub const LAST_US: u16 = 155;
    pub const FIRST_NS: u16 = 156;
    pub const LAST_NS: u16 = 157;
    pub const FIRST_DELTA_US: u16 = 158;
    pub const LAST_DELTA_US: u16 = 159;
    pub const BOOT_MS: u16 = 160;
    pub const DIP_CLASS: u16 = 195;
    pub const INITIATOR_OCTETS: u16 = 231;
    pub const RESPONDER_OCTETS: u16 = 232;
    pub const BIFLOW: u16 = 239;
    pub const DOT1Q_VLAN: u16 = 243;
    pub const DOT1Q_CUSTOMER: u16 = 245;
    pub const INITIATOR_PACKETS: u16 = 298;
    pub const RESPONDER_PACKETS: u16 = 299;
    pub const DOMAIN_NAME: u16 = 300;
    pub const SELECTOR: u16 = 302;
    pub const PACKET_INTERVAL: u16 = 305;
    pub const PACKET_SPACE: u16 = 306;
    pub const SAMPLING_SIZE: u16 = 309;
    pub const SAMPLING_POPULATION: u16 = 310;
    pub const LAYER2_OCTETS: u16 = 352;
    pub const LAYER2_TOTAL: u16 = 353;
}

/// Own elements, in the order of a record: number, name, type. Integers not known are all ones, texts not known are empty.
/// `markCounts`: per mark 17 bytes, the mark, its packets and frame bytes (64 bit each). Names of the TCP counts as in the columns.
pub const OWN: &[(u16, &str, &str)] = &[
    (own::MARKS, "markCounts", "octetArray"),
    (own::SIGNATURES, "payloadSignatures", "string, comma between names"),
    (own::SOURCE_NAME, "sourceIdentity", "string"),
    (own::DESTINATION_NAME, "destinationIdentity", "string"),
    (own::REALM, "addressRealm", "string"),
    (own::SERVER_PORT, "serverPort", "unsigned32"),
    (own::TCP, "tcpDataSegments", "unsigned64"),
    (own::TCP + 1, "tcpRetransmittedSegments", "unsigned64"),
    (own::TCP + 2, "tcpRetransmittedSyns", "unsigned64"),
    (own::TCP + 3, "tcpRetransmittedFins", "unsigned64"),
    (own::TCP + 4, "tcpZeroWindows", "unsigned64"),
];

pub(crate) mod own {
    pub const MARKS: u16 = 1;
    pub const SIGNATURES: u16 = 2;
    pub const SOURCE_NAME: u16 = 3;
    pub const DESTINATION_NAME: u16 = 4;
    pub const REALM: u16 = 5;
    pub const SERVER_PORT: u16 = 6;
    /// The first TCP count; the others follow.
    pub const TCP: u16 = 32;
}
