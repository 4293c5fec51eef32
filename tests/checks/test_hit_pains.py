"""Pains with hit counters as scripted histories: none may end in a false "proven unused".

Each story is what a vendor's users complain about; the rule in it *is* used, or may be, and the counters alone would say that
it is not. The few true proofs at the end show that the ledger still proves what can be proved.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from policyhub.domain.hit_ledger import Ledger, Use, ledgers, logged, together
from policyhub.domain.hits import HitCount, HitEvent, HitEventKind, HitSample, RuleUse

TODAY = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
WINDOW = 90
RULE, BUSY = "r1", "busy"


def ago(days: float) -> datetime:
    return TODAY - timedelta(days=days)


def reading(days: float, hits: dict[str, int | None], *, counts: str = "packets", **more: Any) -> HitSample:
    """Counters read `days` ago. bytes, since: by rule."""
    sizes, begun = more.pop("bytes", {}), more.pop("since", {})
    rows = tuple(HitCount("P", key, number, bytes=sizes.get(key), since=begun.get(key)) for key, number in hits.items())
    return HitSample(more.pop("platform", "x"), counts, rows, read_at=ago(days), **more)


def event(days: float, kind: HitEventKind, **more: Any) -> HitEvent:
    return HitEvent(ago(days), kind, **more)


def judged(samples: list[HitSample], events: tuple[HitEvent, ...] = (), members: int = 1) -> tuple[Use, str]:
    apart = members > 1 or any(sample.role or sample.member for sample in samples)
    proof = together(ledgers(samples, WINDOW, events, apart=apart), "P", RULE, members)
    return proof.use, str(proof.reason)


STORIES: dict[str, tuple[list[HitSample], tuple[HitEvent, ...], int, str]] = {
    "1 PAN-OS counters are not synchronised: only one firewall of a pair was asked": (
        [reading(d, {RULE: 0, BUSY: n}, counts="sessions", member="fw-a", role="active") for d, n in ((95, 5), (0, 9))],
        (), 1, "1 of 2 cluster members",
    ),
    "2 the other member has the hits": (
        [reading(d, {RULE: 0, BUSY: n}, member="a") for d, n in ((95, 5), (0, 9))]
        + [reading(d, {RULE: n, BUSY: n}, member="b") for d, n in ((95, 5), (0, 9))],
        (), 2, "",
    ),
    "2b a standby member shows zero for everything": (
        [reading(d, {RULE: 0, BUSY: 0}, counts="sessions", member="HRP_S", role="standby") for d in (95, 0)],
        (), 1, "standby member",
    ),
    "4 the counter was lost when the rule was renamed": (
        [reading(95, {"old": 40, BUSY: 5}), reading(20, {"old": 90, BUSY: 6}), reading(0, {RULE: 0, BUSY: 9})],
        (event(10, HitEventKind.RENAMED, policy="P", key="old", new_key=RULE),), 1, "",
    ),
    "4b renamed, and nobody read the old counter": (
        [reading(95, {RULE: 0, BUSY: 5}), reading(0, {RULE: 0, BUSY: 9})],
        (event(40, HitEventKind.RENAMED, policy="P", key="old", new_key=RULE),), 1, "renamed on",
    ),
    "4c an administrator reset the counter": (
        [reading(95, {RULE: 0, BUSY: 5}), reading(0, {RULE: 0, BUSY: 9})],
        (event(30, HitEventKind.RESET),), 1, "reset on 2026-10-31",
    ),
    "5 the device rebooted, and only its boot id says so": (
        [reading(95, {RULE: 0, BUSY: 5}, boot_id="a"), reading(0, {RULE: 0, BUSY: 9}, boot_id="b")],
        (), 1, "booted between",
    ),
    "6 the manager returns no count for rules of its own": (
        [reading(d, {RULE: None, BUSY: 5}) for d in (95, 0)], (), 1, "no number for this rule",
    ),
    "7 the manager is blind to rules made on the firewall": (
        [reading(d, {BUSY: 5}) for d in (95, 0)], (), 1, "not in the counters",
    ),
    "9 the counter starts anew when the rule is edited": (
        [reading(95, {RULE: 0, BUSY: 5}), reading(0, {RULE: 0, BUSY: 9})],
        (event(12, HitEventKind.EDITED, policy="P", key=RULE),), 1, "edited on",
    ),
    "10 since the last start only": (
        [reading(0, {RULE: 0, BUSY: 9}, counting_since=ago(20), since_boot=True)], (), 1, "20 of 90 days",
    ),
    "11 counters are reset at every reload of the filter": (
        [reading(d, {RULE: 0, BUSY: 3}, counting_since=ago(d + 0.01)) for d in (95, 60, 30, 0)], (), 1, "reset on",
    ),
    "12 one session stays open for months: neither count nor last use move": (
        [reading(d, {RULE: 1, BUSY: n}, counts="sessions") for d, n in ((95, 5), (0, 9))], (), 1, "sessions stands still",
    ),
    "12b the counters were cleared while that session went on": (
        [reading(d, {RULE: h, BUSY: n}, counts="sessions") for d, h, n in ((120, 1, 50), (100, 0, 1), (0, 0, 9))],
        (), 1, "a session from before may go on",
    ),
    "12c bytes move although no session is counted": (
        [reading(d, {RULE: 0, BUSY: 5}, counts="sessions", bytes={RULE: b}) for d, b in ((95, 10), (0, 4_000_000))], (), 1, "",
    ),
    "14 accounting per policy is off": (
        [reading(d, {RULE: 0, BUSY: 0}, enabled=False) for d in (95, 0)], (), 1, "counting is disabled",
    ),
    "14b accounting was off for a while in between": (
        [reading(d, {RULE: 0, BUSY: 5}, enabled=on) for d, on in ((95, True), (50, False), (0, True))], (), 1, "counting was off",
    ),
    "14c a change switched counting off and on between two readings": (
        [reading(95, {RULE: 0, BUSY: 5}), reading(0, {RULE: 0, BUSY: 9})],
        (event(33, HitEventKind.COUNTING_OFF),), 1, "counting was off on",
    ),
    "15 the manager's numbers are stale": (
        [reading(95, {RULE: 0, BUSY: 5}), reading(0, {RULE: 0, BUSY: 5}, is_fresh=False)], (), 1, "not up to date",
    ),
    "15b old numbers do not carry a proof over the time before them": (
        [reading(120, {RULE: 0, BUSY: 5}, is_fresh=False), reading(40, {RULE: 0, BUSY: 5}), reading(0, {RULE: 0, BUSY: 9})],
        (), 1, "40 of 90 days",
    ),
    "16 counts per unit of a pair, and only one was given": (
        [reading(d, {RULE: 0, BUSY: n}, member="unit-1") for d, n in ((95, 5), (0, 9))], (), 2, "1 of 2 cluster members",
    ),
    "17 zero covers only gateways that count": (
        [reading(d, {RULE: 0, BUSY: 5}, member="gw-1") for d in (95, 0)]
        + [reading(d, {RULE: 0, BUSY: 0}, member="gw-2", enabled=False) for d in (95, 0)],
        (), 2, "counting is disabled",
    ),
    "18 statistics are off by default": ([reading(0, {RULE: 0}, enabled=False)], (), 1, "counting is disabled"),
    "19 hits of fixed intervals, with a hole between them": (
        [reading(d, {RULE: 0, BUSY: 5}, covers_from=ago(d + 30)) for d in (80, 30, 0)], (), 1, "60 of 90 days",
    ),
    "19b a hit in an interval that still reaches into the window": (
        [reading(d, {RULE: h, BUSY: 5}, covers_from=ago(d + 30)) for d, h in ((60, 3), (30, 0), (0, 0))], (), 1, "",
    ),
    "20 the platform has no counters": ([], (), 1, "no counters given"),
    "22 entries of a group collapse into one without a number": (
        [HitSample("x", "packets", (HitCount("P", RULE, 0), HitCount("P", RULE, None)), read_at=ago(d)) for d in (95, 0)],
        (), 1, "no number for this rule",
    ),
    "the rule was installed last week": (
        [reading(95, {RULE: 0, BUSY: 5}), reading(0, {RULE: 0, BUSY: 9})],
        (event(7, HitEventKind.INSTALLED, policy="P", key=RULE),), 1, "installed on",
    ),
    "the rule's own counter began last week, as the device says": (
        [reading(95, {RULE: 0, BUSY: 5}), reading(0, {RULE: 0, BUSY: 9}, since={RULE: ago(7)})], (), 1, "counter began on",
    ),
    "a number wrapped round": (
        [reading(95, {RULE: 0, BUSY: 2**32 - 1}), reading(0, {RULE: 0, BUSY: 4})], (), 1, "reset between",
    ),
}  # fmt: skip


@pytest.mark.parametrize("story", STORIES)
def test_no_story_ends_in_a_false_proof(story: str) -> None:
    samples, events, members, told = STORIES[story]
    use, reason = judged(samples, events, members)
    assert use is not Use.PROVEN_UNUSED
    assert told in reason
    assert (use is Use.USED) == (not told)


def test_the_list_is_long_enough() -> None:
    assert len(STORIES) >= 22


# ---- what is proved all the same


def test_both_members_of_a_pair_at_zero_over_the_window() -> None:
    samples = [
        reading(d, {RULE: 0, BUSY: n}, member=m, role=r)
        for m, r in (("a", "active"), ("b", "standby"))
        for d, n in ((95, 5), (0, 9))
    ]
    assert judged(samples) == (Use.PROVEN_UNUSED, "")


def test_a_boot_ends_sessions_so_zero_since_it_is_a_proof() -> None:
    samples = [
        reading(d, {RULE: 0, BUSY: n}, counts="sessions", boot_id=b) for d, n, b in ((120, 50, "a"), (100, 1, "b"), (0, 9, "b"))
    ]
    assert judged(samples) == (Use.PROVEN_UNUSED, "")


def test_old_hits_of_a_migration_that_stand_still_are_unused_when_bytes_stand_still_too() -> None:
    samples = [reading(d, {RULE: 70, BUSY: n}, counts="sessions", bytes={RULE: 900}) for d, n in ((95, 5), (0, 9))]
    assert judged(samples) == (Use.PROVEN_UNUSED, "")


def test_intervals_without_a_hole_are_a_proof() -> None:
    assert judged([reading(d, {RULE: 0, BUSY: 5}, covers_from=ago(d + 30)) for d in (60, 30, 0)]) == (Use.PROVEN_UNUSED, "")


def test_a_reset_inside_an_interval_ends_the_row_of_intervals() -> None:
    intervals = [reading(d, {RULE: 0, BUSY: 5}, covers_from=ago(d + 30)) for d in (60, 30, 0)]
    use, reason = judged(intervals, (event(45, HitEventKind.RESET),))
    assert use is Use.NO_EVIDENCE and "30 of 90 days" in reason


def test_a_list_that_never_counted_is_not_vouched_for_by_another_list() -> None:
    samples = [
        HitSample("x", "matches", (HitCount("P", RULE, 0), HitCount("Q", BUSY, hits)), read_at=ago(days))
        for days, hits in ((95, 5), (0, 9))
    ]
    use, reason = judged(samples)
    assert use is Use.NO_EVIDENCE and "hardware may forward without counting" in reason
    assert judged([reading(d, {RULE: 0, BUSY: n}, counts="matches") for d, n in ((95, 5), (0, 9))])[0] is Use.PROVEN_UNUSED


def test_a_log_shows_use_and_its_silence_shows_nothing() -> None:
    uses = (RuleUse("P", RULE, 3, ago(40), ago(39)), RuleUse("", "other", 1, None, None), RuleUse("P", "zero", 0, None, ago(1)))
    assert logged(uses, "P", (RULE,), ago(90))
    assert not logged(uses, "P", (RULE,), ago(30))
    assert logged(uses, "Q", ("other",), ago(1))
    assert not logged(uses, "P", ("zero", "never"), None)


def test_an_empty_ledger_proves_nothing() -> None:
    assert Ledger((), WINDOW).judge("P", RULE).use is Use.NO_EVIDENCE
