use nc_decode::{proto, tcp_flag, Packet};

use crate::{FlowHealth, FlowKey, FlowTable, Limits, RoundTrips, Service};

const MS: u64 = 1_000_000;
const CLIENT: u16 = 40_000;
const SERVER: u16 = 443;
const ACK: u8 = tcp_flag::ACK;
const SYN: u8 = tcp_flag::SYN;

/// A connection as the point sees it; sequence numbers of both ends begin at 1,000.
struct Wire(FlowTable);

/// (time in ms, is it the client's, sequence number, payload, acknowledgement, flags)
type Segment = (u64, bool, u32, u32, u32, u8);

impl Wire {
    fn new() -> Self {
        Self(FlowTable::new(Limits { flows: 100, idle_ns: None }))
    }

    fn see(&mut self, segment: Segment, window: u16) {
        let (ms, is_client, seq, payload_len, ack, tcp_flags) = segment;
        let (src, dst, sport, dport) = if is_client { (1, 2, CLIENT, SERVER) } else { (2, 1, SERVER, CLIENT) };
        let packet = Packet { src, dst, sport, dport, seq, ack, payload_len, window, tcp_flags, ..packet() };
        self.packet(&Packet { ts_ns: 1_700_000_000_000 * MS + ms * MS, ..packet });
    }

    fn packet(&mut self, packet: &Packet) {
        self.0.observe(FlowKey::of(packet, 0, (packet.sport, packet.dport)), 0, packet);
    }

    fn see_all(&mut self, segments: &[Segment]) {
        segments.iter().for_each(|segment| self.see(*segment, 500));
    }

    /// SYN at 0, SYN-ACK at 30 ms, ACK at 40 ms: 30 ms to the server and back, 10 ms to the client and back.
    fn opened() -> Self {
        let mut wire = Self::new();
        wire.see_all(&[
            (0, true, 999, 0, 0, SYN),
            (30, false, 999, 0, 1_000, SYN | ACK),
            (40, true, 1_000, 0, 1_000, ACK),
        ]);
        wire
    }

    fn of(&self, is_client: bool) -> FlowHealth {
        let of = self.0.iter().find(|(number, _)| (self.0.key(*number).src == 1) == is_client);
        of.map(|(number, _)| self.0.health(number)).unwrap_or_default()
    }

    /// Times from request to first response, as (count, longest in ms).
    fn responses(&self) -> Option<(u64, Option<u64>)> {
        let service = Service::new(2, 0, SERVER, proto::TCP, 4);
        let times = self.0.responses(&service)?;
        Some((times.count(), times.max().map(|ns| ns / MS)))
    }
}

fn packet() -> Packet {
    Packet { version: 4, proto: proto::TCP, has_transport: true, frame_len: 100, ..Packet::default() }
}

/// fast, timeout, spurious, out of order
fn kinds(health: FlowHealth) -> [u32; 4] {
    let troubles = health.troubles;
    assert_eq!(troubles.retransmitted, troubles.fast + troubles.timeout + troubles.spurious + troubles.out_of_order);
    [troubles.fast, troubles.timeout, troubles.spurious, troubles.out_of_order]
}

fn median(health: FlowHealth) -> Option<u64> {
    health.round_trips.median_ns.map(|ns| ns / MS)
}

#[test]
fn the_handshake_tells_both_halves_apart() {
    let wire = Wire::opened();
    let half = |is_client| wire.of(is_client).round_trips.handshake_ns;
    assert_eq!((half(true), half(false)), (Some(30 * MS), Some(10 * MS)));
}

#[test]
fn a_repeated_syn_leaves_its_half_unknown() {
    let mut wire = Wire::new();
    wire.see_all(&[(0, true, 999, 0, 0, SYN), (1_000, true, 999, 0, 0, SYN)]);
    assert!(wire.of(true).unanswered);
    wire.see_all(&[(1_030, false, 999, 0, 1_000, SYN | ACK), (1_040, true, 1_000, 0, 1_000, ACK)]);
    assert_eq!(wire.of(true).round_trips.handshake_ns, None);
    assert_eq!(wire.of(false).round_trips.handshake_ns, Some(10 * MS));
    assert_eq!((wire.of(true).troubles.syn_retransmitted, wire.of(true).unanswered), (1, false));
}

