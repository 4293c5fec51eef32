"""Numbers with their unit, and differences side by side."""

from __future__ import annotations

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from policyhub.console import units
from policyhub.console.diff import side_by_side

NB = "\u00a0"


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        (units.rate, 3_200_000_000, "3.2 Gbit/s"),
        (units.rate, 0, "0 bit/s"),
        (units.rate, 999, "999 bit/s"),
        (units.rate, 999_999, "1.0 Mbit/s"),
        (units.size, 20_400_000_000, "20.4 GB"),
        (units.size, 512, "512 B"),
        (units.percent, 0.12, "12 %"),
        (units.percent, 0.0004, "< 0.1 %"),
        (units.percent, 0, "0 %"),
        (units.percent, 0.004, "0.4 %"),
        (units.percent, 1, "100 %"),
        (units.span, 0.85, "850 ms"),
        (units.short_span, 37_400, "37 µs"),
        (units.short_span, 999_499, "999 µs"),
        (units.short_span, 999_500, "1 ms"),
        (units.short_span, 2_140_000_000, "2.1 s"),
        (units.span, 4.2, "4.2 s"),
        (units.span, 59.97, "1 min 00 s"),
        (units.span, 200, "3 min 20 s"),
        (units.span, 50760, "14 h 06 min"),
        (units.span, 3 * 86400, "3 d 00 h"),
    ],
)
def test_number_reads_as_people_write_it(form: object, value: float, text: str) -> None:
    assert form(value).replace(NB, " ") == text  # type: ignore[operator]


def test_spans_are_said_in_the_readers_language() -> None:
    with translation.override("zh-hans"):
        told = [units.span(value).replace(NB, " ") for value in (0.85, 4.2, 200, 10_920, 3 * 86400)]
        assert told == ["850 毫秒", "4.2 秒", "3 分 20 秒", "3 小时 02 分", "3 天 00 小时"]
        assert units.short_span(37_400).replace(NB, " ") == "37 微秒"


def test_packet_time_becomes_a_moment() -> None:
    assert units.at_ns(1_700_000_000_123_456_789).isoformat() == "2023-11-14T22:13:20.123456+00:00"


LINES = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=30)


@given(LINES, LINES)
def test_both_sides_of_a_difference_hold_all_lines_in_order(before: list[str], after: list[str]) -> None:
    rows = side_by_side(before, after, context=1000)
    assert [row.left for row in rows if row.left_no] == before
    assert [row.right for row in rows if row.right_no] == after


@given(LINES, LINES)
def test_folding_hides_only_what_is_the_same(before: list[str], after: list[str]) -> None:
    whole, folded = side_by_side(before, after, context=1000), side_by_side(before, after, context=1)
    assert [row for row in whole if row.kind != "same"] == [row for row in folded if row.kind not in ("same", "gap")]
    hidden = sum(row.hidden for row in folded)
    assert sum(row.kind == "same" for row in whole) == sum(row.kind == "same" for row in folded) + hidden
