//! The guard bundle `flowguard.bundle/1` (docs/architecture.md, section 1), checked and ready for look-ups.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;

use serde::Deserialize;

use crate::prefixes::Prefixes;
use crate::verdict::Name;
use crate::window::{Window, Zones};

const SCHEMA: &str = "flowguard.bundle/1";
/// Marks that are priority where no bundle says (contract, Definitions).
pub const PRIORITY: [u8; 5] = [40, 44, 46, 48, 56];
/// DF and CS1 are never served better than a priority mark.
const LOWEST: [u8; 2] = [0, 8];

/// One line: what is wrong, where in the JSON, the cure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleError(pub String);

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bundle: {}. Compile it again from the identities", self.0)
    }
}

impl std::error::Error for BundleError {}

/// How much must be seen before anything is planned. `persistence_ms` is packet time.
#[derive(Clone, Debug, Deserialize)]
pub struct Profile {
    pub name: String,
    pub persistence_ms: u64,
    pub min_signals: u32,
}

/// Who a prefix is. `allowed`: bit per mark. `peak_bps`: of all its addresses together.
#[derive(Clone, Debug)]
pub struct Identity {
    pub prefix: String,
    pub name: String,
    pub business: String,
    pub owner: String,
    pub core: bool,
    pub allowed: u64,
    /// When it may send; None: always.
    pub window: Option<Window>,
    pub peak_bps: Option<u64>,
}

/// Identities by realm and prefix, the priority marks, and what the marks are worth.
#[derive(Debug)]
pub struct Bundle {
    pub version: String,
    pub profile: Profile,
    pub match_window_ms: u64,
    identities: Vec<Identity>,
    realms: HashMap<String, usize>,
    tables: Vec<[Prefixes; 2]>,
    points: BTreeMap<String, String>,
    priority: u64,
    rank: [Option<i64>; 64],
}

#[derive(Deserialize)]
struct Raw {
    schema: String,
    version: String,
    identities: Vec<RawIdentity>,
    priority_dscp: Vec<u8>,
    #[serde(default)]
    service_rank: Option<BTreeMap<String, i64>>,
    #[serde(default)]
    points: BTreeMap<String, RawPoint>,
    #[serde(default)]
    zones: Zones,
    profile: Profile,
    #[serde(default = "default_window")]
    match_window_ms: u64,
}

#[derive(Deserialize)]
struct RawPoint {
    #[serde(default)]
    realm: String,
}

#[derive(Deserialize)]
struct RawIdentity {
    #[serde(default)]
    realm: String,
    prefix: String,
    name: String,
    #[serde(default)]
    business: String,
    #[serde(default)]
    owner: String,
    class: String,
    allowed_dscp: Option<Vec<u8>>,
    #[serde(default)]
    active_window: String,
    #[serde(default)]
    peak_mbps: Option<f64>,
}

fn default_window() -> u64 {
    1_000
}

impl Bundle {
    pub fn parse(json: &[u8]) -> Result<Self, BundleError> {
        let raw: Raw = serde_json::from_slice(json).map_err(|error| BundleError(error.to_string()))?;
        if raw.schema != SCHEMA {
            return Err(BundleError(format!("schema {:?} is not {SCHEMA}", raw.schema)));
        }
        if raw.version.is_empty() {
            return Err(BundleError("the version is empty".into()));
        }
        if !(1..=60_000).contains(&raw.match_window_ms) {
            return Err(BundleError(format!("match_window_ms {} is not within 1..60000", raw.match_window_ms)));
        }
        let mut bundle = Self {
            version: raw.version,
            profile: raw.profile,
            match_window_ms: raw.match_window_ms,
            identities: Vec::with_capacity(raw.identities.len()),
            realms: HashMap::new(),
            tables: Vec::new(),
            points: raw.points.into_iter().map(|(name, point)| (name, point.realm)).collect(),
            priority: mask(&raw.priority_dscp).map_err(|mark| BundleError(format!("priority_dscp {mark}")))?,
            rank: [None; 64],
        };
        for (mark, rank) in raw.service_rank.unwrap_or_default() {
            let slot = mark.parse().ok().and_then(|mark: usize| bundle.rank.get_mut(mark));
            *slot.ok_or_else(|| BundleError(format!("service_rank {mark:?} is no mark 0..63")))? = Some(rank);
        }
        for (index, identity) in raw.identities.into_iter().enumerate() {
            bundle.insert(identity, &raw.zones).map_err(|why| BundleError(format!("identities[{index}]: {why}")))?;
        }
        Ok(bundle)
    }