#[test]
fn a_second_connection_on_the_same_ports_is_timed_by_its_own_syn() {
    let mut wire = Wire::opened();
    wire.see_all(&[(9_000, true, 70_999, 0, 0, SYN), (9_007, false, 50_999, 0, 71_000, SYN | ACK)]);
    wire.see_all(&[(9_009, true, 71_000, 0, 51_000, ACK)]);
    let half = |is_client| wire.of(is_client).round_trips.handshake_ns;
    assert_eq!((half(true), half(false)), (Some(7 * MS), Some(2 * MS)));
}

#[test]
fn a_refused_connection_has_no_round_trip_but_a_reset() {
    let mut wire = Wire::new();
    wire.see_all(&[(0, true, 999, 0, 0, SYN), (30, false, 0, 0, 1_000, tcp_flag::RST | ACK)]);
    assert_eq!((wire.of(true).round_trips, wire.of(true).unanswered), (RoundTrips::default(), false));
    assert_eq!((wire.of(true).resets, wire.of(false).resets), (0, 1));
}

#[test]
fn acknowledged_data_is_timed_and_never_what_was_sent_again() {
    let mut wire = Wire::opened();
    wire.see_all(&[(50, true, 1_000, 100, 1_000, ACK), (75, false, 1_000, 0, 1_100, ACK)]);
    assert_eq!(median(wire.of(true)), Some(25));
    // lost beyond the point, sent again after 300 ms, acknowledged 20 ms later
    wire.see_all(&[
        (100, true, 1_100, 100, 1_000, ACK),
        (400, true, 1_100, 100, 1_000, ACK),
        (420, false, 1_000, 0, 1_200, ACK),
    ]);
    let trips = wire.of(true).round_trips;
    assert_eq!((trips.min_ns, trips.max_ns), (Some(25 * MS), Some(25 * MS)));
    assert_eq!(kinds(wire.of(true)), [0, 1, 0, 0]);
}

#[test]
fn the_time_from_the_end_of_the_request_to_the_first_byte_of_the_answer_is_the_servers() {
    let mut wire = Wire::opened();
    wire.see_all(&[(50, true, 1_000, 500, 1_000, ACK), (60, true, 1_500, 500, 1_000, ACK)]);
    wire.see_all(&[
        (80, false, 1_000, 0, 2_000, ACK),
        (260, false, 1_000, 800, 2_000, ACK),
        (300, false, 1_800, 800, 2_000, ACK),
    ]);
    assert_eq!(wire.responses(), Some((1, Some(200))));
    wire.see_all(&[(400, true, 2_000, 10, 2_600, ACK), (450, false, 2_600, 10, 2_010, ACK)]);
    assert_eq!(wire.responses(), Some((2, Some(200))));
}

#[test]
fn a_request_that_was_sent_again_times_nothing() {
    let mut wire = Wire::opened();
    wire.see_all(&[
        (50, true, 1_000, 500, 1_000, ACK),
        (250, true, 1_000, 500, 1_000, ACK),
        (300, false, 1_000, 9, 1_500, ACK),
    ]);
    assert_eq!(wire.responses(), None);
}

#[test]
fn who_speaks_first_in_the_middle_of_a_connection_is_not_taken_for_the_client() {
    let mut wire = Wire::new();
    wire.see_all(&[
        (0, false, 5_000, 100, 9_000, ACK),
        (10, true, 9_000, 100, 5_100, ACK),
        (15, false, 5_100, 100, 9_100, ACK),
    ]);
    assert_eq!(wire.responses(), None);
    let asked = Service::new(1, 0, CLIENT, proto::TCP, 4);
    assert!(wire.0.responses(&asked).is_none());
}

/// Four segments of which the point sees 1, 3, 4; the receiver asks for the second.
fn with_a_loss_before_the_point() -> Wire {
    let mut wire = Wire::opened();
    for (ms, seq) in [(50, 1_000), (52, 1_200), (53, 1_300)] {
        wire.see((ms, false, seq, 100, 1_000, ACK), 500);
    }
    wire.see_all(&[
        (60, true, 1_000, 0, 1_100, ACK),
        (62, true, 1_000, 0, 1_100, ACK),
        (63, true, 1_000, 0, 1_100, ACK),
    ]);
    wire
}

