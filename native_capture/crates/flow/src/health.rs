//! The health of TCP conversations, packet by packet: which segment is timed, whose answer is awaited, what is a trouble.

use nc_decode::{proto, tcp_flag, Packet};

use crate::flow::{Flow, Talk};
use crate::media::{self, Streams};
use crate::pool::Pool;
use crate::rare::Rares;
use crate::responses::{Responses, Service, NONE};
use crate::tcp::{after, known, TcpDirection, TcpEvent};
use crate::timing::Timing;
use crate::trouble::Again;

const DNS: u16 = 53;
/// A question so long after another one repeats it.
const PATIENCE_NS: u64 = 900_000_000;
/// An answer that comes later than this is not timed: its question is kept with 32 bits of nanoseconds.
const LONGEST_NS: u64 = 2_000_000_000;
const CONTROL: u8 = tcp_flag::SYN | tcp_flag::FIN | tcp_flag::RST;

/// The side pools of the flow table.
pub(crate) struct Health {
    pub timings: Pool<Timing>,
    pub rares: Rares,
    pub media: Pool<Streams>,
    pub responses: Responses,
}

impl Health {
    pub fn new(flows: usize) -> Self {
        let (timings, rares) = (Pool::new(flows), Rares::new(flows));
        Self { timings, rares, media: media::pool(flows), responses: Responses::default() }
    }

    pub fn release(&mut self, talk: &Talk) {
        match talk.proto() {
            proto::TCP => self.timings.release(talk.timing),
            _ => self.media.release(talk.timing),
        }
        self.rares.release(talk);
    }

    /// Account one TCP segment of `way`; its packet is counted already.
    #[inline(always)]
    pub fn observe(&mut self, talk: &mut Talk, way: usize, packet: &Packet) -> TcpEvent {
        let way = way & 1;
        let before = talk.ways[way].tcp;
        let mut event = talk.ways[way].tcp.observe(packet);
        talk.ways[way].data_segments = talk.ways[way].data_segments.saturating_add(u32::from(event.is(TcpEvent::DATA)));
        if packet.tcp_flags & CONTROL != 0 {
            self.control(talk, way, packet, &event);
        }
        if packet.tcp_flags & (tcp_flag::ACK | tcp_flag::RST) == tcp_flag::ACK {
            self.acknowledge(talk, way, packet);
        }
        if packet.window == 0 || before.window == 0 {
            self.window(talk, way, packet, before.window == 0, event.is(TcpEvent::ZERO_WINDOW));
        }
        talk.ways[way].tcp.window = packet.window;
        if event.is(TcpEvent::RETRANSMITTED) {
            self.again(talk, way, packet, &mut event);
        } else if event.is(TcpEvent::DATA) {
            self.data(talk, way, packet, &before);
        }
        event
    }

    /// Account one UDP packet of `way`; `last_ns` is when the last one before it came.
    #[inline(always)]
    pub fn observe_udp(&mut self, talk: &mut Talk, way: usize, packet: &Packet, last_ns: u64) {
        if packet.may_be_rtp {
            media::observe(&mut self.media, talk, way, packet);
        } else if talk.server_port() == DNS && packet.payload_len > 0 {
            self.dns(talk, way, packet, last_ns);
        }
    }

    /// Time from the first of the questions that wait to the first answer. A resolver often asks for A and AAAA at once.
    fn dns(&mut self, talk: &mut Talk, way: usize, packet: &Packet, last_ns: u64) {
        let client = &mut talk.ways[if packet.dport == DNS { way } else { way ^ 1 }];
        if packet.dport == DNS {
            let again = client.tcp.has(known::ASKED);
            if again && packet.ts_ns.saturating_sub(last_ns) > PATIENCE_NS {
                // Asked once more because no answer came: whose answer the next one is, nobody knows.
                client.tcp.forget(known::ASKED);
            } else if !again {
                client.tcp.know(known::ASKED);
                client.tcp.highest = packet.ts_ns as u32;
            }
        } else if client.tcp.has(known::ASKED) {
            client.tcp.forget(known::ASKED);
            client.tcp.know(known::ACKED);
            let ns = (packet.ts_ns as u32).wrapping_sub(client.tcp.highest);
            if packet.ts_ns.saturating_sub(client.last_ns) < LONGEST_NS {
                let (key, port) = (talk.key(), talk.server_port());
                self.responses.add(&mut 0, || Service::of(&key, port), u64::from(ns));
            }
        }
    }

