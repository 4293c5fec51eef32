//! The verdict as it leaves the engine (`policyhub.flows/1`, verdicts[]).

use serde::{Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Name {
    ClassNotAllowed,
    UnknownIdentityInPriority,
    DscpRewritten,
    OverPeak,
    OutsideWindow,
    BulkIntoBusinessHours,
    QueueSaturated,
    Microburst,
    RoceLoss,
    RoceCongested,
    RoceRnr,
    RoceV1,
    RoceNotLossless,
    PfcPause,
    PfcStorm,
    EcnSilent,
    MtuBlackhole,
}

impl Name {
    pub fn as_str(self) -> &'static str {
        match self {
            Name::ClassNotAllowed => "class-not-allowed",
            Name::UnknownIdentityInPriority => "unknown-identity-in-priority",
            Name::DscpRewritten => "dscp-rewritten",
            Name::OverPeak => "over-peak",
            Name::OutsideWindow => "outside-window",
            Name::BulkIntoBusinessHours => "bulk-into-business-hours",
            Name::QueueSaturated => "queue-saturated",
            Name::Microburst => "microburst",
            Name::RoceLoss => "roce-loss",
            Name::RoceCongested => "roce-congested",
            Name::RoceRnr => "roce-rnr",
            Name::RoceV1 => "roce-v1",
            Name::RoceNotLossless => "roce-not-lossless",
            Name::PfcPause => "pfc-pause",
            Name::PfcStorm => "pfc-storm",
            Name::EcnSilent => "ecn-silent",
            Name::MtuBlackhole => "mtu-blackhole",
        }
    }

    /// Whether it blames a sender for what the identities do not allow.
    pub fn is_of_identity(self) -> bool {
        matches!(
            self,
            Name::ClassNotAllowed
                | Name::UnknownIdentityInPriority
                | Name::DscpRewritten
                | Name::OverPeak
                | Name::OutsideWindow
                | Name::BulkIntoBusinessHours
        )
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A port that names a service, or one that only means "some client".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServerPort {
    Number(u16),
    Ephemeral,
}

impl ServerPort {
    pub fn of(port: u16) -> Self {
        if nc_flow::is_known_service(port) {
            ServerPort::Number(port)
        } else {
            ServerPort::Ephemeral
        }
    }
}

impl Serialize for ServerPort {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ServerPort::Number(port) => serializer.serialize_u16(*port),
            ServerPort::Ephemeral => serializer.serialize_str("ephemeral"),
        }
    }
}

/// How bad it is, worst first in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Info,
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }
}

/// One state of one verdict. Times in nanoseconds of packet time; `persisted_ms`: time with offending packets, a gap
/// counting one second at most; `confidence` 0..=1; `closed`: no more revisions will follow.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    pub id: String,
    pub revision: u64,
    pub name: Name,
    pub realm: String,
    pub point: String,
    pub src: String,
    pub dst: String,
    pub proto: String,
    pub server_port: ServerPort,
    pub dscp: u8,
    pub packets: u64,
    pub bytes: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub persisted_ms: u64,
    pub connections: u64,
    pub severity: &'static str,
    pub confidence: f64,
    pub signals: Vec<&'static str>,
    pub identity: Option<Value>,
    pub evidence: Vec<Value>,
    pub closed: bool,
}

/// First 32 hex digits of sha256 of the compact JSON array
/// `[realm, src, dst, proto, server_port, dscp, name, first_ns]`.
pub(crate) fn identity(key: &Value) -> String {
    let digest = Sha256::digest(key.to_string().as_bytes());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