#[test]
fn a_segment_after_duplicate_acknowledgements_is_a_fast_retransmission() {
    let mut wire = with_a_loss_before_the_point();
    assert_eq!(wire.of(true).troubles.duplicate_acks, 2);
    wire.see((100, false, 1_100, 100, 1_000, ACK), 500);
    assert_eq!(kinds(wire.of(false)), [1, 0, 0, 0]);
}

#[test]
fn much_later_it_was_the_timer() {
    let mut wire = with_a_loss_before_the_point();
    wire.see((400, false, 1_100, 100, 1_000, ACK), 500);
    assert_eq!(kinds(wire.of(false)), [0, 1, 0, 0]);
}

#[test]
fn what_fills_a_young_gap_was_overtaken() {
    let mut wire = Wire::opened();
    wire.see_all(&[
        (50, false, 1_000, 100, 1_000, ACK),
        (51, false, 1_200, 100, 1_000, ACK),
        (52, false, 1_100, 100, 1_000, ACK),
    ]);
    assert_eq!(kinds(wire.of(false)), [0, 0, 0, 1]);
    // the same place once more is no disorder
    wire.see((53, false, 1_100, 100, 1_000, ACK), 500);
    assert_eq!(kinds(wire.of(false)), [0, 1, 0, 1]);
}

#[test]
fn what_the_receiver_has_acknowledged_is_sent_again_in_vain() {
    let mut wire = Wire::opened();
    wire.see_all(&[
        (50, false, 1_000, 100, 1_000, ACK),
        (60, true, 1_000, 0, 1_100, ACK),
        (300, false, 1_000, 100, 1_000, ACK),
    ]);
    assert_eq!(kinds(wire.of(false)), [0, 0, 1, 0]);
}

#[test]
fn an_acknowledgement_with_another_window_or_nothing_outstanding_is_no_duplicate() {
    let mut wire = Wire::opened();
    wire.see((50, true, 1_000, 0, 1_000, ACK), 500);
    wire.see((55, false, 1_000, 100, 1_000, ACK), 500);
    wire.see((60, true, 1_000, 0, 1_000, ACK), 600);
    assert_eq!(wire.of(true).troubles.duplicate_acks, 0);
    wire.see((61, true, 1_000, 0, 1_000, ACK), 600);
    assert_eq!(wire.of(true).troubles.duplicate_acks, 1);
}

#[test]
fn a_closed_window_counts_its_time_until_it_opens_or_the_conversation_ends() {
    let mut wire = Wire::opened();
    wire.see((50, true, 1_000, 0, 1_000, ACK), 0);
    wire.see((70, true, 1_000, 0, 1_000, ACK), 0);
    wire.see((90, true, 1_000, 0, 1_000, ACK), 500);
    let troubles = wire.of(true).troubles;
    assert_eq!((troubles.zero_window, troubles.zero_window_ns, troubles.duplicate_acks), (2, 40 * MS, 0));
    wire.see((100, true, 1_000, 0, 1_000, ACK), 0);
    wire.see((105, false, 1_000, 0, 1_000, ACK), 500);
    assert_eq!(wire.of(true).troubles.zero_window_ns, 45 * MS);
}

#[test]
fn tags_of_one_direction_only_do_not_part_question_and_answer() {
    let mut wire = Wire::new();
    let tagged = Packet { src: 1, dst: 2, sport: CLIENT, dport: SERVER, seq: 999, tcp_flags: SYN, vlan: 7, ..packet() };
    wire.packet(&tagged);
    let answer = Packet { seq: 50, ack: 1_000, tcp_flags: SYN | ACK, ts_ns: 5 * MS, ..packet() };
    wire.packet(&Packet { src: 2, dst: 1, sport: SERVER, dport: CLIENT, ..answer });
    assert_eq!(wire.of(true).round_trips.handshake_ns, Some(5 * MS));
}