    #[cold]
    fn control(&mut self, talk: &mut Talk, way: usize, packet: &Packet, event: &TcpEvent) {
        let flow = &mut talk.ways[way];
        if packet.tcp_flags & tcp_flag::RST != 0 {
            flow.tcp.resets = flow.tcp.resets.saturating_add(1);
            flow.tcp.forget(known::TIMED | known::ASKED);
        } else if event.is(TcpEvent::SYN_RETRANSMITTED) {
            // Which of them is answered, nobody knows.
            flow.tcp.forget(known::TIMED);
        } else if packet.tcp_flags & tcp_flag::SYN != 0 {
            flow.tcp.know(known::TIMED | known::SYN);
            if flow.packets() > 1 {
                if let Some(timing) = timing(&mut self.timings, talk) {
                    timing.start(way, packet.seq.wrapping_add(1), packet.ts_ns);
                }
            } else if let Some(timing) = self.timings.get_mut(talk.timing) {
                timing.start(way, packet.seq.wrapping_add(1), packet.ts_ns);
            }
        }
        if event.is(TcpEvent::SYN_RETRANSMITTED) || event.is(TcpEvent::FIN_RETRANSMITTED) {
            if let Some(trouble) = self.rares.new_trouble(talk) {
                let counts = trouble.counts(way);
                let (syn, fin) = (
                    u32::from(event.is(TcpEvent::SYN_RETRANSMITTED)),
                    u32::from(event.is(TcpEvent::FIN_RETRANSMITTED)),
                );
                counts.syn_retransmitted = counts.syn_retransmitted.saturating_add(syn);
                counts.fin_retransmitted = counts.fin_retransmitted.saturating_add(fin);
            }
        }
    }

    #[inline]
    fn acknowledge(&mut self, talk: &mut Talk, way: usize, packet: &Packet) {
        let theirs = talk.ways[way ^ 1].tcp;
        if theirs.has(known::TIMED) {
            self.stop(talk, way ^ 1, packet);
        }
        let mine = &mut talk.ways[way].tcp;
        if !mine.has(known::ACKED) || after(packet.ack, mine.acked) {
            mine.acked = packet.ack;
            mine.know(known::ACKED);
            if mine.has(known::REPEATS) {
                mine.forget(known::REPEATS);
                if let Some(trouble) = self.rares.trouble_mut(talk) {
                    trouble.goes_on(way);
                }
            }
        } else if is_duplicate(mine, packet) && theirs.awaits(packet.ack) {
            mine.know(known::REPEATS);
            if let Some(trouble) = self.rares.new_trouble(talk) {
                trouble.duplicate(way, packet.ts_ns);
            }
        }
    }

    /// End the timing of `way` when this acknowledgement of the other end covers its segment.
    fn stop(&mut self, talk: &mut Talk, way: usize, packet: &Packet) {
        let Some(timing) = timing(&mut self.timings, talk) else { return };
        let tcp = &mut talk.ways[way].tcp;
        if after(timing.end(way), packet.ack) {
            return;
        }
        timing.stop(way, packet.ts_ns, tcp.has(known::SYN));
        tcp.forget(known::TIMED | known::SYN);
    }

    #[cold]
    fn window(&mut self, talk: &mut Talk, way: usize, packet: &Packet, was_zero: bool, is_zero: bool) {
        if is_zero {
            if let Some(trouble) = self.rares.new_trouble(talk) {
                trouble.closes(way, packet.ts_ns);
            }
        } else if was_zero || packet.tcp_flags & tcp_flag::RST != 0 {
            if let Some(trouble) = self.rares.trouble_mut(talk) {
                trouble.opens(way, packet.ts_ns);
            }
        }
    }

    #[cold]
    fn again(&mut self, talk: &mut Talk, way: usize, packet: &Packet, event: &mut TcpEvent) {
        let handshake_ns = self.timings.get(talk.timing).and_then(Timing::handshake_ns);
        let theirs = talk.ways[way ^ 1].tcp;
        // Karn: neither this direction's round trip nor the answer can be told any more.
        talk.ways[way].tcp.forget(known::TIMED | known::ASKED);
        let again = Again {
            seq: packet.seq,
            end: packet.seq.wrapping_add(packet.payload_len),
            acked: theirs.has(known::ACKED).then_some(theirs.acked),
            handshake_ns,
            ts_ns: packet.ts_ns,
        };
        if let Some(trouble) = self.rares.new_trouble(talk) {
            trouble.again(way, &again);
            let (stuck, run) = trouble.stuck(way);
            stuck.again(packet, &talk.ways[way], &talk.ways[way ^ 1], run, event);
        }
    }

