//! LLDP (802.1AB, clause 8) with DCBX: the TLVs of 802.1Q, annex D (formerly 802.1Qaz), and those of CEE (DCB Capability Exchange
//! Protocol Base Specification 1.01). Total and without room of its own: everything points into the frame.

use crate::be16;
use crate::error::{DecodeError, Layer, Reason};

const ORGANISATION: u8 = 127;
const IEEE_8021: [u8; 3] = [0x00, 0x80, 0xc2];
const INTEL: [u8; 3] = [0x00, 0x1b, 0x21];
/// Subtype of Intel's organisation under which CEE speaks; 1 was its predecessor with other forms.
const CEE: u8 = 2;

/// Identifier of a chassis or a port: the number that says its kind (802.1AB, tables 8-2 and 8-3), and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identifier<'a> {
    pub kind: u8,
    pub bytes: &'a [u8],
}

/// Priority flow control. `enabled`: bit 0 for priority 0. `classes`: on how many it can be on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    pub enabled: u8,
    pub willing: bool,
    pub classes: u8,
}

/// Bandwidth of traffic classes (CEE: of priority groups). `class_of`: by priority, 15 is CEE's group without a limit. `percent`: by
/// class. `algorithm`: by class, as 802.1Q table D-4 numbers it; CEE has none. `willing`: unknown in a recommendation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ets {
    pub class_of: [u8; 8],
    pub percent: [u8; 8],
    pub algorithm: Option<[u8; 8]>,
    pub willing: Option<bool>,
    pub classes: Option<u8>,
}

/// What is recognised by `selector` (802.1Q, table D-8) and `protocol` shall use these `priorities`, bit 0 for priority 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Application {
    pub selector: Selector,
    pub protocol: u16,
    pub priorities: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector {
    EtherType,
    /// TCP or SCTP.
    TcpPort,
    /// UDP or DCCP.
    UdpPort,
    /// Any of the four; CEE knows no other port.
    Port,
    Dscp,
    Other(u8),
}

/// What one dialect said. `applications` are raw, see [`Dcbx::applications`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dcbx<'a> {
    pub pfc: Option<Pfc>,
    pub ets: Option<Ets>,
    pub recommended: Option<Ets>,
    is_cee: bool,
    applications: &'a [u8],
}

impl Dcbx<'_> {
    pub fn is_empty(&self) -> bool {
        *self == Self { is_cee: self.is_cee, ..Self::default() }
    }

    pub fn applications(&self) -> impl Iterator<Item = Application> + '_ {
        let (size, read): (_, fn(&[u8]) -> Application) =
            if self.is_cee { (6, cee_application) } else { (3, ieee_application) };
        self.applications.chunks_exact(size).map(read)
    }
}

/// One LLDPDU. `ttl_s` 0: the sender takes back what it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lldp<'a> {
    pub chassis: Identifier<'a>,
    pub port: Identifier<'a>,
    pub ttl_s: u16,
    pub port_description: Option<&'a [u8]>,
    pub system_name: Option<&'a [u8]>,
    pub ieee: Dcbx<'a>,
    pub cee: Dcbx<'a>,
}

/// Kind, where its value begins, and the value of the TLV at `at`.
fn tlv(bytes: &[u8], at: usize) -> Result<(u8, usize, &[u8]), DecodeError> {
    let short = DecodeError::new(Layer::Lldp, Reason::Short, at);
    let head = be16(bytes, at).ok_or(short)?;
    let value = bytes.get(at + 2..at + 2 + usize::from(head & 0x1ff)).ok_or(short)?;
    Ok(((head >> 9) as u8, at + 2, value))
}

/// A value that is shorter than what must stand in it.
fn bad_length(at: usize) -> DecodeError {
    DecodeError::new(Layer::Lldp, Reason::HeaderLength, at)
}

impl<'a> Lldp<'a> {
    /// Read the LLDPDU at `at`; the second is what ended the reading early. Without its three first TLVs there is none.
    pub fn read(bytes: &'a [u8], at: usize) -> (Option<Self>, Result<(), DecodeError>) {
        match Self::begin(bytes, at) {
            Ok((mut lldp, at)) => {
                let result = lldp.options(bytes, at);
                (Some(lldp), result)
            }
            Err(error) => (None, Err(error)),
        }
    }

    /// Chassis, port and time to live come first and in this order (802.1AB, 8.2).
    fn begin(bytes: &'a [u8], mut at: usize) -> Result<(Self, usize), DecodeError> {
        let mut values: [&[u8]; 3] = [&[]; 3];
        for (place, value) in values.iter_mut().enumerate() {
            let (kind, value_at, found) = tlv(bytes, at)?;
            if usize::from(kind) != place + 1 {
                return Err(DecodeError::new(Layer::Lldp, Reason::Order, at));
            }
            if found.len() < 2 {
                return Err(bad_length(at));
            }
            *value = found;
            at = value_at + found.len();
        }
        let [chassis, port, ttl] = values;
        let identifier = |value: &'a [u8]| Identifier { kind: value[0], bytes: &value[1..] };
        let lldp = Self {
            chassis: identifier(chassis),
            port: identifier(port),
            ttl_s: u16::from_be_bytes([ttl[0], ttl[1]]),
            port_description: None,
            system_name: None,
            ieee: Dcbx::default(),
            cee: Dcbx { is_cee: true, ..Dcbx::default() },
        };
        Ok((lldp, at))
    }

