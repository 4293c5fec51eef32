"""An order that commands change: the same as a list that is cut and joined, whatever the commands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policyhub.vendorkit.ordering import Order

NAMES = st.sampled_from("abcde")
MOVES = st.tuples(NAMES, st.sampled_from(["top", "bottom", "before", "after", "sideways"]), NAMES)


def moved(names: list[str], name: str, place: str, other: str) -> list[str]:
    """The slow twin."""
    if name not in names or (place in ("before", "after") and (other not in names or other == name)):
        return names
    rest = [one for one in names if one != name]
    at = {"top": 0, "bottom": len(rest)}.get(place)
    if at is None and place in ("before", "after"):
        at = rest.index(other) + (place == "after")
    return names if at is None else [*rest[:at], name, *rest[at:]]


@given(st.lists(NAMES, unique=True), st.lists(MOVES, max_size=12))
def test_moves_do_what_they_do_to_a_list(names: list[str], moves: list[tuple[str, str, str]]) -> None:
    order, slow = Order(names), names
    for name, place, other in moves:
        expected = moved(slow, name, place, other)
        known = name in slow and place != "sideways" and (place in ("top", "bottom") or (other in slow and other != name))
        assert order.move(name, place, other) is known
        slow = expected
        assert list(order) == slow


def test_a_name_that_is_there_stays_where_it_is() -> None:
    order = Order("ab")
    order.append("a")
    assert list(order) == ["a", "b"]
    assert "a" in order
    assert "z" not in order
