//! Rows per second of packet time and point: who sent how much with which mark, and TCP counts per mark.

use std::collections::HashMap;

use nc_decode::Packet;
use nc_flow::{address, KeyedState, TcpCounts, TcpEvent};
use serde::Serialize;

/// Rows of one second name at most this many sources, the busiest; the rest is summed.
const MAX_SOURCES: usize = 4_096;
/// While the second lasts, so many are told apart.
const MAX_KEPT: usize = 65_536;
const SECOND: u64 = 1_000_000_000;

/// One row of `observations` in `flowguard.batch/1`.
#[derive(Clone, Debug, Serialize)]
pub struct Observation {
    pub point: String,
    pub realm: String,
    pub start_ns: u64,
    pub end_ns: u64,
    pub complete: bool,
    pub sources: Vec<SourceRow>,
    pub tcp: Vec<TcpRow>,
}

/// `src`: None for the sum of all sources beyond the limit.
#[derive(Clone, Debug, Serialize)]
pub struct SourceRow {
    pub src: Option<String>,
    pub dscp: u8,
    pub packets: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct TcpRow {
    pub dscp: u8,
    pub data_segments: u64,
    pub retransmitted: u64,
    pub syn_retransmitted: u64,
    pub fin_retransmitted: u64,
    pub zero_window: u64,
}

/// (version, source, mark)
type Source = (u8, u128, u8);

/// The second that is going on at one point.
pub(crate) struct Observer {
    sources: HashMap<Source, (u64, u64), KeyedState>,
    rest: [(u64, u64); 64],
    tcp: [TcpCounts; 64],
}

impl Default for Observer {
    fn default() -> Self {
        Self { sources: HashMap::default(), rest: [(0, 0); 64], tcp: [TcpCounts::default(); 64] }
    }
}

impl Observer {
    pub fn count(&mut self, packet: &Packet) {
        let source = (packet.version, packet.src, packet.dscp);
        let sum = if self.sources.len() < MAX_KEPT || self.sources.contains_key(&source) {
            self.sources.entry(source).or_default()
        } else {
            &mut self.rest[usize::from(packet.dscp & 63)]
        };
        sum.0 += 1;
        sum.1 += u64::from(packet.frame_len);
    }

    pub fn count_tcp(&mut self, dscp: u8, event: TcpEvent) {
        self.tcp[usize::from(dscp & 63)].add(event);
    }

    /// The row of `second`, and begin anew.
    pub fn take(&mut self, point: &str, realm: &str, second: u64, complete: bool) -> Observation {
        let tcp = (0..64_u8).filter_map(|dscp| tcp_row(dscp, &self.tcp[usize::from(dscp)])).collect();
        self.tcp = [TcpCounts::default(); 64];
        Observation {
            point: point.to_owned(),
            realm: realm.to_owned(),
            start_ns: second * SECOND,
            end_ns: (second + 1) * SECOND,
            complete,
            sources: self.take_sources(),
            tcp,
        }
    }

    /// Busiest first to choose, by address to tell.
    fn take_sources(&mut self) -> Vec<SourceRow> {
        let mut all: Vec<_> = self.sources.drain().collect();
        if all.len() > MAX_SOURCES {
            all.sort_unstable_by_key(|(source, (_, bytes))| (std::cmp::Reverse(*bytes), *source));
            for ((_, _, dscp), (packets, bytes)) in all.drain(MAX_SOURCES..) {
                let rest = &mut self.rest[usize::from(dscp & 63)];
                rest.0 += packets;
                rest.1 += bytes;
            }
        }
        all.sort_unstable();
        let mut rows: Vec<_> = all
            .into_iter()
            .map(|((version, src, dscp), (packets, bytes))| SourceRow {
                src: Some(address(version, src)),
                dscp,
                packets,
                bytes,
            })
            .collect();
        let rest = std::mem::replace(&mut self.rest, [(0, 0); 64]);
        let others = rest.iter().enumerate().filter(|(_, sum)| sum.0 > 0);
        rows.extend(others.map(|(dscp, sum)| SourceRow { src: None, dscp: dscp as u8, packets: sum.0, bytes: sum.1 }));
        rows
    }
}

fn tcp_row(dscp: u8, counts: &TcpCounts) -> Option<TcpRow> {
    (*counts != TcpCounts::default()).then_some(TcpRow {
        dscp,
        data_segments: counts.data_segments,
        retransmitted: counts.retransmitted,
        syn_retransmitted: counts.syn_retransmitted,
        fin_retransmitted: counts.fin_retransmitted,
        zero_window: counts.zero_window,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_limit_the_busiest_sources_are_named_and_the_rest_is_summed() {
        let mut observer = Observer::default();
        for src in 0..MAX_SOURCES as u128 + 10 {
            observer.count(&Packet { version: 4, src, dscp: 46, frame_len: src as u32, ..Packet::default() });
        }
        let row = observer.take("p", "", 7, true);
        assert_eq!((row.start_ns, row.end_ns, row.sources.len()), (7 * SECOND, 8 * SECOND, MAX_SOURCES + 1));
        let rest = row.sources.last().map(|rest| (rest.src.clone(), rest.packets, rest.bytes));
        assert_eq!(rest, Some((None, 10, 45)));
        assert!(observer.take("p", "", 8, true).sources.is_empty());
    }
}