    /// The rest, up to the TLV that ends it; one whose frame ends between two TLVs is whole, too (802.1AB-2016, 8.5.1).
    fn options(&mut self, bytes: &'a [u8], mut at: usize) -> Result<(), DecodeError> {
        while at < bytes.len() {
            let (kind, value_at, value) = tlv(bytes, at)?;
            match kind {
                0 => return Ok(()),
                4 => self.port_description = Some(value),
                5 => self.system_name = Some(value),
                ORGANISATION => self.organisation(value, at)?,
                _ => {}
            }
            at = value_at + value.len();
        }
        Ok(())
    }

    /// `at`: where the TLV begins.
    fn organisation(&mut self, value: &'a [u8], at: usize) -> Result<(), DecodeError> {
        let (owner, rest) = value.split_first_chunk::<3>().ok_or(bad_length(at))?;
        let (subtype, body) = rest.split_first().ok_or(bad_length(at))?;
        match (*owner, *subtype) {
            (IEEE_8021, 9) => self.ieee.ets = Some(ieee_ets(body, true).ok_or(bad_length(at))?),
            (IEEE_8021, 10) => self.ieee.recommended = Some(ieee_ets(body, false).ok_or(bad_length(at))?),
            (IEEE_8021, 11) => self.ieee.pfc = Some(ieee_pfc(body).ok_or(bad_length(at))?),
            (IEEE_8021, 12) => self.ieee.applications = body.get(1..).ok_or(bad_length(at))?,
            // OUI and subtype are four bytes, the header two.
            (INTEL, CEE) => self.cee.cee(body, at + 6)?,
            _ => {}
        }
        Ok(())
    }
}

impl<'a> Dcbx<'a> {
    /// TLVs within the TLV, each of a feature behind operating version, highest version, flags and subtype.
    fn cee(&mut self, body: &'a [u8], begin: usize) -> Result<(), DecodeError> {
        let mut at = 0;
        while at < body.len() {
            let moved = |error: DecodeError| DecodeError { at: error.at.saturating_add(begin as u32), ..error };
            let (kind, value_at, value) =
                tlv(body, at).map_err(|error| DecodeError { reason: Reason::HeaderLength, ..moved(error) })?;
            let willing = value.get(2).is_some_and(|flags| flags & 0x40 != 0);
            let feature = value.get(4..).unwrap_or_default();
            let wrong = bad_length(begin + at);
            match kind {
                2 => self.ets = Some(cee_groups(feature, willing).ok_or(wrong)?),
                3 => {
                    let (enabled, classes) = feature.first().zip(feature.get(1)).ok_or(wrong)?;
                    self.pfc = Some(Pfc { enabled: *enabled, willing, classes: *classes });
                }
                4 if value.len() < 4 => return Err(wrong),
                4 => self.applications = feature,
                _ => {}
            }
            at = value_at + value.len();
        }
        Ok(())
    }
}

/// Eight numbers of four bits.
fn nibbles(bytes: &[u8]) -> Option<[u8; 8]> {
    let four = bytes.first_chunk::<4>()?;
    Some(std::array::from_fn(|place| if place % 2 == 0 { four[place / 2] >> 4 } else { four[place / 2] & 15 }))
}

/// 802.1Q, D.2.8 and D.2.9. No number of classes means eight.
fn ieee_ets(body: &[u8], is_configuration: bool) -> Option<Ets> {
    let first = *body.first()?;
    Some(Ets {
        class_of: nibbles(body.get(1..)?)?,
        percent: *body.get(5..)?.first_chunk()?,
        algorithm: Some(*body.get(13..)?.first_chunk()?),
        willing: is_configuration.then_some(first & 0x80 != 0),
        classes: is_configuration.then_some(if first & 7 == 0 { 8 } else { first & 7 }),
    })
}

/// 802.1Q, D.2.10.
fn ieee_pfc(body: &[u8]) -> Option<Pfc> {
    let [flags, enabled] = *body.first_chunk()?;
    Some(Pfc { enabled, willing: flags & 0x80 != 0, classes: flags & 15 })
}

/// CEE 1.01, 2.4.2.
fn cee_groups(feature: &[u8], willing: bool) -> Option<Ets> {
    let (class_of, percent) = (nibbles(feature)?, *feature.get(4..)?.first_chunk()?);
    Some(Ets { class_of, percent, algorithm: None, willing: Some(willing), classes: Some(*feature.get(12)?) })
}

/// 802.1Q, D.2.11: three bits of priority, two reserved, three of selector.
fn ieee_application(entry: &[u8]) -> Application {
    let selector = match entry[0] & 7 {
        1 => Selector::EtherType,
        2 => Selector::TcpPort,
        3 => Selector::UdpPort,
        4 => Selector::Port,
        5 => Selector::Dscp,
        other => Selector::Other(other),
    };
    Application { selector, protocol: u16::from_be_bytes([entry[1], entry[2]]), priorities: 1 << (entry[0] >> 5) }
}

/// CEE 1.01, 2.4.4: protocol, six bits of OUI, two of selector, the rest of the OUI, a bit for each priority.
fn cee_application(entry: &[u8]) -> Application {
    let selector = match entry[2] & 3 {
        0 => Selector::EtherType,
        1 => Selector::Port,
        other => Selector::Other(other),
    };
    Application { selector, protocol: u16::from_be_bytes([entry[0], entry[1]]), priorities: entry[5] }
}
