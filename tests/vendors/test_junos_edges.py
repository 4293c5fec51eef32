"""Junos: what golden cases cannot say: logs, outputs, scripts of commands, inheritance that is refused, mixed texts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.rules import Action, Policy, Rule
from policyhub.vendors.juniper_junos import VENDOR
from tests.vendors.model_json import service


def pair(name: str, action: str = "permit", source: str = "any") -> str:
    head = f"set security policies from-zone a to-zone b policy {name}"
    return (
        f"{head} match source-address {source}\n{head} match destination-address any\n{head} match application any\n"
        f"{head} then {action}\n"
    )


def policy(text: str, name: str) -> Policy:
    found = VENDOR.parse(text).policy(name)
    assert found is not None
    return found


def rules(text: str, name: str = "a->b") -> dict[str, Rule]:
    return {rule.name: rule for rule in policy(text, name).rules}


def reasons(config: DeviceConfig) -> list[str]:
    return [unparsed.reason for unparsed in config.unparsed]


def test_both_forms_of_one_configuration_give_one_model() -> None:
    braces = """security {
    policies {
        from-zone a to-zone b {
            policy p {
                match { source-address any; destination-address any; application [ junos-http junos-https ]; }
                then { permit; log { session-close; } }
            }
        }
    }
}
"""
    words = "set security policies from-zone a to-zone b policy p "
    flat = "".join(
        words + end + "\n"
        for end in (
            "match source-address any",
            "match destination-address any",
            "match application junos-http",
            "match application junos-https",
            "then permit",
            "then log session-close",
        )
    )
    one, other = rules(braces)["p"], rules(flat)["p"]
    assert (one.match, one.action, one.logged, one.hit_key) == (other.match, other.action, other.logged, other.hit_key)


def test_insert_moves_a_policy_and_rename_keeps_its_place() -> None:
    path = "security policies from-zone a to-zone b policy"
    text = pair("one") + pair("two") + pair("three")
    assert list(rules(text + f"insert {path} three before policy one\n")) == ["three", "one", "two"]
    assert list(rules(text + f"insert {path} one after policy three\n")) == ["two", "three", "one"]
    assert list(rules(text + f"rename {path} two to policy zwei\n")) == ["one", "zwei", "three"]


def test_a_deleted_policy_is_gone_and_a_deactivated_one_is_disabled() -> None:
    path = "security policies from-zone a to-zone b policy"
    text = pair("one") + pair("two") + f"delete {path} one\ndeactivate {path} two\n"
    assert [(rule.name, rule.enabled) for rule in rules(text).values()] == [("two", False)]
    assert rules(text + f"activate {path} two\n")["two"].enabled


def test_a_whole_stanza_that_is_inactive_disables_its_policies() -> None:
    assert not rules(pair("one") + "deactivate security policies\n")["one"].enabled


def test_edit_and_top_lead_relative_commands() -> None:
    text = (
        "edit security policies from-zone a to-zone b policy p\nset match source-address any destination-address any\n"
        "set match application any\nset then deny\ntop\n" + pair("q")
    )
    assert [(rule.name, rule.action) for rule in rules(text).values()] == [("p", Action.DENY), ("q", Action.PERMIT)]


def test_moving_what_is_not_there_is_told() -> None:
    config = VENDOR.parse(pair("one") + "insert security policies from-zone a to-zone b policy x before policy one\n")
    assert reasons(config) == ["there is no such statement above"]


def test_one_stanza_shown_alone_finds_its_place() -> None:
    text = "user@srx> show configuration security policies\nfrom-zone a to-zone b {\n policy p {\n  match {\n"
    text += "   source-address any;\n"
    text += "   destination-address any;\n   application any;\n  }\n  then {\n   permit;\n  }\n }\n}\n\nuser@srx> \n"
    config = VENDOR.parse(text)
    assert [found.name for found in config.policies] == ["a->b", "default-policy"]
    assert config.hostname == "srx"
    assert config.unparsed == ()


def test_a_group_for_one_node_of_a_cluster_is_not_guessed() -> None:
    text = 'set groups node0 system host-name fw-a\nset groups node1 system host-name fw-b\nset apply-groups "${node}"\n'
    config = VENDOR.parse(text)
    assert config.hostname == ""
    assert reasons(config) == ["the text does not say which node this is"]


def test_a_configured_value_wins_over_an_inherited_one() -> None:
    text = (
        "set groups g interfaces <*> mtu 1400\nset apply-groups g\nset interfaces ge-0/0/0 mtu 9000\n"
        "set interfaces ge-0/0/1 unit 0\nset interfaces ge-0/0/2 apply-groups-except g\n"
    )
    mtus = {port.name: port.mtu for port in VENDOR.parse(text).interfaces}
    assert (mtus["ge-0/0/0"], mtus["ge-0/0/1"], mtus["ge-0/0/2"]) == (9000, 1400, None)


def test_groups_that_apply_each_other_come_to_an_end() -> None:
    text = "set groups a apply-groups b\nset groups b apply-groups a\nset groups b interfaces <*> mtu 1400\nset apply-groups a\n"
    assert VENDOR.parse(text + "set interfaces ge-0/0/0 unit 0\n").interfaces[0].mtu == 1400


def test_a_pattern_of_a_group_that_nobody_can_read_matches_nothing() -> None:
    text = "set groups g interfaces <[> mtu 1400\nset apply-groups g\nset interfaces ge-0/0/0 unit 0\n"
    assert all(port.mtu is None for port in VENDOR.parse(text).interfaces)


def test_the_longest_prefix_decides_whether_an_address_is_excepted() -> None:
    words = "set firewall family inet filter F term t from source-address "
    text = words + "10.0.0.0/8\n" + words + "10.1.0.0/16 except\n" + words + "10.1.2.0/24\n"
    found = rules(text, "F")["t"].match.source
    assert found == AddressSet.of("10.0.0.0/8").minus(AddressSet.of("10.1.0.0/16")).union(AddressSet.of("10.1.2.0/24"))


def test_addresses_that_are_only_excepted_match_nothing() -> None:
    text = "set firewall family inet filter F term t from source-address 10.0.0.0/8 except\n"
    assert rules(text, "F")["t"].match.source.is_empty


def test_a_term_that_only_marks_accepts_and_next_term_goes_on() -> None:
    words = "set firewall family inet filter F term "
    text = f"{words}mark then dscp cs1\n{words}count then count c\n{words}count then next term\n{words}stop then reject\n"
    found = [rule.action for rule in rules(text, "F").values()]
    assert found == [Action.PERMIT, Action.CONTINUE, Action.DENY]


def test_ports_without_a_protocol_are_those_of_tcp_and_udp() -> None:
    text = "set firewall family inet filter F term t from destination-port 53\n"
    assert [service.protocols for service in rules(text, "F")["t"].match.services] == [((6, 6),), ((17, 17),)]


def test_a_zone_without_the_name_looks_into_the_global_book() -> None:
    text = (
        "set security address-book dmz address web 10.1.1.1/32\nset security address-book dmz attach zone a\n"
        "set security address-book global address web 10.2.2.2/32\nset security address-book global address db 10.3.3.3/32\n"
    )
    found = rules(text + pair("p", source="web") + pair("q", source="db") + pair("r", source="gone"))
    assert found["p"].match.source == AddressSet.of("10.1.1.1/32")
    assert found["p"].references == ("dmz/web",)
    assert found["q"].match.source == AddressSet.of("10.3.3.3/32")
    assert found["r"].match.unresolved == ("gone",)


def test_a_session_is_counted_once_whether_it_is_logged_at_both_ends() -> None:
    text = (
        "2026-11-30T06:00:01.5Z srx RT_FLOW: RT_FLOW_SESSION_CREATE: session created "
        "10.1.1.1/40000->192.0.2.1/443 0x0 junos-https "
        "203.0.113.1/1024->192.0.2.1/443 0x0 source rule out N/A N/A 6 allow-web trust untrust 77 N/A(N/A) ge-0/0/1.0\n"
        "2026-11-30T06:00:09Z srx RT_FLOW: RT_FLOW_SESSION_CLOSE: session closed TCP FIN: "
        "10.1.1.1/40000->192.0.2.1/443 0x0 junos-https "
        "203.0.113.1/1024->192.0.2.1/443 0x0 source rule out N/A N/A 6 allow-web trust untrust 77 10(900) 12(4000) 8 UNKNOWN\n"
        "2026-11-30T06:00:10Z srx RT_FLOW: RT_FLOW_SESSION_DENY: session denied 10.1.1.1/5->192.0.2.9/21 junos-ftp 6(0) "
        "no-ftp trust untrust UNKNOWN UNKNOWN N/A(N/A) ge-0/0/1.0\n"
    )
    assert VENDOR.rule_uses is not None
    web, ftp = VENDOR.rule_uses(text)
    assert (web.policy, web.key, web.sessions) == ("trust->untrust", "trust->untrust allow-web", 1)
    assert (web.first_at, web.last_at) == (
        datetime(2026, 11, 30, 6, 0, 1, tzinfo=UTC),
        datetime(2026, 11, 30, 6, 0, 9, tzinfo=UTC),
    )
    assert (ftp.key, ftp.sessions) == ("trust->untrust no-ftp", 1)


def test_structured_logs_name_the_policy_and_both_zones() -> None:
    text = (
        "<14>1 2026-11-30T07:00:00.000+02:00 srx RT_FLOW - RT_FLOW_SESSION_CLOSE "
        '[junos@2636.1.1.1.2.26 reason="TCP FIN" '
        'source-address="10.1.1.1" policy-name="all of it" source-zone-name="junos-global" '
        'destination-zone-name="junos-global"]\n'
    )
    assert VENDOR.rule_uses is not None
    (use,) = VENDOR.rule_uses(text)
    assert (use.policy, use.key, use.sessions) == ("global", "global all of it", 1)
    assert use.last_at is not None and use.last_at.astimezone(UTC) == datetime(2026, 11, 30, 5, 0, tzinfo=UTC)


def test_lines_without_a_policy_are_no_use() -> None:
    assert VENDOR.rule_uses is not None
    assert VENDOR.rule_uses("srx RT_FLOW: session created\nRT_FLOW_SESSION_CLOSE policy-name=\n") == ()


def test_hits_of_both_members_are_added_up() -> None:
    table = "Index   From zone        To zone           Name           Policy count  Action\n"
    row = "1       trust            untrust           p1             {}  Permit\n"
    text = f"node0:\n---------\n{table}{row.format(5)}\nnode1:\n---------\n{table}{row.format(7)}Number of policy: 1\n"
    sample = VENDOR.counters(text, None)
    assert sample is not None
    assert [(hit.policy, hit.key, hit.hits) for hit in sample.hits] == [("trust->untrust", "trust->untrust p1", 12)]
    assert sample.counts == "sessions" and sample.zero_is_printed


def test_copies_of_a_filter_per_interface_are_added_up_and_policers_left_out() -> None:
    head = "Counters:\nName                                                Bytes              Packets\n"
    text = f"Filter: EDGE-ge-0/0/0.0-i\n{head}web-ge-0/0/0.0-i   1000   10\n"
    text += "Policers:\nName   Bytes   Packets\nP-web-ge-0/0/0.0-i   99   9\n\n"
    text += f"Filter: EDGE-xe-1/0/3.100-i\n{head}web-xe-1/0/3.100-i 500 5\n"
    sample = VENDOR.counters(text, None)
    assert sample is not None
    assert [(hit.policy, hit.key, hit.hits, hit.bytes) for hit in sample.hits] == [("EDGE", "EDGE web", 15, 1500)]
    assert sample.counts == "packets"


def test_counters_behind_a_configuration_are_no_unparsed_lines() -> None:
    text = pair("p") + "Index From zone To zone Name Policy count\n1 a b p 3\n"
    assert VENDOR.parse(text).unparsed == ()
    sample = VENDOR.counters(text, None)
    assert sample is not None
    assert (sample.hits[0].policy, sample.hits[0].key) == ("a->b", rules(text)["p"].hit_key)


@pytest.mark.parametrize("text", ["", "{", "}", "set", "insert", "rename x", "edit", "top set", "[edit", "inactive:", "a: {"])
def test_fragments_are_models(text: str) -> None:
    assert VENDOR.parse(text).rule_count == 0


def test_applications_by_names_of_messages_and_by_source_alone() -> None:
    head = "set applications application"
    config = VENDOR.parse(
        f"{head} x icmp-code port-unreachable\n{head} x icmp-type unreachable\n{head} y icmp6-type destination-unreachable\n"
        f"{head} y icmp6-code no-route-to-destination\n{head} z source-port 53\n{head} w term t1 alg dns\n"
    )
    assert [(one.name, [service(value) for value in one.services]) for one in config.services] == [
        ("x", ["icmp 3:3"]),
        ("y", ["icmp6 1:0"]),
        ("z", ["any from 53"]),
        ("w", []),
    ]


def test_what_a_zone_does_besides_is_understood_or_ignored_by_name() -> None:
    head = "set security zones security-zone a"
    config = VENDOR.parse(f"{head} tcp-rst\n{head} odd-word 1\n{head} interfaces ge-0/0/0.0\n")
    assert (config.ignored, config.unparsed) == ((2,), ())


def test_comments_may_hold_braces_and_stand_anywhere() -> None:
    config = VENDOR.parse(
        "/* begin { */\nfirewall { # a comment { with braces\n family inet { /* one { */ filter f { term t { then accept } } }\n"
        "  /* a line\n  of { two */\n}\n}\n;\n"
    )
    assert (config.unparsed, [rule.name for rule in config.policies[0].rules]) == ((), ["t"])


def test_a_prefix_list_and_nat_know_no_masks() -> None:
    holes = "10.0.0.1/255.0.245.0"
    config = VENDOR.parse(
        f"set policy-options prefix-list p {holes}\n"
        f"set security nat source rule-set s rule r match source-address {holes}\n"
        "set security nat source rule-set s rule r then source-nat off\n"
    )
    assert reasons(config) == ["not a prefix", "not a prefix"]
