"""The rule space against its slow twin and against trying every packet."""

from __future__ import annotations

import ipaddress
from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyhub.domain import rulespace_twin
from policyhub.domain.addresses import ANY, MAX6, AddressSet
from policyhub.domain.rules import Action, Match, Policy, Rule
from policyhub.domain.rulespace import NATIVE, Fate, Packet, coverage
from policyhub.domain.services import ANY_SERVICE, Service
from tests.checks.make import policy, rule

DEAD = (Fate.SHADOWED, Fate.REDUNDANT)

# Every set below is built from these values; the last of each list stands for all values that no set names.
HOSTS4 = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "99.9.9.9"]
HOSTS6 = ["2001:db8::1", "2001:db8::2", "ff00::1"]
PROTOCOLS, SOURCE_PORTS, PORTS, ZONES, MARKS = [6, 17, 50], [5, 99], [80, 443, 9], ["a", "b", ""], [46, 0]


def _subsets(values, size=2):
    return st.lists(st.sampled_from(values), min_size=1, max_size=size, unique=True)


addresses = st.one_of(
    st.just(ANY),
    _subsets(HOSTS4[:3], 3).map(lambda hosts: AddressSet.of(*hosts)),
    _subsets(HOSTS6[:2]).map(lambda hosts: AddressSet.of(*hosts)),
    _subsets(HOSTS4[:2] + HOSTS6[:1], 3).map(lambda hosts: AddressSet.of(*hosts)),
    st.just(AddressSet((), ((0, MAX6),))),
)
services = st.one_of(
    st.just((ANY_SERVICE,)),
    st.builds(
        lambda protocols, ports, source: tuple(
            Service.of(p, tuple((x, x) for x in ports) if ports else None, tuple((x, x) for x in source) if source else None)
            for p in protocols
        ),
        _subsets(PROTOCOLS[:2]),
        st.one_of(st.none(), _subsets(PORTS[:2])),
        st.one_of(st.none(), st.none(), _subsets(SOURCE_PORTS[:1])),
    ),
)
matches = st.builds(
    Match,
    addresses,
    addresses,
    services,
    st.one_of(st.just(()), _subsets(ZONES[:2]).map(tuple)),
    st.just(()),
    st.one_of(st.none(), st.none(), st.just(frozenset({46}))),
    st.sampled_from([(), (), (), ("established",)]),
)
rules = st.builds(
    Rule,
    st.just("r"),
    st.sampled_from([Action.PERMIT, Action.PERMIT, Action.DENY, Action.DENY, Action.CONTINUE]),
    matches,
    st.just((1,)),
    st.just(""),
    st.sampled_from([True] * 7 + [False]),
)
policies = st.builds(
    Policy,
    st.just("p"),
    st.lists(rules, min_size=2, max_size=7).map(tuple),
    st.sampled_from([Action.DENY, Action.PERMIT, None]),
    st.sampled_from([0, 0, 4, 6]),
)


@cache
def _every_packet(family: int) -> list[Packet]:
    return list(_packets(family))


@cache
def _number(text: str) -> int:
    return int(ipaddress.ip_address(text))


def _packets(family: int):
    hosts = (HOSTS4 if family in (0, 4) else []), (HOSTS6 if family in (0, 6) else [])
    for list_ in hosts:
        for s, d, p, sp, dp, mark, zone in product(list_, list_, PROTOCOLS, SOURCE_PORTS, PORTS, MARKS, ZONES):
            yield Packet(s, d, p, sp, dp, mark, zone)


def _holds(addresses: AddressSet, text: str) -> bool:
    number, intervals = _number(text), addresses.v6 if ":" in text else addresses.v4
    return any(low <= number <= high for low, high in intervals)


def _inside(number, intervals) -> bool:
    return any(low <= number <= high for low, high in intervals)


