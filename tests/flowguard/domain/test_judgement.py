"""Helped, harmed, offender-stopped, cannot-tell: by packets alone."""

from flowguard.domain.judgement import SECOND_NS, Window, judge
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
        "sending": 2,
        "from_ns": 0,
        "to_ns": 1_000_000_001,
        "marked_bps": 0,
        "offender_bps": 4000,
        "marked_share": 0.0,
        "retransmitted_ratio": 0.001,
    }


def test_one_class_that_suffers_is_named_whatever_the_others_do():
    def classes(*again):
        return [
            Window(i, True, 0, 9, tuple((d, 50) for d in (8, 46, 48)), tuple(zip((8, 46, 48), again, strict=True)))
            for i in range(2)
        ]

    found = judge(classes(0, 1, 0), classes(0, 9, 0), marks=MARKS, target_dscp=8, deadline=False)
    assert (found.outcome, str(found.reason)) == (Outcome.HARMED, "retransmissions of DSCP 46 rose after the change")
    assert judge(classes(0, 0, 0), classes(50, 0, 0), marks=MARKS, target_dscp=8, deadline=False).outcome is Outcome.HELPED


def test_harm_begins_above_one_and_a_half_times_and_two_points():
    before = seconds(2, marked=1, total=1, segments=100, again=4)
    assert outcome(before, seconds(2, marked=0, total=9, segments=100, again=8)) is Outcome.HELPED
    assert outcome(before, seconds(2, marked=0, total=9, segments=100, again=9)) is Outcome.HARMED
    assert outcome(before, seconds(2, marked=0, total=9, segments=24, again=20)) is Outcome.HELPED
    assert outcome(before, seconds(2, marked=0, total=9, segments=25, again=20)) is Outcome.HARMED
    assert (
        outcome(seconds(1, marked=1, total=1, segments=50, again=0), seconds(2, marked=0, total=9, again=900)) is Outcome.HARMED
    )


def test_what_is_waited_for_and_what_was_seen():
    waiting = judge(BEFORE, seconds(1, marked=0, total=9), marks=MARKS, target_dscp=0, deadline=False)
    assert (waiting.outcome, str(waiting.reason)) == (None, "1 of 2 complete seconds seen after the change")
    late = judge(BEFORE, seconds(1, marked=0, total=9), marks=MARKS, target_dscp=0, deadline=True)
    assert str(late.reason) == "too few complete seconds were seen after the change"
    still = judge(BEFORE, seconds(2, marked=30, total=60), marks=MARKS, target_dscp=0, deadline=False)
    assert str(still.reason) == "50.00 % of the offender's bytes still carry the mark"


def test_an_offender_that_falls_silent_after_marked_seconds_is_helped():
    after = seconds(1, marked=9_000, total=9_000) + seconds(2, marked=0, total=0)
    assert outcome(BEFORE, after) is Outcome.HELPED


def test_figures_of_both_sides():
    at = SECOND_NS
    mixed = [Window(0, True, 10, 40, ((46, 100), (0, 900)), ((46, 7),)), Window(at, False, 99, 99), Window(2 * at, True, 11, 41)]
    figures = judge(mixed, seconds(2, marked=0, total=0, segments=0, again=0), marks=MARKS, target_dscp=0, deadline=False).figures
    assert figures["before"] == {
        "windows": 2,
        "sending": 2,
        "from_ns": 0,
        "to_ns": 3 * at,
        "marked_bps": 84,
        "offender_bps": 324,
        "marked_share": 21 / 81,
        "retransmitted_ratio": 0.07,
    }
    assert (figures["after"]["sending"], figures["after"]["offender_bps"]) == (0, 0)
    assert figures["after"]["marked_share"] is None and figures["after"]["retransmitted_ratio"] is None


def rates(before, after):
    figures = judge(before, after, marks=MARKS, target_dscp=0, deadline=True).figures
    return [(side["sending"], side["offender_bps"]) for side in (figures["before"], figures["after"])]


def test_rates_compare_as_many_seconds_on_both_sides_and_no_silent_ones():
    silent, ramp, full = seconds(6, marked=0, total=0), seconds(2, marked=9, total=100), seconds(2, marked=9, total=1000)
    assert rates(silent + ramp + full, seconds(2, marked=0, total=1000)) == [(2, 8000), (2, 8000)]
    assert rates(full[:1], ramp + full) == [(1, 8000), (1, 8000)]
    assert rates(full + silent, silent + full) == [(2, 8000), (2, 8000)]
    assert rates(ramp + full, silent) == [(4, 4400), (0, 0)]
    assert rates([], full) == [(0, None), (2, 8000)]


def test_a_second_in_which_it_only_began_is_no_second_of_its_rate():
    sizes = (0, 0, 300, 1000, 1000)
    before = [Window(n * SECOND_NS, True, size, size) for n, size in enumerate(sizes)]
    after = [Window(n * SECOND_NS, True, 0, 1000) for n in range(6, 9)]
    assert rates(before, after) == [(2, 8000), (2, 8000)]
    assert rates(before[:3], after) == [(1, 2400), (1, 8000)]