    /// New data.
    #[inline]
    fn data(&mut self, talk: &mut Talk, way: usize, packet: &Packet, before: &TcpDirection) {
        let highest = talk.ways[way].tcp.highest;
        let is_syn = packet.tcp_flags & tcp_flag::SYN != 0;
        if before.has(known::HIGHEST) && !is_syn && after(packet.seq, before.highest) {
            self.gap(talk, way, packet, before.highest);
        } else if !talk.ways[way].tcp.has(known::TIMED) && talk.ways[way ^ 1].packets() > 0 {
            if let Some(timing) = timing(&mut self.timings, talk) {
                timing.start(way, highest, packet.ts_ns);
                talk.ways[way].tcp.know(known::TIMED);
            }
        }
        if packet.dport == talk.server_port() && is_client(talk, packet) {
            if let Some(timing) = self.timings.get_mut(talk.timing) {
                timing.ask(packet.ts_ns);
                talk.ways[way].tcp.know(known::ASKED);
            }
        } else if talk.ways[way ^ 1].tcp.has(known::ASKED) {
            self.answer(talk, way, packet);
        }
    }

    fn answer(&mut self, talk: &mut Talk, way: usize, packet: &Packet) {
        talk.ways[way ^ 1].tcp.forget(known::ASKED);
        let Some(timing) = self.timings.get_mut(talk.timing) else { return };
        if let Some(ns) = timing.answer(packet.ts_ns) {
            let (key, port) = (talk.key(), talk.server_port());
            self.responses.add(&mut timing.number, || Service::of(&key, port), ns);
            if timing.number != NONE {
                talk.answer();
            }
        }
    }

    #[cold]
    fn gap(&mut self, talk: &mut Talk, way: usize, packet: &Packet, highest: u32) {
        if let Some(trouble) = self.rares.new_trouble(talk) {
            trouble.gap(way, highest, packet.seq, packet.ts_ns);
        }
    }
}

/// RFC 5681, 2: no data, no SYN or FIN, nothing new acknowledged, the same window. A closed window says nothing about loss.
fn is_duplicate(mine: &TcpDirection, packet: &Packet) -> bool {
    let plain = packet.payload_len == 0 && packet.tcp_flags & CONTROL == 0;
    plain && packet.ack == mine.acked && packet.window == mine.window && packet.window != 0
}

/// Whether the sender is the client indeed: a SYN said so, or its port is the higher one. The first packet of a conversation that
/// began before the capture may be the server's.
fn is_client(talk: &Talk, packet: &Packet) -> bool {
    packet.sport > talk.server_port() || talk.ways.iter().any(|flow| flow.tcp.has(known::ISN))
}

/// The record of times; a new one takes over the SYNs that are being timed, which came when there was none.
pub(crate) fn timing<'a>(timings: &'a mut Pool<Timing>, talk: &mut Talk) -> Option<&'a mut Timing> {
    let is_new = talk.timing == 0;
    let timing = timings.of(&mut talk.timing)?;
    if is_new {
        for (way, flow) in talk.ways.iter().enumerate().filter(|(_, flow)| flow.tcp.has(known::TIMED | known::SYN)) {
            timing.start(way, flow.tcp.isn.wrapping_add(1), flow.first_ns);
        }
    }
    Some(timing)
}

/// An answer of DNS over UDP was timed.
pub(crate) fn is_answered_dns(talk: &Talk) -> bool {
    let is_dns = talk.proto() == proto::UDP && talk.server_port() == DNS;
    is_dns && talk.ways.iter().any(|flow| flow.tcp.has(known::ACKED))
}

/// A connection was asked for and nobody said anything.
pub(crate) fn is_unanswered(mine: &Flow, theirs: &Flow) -> bool {
    mine.tcp.has(known::ISN) && !mine.tcp.has(known::ACKED) && theirs.packets() == 0
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
