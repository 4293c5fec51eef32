//! Longest-prefix match: one hash table per prefix length that occurs, longest first.

use std::collections::HashMap;

use nc_flow::KeyedState;

/// The prefixes of one realm and address family. Numbers are the caller's.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    lengths: Vec<(u32, HashMap<u128, u32, KeyedState>)>,
}

impl Prefixes {
    /// `shift`: host bits. Returns the number that held this prefix before.
    pub fn insert(&mut self, address: u128, shift: u32, number: u32) -> Option<u32> {
        let at = match self.lengths.binary_search_by_key(&shift, |(shift, _)| *shift) {
            Ok(at) => at,
            Err(at) => {
                self.lengths.insert(at, (shift, HashMap::default()));
                at
            }
        };
        self.lengths[at].1.insert(network(address, shift), number)
    }

    pub fn find(&self, address: u128) -> Option<u32> {
        self.lengths.iter().find_map(|(shift, table)| table.get(&network(address, *shift)).copied())
    }
}

/// The network bits alone; a shift by all 128 bits leaves nothing.
fn network(address: u128, shift: u32) -> u128 {
    address.checked_shr(shift).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins_and_the_default_route_takes_the_rest() {
        let mut prefixes = Prefixes::default();
        let network = 0x0a01_0203_u128;
        for (shift, number) in [(24, 8), (0, 32), (8, 24), (32, 0)] {
            assert_eq!(prefixes.insert(network, shift, number), None);
        }
        assert_eq!(prefixes.find(network), Some(32));
        assert_eq!(prefixes.find(network + 1), Some(24));
        assert_eq!(prefixes.find(0x0aff_0000), Some(8));
        assert_eq!(prefixes.find(0x0b00_0000), Some(0));
        assert_eq!(prefixes.insert(network + 1, 8, 5), Some(24));
    }
}
