"""Sets of addresses and services against plain sets of numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyhub.domain.addresses import ANY, ANY4, ANY6, MAX4, NOWHERE, AddressSet, Interval, complement, intersect, normalise
from policyhub.domain.services import ALL_PORTS, ANY_SERVICE, TCP, UDP, Service, ports_except

TOP = 12
SMALL = st.lists(st.tuples(st.integers(0, TOP), st.integers(0, TOP)).map(lambda pair: (min(pair), max(pair))), max_size=5)


def numbers(intervals: Iterable[Interval]) -> set[int]:
    return {n for low, high in intervals for n in range(low, high + 1)}


def is_normal(intervals: tuple[Interval, ...]) -> bool:
    return all(low <= high for low, high in intervals) and all(a[1] + 1 < b[0] for a, b in itertools.pairwise(intervals))


@given(a=SMALL, b=SMALL)
def test_intervals_are_sets_of_numbers(a: list[Interval], b: list[Interval]) -> None:
    one, two = normalise(a), normalise(b)
    assert is_normal(one) and numbers(one) == numbers(a)
    gaps, common = complement(one, TOP), intersect(one, two)
    assert is_normal(gaps) and numbers(gaps) == set(range(TOP + 1)) - numbers(a)
    assert is_normal(common) and numbers(common) == numbers(a) & numbers(b)


@given(a=SMALL, b=SMALL, c=SMALL, d=SMALL)
def test_sets_of_both_families(a: list[Interval], b: list[Interval], c: list[Interval], d: list[Interval]) -> None:
    one, two = AddressSet(normalise(a), normalise(b)), AddressSet(normalise(c), normalise(d))
    both, left, common = one.union(two), one.minus(two), one.intersection(two)
    for mine, other, family in ((a, c, "v4"), (b, d, "v6")):
        assert numbers(getattr(both, family)) == numbers(mine) | numbers(other)
        assert numbers(getattr(left, family)) == numbers(mine) - numbers(other)
        assert numbers(getattr(common, family)) == numbers(mine) & numbers(other)
    assert one.size == len(numbers(a)) + len(numbers(b))
    assert one.covers(two) == (numbers(c) <= numbers(a) and numbers(d) <= numbers(b))
    assert one.overlaps(two) == bool(numbers(a) & numbers(c) or numbers(b) & numbers(d))
    assert one.is_empty == (not a and not b)


@pytest.mark.parametrize(
    ("found", "four", "six", "anything", "text"),
    [
        (NOWHERE, False, False, False, "none"),
        (ANY, True, True, True, "any"),
        (ANY4, True, False, True, "any"),
        (ANY6, False, True, True, "any"),
        (AddressSet.of("0.0.0.0/1"), False, False, False, "0.0.0.0/1"),
        (AddressSet.of("0.0.0.0/1", "::/0"), False, True, False, "0.0.0.0/1, ::/0"),
        (AddressSet.of("0.0.0.0/0", "8000::/1"), True, False, False, "0.0.0.0/0, 8000::/1"),
    ],
)  # fmt: skip
def test_what_is_any(found: AddressSet, four: bool, six: bool, anything: bool, text: str) -> None:
    assert (found.is_any4, found.is_any6, found.is_any, str(found)) == (four, six, anything, text)


def test_texts_of_addresses() -> None:
    assert AddressSet.of("10.0.0.1") == AddressSet(((0x0A000001, 0x0A000001),))
    assert AddressSet.of("10.0.0.7/29", "10.0.0.8 - 10.0.0.9") == AddressSet(((0x0A000000, 0x0A000009),))
    assert AddressSet.of("::1-::1", "2001:db8::/127").v6 == ((1, 1), (0x20010DB8 << 96, (0x20010DB8 << 96) + 1))
    assert AddressSet.of("10.0.0.0-10.0.0.10").prefixes() == ("10.0.0.0/29", "10.0.0.8/31", "10.0.0.10/32")


@pytest.mark.parametrize("text", ["10.0.0.2-10.0.0.1", "0.0.0.1-::2", "::2-::1", "10.0.0.0/33", "ten"])
def test_texts_that_are_no_addresses(text: str) -> None:
    with pytest.raises(ValueError, match=r"range|network|address|\d"):
        AddressSet.of(text)


@pytest.mark.parametrize("mask", ["0.0.0.0", "0.0.0.255", "0.0.1.255", "0.0.0.5", "0.0.2.1", "255.255.255.255", "0.0.0.254"])
def test_a_wildcard_frees_the_bits_that_are_set(mask: str) -> None:
    free = int.from_bytes(bytes(int(part) for part in mask.split(".")), "big")
    found = AddressSet.wildcard("10.1.2.3", mask)
    assert is_normal(found.v4) and found.size == 1 << free.bit_count()
    fixed = 0x0A010203 & ~free & MAX4
    assert all(low & ~free == fixed and high & ~free == fixed for low, high in found.v4)


def test_a_wildcard_of_thirteen_scattered_bits_is_refused() -> None:
    assert len(AddressSet.wildcard("0.0.0.0", "85.85.85.0").v4) == 4096
    with pytest.raises(ValueError, match="too scattered"):
        AddressSet.wildcard("0.0.0.0", "85.85.85.4")


def test_services() -> None:
    web = Service.of(TCP, ((443, 443), (80, 80)))
    assert web == Service(((TCP, TCP),), ALL_PORTS, ((80, 80), (443, 443)))
    assert (web.is_any, web.any_port, Service.of(TCP).any_port, Service.of().is_any) == (False, False, True, True)
    assert web.overlaps(ANY_SERVICE) and web.overlaps(Service.of(TCP, ((443, 500),)))
    assert not web.overlaps(Service.of(UDP, ((443, 443),)))
    assert not web.overlaps(Service.of(TCP, ((81, 442),)))
    assert not Service.of(TCP, source=((1, 2),)).overlaps(Service.of(TCP, source=((3, 4),)))


def test_every_port_but_some() -> None:
    assert ports_except(((80, 80),)) == ((0, 79), (81, 65535))
    assert ports_except(((65535, 65535), (0, 0))) == ((1, 65534),)