    fn insert(&mut self, raw: RawIdentity, zones: &Zones) -> Result<(), String> {
        let (version, address, shift) = prefix(&raw.prefix).ok_or_else(|| format!("prefix {:?}", raw.prefix))?;
        let core = match raw.class.as_str() {
            "core" => true,
            "non-core" => false,
            other => return Err(format!("class {other:?} is neither core nor non-core")),
        };
        let allowed = match &raw.allowed_dscp {
            None => u64::MAX,
            Some(marks) => mask(marks).map_err(|mark| format!("allowed_dscp {mark} is no mark 0..63"))?,
        };
        let window = Window::parse(&raw.active_window, zones)?;
        let peak = raw.peak_mbps.map(|mbps| mbps * 1e6);
        if peak.is_some_and(|bps| !(1.0..=1e15).contains(&bps)) {
            return Err(format!("peak_mbps {:?} is no rate", raw.peak_mbps));
        }
        let next = self.tables.len();
        let table = *self.realms.entry(raw.realm).or_insert(next);
        if table == next {
            self.tables.push(Default::default());
        }
        self.identities.push(Identity {
            prefix: raw.prefix,
            name: raw.name,
            business: raw.business,
            owner: raw.owner,
            core,
            allowed,
            window,
            peak_bps: peak.map(|bps| bps as u64),
        });
        let number = self.identities.len() as u32;
        match self.tables[table][usize::from(version == 6)].insert(address, shift, number) {
            Some(_) => Err("this prefix stands in its realm already".into()),
            None => Ok(()),
        }
    }

    /// The realm of a point; the default realm for one that is not listed.
    pub fn realm_of(&self, point: &str) -> &str {
        self.points.get(point).map_or("", String::as_str)
    }

    /// Number of the identity of an address, 0 for none. Longest prefix wins inside the realm.
    pub fn find(&self, realm: &str, version: u8, address: u128) -> u32 {
        let Some(table) = self.realms.get(realm) else { return 0 };
        self.tables[*table][usize::from(version == 6)].find(address).unwrap_or(0)
    }

    /// The identity with a number given by `find`.
    pub fn identity(&self, number: u32) -> Option<&Identity> {
        self.identities.get((number as usize).checked_sub(1)?)
    }

    /// How many identities there are; their numbers are 1 up to this.
    pub fn count(&self) -> usize {
        self.identities.len()
    }

    /// Whether any identity has hours or a peak.
    pub fn has_limits(&self) -> bool {
        self.identities.iter().any(|identity| identity.window.is_some() || identity.peak_bps.is_some())
    }

    /// What an identity (0: nobody) does wrong by sending this mark.
    pub fn breach(&self, who: u32, dscp: u8) -> Option<Name> {
        let bit = 1_u64 << (dscp & 63);
        match self.identity(who) {
            None => (self.priority & bit != 0).then_some(Name::UnknownIdentityInPriority),
            Some(identity) => (identity.allowed & bit == 0).then_some(Name::ClassNotAllowed),
        }
    }

    pub fn is_priority(&self, dscp: u8) -> bool {
        self.priority & 1 << (dscp & 63) != 0
    }

    /// This mark is surely served lower than every mark that the identity may use.
    pub fn is_served_lower(&self, who: u32, dscp: u8) -> bool {
        let allowed = self.identity(who).map_or(0, |identity| identity.allowed);
        allowed != 0 && (0..64).filter(|mark| allowed & 1 << mark != 0).all(|mark| self.lower(dscp, mark))
    }

    fn lower(&self, mark: u8, than: u8) -> bool {
        match (self.rank[usize::from(mark & 63)], self.rank[usize::from(than & 63)]) {
            (Some(mark), Some(than)) => mark < than,
            _ => LOWEST.contains(&mark) && self.is_priority(than),
        }
    }
}

/// Bits of the marks; the first that is none as error.
fn mask(marks: &[u8]) -> Result<u64, u8> {
    marks.iter().try_fold(0, |bits, mark| if *mark < 64 { Ok(bits | 1 << mark) } else { Err(*mark) })
}

