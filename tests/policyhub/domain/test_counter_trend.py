"""Readings in a row: growth, resets, levels, what is not known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from policyhub.domain.counter_series import CounterSeries
from policyhub.domain.counter_trend import Trend, trends

START = datetime(2026, 11, 30, 8, tzinfo=UTC)


def at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def trend(*values: float | None, name: str = "Dropped", unit: str = "packets") -> Trend:
    rows = [(at(15 * n), [CounterSeries("Eth1", "3", name, value, unit)]) for n, value in enumerate(values)]
    return trends(rows)[0]


def test_growth_is_per_second_between_the_last_two_readings() -> None:
    one = trend(0, 900, 2700)
    assert (one.value, one.rate, one.reset_at) == (2700, 2.0, None)
    assert one.rates() == [1.0, 2.0]


def test_a_counter_that_fell_was_reset_and_its_rate_is_not_known() -> None:
    one = trend(500, 900, 10)
    assert (one.rate, one.reset_at) == (None, at(30))
    later = trend(500, 10, 910)
    assert (later.rate, later.reset_at) == (1.0, at(15))


def test_what_was_not_printed_is_unknown_and_no_reset() -> None:
    one = trend(500, None, 600)
    assert (one.value, one.rate, one.reset_at, one.read_at) == (600, None, None, at(30))
    gone = trend(500, None)
    assert (gone.value, gone.rate, gone.read_at) == (None, None, at(0))
    assert trend(None).read_at is None


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("queue depth", "packets"),
        ("High watermark", "bytes"),
        ("Queue-depth Peak", "bytes"),
        ("RX_UTIL", "percent"),
        ("backlog", "bytes"),
    ],
)
def test_a_level_may_fall_without_a_reset_and_has_no_rate(name: str, unit: str) -> None:
    one = trend(9, 3, name=name, unit=unit)
    assert (one.value, one.rate, one.reset_at) == (3, None, None)


@pytest.mark.parametrize(
    "name",
    ["total drops", "Tail-dropped packets", "Dropped", "Rx PFC frames", "ECN-CE packets", "ecn_mark", "WRED/AFD & Tail Drop Pkts",
     "exceeded", "RX_OVR", "TX_DRP", "RX_ERR", "STORM DETECTED", "RED-dropped bytes", "overlimits"],
)  # fmt: skip
def test_drops_pauses_marks_and_errors_are_trouble(name: str) -> None:
    assert trend(1, name=name).is_trouble


@pytest.mark.parametrize("name", ["Matched", "Packets marked", "conformed", "Transmitted", "RX_OK", "Queued", "sent", "Passed"])
def test_what_is_served_as_wished_is_no_trouble(name: str) -> None:
    assert not trend(1, name=name).is_trouble


def test_namesakes_in_one_reading_stay_apart_and_a_new_counter_has_no_past() -> None:
    row = CounterSeries("Eth1", "", "drop", 1, "packets")
    twin = CounterSeries("Eth1", "", "drop", 5, "packets")
    new = CounterSeries("Eth2", "", "drop", 7, "packets")
    found = trends([(at(0), [row, twin]), (at(15), [row, twin, new])])
    assert [[point.value for point in one.points] for one in found] == [[1, 1], [5, 5], [None, 7]]
    assert trends([]) == []
