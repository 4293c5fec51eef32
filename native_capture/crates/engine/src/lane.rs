//! Puts the packets of several points into one order of time.

use std::collections::VecDeque;

use nc_decode::Packet;

use crate::carried::Carried;

/// Packets of one point waiting for their turn, sorted by time; equal times keep the order of arrival.
#[derive(Default)]
pub(crate) struct Lane {
    waiting: VecDeque<Packet>,
    /// What they carry, by time as well.
    carried: VecDeque<Carried>,
    /// Packets that came after one with a later time.
    pub out_of_order: u64,
}

impl Lane {
    pub fn push(&mut self, packet: Packet) {
        let behind = self.waiting.iter().rev().take_while(|other| other.ts_ns > packet.ts_ns).count();
        if behind == 0 {
            self.waiting.push_back(packet);
        } else {
            self.out_of_order += 1;
            self.waiting.insert(self.waiting.len() - behind, packet);
        }
    }

    /// Of the packet pushed last.
    pub fn push_carried(&mut self, inner: Carried) {
        let behind = self.carried.iter().rev().take_while(|other| other.packet.ts_ns > inner.packet.ts_ns).count();
        self.carried.insert(self.carried.len() - behind, inner);
    }

    /// What the packet of this time carried, which was popped last; one at a time, the outermost first.
    pub fn pop_carried(&mut self, ts_ns: u64) -> Option<Carried> {
        self.carried.front().filter(|inner| inner.packet.ts_ns <= ts_ns)?;
        self.carried.pop_front()
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn next_ns(&self) -> Option<u64> {
        self.waiting.front().map(|packet| packet.ts_ns)
    }

    pub fn pop(&mut self) -> Option<Packet> {
        self.waiting.pop_front()
    }
}

/// The lane whose next packet is earliest; the first of several.
pub(crate) fn earliest<'a>(lanes: impl Iterator<Item = &'a Lane>) -> Option<(usize, u64)> {
    let next = lanes.enumerate().filter_map(|(number, lane)| Some((number, lane.next_ns()?)));
    next.min_by_key(|(number, ns)| (*ns, *number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_out_by_time_and_by_point() {
        let mut lanes = [Lane::default(), Lane::default()];
        for (lane, ns) in [(0, 5), (0, 3), (0, 9), (1, 3), (1, 7)] {
            lanes[lane].push(Packet { ts_ns: ns, ..Packet::default() });
        }
        let mut order = Vec::new();
        while let Some((lane, ns)) = earliest(lanes.iter()) {
            lanes[lane].pop();
            order.push((lane, ns));
        }
        assert_eq!(order, [(0, 3), (1, 3), (0, 5), (1, 7), (0, 9)]);
        assert_eq!((lanes[0].out_of_order, lanes[1].out_of_order), (1, 0));
    }
}
