"""Scripted histories of counters: each trap that makes a false zombie elsewhere, and the proofs that make a true one.

The reading of today is taken on day 0 of the tests; days count backwards from it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from policyhub.checks.context import Context
from policyhub.checks.registry import run_checks, select
from policyhub.domain.hits import HitCount, HitSample
from tests.checks.make import device, policy, rule

TODAY = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
ACL = "OUTSIDE_IN"


def ago(days: float) -> datetime:
    return TODAY - timedelta(days=days)


def sample(
    days: float | None, hits: dict[str, int | None], *, last: dict[str, float] | None = None, acl=ACL, **more
) -> HitSample:
    """Counters by rule name, read `days` ago; `last`: days since the last hit."""
    last = last or {}
    counts = tuple(
        HitCount(acl, key, number, last_hit_at=ago(last[key]) if key in last else None) for key, number in hits.items()
    )
    since = more.pop("counting_since_days", None)
    read_at = None if days is None else ago(days)
    if since is not None:
        more["counting_since"] = ago(since)
    return HitSample("cisco_asa", more.pop("counts", "packets"), counts, read_at=read_at, **more)


def judged(*samples: HitSample, name: str = "r1", rules=None, **context) -> str:
    """ "zombie", "used" or the reason of no-hit-evidence for one rule."""
    made = policy(*(rules or [rule("r1"), rule("busy", "permit", "10.0.0.0/8")]))
    found = run_checks(Context(device(made), hits=samples, **context), select(["zombie-rule", "no-hit-evidence"]))
    mine = [finding for finding in found if finding.rule in (name, "")]
    assert len(mine) <= 1
    if not mine:
        return "used"
    return "zombie" if mine[0].name == "zombie-rule" else mine[0].evidence["reason"]


# ---- proofs


def test_zero_in_two_readings_a_window_apart_while_others_count_is_a_zombie():
    assert judged(sample(95, {"r1": 0, "busy": 10}), sample(0, {"r1": 0, "busy": 900})) == "zombie"


def test_exactly_the_window_is_enough_and_a_minute_less_is_not():
    late = sample(0, {"r1": 0, "busy": 2})
    assert judged(sample(90, {"r1": 0, "busy": 1}), late) == "zombie"
    assert "89 of 90 days" in judged(sample(90 - 1 / 1440, {"r1": 0, "busy": 1}), late)


def test_one_reading_of_a_device_that_counts_since_long_is_a_zombie_and_says_how_it_is_proved():
    made = policy(rule("r1"))
    context = Context(device(made), hits=(sample(0, {"r1": 0}, counting_since_days=200),))
    (found,) = run_checks(context, select(["zombie-rule"]))
    assert found.evidence["proof"] == "counting-since"
    assert found.evidence["since"].startswith("2026-05-14")


def test_a_shorter_window_is_an_argument():
    readings = sample(31, {"r1": 0, "busy": 1}), sample(0, {"r1": 0, "busy": 2})
    assert judged(*readings, window_days=30) == "zombie"
    assert "31 of 90" in judged(*readings)


def test_an_unmoved_packet_counter_is_a_zombie_whatever_it_counted_years_ago():
    readings = sample(100, {"r1": 5000, "busy": 1}), sample(0, {"r1": 5000, "busy": 2})
    assert judged(*readings) == "zombie"


def test_readings_may_come_in_any_order():
    assert judged(sample(0, {"r1": 0, "busy": 9}), sample(95, {"r1": 0, "busy": 1}), sample(40, {"r1": 0, "busy": 5})) == "zombie"


# ---- use


def test_any_hit_in_the_window_is_use():
    assert judged(sample(95, {"r1": 0, "busy": 1}), sample(0, {"r1": 1, "busy": 2})) == "used"


def test_a_moving_counter_is_use_and_so_is_a_recent_last_hit():
    assert judged(sample(95, {"r1": 10}), sample(0, {"r1": 11})) == "used"
    assert judged(sample(95, {"r1": 10}), sample(0, {"r1": 10}, last={"r1": 3})) == "used"


def test_a_last_hit_before_the_reset_still_counts_as_use_in_the_window():
    before = sample(60, {"r1": 7, "busy": 100}, last={"r1": 61})
    assert judged(before, sample(0, {"r1": 0, "busy": 5})) == "used"


def test_packets_seen_on_the_wire_beat_a_zero_counter():
    readings = sample(95, {"r1": 0, "busy": 1}), sample(0, {"r1": 0, "busy": 2})
    assert judged(*readings, seen={(ACL, "r1"): 12}) == "used"


def test_hits_without_a_time_are_use_and_zeros_without_a_time_are_no_evidence():
    assert judged(sample(None, {"r1": 4})) == "used"
    assert judged(sample(None, {"r1": 0})) == "the reading does not say when it was taken"


# ---- traps: no data is never zero


def test_no_counters_at_all_is_said_once_per_policy():
    assert judged() == "no counters given"


def test_a_platform_that_does_not_count_is_said():
    assert judged(counts_hits=False) == "the platform does not count hits"


def test_counting_switched_off_is_not_zero():
    off = sample(0, {"r1": 0, "busy": 0}, enabled=False)
    assert judged(sample(95, {"r1": 0, "busy": 0}, enabled=False), off) == "counting is disabled on the device"


def test_counting_that_was_off_for_a_while_breaks_the_window():
    reason = judged(sample(95, {"r1": 0}), sample(50, {"r1": 0}, enabled=False), sample(0, {"r1": 0}))
    assert "counting was off on 2026-10-11" in reason


def test_reboot_between_readings_shown_by_uptime_breaks_the_window():
    reason = judged(sample(95, {"r1": 0, "busy": 10}), sample(0, {"r1": 0, "busy": 50}, counting_since_days=12))
    assert reason == "the counters were reset on 2026-11-18; only 12 of 90 days are counted without a break"


def test_reset_shown_only_by_another_rule_that_fell_breaks_the_window():
    reason = judged(sample(95, {"r1": 0, "busy": 10_000}), sample(0, {"r1": 0, "busy": 12}))
    assert "the counters were reset between 2026-08-27 and 2026-11-30; only 0 of 90 days" in reason


def test_a_wrapped_counter_of_another_rule_counts_as_reset():
    assert "reset between" in judged(sample(95, {"r1": 0, "busy": 2**32 - 5}), sample(0, {"r1": 0, "busy": 3}))


def test_manual_clear_long_ago_does_not_spoil_the_window_after_it():
    history = sample(200, {"r1": 40, "busy": 900}), sample(120, {"r1": 0, "busy": 3}), sample(0, {"r1": 0, "busy": 70})
    assert judged(*history) == "zombie"


def test_uptime_from_before_an_observed_reset_proves_nothing():
    history = sample(60, {"r1": 0, "busy": 900}), sample(0, {"r1": 0, "busy": 3}, counting_since_days=300)
    assert "reset between" in judged(*history)


def test_a_reset_seen_in_the_counters_of_another_list_counts_for_this_one():
    others = [sample(95, {"x": 500}, acl="DMZ_IN"), sample(0, {"x": 3}, acl="DMZ_IN")]
    assert "reset between" in judged(sample(95.01, {"r1": 0}), others[0], sample(0.01, {"r1": 0}), others[1])


def test_lists_read_in_separate_files_a_minute_apart_are_judged_each():
    others = [sample(95, {"x": 500}, acl="DMZ_IN"), sample(0, {"x": 600}, acl="DMZ_IN")]
    assert judged(sample(95.01, {"r1": 0}), others[0], sample(0.01, {"r1": 0}), others[1]) == "zombie"


def test_a_new_rule_is_not_judged_by_the_age_of_the_old_ones():
    reason = judged(sample(95, {"busy": 5}), sample(10, {"r1": 0, "busy": 6}), sample(0, {"r1": 0, "busy": 9}))
    assert reason == "the rule is not in the counters of 2026-08-27; only 10 of 90 days are counted without a break"


def test_a_new_rule_is_not_judged_by_uptime_either():
    reason = judged(sample(95, {"busy": 5}), sample(0, {"r1": 0, "busy": 9}, counting_since_days=400))
    assert "the rule is not in the counters of 2026-08-27" in reason


def test_a_renamed_or_edited_rule_is_not_in_the_counters():
    assert judged(sample(95, {"old": 0}), sample(0, {"old": 0})) == "the rule is not in the counters"


def test_a_rule_without_a_key_to_join_by_is_not_in_the_counters():
    rules = [rule("r1", hit_key="")]
    assert judged(sample(95, {"": 0}), sample(0, {"": 0}), rules=rules) == "the rule is not in the counters"


def test_a_listed_rule_without_a_number_is_not_zero_where_zero_is_printed():
    assert judged(sample(95, {"r1": None}), sample(0, {"r1": None})) == "the device prints no number for this rule"


def test_a_listed_rule_without_a_number_is_zero_where_zero_is_not_printed():
    readings = [sample(days, {"r1": None, "busy": n}, zero_is_printed=False) for days, n in ((95, 4), (0, 9))]
    assert judged(*readings) == "zombie"


def test_one_reading_without_uptime_proves_nothing():
    assert "one reading only" in judged(sample(0, {"r1": 0}))


def test_uptime_in_the_future_of_the_reading_is_no_proof():
    assert "one reading only" in judged(sample(10, {"r1": 0}, counting_since_days=5))


def test_a_session_counter_that_stands_still_is_no_proof_while_a_session_may_be_open():
    readings = sample(100, {"r1": 5}, counts="sessions"), sample(0, {"r1": 5}, counts="sessions")
    assert "a counter of sessions stands still" in judged(*readings)


def test_a_change_of_what_is_counted_breaks_the_window():
    assert "the device counts sessions" in judged(sample(95, {"r1": 0}), sample(0, {"r1": 0}, counts="sessions"))


def test_expanded_entries_add_up_and_one_without_a_number_is_not_zero():
    def expanded(days, *numbers):
        return HitSample("cisco_asa", "packets", tuple(HitCount(ACL, "r1", n) for n in numbers), read_at=ago(days))

    assert judged(expanded(95, 0, 0, 0), expanded(0, 0, 3, 0)) == "used"
    assert judged(expanded(95, 0, 0), expanded(0, 0, 0)) == "zombie"
    assert judged(expanded(95, 0, None), expanded(0, 0, None)) == "the device prints no number for this rule"


def test_the_other_member_of_the_cluster_may_have_the_hits():
    quiet = [sample(days, {"r1": 0, "busy": n}, hostname="a") for days, n in ((95, 1), (0, 2))]
    loud = [sample(days, {"r1": n, "busy": n}, hostname="b") for days, n in ((95, 1), (0, 2))]
    still = [sample(days, {"r1": 0, "busy": n}, hostname="b") for days, n in ((95, 1), (0, 2))]
    assert judged(*quiet, *loud, members=2) == "used"
    assert judged(*quiet, *still, members=2) == "zombie"
    assert "counters of 1 of 2 cluster members" in judged(*quiet, members=2)


@pytest.mark.parametrize("more", [{"enabled": False}, {"action": "continue"}])
def test_disabled_rules_and_rules_that_decide_nothing_are_no_zombies(more):
    readings = sample(95, {"r1": 0, "busy": 1}), sample(0, {"r1": 0, "busy": 2})
    assert judged(*readings, rules=[rule("r1", **{"action": "permit", **more})]) == "used"


def test_clocks_without_a_zone_are_taken_as_utc():
    naive = [HitSample("cisco_asa", "packets", (HitCount(ACL, "r1", 0),), read_at=ago(d).replace(tzinfo=None)) for d in (95, 0)]
    assert judged(*naive) == "zombie"


def test_a_router_list_in_which_nothing_ever_counted_is_no_evidence_since_hardware_may_not_count():
    silent = [sample(days, {"r1": None, "busy": None}, counts="matches", zero_is_printed=False) for days in (95, 0)]
    alive = [sample(days, {"r1": None, "busy": 3}, counts="matches", zero_is_printed=False) for days in (95, 0)]
    assert "hardware may forward without counting" in judged(*silent)
    assert judged(*alive) == "zombie"
