//! What the flow table says of one flow's health, names and media.

use nc_decode::proto;

use crate::dscp::{Counted, DscpCount};
use crate::flow::Talk;
use crate::health::{is_answered_dns, is_unanswered, timing};
use crate::key::FlowKey;
use crate::media::Media;
use crate::responses::{ResponseTimes, Service};
use crate::table::FlowTable;
use crate::tcp::TcpCounts;
use crate::timing::RoundTrips;
use crate::trouble::Troubles;

/// What is known of the health of one direction of a TCP conversation. `unanswered`: it asked for a connection and nobody said
/// anything. `resets`: those it sent, 255 at most. `round_trips`: from the point to its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowHealth {
    pub troubles: Troubles,
    pub round_trips: RoundTrips,
    pub resets: u8,
    pub unanswered: bool,
}

/// What the record of a direction itself says of its health, and its troubles where it has any: see [`FlowHealth`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Signs {
    pub data_segments: u32,
    pub resets: u8,
    pub unanswered: bool,
    pub troubles: Option<Troubles>,
}

impl FlowTable {
    /// Packets and bytes of each mark of this direction, ascending.
    pub fn marks(&self, number: u32) -> Vec<(u8, DscpCount)> {
        self.health.rares.marks(self.talk(number >> 1), (number & 1) as usize)
    }

    /// The one mark, where there is but one; None where there are several, or no packets.
    pub fn only_mark(&self, number: u32) -> Option<(u8, DscpCount)> {
        self.health.rares.only_mark(self.talk(number >> 1), (number & 1) as usize)
    }

    /// Whether this is the first time that `what` is counted of a mark of this direction.
    pub fn first_time(&mut self, number: u32, dscp: u8, what: Counted) -> bool {
        let (talk, health) = self.talk_and_health(number >> 1);
        health.rares.first_time(talk, (number & 1) as usize, dscp, what)
    }

    /// A packet that left its sender with `dscp` was seen again at a later point.
    pub fn matched(&mut self, number: u32, dscp: u8) {
        let (talk, health) = self.talk_and_health(number >> 1);
        health.rares.matched(talk, (number & 1) as usize, dscp);
    }

    /// A packet with `dscp` was seen nowhere else. Returns whether any other of this direction was seen again at a later point.
    pub fn unmatched(&mut self, number: u32, dscp: u8) -> bool {
        let (talk, health) = self.talk_and_health(number >> 1);
        health.rares.unmatched(talk, (number & 1) as usize, dscp)
    }

    /// The number of the sender's identity as it was looked up last; 0 before.
    pub fn sender(&self, number: u32) -> u32 {
        self.talk(number >> 1).sender((number & 1) as usize)
    }

    /// The number of the sender's identity in the bundle of this generation; `find` looks it up, once.
    #[inline]
    pub fn sender_in(&mut self, number: u32, generation: u16, find: impl FnOnce(&FlowKey) -> u32) -> u32 {
        let way = (number & 1) as usize;
        if let Some(sender) = self.talk(number >> 1).sender_in(way, generation) {
            return sender;
        }
        let sender = find(&self.key(number));
        self.talk_and_health(number >> 1).0.set_sender(way, generation, sender);
        sender
    }

    /// The client of this TCP conversation asked for the server of this name; the first one counts.
    pub fn name_server(&mut self, number: u32, name: u16) {
        let (talk, health) = self.talk_and_health(number >> 1);
        if let Some(timing) = timing(&mut health.timings, talk) {
            timing.name = if timing.name == 0 { name } else { timing.name };
        }
    }

    /// The name that the client asked for, 0 for none.
    pub fn name(&self, number: u32) -> u16 {
        let talk = self.talk(number >> 1);
        let timing = self.health.timings.get(talk.timing).filter(|_| talk.proto() == proto::TCP);
        timing.map_or(0, |timing| timing.name)
    }

    /// Whether nothing stands beside the record of this conversation: no signature, no trouble, and one mark a direction.
    #[inline]
    pub fn is_plain(&self, number: u32) -> bool {
        self.talk(number >> 1).rare == 0
    }

    /// TCP counts of this direction, by the contract.
    #[inline]
    pub fn tcp(&self, number: u32) -> TcpCounts {
        let troubles = self.troubles(number);
        TcpCounts {
            data_segments: u64::from(self.flow(number).data_segments),
            retransmitted: u64::from(troubles.retransmitted),
            syn_retransmitted: u64::from(troubles.syn_retransmitted),
            fin_retransmitted: u64::from(troubles.fin_retransmitted),
            zero_window: u64::from(troubles.zero_window),
        }
    }