def _matches(rule: Rule, packet: Packet) -> bool:
    match = rule.match
    return (
        (match.dscp is None or packet.dscp in match.dscp)
        and (not match.source_zones or packet.source_zone in match.source_zones)
        and any(
            _inside(packet.protocol, s.protocols)
            and _inside(packet.source_port, s.source_ports)
            and _inside(packet.destination_port, s.destination_ports)
            for s in match.services
        )
        and _holds(match.source, packet.source)
        and _holds(match.destination, packet.destination)
    )


def _decides(rule: Rule) -> bool:
    return rule.enabled and rule.match.is_exact and rule.action is not Action.CONTINUE


@settings(max_examples=150, deadline=None)
@given(policies)
def test_fates_agree_with_the_twin_and_with_every_packet(policy):
    answers = coverage(policy, witnesses=True)
    twin = coverage(policy, engine=rulespace_twin.analyse, witnesses=True)
    assert [(a.fate, a.by_default) for a in answers] == [(a.fate, a.by_default) for a in twin]
    packets = _every_packet(policy.family)
    held = [{n for n, packet in enumerate(packets) if _matches(rule, packet)} for rule in policy.rules]
    for number, answer in enumerate(answers):
        earlier = set().union(*(held[n] for n in range(number) if _decides(policy.rules[n])))
        if answer.fate in DEAD:
            assert held[number] <= earlier
            assert held[number] <= set().union(*(held[n] for n in answer.by))
            for spare in answer.by:
                assert not held[number] <= set().union(*(held[n] for n in answer.by if n != spare))
        elif answer.fate is Fate.FREE:
            assert held[number] - earlier
            assert _matches(policy.rules[number], answer.witness)
            assert not any(_matches(r, answer.witness) for r in policy.rules[:number] if _decides(r))
            assert _matches(policy.rules[number], twin[number].witness)
        elif answer.fate is Fate.REDUNDANT_BELOW:
            assert held[number] - earlier


def _random_axes(sets):
    return [[(space, tuple((low, low + width) for low, width in parts)) for space, parts in table] for table in sets]


raw_sets = st.lists(
    st.tuples(st.integers(0, 1), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=3)),
    min_size=2,
    max_size=4,
)
actions = st.sampled_from(["permit", "deny", "continue"])


@settings(max_examples=300, deadline=None)
@given(st.data(), st.lists(raw_sets, min_size=2, max_size=3), st.sampled_from([None, "permit", "deny"]))
def test_native_and_twin_agree_on_arbitrary_boxes(data, sets, default):
    axes = _random_axes(sets)
    box = st.tuples(*(st.integers(0, len(table) - 1) for table in axes))
    rule = st.tuples(actions, st.booleans() | st.just(True), st.booleans() | st.just(True), st.lists(box, min_size=0, max_size=3))
    listed = data.draw(st.lists(rule, min_size=1, max_size=8))
    native = NATIVE(axes, listed, default_action=default)
    slow = rulespace_twin.analyse(axes, listed, default_action=default)
    assert [(r[0], r[2]) for r in native] == [(r[0], r[2]) for r in slow]


def test_union_of_two_earlier_permits_makes_a_later_deny_unreachable():
    low = rule("1", "permit", "10.0.0.0/25", "any", "80-443")
    high = rule("2", "permit", "10.0.0.128/25", "any", "1-1000")
    other = rule("3", "permit", "10.9.0.0/16")
    dead = rule("4", "deny", "10.0.0.0/24", "192.0.2.0/24", "80,443")
    assert coverage(policy(low, high, other, dead))[3].by == (0, 1)
    assert coverage(policy(low, high, other, dead))[3].fate is Fate.SHADOWED


def test_one_uncovered_port_keeps_a_rule_alive_and_the_witness_names_it():
    answers = coverage(
        policy(rule("1", ports="1-442"), rule("2", ports="444-65535"), rule("3", "deny", "10.0.0.0/8", ports="400-500")),
        witnesses=True,
        below=False,
    )
    assert answers[2].fate is Fate.FREE
    assert (answers[2].witness.protocol, answers[2].witness.destination_port) == (6, 443)


