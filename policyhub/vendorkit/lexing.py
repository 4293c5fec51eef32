"""Words of a configuration line, and numbers as devices write them. Failing to read raises NotUnderstood, nothing else."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from datetime import datetime

from policyhub.domain.addresses import MAX4, WILDCARD_LIMIT_BITS, AddressSet, Interval, normalise, quad_number
from policyhub.domain.qos import parse_dscp
from policyhub.domain.services import MAX_PORT, ports_except
from policyhub.vendorkit.expansion import current

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
UNIT_BPS = {"": 1, "bps": 1, "k": 10**3, "kbps": 10**3, "m": 10**6, "mbps": 10**6, "g": 10**9, "gbps": 10**9, "t": 10**12}
MOST_UNCOUNTED = 64  # intervals: fewer cost less than the lines that name them
RATE = re.compile(r"^(\d{1,15}(?:\.\d{1,6})?)([a-z]*)$", re.IGNORECASE)


class NotUnderstood(Exception):
    """A line does not follow the grammar; str() is the reason shown with the line."""


class TooScattered(NotUnderstood):
    """A wildcard that would expand to too many intervals; a caller may keep it as a condition."""


class Words:
    """A cursor over the words of one line."""

    __slots__ = ("at", "words")

    def __init__(self, words: list[str], at: int = 0) -> None:
        self.words = words
        self.at = at

    def __bool__(self) -> bool:
        return self.at < len(self.words)

    def peek(self, ahead: int = 0) -> str:
        """The next word, "" at the end."""
        try:
            return self.words[self.at + ahead]
        except IndexError:
            return ""

    def next(self, what: str = "a word") -> str:
        """Raises NotUnderstood at the end."""
        try:
            word = self.words[self.at]
        except IndexError:
            raise NotUnderstood(f"the line ends where {what} is expected") from None
        self.at += 1
        return word

    def accept(self, *choices: str) -> str:
        """The next word when it is one of the choices (in any case), else "" and nothing is consumed."""
        if self.at < len(self.words):
            word = self.words[self.at].lower()
            if word in choices:
                self.at += 1
                return word
        return ""

    def rest(self) -> str:
        """Everything left, consumed."""
        text = " ".join(self.words[self.at :])
        self.at = len(self.words)
        return text

    def end(self) -> None:
        """Raises NotUnderstood when words are left."""
        if self:
            raise NotUnderstood(f"{self.peek()[:40]!r} is not understood here")


def is_decimal(text: str) -> bool:
    """ASCII digits only: str.isdigit() is true for "²" as well."""
    return text.isascii() and text.isdigit()


def ipv4_number(text: str) -> int | None:
    """A dotted quad as integer; None when it is not one."""
    plain = quad_number(text)
    parts = text.split(".") if plain is None else []
    if len(parts) != 4 or not all(is_decimal(part) and len(part) <= 3 for part in parts):
        return plain
    octets = [int(part) for part in parts]  # written with zeros in front
    return int.from_bytes(octets, "big") if max(octets) <= 255 else None


def host_set(text: str) -> AddressSet | None:
    """One IPv4 or IPv6 address; None when it is not one."""
    v4 = ipv4_number(text)
    if v4 is not None:
        return AddressSet(((v4, v4),))
    if ":" not in text:
        return None
    try:
        v6 = int(ipaddress.IPv6Address(text))
    except ValueError:
        return None
    return AddressSet((), ((v6, v6),))


def prefix_set(text: str) -> AddressSet | None:
    """`address/length` of either family, host bits allowed; None when it is not one."""
    if "/" not in text:
        return None
    try:
        return AddressSet.of(text)
    except ValueError:
        return None


def masked_set(address: str, mask: str) -> AddressSet | None:
    """IPv4 address with a netmask, contiguous or not (ASA, object groups); None when it is not one. Raises TooScattered."""
    base, bits = ipv4_number(address), ipv4_number(mask)
    if base is None or bits is None:
        return None
    return _free_bits(base, MAX4 ^ bits, address)


def wildcard_set(address: str, wildcard: str) -> AddressSet | None:
    """IPv4 address with a wildcard (IOS, VRP); None when it is not one. Raises TooScattered."""
    base, wild = ipv4_number(address), ipv4_number(wildcard)
    if base is None or wild is None:
        return None
    return _free_bits(base, wild, address)


def _free_bits(base: int, wild: int, address: str) -> AddressSet:
    if wild & (wild + 1) == 0:
        low = base & (MAX4 ^ wild)
        return AddressSet(((low, low + wild if wild else low),))
    expansion, key = current(), (base & (MAX4 ^ wild), wild)
    known = expansion.masks.get(key)
    if known is not None:
        return known
    bits = (wild & (wild + 1)).bit_count()  # the lowest free bits are one interval, each other doubles it
    if bits <= WILDCARD_LIMIT_BITS and not expansion.take_spans(1 << bits):
        raise TooScattered("too many scattered wildcards to expand")
    try:
        found = expansion.masks[key] = AddressSet.wildcard(address, str(ipaddress.IPv4Address(wild)))
    except ValueError as error:
        raise TooScattered(str(error)) from error
    return found


def all_but(whole: AddressSet, found: AddressSet) -> AddressSet:
    """What a negation leaves, counted like the mask that it may come from. Raises TooScattered."""
    if len(found.v4) > MOST_UNCOUNTED and not current().take_spans(len(found.v4)):
        raise TooScattered("too many scattered wildcards to expand")
    return whole.minus(found)


def range_set(low: str, high: str) -> AddressSet | None:
    """`low high`, both of one family; None when it is not a range."""
    try:
        return AddressSet.of(f"{low}-{high}")
    except ValueError:
        return None


def port_interval(operator: str, ports: list[int]) -> tuple[Interval, ...]:
    """eq (several allowed), neq, lt, gt, range as closed intervals."""
    if operator == "eq":
        return normalise((p, p) for p in ports)
    if operator == "neq":
        return ports_except(tuple((p, p) for p in ports))
    if operator == "lt":
        return ((0, ports[0] - 1),) if ports[0] > 0 else ()
    if operator == "gt":
        return ((ports[0] + 1, MAX_PORT),) if ports[0] < MAX_PORT else ()
    low, high = sorted(ports)  # devices accept a range written the wrong way round
    return ((low, high),)


def number_in(text: str, low: int, high: int, what: str) -> int:
    """A decimal number in [low, high]. Raises NotUnderstood."""
    if not is_decimal(text) or len(text) > 20 or not low <= int(text) <= high:
        raise NotUnderstood(f"{text[:40]!r} is not {what} ({low}..{high})")
    return int(text)


def dscp_in(text: str) -> int:
    """A code point by its number or its name. Raises NotUnderstood."""
    try:
        return parse_dscp(text)
    except ValueError as error:
        raise NotUnderstood(f"{text[:40]!r} is not a DSCP") from error


def rate_bps(text: str, unit: str = "", default_unit_bps: int = 1) -> int | None:
    """`64000`, `10m`, or number and unit word; None when it is not a rate."""
    found = RATE.match(text)
    if found is None:
        return None
    suffix = (found[2] or unit).lower()
    if suffix not in UNIT_BPS:
        return None
    scale = UNIT_BPS[suffix] if suffix else default_unit_bps
    return round(float(found[1]) * scale)


def take_rate(words: Words, default_unit_bps: int = 1) -> int:
    """A rate with its unit as part of the word or behind it, in bit/s. Raises NotUnderstood."""
    text = words.next("a rate")
    rate = rate_bps(text, words.accept("bps", "kbps", "mbps", "gbps"), default_unit_bps)
    if rate is None:
        raise NotUnderstood(f"{text[:40]!r} is not a rate")
    return rate


def percentage(words: Words) -> float:
    """A whole number in 0..100. Raises NotUnderstood."""
    return float(number_in(words.next("a percentage"), 0, 100, "a percentage"))


def interface_address(words: Words, family: str) -> str:
    """`A M`, `A/len`: address with length. "" for a word that is no address (dhcp, negotiated). Raises NotUnderstood."""
    first = words.next("an address")
    if "." not in first and ":" not in first:
        return ""
    try:
        if family == "ipv6" or "/" in first:
            return str(ipaddress.ip_interface(first))
        return str(ipaddress.IPv4Interface(f"{first}/{words.next('a mask')}"))
    except ValueError as error:
        raise NotUnderstood(f"{first[:40]!r} is not an address with a mask") from error


def device_time(words: Iterable[str]) -> str | None:
    """`HH:MM day Month year` in any order of the last three as ISO local time; None when it is not a time."""
    clock, day, month, year = "", 0, 0, 0
    for word in words:
        if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2})?", word):
            clock = word
        elif is_decimal(word) and len(word) == 4:
            year = int(word)
        elif is_decimal(word) and len(word) <= 2:
            day = int(word)
        elif word[:3].lower() in MONTHS:
            month = MONTHS.index(word[:3].lower()) + 1
    try:
        hours, minutes, *_ = (int(part) for part in clock.split(":"))
        return datetime(year, month, day, hours, minutes).isoformat(timespec="minutes")  # noqa: DTZ001 (the device's own local time)
    except ValueError:
        return None


def score(text: str, signs: Iterable[tuple[str, float]], most: float = 1.0) -> float:
    """Sum of the weights of the regular expressions found (multi-line), cut to [0, most]."""
    total = sum(weight for pattern, weight in signs if re.search(pattern, text, re.MULTILINE))
    return max(0.0, min(most, total))
