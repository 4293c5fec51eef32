use super::*;

fn packet(sport: u16, dport: u16, ts_ns: u64) -> Packet {
    Packet { version: 4, proto: proto(), src: 1, dst: 2, sport, dport, ts_ns, frame_len: 100, ..Packet::default() }
}

fn proto() -> u8 {
    nc_decode::proto::UDP
}

fn see(table: &mut FlowTable, packet: &Packet) -> Option<u32> {
    let key = FlowKey::of(packet, 0, (packet.sport, packet.dport));
    table.observe(key, 0, packet).map(|(number, _)| number)
}

fn reverse(packet: &Packet) -> Packet {
    Packet { src: packet.dst, dst: packet.src, sport: packet.dport, dport: packet.sport, ..*packet }
}

#[test]
fn the_first_packet_names_the_server_port_for_both_directions() {
    let mut table = FlowTable::new(Limits { flows: 10, idle_ns: None });
    let question = packet(40_000, 53, 0);
    let ask = see(&mut table, &question).map(|n| table.server_port(n));
    let answer = see(&mut table, &reverse(&question)).map(|n| table.server_port(n));
    assert_eq!((ask, answer), (Some(53), Some(53)));
}

#[test]
fn a_syn_corrects_the_server_port() {
    let mut table = FlowTable::new(Limits { flows: 10, idle_ns: None });
    let tcp = Packet { proto: 6, has_transport: true, ..packet(9_000, 40_000, 0) };
    let number = see(&mut table, &tcp);
    assert_eq!(number.map(|n| table.server_port(n)), Some(40_000));
    see(&mut table, &Packet { tcp_flags: tcp_flag::SYN, ..reverse(&tcp) });
    assert_eq!(number.map(|n| table.server_port(n)), Some(9_000));
}

#[test]
fn tags_on_one_direction_only_do_not_split_a_conversation_and_other_tags_make_another() {
    let mut table = FlowTable::new(Limits { flows: 10, idle_ns: None });
    let tagged = Packet { vlan: 7, ..packet(40_000, 53, 0) };
    let ask = see(&mut table, &tagged);
    let answer = see(&mut table, &reverse(&packet(40_000, 53, 0)));
    assert_eq!(ask.map(|n| n >> 1), answer.map(|n| n >> 1));
    let routed = see(&mut table, &Packet { vlan: 8, ..tagged });
    assert_ne!(routed.map(|n| n >> 1), ask.map(|n| n >> 1));
    assert_eq!(see(&mut table, &tagged), ask);
    assert_eq!(see(&mut table, &Packet { vlan: 8, ..tagged }), routed);
    let keys: Vec<_> = table.iter().map(|(number, flow)| (table.key(number).vlan >> 16, flow.packets())).collect();
    assert_eq!(keys.len(), 3);
    assert_eq!(table.key(ask.unwrap_or(0)).sport, 40_000);
}

#[test]
fn a_flood_pushes_out_stale_flows_but_no_recent_one() {
    let second = 1_000_000_000;
    let mut table = FlowTable::new(Limits { flows: 3, idle_ns: Some(300 * second) });
    for (port, at) in [(1, 0), (2, 5), (3, 9), (4, 10), (5, 10), (6, 10)] {
        see(&mut table, &packet(port, 9, at * second));
    }
    let mut kept: Vec<_> = table.iter().map(|(number, _)| table.key(number).sport).collect();
    kept.sort_unstable();
    assert_eq!((kept, table.overflow()), (vec![3, 4, 5], 1));
}

#[test]
fn what_is_over_stays_readable_until_it_was_written_down() {
    let mut table = FlowTable::new(Limits { flows: 2, idle_ns: Some(1_000) });
    table.hold_gone();
    see(&mut table, &packet(1, 9, 0));
    table.expire(5_000, 10);
    see(&mut table, &packet(2, 9, 5_000));
    let told: Vec<_> = table.gone().map(|(ways, why)| (ways.map(|way| table.flow(way).packets()), why)).collect();
    assert_eq!(told, [([1, 0], Gone::Idle)]);
    table.let_go();
    assert_eq!((table.gone().count(), table.conversations().count(), table.records()), (0, 1, 2));
    see(&mut table, &packet(3, 9, 5_000));
    assert_eq!(table.records(), 2);
}

#[test]
fn a_full_table_counts_what_it_turns_away_and_idle_flows_make_room() {
    let mut table = FlowTable::new(Limits { flows: 2, idle_ns: Some(1_000) });
    for port in [1, 2, 3, 1] {
        see(&mut table, &packet(port, 9, 0));
    }
    assert_eq!((table.overflow(), table.iter().count()), (1, 2));
    table.expire(5_000, 10);
    assert!(see(&mut table, &packet(3, 9, 5_000)).is_some());
    assert_eq!((table.overflow(), table.iter().count()), (1, 1));
}