def test_a_permit_for_both_families_is_covered_by_one_rule_per_family():
    answers = coverage(
        policy(rule("1", source="0.0.0.0/0", destination="0.0.0.0/0"), rule("2", "permit", "::/0", "::/0"), rule("3"))
    )
    assert answers[2].fate is Fate.REDUNDANT
    assert answers[2].by == (0, 1)


@pytest.mark.parametrize(
    "why", [{"conditions": ("established",)}, {"unresolved": ("www.example.net",)}, {"schedule": "NIGHT"}, {"enabled": False}]
)
def test_a_rule_with_conditions_covers_nothing(why):
    answers = coverage(policy(rule("1", "permit", **why), rule("2", "deny", "10.0.0.0/8", ports="22")))
    assert answers[1].fate is not Fate.SHADOWED


def test_a_rule_with_conditions_can_be_covered():
    answers = coverage(policy(rule("1", "deny"), rule("2", "permit", "10.0.0.0/8", conditions=("established",))))
    assert answers[1].fate is Fate.SHADOWED


def test_repeated_permit_behind_a_blocked_host_is_redundant_not_shadowed():
    block = rule("1", "deny", "10.1.1.1/32")
    answers = coverage(policy(block, rule("2", "permit", "10.1.0.0/16"), rule("3", "permit", "10.1.1.0/24")))
    assert (answers[2].fate, answers[2].by) == (Fate.REDUNDANT, (1,))


def test_permit_whose_packets_all_meet_an_earlier_deny_is_shadowed_though_a_wider_permit_follows():
    answers = coverage(
        policy(rule("1", "deny", "10.1.0.0/16"), rule("2", "permit", "10.0.0.0/8"), rule("3", "permit", "10.1.1.0/24"))
    )
    assert (answers[2].fate, answers[2].by) == (Fate.SHADOWED, (0,))


def test_of_two_equal_rules_exactly_one_is_called_redundant():
    answers = coverage(policy(rule("1", "permit", "10.1.0.0/16"), rule("2", "permit", "10.1.0.0/16")))
    assert [a.fate for a in answers] == [Fate.FREE, Fate.REDUNDANT]


def test_narrow_permit_above_a_wide_one_is_redundant_below_unless_a_deny_stands_between():
    narrow, wide, between = (
        rule("1", "permit", "10.1.1.0/24"),
        rule("3", "permit", "10.1.0.0/16"),
        rule("2", "deny", "10.1.1.1/32"),
    )
    assert coverage(policy(narrow, wide))[0].fate is Fate.REDUNDANT_BELOW
    assert coverage(policy(narrow, between, wide))[0].fate is Fate.FREE
    conditional = rule("2", "deny", "10.1.1.1/32", conditions=("log-only",))
    assert coverage(policy(narrow, conditional, wide))[0].fate is Fate.FREE


def test_a_policy_that_evaluates_every_rule_is_not_judged_by_order():
    answers = coverage(policy(rule("1"), rule("2", "deny", "10.0.0.0/8"), first_match=False))
    assert [a.fate for a in answers] == [Fate.UNDECIDED, Fate.UNDECIDED]


def test_a_small_budget_says_undecided():
    parts = [rule(str(n), "permit", f"10.0.0.{n}/32") for n in range(16)]
    answers = coverage(policy(*parts, rule("all", "deny", "10.0.0.0/28")), budget=20)
    assert answers[16].fate is Fate.UNDECIDED
    assert coverage(policy(*parts, rule("all", "deny", "10.0.0.0/28")))[16].by == tuple(range(16))


def test_zones_keep_rules_apart():
    answers = coverage(
        policy(
            rule("1", source_zones=("dmz",)), rule("2", "deny", source_zones=("trust",)), rule("3", "deny", source_zones=("dmz",))
        )
    )
    assert [a.fate for a in answers] == [Fate.FREE, Fate.REDUNDANT_BELOW, Fate.SHADOWED]


def test_the_native_engine_refuses_a_box_that_names_no_set():
    with pytest.raises(ValueError, match="axis 0 has no set 7"):
        NATIVE([[(4, ((0, 1),))]], [("permit", True, True, [(7,)])])
