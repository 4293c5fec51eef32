"""Which rules may decide a packet: against going down the list by hand."""

from __future__ import annotations

import ipaddress
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyhub.checks.seen_flows import read_flows, rules_seen
from policyhub.domain.errors import BadInput
from policyhub.domain.rules import Action
from policyhub.domain.rulespace import Packet, Probe, deciders
from tests.checks.make import policy, rule
from tests.checks.test_rulespace import HOSTS4, HOSTS6, MARKS, PORTS, PROTOCOLS, SOURCE_PORTS, ZONES, _matches, policies

packets = st.one_of(
    *(
        st.builds(
            Packet,
            st.sampled_from(hosts),
            st.sampled_from(hosts),
            st.sampled_from(PROTOCOLS),
            st.sampled_from(SOURCE_PORTS),
            st.sampled_from(PORTS),
            st.sampled_from(MARKS),
            st.sampled_from(ZONES),
        )
        for hosts in (HOSTS4, HOSTS6)
    )
)


def probe(packet: Packet, **changes) -> Probe:
    known = {
        "protocol": packet.protocol,
        "source_port": packet.source_port,
        "destination_port": packet.destination_port,
        "source_zone": packet.source_zone,
        "destination_zone": packet.destination_zone,
        "dscp": packet.dscp,
        **changes,
    }
    source, destination = ipaddress.ip_address(packet.source), ipaddress.ip_address(packet.destination)
    return Probe(source.version, int(source), int(destination), **known)


def by_hand(the_policy, packet: Packet) -> tuple[int, ...]:
    family = 6 if ":" in packet.source else 4
    found = []
    for number, one in enumerate(the_policy.rules):
        fits = the_policy.family in (0, family) and _matches(one, packet)
        if fits and one.enabled and one.action is not Action.CONTINUE:
            found.append(number)
            if one.match.is_exact:
                break
    return tuple(found)


@settings(max_examples=300, deadline=None)
@given(policies, st.lists(packets, min_size=1, max_size=12))
def test_known_packets_meet_the_same_rules_as_by_hand(the_policy, listed):
    assert deciders(the_policy, [probe(packet) for packet in listed]) == tuple(by_hand(the_policy, packet) for packet in listed)


@settings(max_examples=200, deadline=None)
@given(policies, packets, st.sampled_from(["source_port", "source_zone", "dscp"]))
def test_what_is_not_known_never_hides_a_rule(the_policy, packet, unknown):
    (narrow,) = deciders(the_policy, [probe(packet)])
    (wide,) = deciders(the_policy, [probe(packet, **{unknown: None})])
    assert set(narrow) <= set(wide)


def test_an_unknown_zone_lists_all_candidates_up_to_a_rule_without_zones():
    rules = [rule("1", source_zones=("dmz",)), rule("2", source_zones=("lan",)), rule("3"), rule("4")]
    assert deciders(policy(*rules), [Probe(4, 1, 2, 6, 5, 80)]) == ((0, 1, 2),)
    assert deciders(policy(*rules), [Probe(4, 1, 2, 6, 5, 80, source_zone="lan")]) == ((1,),)
    assert deciders(policy(*rules), [Probe(4, 1, 2, 6, 5, 80, source_zone="wan")]) == ((2,),)


def flows(*listed: dict) -> str:
    return json.dumps({"schema": "policyhub.flows/1", "flows": list(listed)})


TCP = {"src": "10.0.0.1", "dst": "192.0.2.1", "sport": 40000, "dport": 443, "proto": 6, "packets": 3}


def test_flows_count_for_the_rule_that_decides_them():
    made = policy(rule("web", ports="443"), rule("all"))
    read = read_flows(flows(TCP, {**TCP, "sport": 40001}, {**TCP, "dport": 22}), "f")
    assert rules_seen([made], read) == {("OUTSIDE_IN", "web"): 6, ("OUTSIDE_IN", "all"): 3}


def test_an_icmp_flow_without_type_counts_for_every_icmp_rule_it_may_meet_and_for_no_tcp_rule():
    made = policy(rule("web", ports="443"), rule("all"))
    read = read_flows(flows({"src": "10.0.0.1", "dst": "192.0.2.1", "sport": None, "dport": None, "proto": "icmp"}), "f")
    assert rules_seen([made], read) == {("OUTSIDE_IN", "all"): 1}


@pytest.mark.parametrize("broken", [{"src": "nowhere"}, {"proto": "tpc"}, {"dport": None}])
def test_a_broken_flow_is_named_by_its_number(broken):
    with pytest.raises(BadInput, match=r"f\.json: flows\[1\]: "):
        read_flows(flows(TCP, {**TCP, **broken}), "f.json")
