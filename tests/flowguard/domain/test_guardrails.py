"""Every rail refuses what it is there for, and only that."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from flowguard.domain.guardrails import LIMITS, Decision, Situation, as_rows, evaluate, is_too_young
from flowguard.domain.taking_back import TakenBack

TAKEN_AT = datetime(2026, 3, 2, 9, 0, 5, tzinfo=UTC)
TAKEN_BACK = TakenBack("alice", TAKEN_AT, TAKEN_AT + timedelta(hours=8))

CLEAR = Situation(
    mode="auto",
    profile="lab",
    verdict_name="class-not-allowed",
    standing="stands",
    confidence=0.95,
    signals=("dscp-outside-allowance", "volume"),
    persisted_ms=61_000,
    seconds_since_packet=0.5,
    ended_after_packet=False,
    taken_back=None,
    dscp=46,
    source="192.0.2.7/32",
    identity_core=False,
    capture_drop_ratio=0.0,
    killed=False,
    never_touch=(("198.51.100.0/24", "management"),),
    guard_name="PHG-A",
    guard_state="installed",
    guard_marks=frozenset({40, 46}),
    device_role="access",
    device_quarantine="",
    has_verifying_point=True,
    seen_in_tunnel=False,
    open_members=0,
    pushes_last_hour_in_realm=0,
    seconds_since_device_push=None,
    member_pushes_last_day=0,
)


def test_a_clear_situation_passes_every_rail_in_both_profiles():
    for profile in LIMITS:
        decision, railings = evaluate(replace(CLEAR, profile=profile))
        assert decision is Decision.ACT, [r for r in railings if not r.passed]


@pytest.mark.parametrize(
    ("rail", "allows", "change"),
    [
        ("mode", Decision.OBSERVE, {"mode": "observe"}),
        ("mode", Decision.OBSERVE, {"mode": "anything else"}),
        ("mode", Decision.PROPOSE, {"mode": "propose"}),
        ("kill-switch", Decision.REFUSE, {"killed": True}),
        ("verdict-kind", Decision.REFUSE, {"verdict_name": "dscp-rewritten"}),
        ("verdict-kind", Decision.REFUSE, {"standing": "network"}),
        ("evidence", Decision.REFUSE, {"confidence": 0.89}),
        ("evidence", Decision.REFUSE, {"signals": ()}),
        ("persistence", Decision.REFUSE, {"persisted_ms": 999}),
        ("fresh-evidence", Decision.REFUSE, {"seconds_since_packet": 15.5}),
        ("fresh-evidence", Decision.REFUSE, {"ended_after_packet": True}),
        ("taken-back", Decision.PROPOSE, {"taken_back": TAKEN_BACK}),
        ("capture-loss", Decision.REFUSE, {"capture_drop_ratio": 0.001}),
        ("capture-loss", Decision.PROPOSE, {"capture_drop_ratio": None}),
        ("never-core", Decision.REFUSE, {"identity_core": True}),
        ("never-core", Decision.PROPOSE, {"identity_core": None}),
        ("never-touch", Decision.REFUSE, {"source": "198.51.100.9/32"}),
        ("source-width", Decision.REFUSE, {"source": "192.0.2.0/24"}),
        ("prepared-guard", Decision.OBSERVE, {"guard_name": "", "guard_state": ""}),
        ("prepared-guard", Decision.OBSERVE, {"guard_state": "broken"}),
        ("prepared-guard", Decision.OBSERVE, {"dscp": 48}),
        ("device-health", Decision.REFUSE, {"device_quarantine": "wrong password"}),
        ("verifying-point", Decision.PROPOSE, {"has_verifying_point": False}),
        ("verifying-point", Decision.PROPOSE, {"seen_in_tunnel": True}),
        ("blast-radius", Decision.REFUSE, {"open_members": 3}),
        ("rate-of-pushes", Decision.PROPOSE, {"pushes_last_hour_in_realm": 60}),
        ("flapping", Decision.PROPOSE, {"member_pushes_last_day": 20}),
    ],
)
def test_one_thing_wrong_is_refused_by_its_rail_alone(rail, allows, change):
    decision, railings = evaluate(replace(CLEAR, **change))
    assert decision is allows
    assert [r.name for r in railings if not r.passed] == [rail]


@pytest.mark.parametrize(
    ("rail", "change"),
    [
        ("evidence", {"signals": ("dscp-outside-allowance",)}),
        ("evidence", {"signals": ("volume", "volume")}),
        ("persistence", {"persisted_ms": 59_999}),
        ("device-role", {"device_role": "core"}),
        ("rate-of-pushes", {"seconds_since_device_push": 599.0}),
        ("rate-of-pushes", {"pushes_last_hour_in_realm": 6}),
        ("flapping", {"member_pushes_last_day": 2}),
    ],
)
def test_production_asks_for_more_than_the_lab(rail, change):
    assert evaluate(replace(CLEAR, **change))[0] is Decision.ACT
    _, railings = evaluate(replace(CLEAR, profile="production", **change))
    assert [r.name for r in railings if not r.passed] == [rail]


@pytest.mark.parametrize(
    "change",
    [
        {"confidence": 0.9},
        {"persisted_ms": 1_000},
        {"seconds_since_packet": 15.0},
        {"seconds_since_packet": -5.0},
        {"capture_drop_ratio": 0.000_9},
        {"never_touch": (("192.0.2.8/29", "the next ones"),)},
        {"open_members": 2},
        {"pushes_last_hour_in_realm": 59},
        {"seconds_since_device_push": 0.0},
        {"member_pushes_last_day": 19},
        {"signals": ("volume",)},
        {"verdict_name": "unknown-identity-in-priority"},
    ],
)
def test_what_just_passes_in_the_lab(change):
    assert evaluate(replace(CLEAR, **change))[0] is Decision.ACT


@pytest.mark.parametrize(
    "change",
    [{"seconds_since_device_push": 600.0}, {"pushes_last_hour_in_realm": 5}, {"member_pushes_last_day": 1}, {"device_role": ""}],
)
def test_what_just_passes_in_production(change):
    assert evaluate(replace(CLEAR, profile="production", **change))[0] is Decision.ACT


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seconds_since_packet": -5.1}, "the sensor's clock is 5 s ahead of ours"),
        ({"never_touch": (("nonsense", "x"),)}, "nonsense on the never-touch list is no prefix; correct it"),
        ({"source": "192.0.2.0/31"}, "192.0.2.0/31: addresses 2 (exactly 1)"),
        ({"capture_drop_ratio": 0.01}, "the capture lost 1.000 % of its packets (below 0.1 %)"),
        ({"taken_back": TAKEN_BACK}, "alice took it back at 03-02 09:00:05 UTC; until 03-02 17:00:05 UTC it waits for a person"),
        ({"persisted_ms": 500}, "seen for 0.5 s (at least 1 s)"),
    ],
)
def test_a_refusal_says_what_was_seen(change, said):
    assert said in [str(railing.reason) for railing in evaluate(replace(CLEAR, **change))[1] if not railing.passed]


def test_every_reason_holds_the_figures_it_was_decided_by():
    production = replace(
        CLEAR, profile="production", persisted_ms=59_000, device_role="core", seconds_since_device_push=300.0, open_members=1,
        capture_drop_ratio=0.0005,
    )  # fmt: skip
    said = {railing.name: str(railing.reason) for railing in evaluate(production)[1]}
    assert said["persistence"] == "seen for 59.0 s (at least 60 s)"
    assert said["device-role"] == "role core"
    assert said["rate-of-pushes"] == "last addition to a guard of the device 300 s ago (at least 600 s apart)"
    assert said["capture-loss"] == "the capture lost 0.050 % of its packets (below 0.1 %)"
    assert said["prepared-guard"] == "PHG-A is installed and takes DSCP 40, 46"
    assert said["evidence"] == "confidence 0.95 (at least 0.90), signals: 2 (at least 2)"
    (persistence,) = (row for row in as_rows(evaluate(production)[1]) if row["name"] == "persistence")
    assert persistence["values"] == {"seen": 59.0, "needed": 60.0}
    unknown = {railing.name: str(railing.reason) for railing in evaluate(replace(CLEAR, device_role=""))[1]}
    assert unknown["device-role"] == "role -"


def test_a_verdict_is_too_young_until_it_has_lasted():
    ages = [is_too_young(replace(CLEAR, profile="production", persisted_ms=ms)) for ms in (59_999, 60_000)]
    assert ages == [True, False]
    assert is_too_young(replace(CLEAR, persisted_ms=1_000)) is False


def test_the_strictest_rail_decides():
    decision, _ = evaluate(replace(CLEAR, mode="propose", killed=True))
    assert decision is Decision.REFUSE


def test_an_ipv6_source_is_never_touched_by_its_own_family_only():
    situation = replace(CLEAR, source="2001:db8::1/128", never_touch=(("0.0.0.0/0", "all of IPv4"), ("2001:db8::/64", "servers")))
    _, railings = evaluate(situation)
    assert [str(r.reason) for r in railings if r.name == "never-touch"] == ["2001:db8::/64 is on the never-touch list: servers"]


def test_rows_hold_a_template_and_values_that_fit():
    for row in as_rows(evaluate(replace(CLEAR, never_touch=(("192.0.2.7/32", "100 % mine"),)))[1]):
        assert row["text"] % row["values"] if row["values"] else row["text"]
