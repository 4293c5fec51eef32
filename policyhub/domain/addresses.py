"""Sets of IPv4 and IPv6 addresses as sorted, disjoint, closed integer intervals."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Interval = tuple[int, int]
Family = Literal[4, 6]
MAX4 = 2**32 - 1
MAX6 = 2**128 - 1
OCTETS = {str(octet): octet for octet in range(256)}
PREFIX_LENGTHS = {str(bits): bits for bits in range(33)}
WILDCARD_LIMIT_BITS = 12  # an IOS wildcard with more scattered free bits would expand to over 4096 intervals


def normalise(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """Sorted, disjoint, merged where they touch."""
    ordered = sorted(intervals)
    if len(ordered) < 2:
        return tuple(ordered)
    merged: list[Interval] = []
    for interval in ordered:
        low, high = interval
        if not merged or low > merged[-1][1] + 1:
            merged.append(interval)  # not a copy: groups hold the intervals of their members
        elif high > merged[-1][1]:
            merged[-1] = (merged[-1][0], high)
    return tuple(merged)


def complement(intervals: tuple[Interval, ...], top: int) -> tuple[Interval, ...]:
    """What `intervals` leaves of [0, top]."""
    gaps: list[Interval] = []
    start = 0
    for low, high in intervals:
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= top:
        gaps.append((start, top))
    return tuple(gaps)


def intersect(a: tuple[Interval, ...], b: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """Either itself, not a copy, when the other holds all of it."""
    if not a or not b:
        return ()
    if len(b) == 1 and b[0][0] <= a[0][0] and a[-1][1] <= b[0][1]:
        return a
    if len(a) == 1 and a[0][0] <= b[0][0] and b[-1][1] <= a[0][1]:
        return b
    result: list[Interval] = []
    i = j = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low <= high:
            result.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(result)


@dataclass(frozen=True, slots=True)
class AddressSet:
    """IPv4 and IPv6 addresses; `v4`/`v6` are normalised closed intervals of integers."""

    v4: tuple[Interval, ...] = ()
    v6: tuple[Interval, ...] = ()

    @classmethod
    def of(cls, *texts: str) -> AddressSet:
        """From prefixes, single addresses or `low-high` ranges. Raises ValueError."""
        if len(texts) == 1 and (single := _parse4(texts[0])) is not None:
            return cls((single,))
        v4: list[Interval] = []
        v6: list[Interval] = []
        for text in texts:
            low, high, family = _parse(text)
            (v4 if family == 4 else v6).append((low, high))
        return cls(normalise(v4), normalise(v6))

    @classmethod
    def wildcard(cls, address: str, mask: str) -> AddressSet:
        """IOS/VRP wildcard mask, contiguous or not. Raises ValueError when it would expand to over 2**12 intervals."""
        base, wild = int(ipaddress.IPv4Address(address)), int(ipaddress.IPv4Address(mask))
        low_bits = 0
        while wild >> low_bits & 1:
            low_bits += 1
        scattered = [bit for bit in range(low_bits, 32) if wild >> bit & 1]
        if len(scattered) > WILDCARD_LIMIT_BITS:
            raise ValueError(f"wildcard {mask} is too scattered to expand")
        base &= ~wild & MAX4
        size = 1 << low_bits
        starts = [base]
        for bit in scattered:
            starts += [start | 1 << bit for start in starts]
        return cls(normalise((start, start + size - 1) for start in starts))

    @property
    def is_empty(self) -> bool:
        return not self.v4 and not self.v6

    @property
    def is_any4(self) -> bool:
        return self.v4 == ((0, MAX4),)

    @property
    def is_any6(self) -> bool:
        return self.v6 == ((0, MAX6),)

    @property
    def is_any(self) -> bool:
        """Everything of every family it speaks about (and it speaks about at least one)."""
        return not self.is_empty and (not self.v4 or self.is_any4) and (not self.v6 or self.is_any6)

    @property
    def size(self) -> int:
        return sum(high - low + 1 for low, high in (*self.v4, *self.v6))

    def union(self, *others: AddressSet) -> AddressSet:
        sets = (self, *others)
        return AddressSet(normalise([i for s in sets for i in s.v4]), normalise([i for s in sets for i in s.v6]))

    def minus(self, other: AddressSet) -> AddressSet:
        return AddressSet(intersect(self.v4, complement(other.v4, MAX4)), intersect(self.v6, complement(other.v6, MAX6)))

    def intersection(self, other: AddressSet) -> AddressSet:
        v4, v6 = intersect(self.v4, other.v4), intersect(self.v6, other.v6)
        for known in (self, other):
            if v4 is known.v4 and v6 is known.v6:
                return known
        return AddressSet(v4, v6)

    def covers(self, other: AddressSet) -> bool:
        return other.minus(self).is_empty

    def overlaps(self, other: AddressSet) -> bool:
        return not self.intersection(other).is_empty

    def prefixes(self) -> tuple[str, ...]:
        """The fewest CIDR prefixes that cover exactly this set."""
        texts: list[str] = []
        for low, high in self.v4:
            first4, last4 = ipaddress.IPv4Address(low), ipaddress.IPv4Address(high)
            texts += [str(n) for n in ipaddress.summarize_address_range(first4, last4)]
        for low, high in self.v6:
            first6, last6 = ipaddress.IPv6Address(low), ipaddress.IPv6Address(high)
            texts += [str(n) for n in ipaddress.summarize_address_range(first6, last6)]
        return tuple(texts)

    def __str__(self) -> str:
        return "any" if self.is_any else ", ".join(self.prefixes()) or "none"


ANY4 = AddressSet(((0, MAX4),))
ANY6 = AddressSet((), ((0, MAX6),))
ANY = AddressSet(((0, MAX4),), ((0, MAX6),))
NOWHERE = AddressSet()


def quad_number(text: str) -> int | None:
    """A dotted quad without zeros in front as integer; None when it is none."""
    try:
        first, second, third, last = text.split(".")
        return OCTETS[first] << 24 | OCTETS[second] << 16 | OCTETS[third] << 8 | OCTETS[last]
    except (KeyError, ValueError):
        return None


def _parse4(text: str) -> Interval | None:
    """The plain spellings, which most texts have: `ipaddress` takes ten times as long. None for any other."""
    address, slash, length = text.partition("/")
    base, bits = quad_number(address), PREFIX_LENGTHS.get(length)
    if base is None or (slash and bits is None):
        return None
    if not slash or bits == 32 or bits is None:
        return (base, base)
    wild = MAX4 >> bits
    return (base & ~wild, base | wild)


def _parse(text: str) -> tuple[int, int, Family]:
    if "-" in text:
        first, last = (ipaddress.ip_address(part.strip()) for part in text.split("-", 1))
        if first.version != last.version or int(first) > int(last):
            raise ValueError(f"{text!r} is not a range of addresses")
        return int(first), int(last), first.version
    network = ipaddress.ip_network(text.strip(), strict=False)
    return int(network.network_address), int(network.broadcast_address), network.version
