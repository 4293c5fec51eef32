"""Each fault of a mirror is claimed from its threshold on, and not one packet below it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from flowguard.domain.mirror_signs import examine_mirror

MILLI = 1_000_000
SOUND: dict[str, Any] = {
    "name": "core", "frames": 1000, "cut": 0, "most_kept": 1514, "over_jumbo": 0, "joined": 0, "over_mtu": 0, "largest_ip": 1500,
    "streams": {"one_way": 0, "conversations": 10, "mixed_tags": 0, "unseen": 0, "unseen_bytes": 0, "segments": 5000},
    "copies": {"copied": 0, "looked_at": 1000, "changed": 0, "most_apart_ns": 0},
    "mirrors": {"missing": None, "frames": 0},
    "times": {"backwards": 0, "most_back_ns": 0, "longest_tie": 1, "ties": 0, "unit_ns": 1},
}  # fmt: skip


def row(**figures: int) -> dict[str, Any]:
    """A sound mirror but for these figures; `streams__unseen` is `unseen` of `streams`."""
    made = copy.deepcopy(SOUND)
    for name, value in figures.items():
        *inside, last = name.split("__")
        place = made[inside[0]] if inside else made
        assert last in place
        place[last] = value
    return made


def codes(**figures: int) -> list[str]:
    return [sign.code for sign in examine_mirror(row(**figures))]


def test_a_sound_mirror_is_not_accused() -> None:
    assert codes() == []


@pytest.mark.parametrize(
    ("code", "just", "not_yet"),
    [
        ("unidirectional", {"streams__one_way": 5}, {"streams__one_way": 4}),
        ("unidirectional", {"streams__one_way": 4, "streams__conversations": 8},
         {"streams__one_way": 3, "streams__conversations": 3}),
        ("duplicated", {"copies__copied": 20}, {"copies__copied": 19}),
        ("duplicated", {"copies__copied": 20, "copies__looked_at": 1000}, {"copies__copied": 20, "copies__looked_at": 1001}),
        ("untagged", {"streams__mixed_tags": 4, "streams__conversations": 16},
         {"streams__mixed_tags": 4, "streams__conversations": 17}),
        ("untagged", {"streams__mixed_tags": 4}, {"streams__mixed_tags": 3}),
        ("truncated", {"cut": 1, "most_kept": 95}, {"cut": 1, "most_kept": 96}),
        ("truncated", {"cut": 1, "most_kept": 64}, {"cut": 0, "most_kept": 64}),
        ("offload-merged", {"over_jumbo": 3}, {"over_jumbo": 2}),
        ("offload-merged", {"joined": 10, "over_mtu": 40}, {"joined": 10, "over_mtu": 41}),
        ("offload-merged", {"joined": 10, "over_mtu": 10}, {"joined": 9, "over_mtu": 9}),
        ("oversubscribed", {"streams__unseen": 5}, {"streams__unseen": 5, "streams__segments": 5001}),
        ("oversubscribed", {"streams__unseen": 5, "streams__segments": 9}, {"streams__unseen": 4, "streams__segments": 9}),
        (
            "oversubscribed",
            {"frames": 5000, "mirrors__missing": 1, "mirrors__frames": 1000},
            {"frames": 5000, "mirrors__missing": 1, "mirrors__frames": 1001},
        ),
        ("wrapped", {"mirrors__frames": 501}, {"mirrors__frames": 500}),
        ("oversubscribed", {"mirrors__missing": 1}, {"mirrors__missing": 0}),
        ("clock-backwards", {"times__backwards": 1, "times__most_back_ns": MILLI},
         {"times__backwards": 1, "times__most_back_ns": MILLI - 1}),
        ("clock-batches", {"times__longest_tie": 32, "times__ties": 250}, {"times__longest_tie": 32, "times__ties": 249}),
        ("clock-batches", {"times__longest_tie": 32, "times__ties": 900}, {"times__longest_tie": 31, "times__ties": 900}),
        ("clock-coarse", {"times__unit_ns": MILLI, "frames": 100}, {"times__unit_ns": MILLI, "frames": 99}),
        ("clock-coarse", {"times__unit_ns": MILLI}, {"times__unit_ns": MILLI - 1}),
    ],
)  # fmt: skip
def test_each_fault_is_claimed_from_its_threshold_on(code: str, just: dict[str, int], not_yet: dict[str, int]) -> None:
    assert codes(**just) == [code]
    assert codes(**not_yet) == []


@pytest.mark.parametrize(
    ("figures", "found"),
    [
        ({"streams__one_way": 5}, "5 of 10 TCP conversations show one direction only (50.0 %)"),
        ({"copies__copied": 333, "copies__looked_at": 1001, "copies__changed": 2},
         "333 of 1001 packets are there twice within 20 ms (33.267 %); 2 of them with another TTL, mark or tag"),
        ({"times__backwards": 2, "times__most_back_ns": 1_234_567}, "time goes backwards 2 times, by 1.235 ms at most"),
        ({"times__unit_ns": 10 * MILLI}, "every one of 1000 time stamps is a whole multiple of 10 ms"),
    ],
)  # fmt: skip
def test_what_is_found_is_said_with_its_figures(figures: dict[str, int], found: str) -> None:
    assert [str(sign.found) for sign in examine_mirror(row(**figures))] == [found]


def test_copies_tell_how_far_they_are_apart() -> None:
    (sign,) = examine_mirror(row(copies__copied=500, copies__most_apart_ns=1_250))
    assert (sign.point, sign.evidence["most_apart_us"]) == ("core", 1.2)
