"""overbroad-rule, any-any, disabled-rule, expired-rule, unlogged-rule and ef-without-limit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from policyhub.checks.breadth import address_bits, service_bits
from policyhub.checks.context import Breadth, Context
from policyhub.checks.registry import run_checks, select
from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet
from policyhub.domain.finding import Severity
from policyhub.domain.objects import Schedule
from policyhub.domain.qos import ClassMatch, Policer, QosAttachment, QosClass, QosPolicy, Queue
from policyhub.domain.rules import Binding
from policyhub.domain.services import ANY_SERVICE, ICMP, TCP, UDP, Service
from tests.checks.make import device, policy, rule


def names_found(the_rule, *names, **context):
    found = run_checks(Context(device(policy(the_rule)), **context), select(names))
    return {finding.name for finding in found}


@pytest.mark.parametrize(
    ("source", "destination", "ports", "wide"),
    [
        ("any", "any", "3389", True),
        ("any", "any", "any", True),
        ("10.1.1.1/32", "any", "any", True),
        ("10.1.1.0/24", "10.2.0.0/15", "any", True),
        ("10.1.1.0/24", "10.2.0.0/16", "any", False),
        ("any", "10.2.0.0/16", "1-65535", True),
        ("10.1.0.0/16", "10.2.0.0/16", "any", True),
        ("10.1.1.0/24", "any", "443", False),
        ("any", "192.0.2.10/32", "443", False),
        ("any", "192.0.2.0/24", "80,443", False),
        ("10.1.1.0/24", "10.2.2.0/24", "any", False),
        ("::/0", "2001:db8::/64", "443", False),
        ("::/0", "::/0", "443", True),
    ],
)
def test_what_counts_as_overbroad(source, destination, ports, wide):
    assert ("overbroad-rule" in names_found(rule("1", "permit", source, destination, ports), "overbroad-rule")) is wide


@pytest.mark.parametrize(
    "more",
    [
        {"action": "deny"},
        {"enabled": False},
        {"conditions": ("established",)},
        {"unresolved": ("www.example.net",)},
        {"source_zones": ("lo",)},
    ],
)
def test_denies_answers_unknown_names_and_loopback_are_not_overbroad(more):
    assert not names_found(rule("1", **{"action": "permit", **more}), "overbroad-rule", "any-any")


def test_a_schedule_alone_does_not_hide_a_wide_rule():
    timed = rule("1", schedule="NIGHT", conditions=("time-range NIGHT",))
    assert names_found(timed, "overbroad-rule", "any-any") == {"any-any"}


def test_a_list_that_selects_for_qos_is_not_overbroad():
    found = run_checks(Context(device(policy(rule("1"), purpose="match"))), select(["overbroad-rule", "any-any", "zombie-rule"]))
    assert not found


def test_ping_from_everywhere_is_not_overbroad():
    ping = replace(rule("1"), match=replace(rule("1").match, services=(Service.of(ICMP, ((2048, 2303),)),)))
    assert not names_found(ping, "overbroad-rule")


def test_any_any_needs_all_three_and_names_the_zone():
    assert names_found(rule("1"), "any-any") == {"any-any"}
    assert not names_found(rule("1", ports="tcp"), "any-any")
    found = run_checks(Context(device(policy(rule("1", source_zones=("dmz",))))), select(["any-any"]))
    assert "from dmz" in found[0].message
    found = run_checks(Context(device(policy(rule("1", source_zones=("dmz",), destination_zones=("lan",))))), select(["any-any"]))
    assert "from dmz to lan" in found[0].message


@pytest.mark.parametrize(
    ("source", "destination", "ports", "said"),
    [
        ("any", "any", "3389", "any source may reach any destination; only the service is limited"),
        (
            "10.1.1.1/32",
            "any",
            "any",
            "opens every service of any address; with every service open, more than 65,536 are too many",
        ),
        (
            "10.1.0.0/16",
            "10.2.0.0/16",
            "any",
            "65,536 addresses may reach 65,536 addresses on every service: 16 times as much as one rule should open",
        ),
        (
            "any",
            "10.2.0.0/17",
            "80-125",
            "any address may reach 32,768 addresses on 46 services: 1.4 times as much as one rule should open",
        ),
    ],
)
def test_a_wide_rule_is_told_in_numbers_that_people_know(source, destination, ports, said):
    made = policy(rule("1", "permit", source, destination, ports), bindings=(Binding("outside", "in"),))
    (found,) = run_checks(Context(device(made)), select(["overbroad-rule"]))
    assert found.message == said


def test_ipv6_is_told_in_networks_and_the_device_itself_as_such():
    wide = rule("1", "permit", "2001:db8::/32", "2001:db8::/32", "any")
    (found,) = run_checks(
        Context(device(policy(wide)), breadth=Breadth(any_service_addresses=2**20, max_bits=40)), select(["PH004"])
    )
    assert found.message.startswith(
        "4,294,967,296 IPv6 networks of /64 may reach 4,294,967,296 IPv6 networks of /64 on every service"
    )
    itself = policy(rule("1", "permit", "any", "10.1.1.1/32", "22"), bindings=(Binding("", "input"),))
    (found,) = run_checks(Context(device(itself), breadth=Breadth(max_bits=30)), select(["PH004"]))
    assert found.message.startswith("any address may reach the device itself on one service: 4.0 times")


def test_thresholds_are_arguments():
    lan = rule("1", "permit", "10.1.1.0/24", "10.2.2.0/24", "any")
    assert names_found(lan, "overbroad-rule", breadth=Breadth(any_service_addresses=128)) == {"overbroad-rule"}
    assert names_found(lan, "overbroad-rule", breadth=Breadth(max_bits=39)) == {"overbroad-rule"}


def test_bits_measure_addresses_and_services():
    assert address_bits(ANY4) == address_bits(ANY6) == address_bits(ANY) == 32
    assert address_bits(AddressSet.of("10.0.0.0/24")) == 8
    assert address_bits(AddressSet.of("2001:db8::1")) == 0
    assert address_bits(AddressSet()) == 0
    assert service_bits((ANY_SERVICE,)) == 24
    assert service_bits((Service.of(TCP, ((443, 443),)),)) == 0
    assert service_bits((Service.of(TCP), Service.of(UDP))) == 17
    assert service_bits((Service.of(47),)) == 0


def test_disabled_rule_is_found_and_judged_for_nothing_else():
    found = run_checks(Context(device(policy(rule("1", enabled=False)))), select(None))
    assert [finding.name for finding in found] == ["disabled-rule"]


@pytest.mark.parametrize(("now", "expected"), [("2024-04-01", True), ("2024-03-01", False), (None, False)])
def test_a_rule_is_expired_only_after_its_schedule_and_only_when_the_time_is_known(now, expected):
    night = Schedule("MIG", "absolute end 23:00 31 March 2024", "2024-03-31T23:00:00")
    config = device(policy(rule("1", schedule="MIG", conditions=("time-range MIG",))), schedules=(night,))
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC) if now else None
    found = run_checks(Context(config, now=moment), select(["expired-rule"]))
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"action": "deny", "logged": False}, True),
        ({"action": "deny", "logged": True}, False),
        ({"action": "deny", "logged": None}, False),
        ({"action": "permit", "logged": False}, True),
        ({"action": "permit", "logged": False, "source": "10.0.0.0/8"}, False),
    ],
)
def test_denies_and_permits_from_anywhere_should_be_logged_where_the_platform_says(more, expected):
    assert bool(names_found(rule("1", **more), "unlogged-rule")) is expected


def qos(**changes):
    one = QosClass("VOICE", ClassMatch(dscp=frozenset({46})), queue=Queue("VOICE", is_strict_priority=True), lines=(3,))
    attached = (QosAttachment("Gi0/1", "out"),)
    return device(qos_policies=(QosPolicy("WAN", (replace(one, **changes),), attached),))


def test_strict_priority_for_ef_without_a_limit_is_found():
    found = run_checks(Context(qos()), select(["ef-without-limit"]))
    assert [(f.policy, f.rule, f.lines, f.severity) for f in found] == [("WAN", "VOICE", (3,), Severity.HIGH)]


@pytest.mark.parametrize(
    "changes",
    [
        {"queue": Queue("VOICE", is_strict_priority=True, ceiling_percent=30)},
        {"queue": Queue("VOICE", is_strict_priority=True, ceiling_bps=10**6)},
        {"queue": Queue("VOICE", guaranteed_percent=30)},
        {"policer": Policer(10**6)},
        {"match": ClassMatch(dscp=frozenset({26}))},
        {"queue": None},
    ],
)
def test_a_ceiling_a_policer_or_another_mark_is_no_finding(changes):
    assert not run_checks(Context(qos(**changes)), select(["ef-without-limit"]))


def test_wide_rules_weigh_less_in_a_list_that_is_bound_nowhere():
    wide = rule("1")
    bound = policy(wide, bindings=(Binding("outside", "in"),))
    for made, expected in ((bound, Severity.HIGH), (policy(wide), Severity.LOW)):
        for name in ("any-any", "overbroad-rule"):
            assert [finding.severity for finding in run_checks(Context(device(made)), select([name]))] == [expected]


def test_a_chain_that_others_jump_to_is_as_wide_as_the_jump_which_is_not_known():
    assert not run_checks(Context(device(policy(rule("1"), default=None))), select(["any-any", "overbroad-rule"]))


@pytest.mark.parametrize(("direction", "wide"), [("input", False), ("output", False), ("forward", True), ("in", True)])
def test_traffic_to_or_from_the_device_itself_is_not_from_anywhere_to_anywhere(direction, wide):
    made = policy(rule("1", ports="22"), bindings=(Binding("", direction),))
    assert bool(run_checks(Context(device(made)), select(["any-any", "overbroad-rule"]))) is wide