/// (version, address, host bits) of "10.0.0.0/8" or a bare address.
fn prefix(text: &str) -> Option<(u8, u128, u32)> {
    let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let (version, value, bits) = match address.parse().ok()? {
        IpAddr::V4(v4) => (4, u128::from(u32::from(v4)), 32_u32),
        IpAddr::V6(v6) => (6, u128::from(v6), 128),
    };
    let length = length.map_or(Some(bits), |length| length.parse().ok())?;
    Some((version, value, bits.checked_sub(length)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITIES: &str = r#"[
        {"prefix": "10.0.0.0/8", "name": "all", "class": "non-core", "allowed_dscp": [0, 26]},
        {"prefix": "10.1.0.0/16", "name": "voice", "class": "core", "allowed_dscp": [46]},
        {"prefix": "10.1.2.3", "name": "free", "class": "core", "allowed_dscp": null},
        {"prefix": "10.0.0.0/8", "name": "other site", "realm": "b", "class": "non-core", "allowed_dscp": [8]},
        {"prefix": "2001:db8::/32", "name": "six", "class": "non-core", "allowed_dscp": [0]}]"#;

    fn bundle(identities: &str, rank: &str) -> Result<Bundle, BundleError> {
        let profile = r#"{"name": "lab", "persistence_ms": 1000, "min_signals": 1}"#;
        Bundle::parse(
            format!(
                r#"{{"schema": "flowguard.bundle/1", "version": "v", "identities": {identities}, "service_rank": {rank},
                "priority_dscp": [40, 44, 46, 48, 56], "points": {{"p": {{"realm": "b"}}}}, "profile": {profile}}}"#
            )
            .as_bytes(),
        )
    }

    fn v4(a: u8, b: u8, c: u8, d: u8) -> u128 {
        u128::from(u32::from_be_bytes([a, b, c, d]))
    }

    #[test]
    fn identities_are_found_by_realm_and_longest_prefix() -> Result<(), BundleError> {
        let bundle = bundle(IDENTITIES, "{}")?;
        let name =
            |realm, version, address| bundle.identity(bundle.find(realm, version, address)).map(|i| i.name.as_str());
        assert_eq!(name("", 4, v4(10, 9, 9, 9)), Some("all"));
        assert_eq!(name("", 4, v4(10, 1, 9, 9)), Some("voice"));
        assert_eq!(name("", 4, v4(10, 1, 2, 3)), Some("free"));
        assert_eq!(name("b", 4, v4(10, 1, 2, 3)), Some("other site"));
        assert_eq!(name("c", 4, v4(10, 1, 2, 3)), None);
        assert_eq!(name("", 6, 0x2001_0db8 << 96), Some("six"));
        assert_eq!((bundle.realm_of("p"), bundle.realm_of("q")), ("b", ""));
        Ok(())
    }

    #[test]
    fn a_breach_is_a_mark_outside_the_allowance_or_a_priority_mark_of_nobody() -> Result<(), BundleError> {
        let bundle = bundle(IDENTITIES, "{}")?;
        let (all, voice, free) = (1, 2, 3);
        assert_eq!(bundle.breach(all, 46), Some(Name::ClassNotAllowed));
        assert_eq!(bundle.breach(voice, 0), Some(Name::ClassNotAllowed));
        assert_eq!((bundle.breach(all, 26), bundle.breach(free, 63)), (None, None));
        assert_eq!(bundle.breach(0, 48), Some(Name::UnknownIdentityInPriority));
        assert_eq!(bundle.breach(0, 26), None);
        Ok(())
    }

    #[test]
    fn a_mark_is_lower_only_when_that_is_known() -> Result<(), BundleError> {
        let plain = bundle(IDENTITIES, "{}")?;
        assert!(plain.is_served_lower(2, 0) && plain.is_served_lower(2, 8));
        assert!(!plain.is_served_lower(2, 10) && !plain.is_served_lower(1, 8));
        let ranked = bundle(IDENTITIES, r#"{"46": 5, "10": 1, "26": 3, "0": 0}"#)?;
        assert!(ranked.is_served_lower(2, 10) && !ranked.is_served_lower(1, 10));
        Ok(())
    }

    #[test]
    fn bad_bundles_are_refused_with_the_place() {
        let told =
            |identities: &str, rank: &str| bundle(identities, rank).err().map(|e| e.to_string()).unwrap_or_default();
        let row = |prefix: &str, marks: &str| {
            format!(r#"[{{"prefix": "{prefix}", "name": "x", "class": "core", "allowed_dscp": {marks}}}]"#)
        };
        assert!(told(&row("10.0.0.0/33", "[]"), "{}").contains("identities[0]: prefix \"10.0.0.0/33\""));
        assert!(told(&row("10.0.0.0/8", "[64]"), "{}").contains("allowed_dscp 64"));
        assert!(told("[]", r#"{"64": 1}"#).contains("service_rank"));
        let twice = r#"[{"prefix": "::/0", "name": "x", "class": "core", "allowed_dscp": null},
                        {"prefix": "::/0", "name": "y", "class": "core", "allowed_dscp": null}]"#;
        assert!(told(twice, "{}").contains("identities[1]: this prefix stands"));
        assert!(Bundle::parse(b"{}").is_err() && Bundle::parse(b"\xff").is_err());
    }
}
