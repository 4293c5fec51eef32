"""When a reading was taken, on which unit, and since when it counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from policyhub.checks.occasion import occasion_of, parse_moment


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fw# show clock\n08:05:09.123 UTC Mon Nov 30 2026\n", at(2026, 11, 30, 8, 5, 9)),
        ("*8:05:09.123 CET Mon Nov  2 2026\n", at(2026, 11, 2, 8, 5, 9)),
        ("! 2026-11-01T08:00\nhostname x\n", at(2026, 11, 1, 8, 0)),
        ("# read at 2026-11-01 08:00:30+08:00\n", at(2026, 11, 1, 0, 0, 30)),
        ("2026-11-01 08:00:00\nSunday\nTime Zone(China-Standard-Time) : UTC+08:00\n", at(2026, 11, 1, 0, 0)),
        ("access-list A line 1 permit ip any any (hitcnt=0)\n", None),
        ("! 2026-13-01T08:00\n", None),
        ("interface x\n description changed 2026-11-01 08:00:00 by li\n", None),
    ],
)
def test_clock_lines(text, expected):
    assert occasion_of(text).read_at == expected


def test_the_fallback_is_used_only_without_a_clock():
    assert occasion_of("nothing", at(2026, 1, 1)).read_at == at(2026, 1, 1)
    assert occasion_of("! 2026-11-01T08:00\n", at(2026, 1, 1)).read_at == at(2026, 11, 1, 8, 0)


@pytest.mark.parametrize(
    ("text", "up_for"),
    [
        ("fw-01 up 45 days 2 hours\n", timedelta(days=45, hours=2)),
        ("edge-r1 uptime is 1 year, 3 weeks, 2 days, 4 hours, 5 minutes\n", timedelta(days=365 + 21 + 2, hours=4, minutes=5)),
        ("Huawei S5700 Routing Switch uptime is 10 weeks, 3 days, 4 hours, 2 minutes\n", timedelta(days=73, hours=4, minutes=2)),
        ("Interface GigabitEthernet0/0 is up, line protocol is up\n", None),
    ],
)
def test_uptime_lines(text, up_for):
    found = occasion_of(f"! 2026-11-01T08:00\n{text}")
    assert found.up_for == up_for
    assert found.counting_since == (at(2026, 11, 1, 8, 0) - up_for if up_for else None)


@pytest.mark.parametrize(
    ("prompt", "hostname", "member"),
    [
        ("fw-01# show access-list", "fw-01", "fw-01"),
        ("fw-01/pri/act# show access-list", "fw-01", "fw-01/pri"),
        ("fw-01/sec/stby> sh access-l", "fw-01", "fw-01/sec"),
        ("<core-sw1>display acl all", "core-sw1", "core-sw1"),
        ("[core-sw1]dis acl all", "core-sw1", "core-sw1"),
        ("access-list A line 1", "", ""),
    ],
)
def test_prompts_tell_host_and_unit(prompt, hostname, member):
    found = occasion_of(f"{prompt}\n")
    assert (found.hostname, found.member) == (hostname, member)


def test_moments_on_the_command_line_are_utc_unless_they_say_otherwise():
    assert parse_moment("2026-11-01T08:00") == at(2026, 11, 1, 8, 0)
    assert parse_moment("2026-11-01T08:00+08:00") == at(2026, 11, 1, 0, 0)
    with pytest.raises(ValueError, match="yesterday"):
        parse_moment("yesterday")
