"""Helped, harmed, offender-stopped, cannot-tell: by packets alone."""

from flowguard.domain.judgement import Window, judge
from policyhub.domain.change import EnforcementOutcome as Outcome

MARKS = frozenset({46})


def seconds(count, *, marked, total, segments=1000, again=1, dscp=46, complete=True):
    return [Window(i, complete, marked, total, ((dscp, segments),), ((dscp, again),)) for i in range(count)]


def outcome(before, after, deadline=False):
    return judge(before, after, marks=MARKS, target_dscp=0, deadline=deadline).outcome


BEFORE = seconds(5, marked=10_000, total=10_000, again=100)


def test_unmarked_traffic_after_the_push_is_help():
    assert outcome(BEFORE, seconds(2, marked=0, total=9_000)) is Outcome.HELPED


def test_one_percent_is_not_yet_below_one_percent():
    assert outcome(BEFORE, seconds(2, marked=100, total=10_000)) is None
    assert outcome(BEFORE, seconds(2, marked=99, total=10_000)) is Outcome.HELPED


def test_a_silent_offender_is_said_to_have_stopped_not_to_be_helped():
    assert outcome(BEFORE, seconds(2, marked=0, total=0)) is Outcome.OFFENDER_STOPPED


def test_a_mark_that_stays_is_cannot_tell_at_the_deadline_only():
    still = seconds(4, marked=9_000, total=9_000)
    assert outcome(BEFORE, still) is None
    assert outcome(BEFORE, still, deadline=True) is Outcome.CANNOT_TELL


def test_old_marked_seconds_do_not_hide_a_later_effect():
    assert outcome(BEFORE, seconds(3, marked=9_000, total=9_000) + seconds(2, marked=0, total=9_000)) is Outcome.HELPED


def test_seconds_with_capture_drops_are_no_evidence():
    after = seconds(5, marked=0, total=9_000, complete=False)
    assert outcome(BEFORE, after) is None
    assert outcome(BEFORE, after, deadline=True) is Outcome.CANNOT_TELL


def test_more_retransmissions_of_core_traffic_are_harm_even_if_the_mark_is_gone():
    assert outcome(seconds(5, marked=1, total=1, again=10), seconds(2, marked=0, total=9, again=60)) is Outcome.HARMED


def test_the_class_that_takes_the_remarked_traffic_may_suffer():
    before = seconds(5, marked=9, total=9, dscp=0, again=0)
    assert outcome(before, seconds(2, marked=0, total=9, dscp=0, again=300)) is Outcome.HELPED


def test_a_handful_of_segments_proves_no_harm():
    assert (
        outcome(seconds(1, marked=9, total=9, segments=10, again=0), seconds(2, marked=0, total=9, segments=10, again=5))
        is Outcome.HELPED
    )


def test_figures_are_null_where_nothing_was_measured():
    figures = judge([], seconds(2, marked=0, total=500), marks=MARKS, target_dscp=0, deadline=False).figures
    assert figures["before"]["marked_share"] is None
    assert figures["after"] == {
        "windows": 2,
        "marked_bps": 0,
        "offender_bps": 4000,
        "marked_share": 0.0,
        "retransmitted_ratio": 0.001,
    }
