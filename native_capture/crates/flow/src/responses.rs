//! Time from request to first response, per service: what the network sees of the server's own time.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use crate::delays::Delays;
use crate::key::{FlowKey, KeyedState};
use crate::span::Span;

/// Services whose times are kept; with up to some 5 KB each.
const ROOM: usize = 8_192;
/// So many times of a service are kept one by one.
const FEW: usize = 32;
/// Number of a service that found no room.
pub(crate) const NONE: u16 = u16::MAX;

/// A server's address and port. The address is in halves, the upper one first, which keeps lists and maps of services small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Service {
    address: [u64; 2],
    pub realm: u16,
    pub port: u16,
    pub proto: u8,
    pub version: u8,
}

/// In few words: this is done for every conversation.
impl Hash for Service {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let kind = u64::from(self.realm) << 32 | u64::from(self.port) << 16;
        state.write_u128(self.address());
        state.write_u64(kind | u64::from(self.proto) << 8 | u64::from(self.version));
    }
}

impl Service {
    #[inline]
    pub fn new(address: u128, realm: u16, port: u16, proto: u8, version: u8) -> Self {
        Self { address: [(address >> 64) as u64, address as u64], realm, port, proto, version }
    }

    #[inline]
    pub fn address(&self) -> u128 {
        let [upper, lower] = self.address;
        u128::from(upper) << 64 | u128::from(lower)
    }

    /// The service that flows of this direction talk to.
    pub fn of(key: &FlowKey, server_port: u16) -> Self {
        let address = if key.dport == server_port { key.dst } else { key.src };
        Self::new(address, key.realm, server_port, key.proto, key.version)
    }
}

/// Times of one service: few as they are, many to 3 %. The longest is exact below 67 ms and to one part in 33 million above.
#[derive(Clone, Debug)]
pub struct ResponseTimes(Kept);

#[derive(Clone, Debug)]
enum Kept {
    Few(Vec<Span>),
    Many(Box<Delays<4>>),
}

impl Default for ResponseTimes {
    fn default() -> Self {
        Self(Kept::Few(Vec::new()))
    }
}

impl ResponseTimes {
    fn add(&mut self, ns: u64) {
        match &mut self.0 {
            Kept::Few(spans) if spans.len() < FEW => spans.push(Span::of(ns)),
            Kept::Few(spans) => {
                let mut many = Box::<Delays<4>>::default();
                spans.iter().filter_map(|span| span.ns()).chain([ns]).for_each(|ns| many.add(ns));
                self.0 = Kept::Many(many);
            }
            Kept::Many(many) => many.add(ns),
        }
    }

    /// Take over the times of another one.
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.0, &other.0) {
            (_, Kept::Few(spans)) => spans.iter().filter_map(|span| span.ns()).for_each(|ns| self.add(ns)),
            (Kept::Many(all), Kept::Many(many)) => all.merge(many),
            (Kept::Few(spans), Kept::Many(many)) => {
                let mut all = many.clone();
                spans.iter().filter_map(|span| span.ns()).for_each(|ns| all.add(ns));
                self.0 = Kept::Many(all);
            }
        }
    }

    pub fn count(&self) -> u64 {
        match &self.0 {
            Kept::Few(spans) => spans.len() as u64,
            Kept::Many(many) => many.count(),
        }
    }

    pub fn max(&self) -> Option<u64> {
        match &self.0 {
            Kept::Few(spans) => spans.iter().max()?.ns(),
            Kept::Many(many) => many.max(),
        }
    }

    /// The time at `percent` of the sorted times (nearest rank); None without one.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        match &self.0 {
            Kept::Few(spans) => {
                let mut sorted = spans.clone();
                sorted.sort_unstable();
                let rank = (sorted.len() as u64 * percent).div_ceil(100).max(1);
                sorted.get(rank as usize - 1)?.ns()
            }
            Kept::Many(many) => many.percentile(percent),
        }
    }
}

#[derive(Default)]
pub(crate) struct Responses {
    numbers: HashMap<Service, u16, KeyedState>,
    times: Vec<ResponseTimes>,
    overflow: u64,
}

impl Responses {
    /// An answer came after `ns`. `number` is the caller's cache of the service's number, 0 at first.
    pub fn add(&mut self, number: &mut u16, service: impl Fn() -> Service, ns: u64) {
        if *number == 0 {
            *number = self.number(service());
        }
        match self.times.get_mut(usize::from(*number).wrapping_sub(1)).filter(|_| *number != NONE) {
            Some(times) => times.add(ns),
            None => self.overflow += 1,
        }
    }

    #[cold]
    fn number(&mut self, service: Service) -> u16 {
        if let Some(number) = self.numbers.get(&service) {
            return *number;
        }
        if self.times.len() >= ROOM {
            return NONE;
        }
        self.times.push(ResponseTimes::default());
        let number = self.times.len() as u16;
        self.numbers.insert(service, number);
        number
    }

    pub fn get(&self, service: &Service) -> Option<&ResponseTimes> {
        self.times.get(usize::from(*self.numbers.get(service)?).wrapping_sub(1))
    }

    pub fn counts(&self) -> impl Iterator<Item = (Service, u64)> + '_ {
        let of = |number: &u16| self.times.get(usize::from(*number).wrapping_sub(1)).map_or(0, ResponseTimes::count);
        self.numbers.iter().map(move |(service, number)| (*service, of(number)))
    }

    pub fn overflow(&self) -> u64 {
        self.overflow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_times_are_exact_and_many_nearly_so() {
        let mut times = ResponseTimes::default();
        assert_eq!((times.percentile(50), times.max(), times.count()), (None, None, 0));
        for ns in (1..=20).map(|n| n * 1_000_003) {
            times.add(ns);
        }
        assert_eq!((times.percentile(50), times.percentile(95)), (Some(10_000_030), Some(19_000_057)));
        for ns in (21..=1_000).map(|n| n * 1_000_003) {
            times.add(ns);
        }
        let near = |found: Option<u64>, exact: u64| found.is_some_and(|ns| ns.abs_diff(exact) * 100 <= exact * 4);
        assert!(near(times.percentile(50), 500_001_500) && near(times.percentile(95), 950_002_850));
        assert_eq!((times.max(), times.count()), (Some(1_000_003_000), 1_000));
    }

    #[test]
    fn services_beyond_the_room_are_counted() {
        let mut responses = Responses::default();
        let service = |address| Service::new(address, 0, 80, 6, 4);
        for address in 0..ROOM as u128 + 3 {
            responses.add(&mut 0, || service(address), 5);
        }
        assert_eq!((responses.overflow(), responses.get(&service(ROOM as u128)).is_none()), (3, true));
        responses.add(&mut 0, || service(7), 9);
        assert_eq!(responses.get(&service(7)).and_then(ResponseTimes::max), Some(9));
    }
}
