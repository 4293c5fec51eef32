"""Two sensors, one event; and marks that the network changed on the way."""

from __future__ import annotations

from typing import Any

import pytest

from flowguard.domain.across import ALL_MARKS, Marks, Sighting, allowed_marks, marks_of, rewritten_on_the_way
from policyhub.domain.identity import Identity
from policyhub.domain.qos import PRIORITY_DSCP

SEEN = Sighting(2, ("a",), 100, 200)


@pytest.mark.parametrize(
    ("other", "slack", "beats"),
    [
        (Sighting(1, ("a",), 150, 300), 0, True),
        (Sighting(3, ("a",), 100, 300), 0, True),
        (Sighting(1, ("a",), 100, 300), 0, False),
        (Sighting(2, ("a",), 150, 300), 0, False),
        (Sighting(1, ("b",), 150, 300), 0, False),
        (Sighting(1, ("a",), 50, 120), 0, False),
        (Sighting(1, ("a",), 200, 300), 0, True),
        (Sighting(1, ("a",), 201, 300), 0, False),
        (Sighting(1, ("a",), 201, 300), 1, True),
        (Sighting(1, ("a",), 202, 300), 1, False),
    ],
)
def test_the_first_of_two_sensors_keeps_the_verdict(other: Sighting, slack: int, beats: bool) -> None:
    assert SEEN.beats(other, slack) is beats
    assert SEEN.overlaps(other, slack) is other.overlaps(SEEN, slack)


def row(src: str | None, dscp: int, packets: int) -> dict[str, Any]:
    return {"src": src, "dscp": dscp, "packets": packets}


def test_marks_of_one_source_are_summed_over_the_seconds_that_must_be_there() -> None:
    rows = [
        (0, True, [row("a", 46, 3), row("b", 46, 100), row(None, 8, 1), row(None, 9, 0)]),
        (1, True, [row("a", 46, 4), row("a", 0, 1)]),
        (2, False, []),
    ]
    assert marks_of("a", rows, seconds=frozenset({0, 1})) == Marks(True, {46: 7, 0: 1}, frozenset({8}))
    assert marks_of("a", rows, seconds=frozenset({0, 2})).complete is False
    assert marks_of("a", rows, seconds=frozenset({0, 3})).complete is False


def test_which_marks_would_have_been_no_verdict() -> None:
    mine = Identity("10.0.0.0/8", "a", allowed_dscp=frozenset({0, 8}))
    assert allowed_marks("unknown-identity-in-priority", mine) == ALL_MARKS - PRIORITY_DSCP
    assert allowed_marks("class-not-allowed", mine) == {0, 8}
    assert allowed_marks("class-not-allowed", None) == ALL_MARKS == frozenset(range(64))
    assert allowed_marks("class-not-allowed", Identity("10.0.0.0/8", "a")) == ALL_MARKS


@pytest.mark.parametrize(
    ("before", "packets", "rewritten"),
    [
        (Marks(True, {0: 10}), 10, True),
        (Marks(True, {0: 6, 8: 5}), 10, True),
        (Marks(True, {0: 9}), 10, False),
        (Marks(True, {0: 9, 40: 9}), 10, False),
        (Marks(True, {0: 10, 46: 1}), 10, False),
        (Marks(False, {0: 10}), 10, False),
        (Marks(True, {0: 10}, frozenset({46})), 10, False),
        (Marks(True, {0: 10}, frozenset({8})), 10, True),
        (Marks(True, {0: 10}), 0, False),
        (Marks(True, {0: 10, 46: 0}), 1, True),
    ],
)
def test_the_network_is_blamed_only_when_an_earlier_point_saw_it_all(before: Marks, packets: int, rewritten: bool) -> None:
    assert rewritten_on_the_way(before, dscp=46, packets=packets, allowed=frozenset({0, 8})) is rewritten