    /// All zero for what is not TCP.
    #[inline]
    fn troubles(&self, number: u32) -> Troubles {
        self.signs(number).troubles.unwrap_or_default()
    }

    /// All zero and unknown for what is not TCP.
    pub fn health(&self, number: u32) -> FlowHealth {
        let Signs { troubles, resets, unanswered, .. } = self.signs(number);
        let round_trips = self.round_trips(number);
        FlowHealth { troubles: troubles.unwrap_or_default(), round_trips, resets, unanswered }
    }

    /// All zero for what is not TCP.
    #[inline]
    pub fn signs(&self, number: u32) -> Signs {
        let (talk, way) = (self.talk(number >> 1), (number & 1) as usize);
        if talk.proto() != proto::TCP {
            return Signs::default();
        }
        let (mine, theirs) = (&talk.ways[way], &talk.ways[way ^ 1]);
        Signs {
            data_segments: mine.data_segments,
            resets: mine.tcp.resets,
            unanswered: is_unanswered(mine, theirs),
            troubles: if talk.rare == 0 { None } else { self.troubles_of(talk, way) },
        }
    }

    #[cold]
    fn troubles_of(&self, talk: &Talk, way: usize) -> Option<Troubles> {
        self.health.rares.trouble(talk).map(|trouble| trouble.at_end(way, talk.last_ns()))
    }

    /// From the point to the receiver of this direction; unknown for what is not TCP.
    pub fn round_trips(&self, number: u32) -> RoundTrips {
        let talk = self.talk(number >> 1);
        let timing = self.health.timings.get(talk.timing).filter(|_| talk.proto() == proto::TCP);
        timing.map(|timing| timing.round_trips((number & 1) as usize)).unwrap_or_default()
    }

    /// Whether one of the two directions may have an RTP stream.
    #[inline]
    pub fn may_have_media(&self, number: u32) -> bool {
        let talk = self.talk(number >> 1);
        talk.proto() == proto::UDP && talk.timing != 0
    }

    /// The RTP stream in this direction.
    #[inline]
    pub fn media(&self, number: u32) -> Option<Media> {
        let talk = self.talk(number >> 1);
        if talk.proto() != proto::UDP {
            return None;
        }
        self.health.media.get(talk.timing)?.media((number & 1) as usize)
    }

    /// The direction, of this one's conversation, by which services are judged: the first that was seen of a TCP conversation, or of one with DNS
    /// that was answered.
    #[inline]
    pub fn measured(&self, number: u32) -> Option<u32> {
        let talk = self.talk(number >> 1);
        let way = u32::from(talk.ways[0].packets() == 0);
        (talk.proto() == proto::TCP || is_answered_dns(talk)).then_some(number & !1 | way)
    }

    /// Directions of this one's conversation that were seen.
    #[inline]
    pub fn directions(&self, number: u32) -> usize {
        self.talk(number >> 1).ways.iter().filter(|flow| flow.packets() > 0).count()
    }

    /// Whether an answer of this conversation's server was timed.
    #[inline]
    pub fn has_answered(&self, number: u32) -> bool {
        let talk = self.talk(number >> 1);
        talk.is_answered() || is_answered_dns(talk)
    }

    /// Whether something went wrong in this TCP conversation: one of its directions has a trouble, a reset, or no answer.
    pub fn is_troubled(&self, number: u32) -> bool {
        let talk = self.talk(number >> 1);
        let [one, other] = &talk.ways;
        let refused = one.tcp.resets > 0 || other.tcp.resets > 0;
        let asked = is_unanswered(one, other) || is_unanswered(other, one);
        talk.proto() == proto::TCP && (self.health.rares.has_trouble(talk) || refused || asked)
    }

    /// The service that the conversation of this flow talks to.
    #[inline]
    pub fn service(&self, number: u32) -> Service {
        self.talk(number >> 1).service((number & 1) as usize)
    }

    /// Services that answered, and how many answers were timed.
    pub fn answers(&self) -> impl Iterator<Item = (Service, u64)> + '_ {
        self.health.responses.counts()
    }

    /// Times from request to first response of a service; None when it answered nothing.
    pub fn responses(&self, service: &Service) -> Option<&ResponseTimes> {
        self.health.responses.get(service)
    }

    /// Troubles and times of conversations, and responses, that found no room.
    pub fn health_overflow(&self) -> u64 {
        let pools = &self.health;
        pools.media.overflow()
            + self.health.timings.overflow()
            + self.health.rares.overflow()
            + self.health.responses.overflow()
    }
}
