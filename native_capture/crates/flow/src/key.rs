//! What makes two packets the same flow, and a hash that strangers cannot steer.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use nc_decode::{Packet, NO_VLAN};

use crate::ends::Ends;

/// One direction of a conversation. Addresses as in [`Packet`]; `realm` is the number of the point's realm.
/// `vlan` holds both tags; 0xffff_ffff when untagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    pub src: u128,
    pub dst: u128,
    pub sport: u16,
    pub dport: u16,
    pub vlan: u32,
    pub realm: u16,
    pub proto: u8,
    pub version: u8,
}

/// In few words: this is done for every packet.
impl Hash for FlowKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let ports = u128::from(self.sport) << 48 | u128::from(self.dport) << 32 | u128::from(self.vlan);
        let kind = u64::from(self.realm) << 16 | u64::from(self.proto) << 8 | u64::from(self.version);
        if self.version == 4 {
            state.write_u128((self.src << 32 | self.dst) << 64 | ports);
            return state.write_u64(kind);
        }
        state.write_u128(self.src);
        state.write_u128(self.dst);
        state.write_u128(u128::from(kind) << 64 | ports);
    }
}

impl FlowKey {
    #[inline]
    pub fn of(packet: &Packet, realm: u16, ports: (u16, u16)) -> Self {
        Self {
            src: packet.src,
            dst: packet.dst,
            sport: ports.0,
            dport: ports.1,
            vlan: u32::from(packet.vlan) << 16 | u32::from(packet.inner_vlan),
            realm,
            proto: packet.proto,
            version: packet.version,
        }
    }

    /// The key both directions share: smaller endpoint first, without VLAN (one direction may be tagged differently); and which
    /// of the two directions this is.
    ///
    /// Which of them the next packet is of, nothing foretells: so there is no branch.
    #[inline]
    pub(crate) fn conversation(&self) -> (Self, usize) {
        let turned = (self.src > self.dst) | ((self.src == self.dst) & (self.sport > self.dport));
        let addresses = (self.src ^ self.dst) & u128::from(turned).wrapping_neg();
        let ports = (self.sport ^ self.dport) & u16::from(turned).wrapping_neg();
        let key = Self {
            src: self.src ^ addresses,
            dst: self.dst ^ addresses,
            sport: self.sport ^ ports,
            dport: self.dport ^ ports,
            vlan: 0,
            ..*self
        };
        (key, usize::from(turned))
    }

    /// Outer and inner VLAN; None where there is none.
    pub fn tags(&self) -> (Option<u16>, Option<u16>) {
        let tag = |id: u32| Some(id as u16).filter(|id| *id != NO_VLAN);
        (tag(self.vlan >> 16), tag(self.vlan))
    }

    /// The other direction, with the same tags.
    pub fn reversed(&self) -> Self {
        Self { src: self.dst, dst: self.src, sport: self.dport, dport: self.sport, ..*self }
    }
}

/// Multiply-and-fold hash with a random key per process: a sender cannot choose colliding flows (SYN flood).
#[derive(Clone, Debug)]
pub struct KeyedState(u64, u64);

impl Default for KeyedState {
    fn default() -> Self {
        let seed = |n: u64| RandomState::new().hash_one(n) | 1;
        Self(seed(1), seed(2))
    }
}

impl KeyedState {
    /// Of both ends, in few words: this is done for every packet.
    #[inline]
    pub(crate) fn tag(&self, ends: &Ends) -> u32 {
        let Ends { src, dst, ports, vlan, kind } = *ends;
        let mut state = self.build_hasher();
        if kind as u8 == 4 {
            state.fold_both(src[0] << 32 | dst[0], u64::from(ports) << 32 | u64::from(kind ^ vlan));
        } else {
            state.fold_both(src[0], src[1]);
            state.fold_both(dst[0], dst[1]);
            state.fold_both(u64::from(ports) << 32 | u64::from(vlan), kind.into());
        }
        (state.finish() >> 16) as u32
    }

    /// Without a secret: for tables whose overflow must be the same in every run.
    pub(crate) fn same_in_every_run() -> Self {
        Self(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345)
    }
}

impl BuildHasher for KeyedState {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded { sum: self.0, key: self.1 }
    }
}

pub struct Folded {
    sum: u64,
    key: u64,
}

impl Folded {
    #[inline]
    fn fold(&mut self, word: u64) {
        self.fold_both(word, 0);
    }

    /// Two words by one multiplication, each under a secret of its own.
    #[inline]
    fn fold_both(&mut self, word: u64, other: u64) {
        let product = u128::from(self.sum ^ word) * u128::from(self.key ^ 0x9e37_79b9_7f4a_7c15 ^ other);
        self.sum = (product as u64 ^ (product >> 64) as u64).wrapping_add(self.key.rotate_left(23));
    }
}

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.fold(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.fold(u64::from(n));
    }

    fn write_u16(&mut self, n: u16) {
        self.fold(u64::from(n));
    }

    fn write_u32(&mut self, n: u32) {
        self.fold(u64::from(n));
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.fold(n);
    }

    #[inline]
    fn write_u128(&mut self, n: u128) {
        self.fold_both(n as u64, (n >> 64) as u64);
    }

    fn finish(&self) -> u64 {
        self.sum
    }
}
