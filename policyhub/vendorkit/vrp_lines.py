"""Lines that VRP, USG and Comware share: interface names and addresses, directions, static routes, one-line time ranges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime

from policyhub.domain.device_config import Route
from policyhub.domain.objects import Schedule
from policyhub.vendorkit.blocks import Block, Line, read_blocks
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, ipv4_number, is_decimal, number_in, prefix_set

DIRECTIONS = {"inbound": "in", "outbound": "out"}
PORT_NUMBER = re.compile(r"^\d[\d/.:]*$")
INTERFACE = re.compile(r"^[A-Za-z][\w-]*\d[\d/.:]*$|^NULL0?$|^[A-Za-z][\w-]*\d*/[\d/.:]+$", re.IGNORECASE)
UNNUMBERED = ("dhcp-alloc", "bootp-alloc", "auto", "unnumbered", "ppp-negotiate", "cellular-alloc")


def take_direction(words: Words) -> str:
    word = words.next("inbound or outbound").lower()
    if word not in DIRECTIONS:
        raise NotUnderstood(f"{word[:40]!r} is not inbound or outbound")
    return DIRECTIONS[word]


def interface_name(words: Words) -> str:
    """`GigabitEthernet0/0/1` or `GigabitEthernet 0/0/1`; what follows (`mode l2`) is dropped from the name."""
    name = words.next("an interface")
    if words and PORT_NUMBER.match(words.peek()) and not any(char in "0123456789" for char in name[-1:]):
        name += words.next()
    return name


def is_interface(word: str) -> bool:
    """Whether a word names a port: letters, then a number (`NULL0` as well)."""
    return INTERFACE.match(word) is not None


def mask_length(text: str) -> int | None:
    """`255.255.0.0` or `16` as 16; None when it is neither."""
    number = ipv4_number(text)
    if number is not None:
        length = number.bit_count()
        return length if number == (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF else None
    return int(text) if is_decimal(text) and len(text) <= 3 and int(text) <= 128 else None


def take_prefix(words: Words) -> str:
    """`A M`, `A L`, `P/L` as `P/L`. Raises NotUnderstood."""
    first = words.next("an address")
    if "/" not in first:
        if host_set(first) is None:
            raise NotUnderstood(f"{first[:40]!r} is not an address")
        mask = words.next("a mask")
        length = mask_length(mask)
        if length is None:
            raise NotUnderstood(f"{mask[:40]!r} is not a mask")
        first = f"{first}/{length}"
    if prefix_set(first) is None:
        raise NotUnderstood(f"{first[:40]!r} is not an address")
    return first


def take_interface_address(words: Words) -> str:
    """`A M [sub]`, `A L`, `P/L [eui-64]`; "" for an address the device gets from elsewhere. Raises NotUnderstood."""
    if words.peek().lower() in UNNUMBERED:
        return ""
    return take_prefix(words)


def static_route(words: Words, lines: tuple[int, ...]) -> Route:
    """What follows `ip|ipv6 route-static`. Raises NotUnderstood."""
    vrf = words.next("a vpn instance") if words.accept("vpn-instance") else ""
    prefix = take_prefix(words)
    route = {"next_hop": "", "interface": ""}
    distance: int | None = None
    if words and words.peek().lower() not in ("vpn-instance", "preference") and host_set(words.peek()) is None:
        route["interface"] = interface_name(words)
    if words.accept("vpn-instance"):
        words.next("a vpn instance")
    if words and host_set(words.peek()) is not None:
        route["next_hop"] = words.next()
    while words:
        word = words.next().lower()
        if word == "preference":
            distance = number_in(words.next("a preference"), 1, 255, "a preference")
        elif word == "track":
            _tracked(words)
        elif word in ("tag", "name", "bfd-session", "cost", "weight"):
            words.next("a value")
        elif word in ("description", "bfd", "track-bfd", "ldp-sync"):
            words.rest()
        elif word not in ("permanent", "inherit-cost", "no-advertise", "public", "recursive-lookup", "host-route", "dhcp"):
            raise NotUnderstood(f"{word[:40]!r} is not understood in a route")
    discard = route["interface"].lower().startswith("null")
    return Route(prefix, route["next_hop"], route["interface"], vrf, distance=distance, discard=discard, lines=lines)


def _tracked(words: Words) -> None:
    """`track 1` (Comware), `track ip-link N`, `track bfd-session N`, `track nqa ADMIN TEST`."""
    kind = words.next("a track").lower()
    if not is_decimal(kind):
        words.next("a name")
    if kind == "nqa":
        words.next("a test")


CLOCK_DATE = r"(\d{1,2}):(\d{2})(?::\d{2})? (\d{1,4})/(\d{1,2})/(\d{1,4})"
END = re.compile(rf"\bto {CLOCK_DATE}")


def end_of_range(text: str) -> str | None:
    """ISO minute of `.. to HH:MM[:SS] YYYY/MM/DD` (or MM/DD/YYYY); None without an end or when it is no date."""
    found = END.search(text)
    if found is None:
        return None
    hour, minute, *date = (int(part) for part in found.groups())
    year, month, day = date if date[0] > 31 else (date[2], date[0], date[1])
    if hour == 24:
        hour, minute = 23, 59
    try:
        return datetime(year, month, day, hour, minute).isoformat(timespec="minutes")  # noqa: DTZ001 (the device's own local time)
    except ValueError:
        return None


def add_schedule(schedules: list[Schedule], words: Words, number: int) -> None:
    """`time-range N <text>`; a name with several lines expires with the last, never when one has no end."""
    name = words.next("a name")
    text = words.rest()
    if not text:
        raise NotUnderstood("a time range without a period")
    expires = end_of_range(text)
    for at, known in enumerate(schedules):
        if known.name == name:
            last = max(known.expires, expires) if known.expires and expires else None
            schedules[at] = Schedule(name, f"{known.text}; {text}", last, (*known.lines, number))
            return
    schedules.append(Schedule(name, text, expires, (number,)))


def read_sections(lines: Iterable[Line], adopts: Callable[[str, str], bool] | None = None) -> list[Block]:
    """Blocks by indentation; a `#` at the line's start ends all of them (what follows may be indented and is still new)."""
    blocks: list[Block] = []
    section: list[Line] = []
    for line in lines:
        if line.indent == 0 and line.text.startswith("#"):
            blocks += read_blocks(section, _is_separator, adopts)
            section = []
        else:
            section.append(line)
    return blocks + read_blocks(section, _is_separator, adopts)


def _is_separator(text: str) -> bool:
    return text.startswith("#")


QUOTED = re.compile(r'"([^"]*)"(?=\s|$)|(\S+)')


def quoted_words(text: str) -> list[str]:
    """Words; what stands between double quotes is one word, without them."""
    if '"' not in text:
        return text.split()
    return [found[1] if found[1] is not None else found[2] for found in QUOTED.finditer(text)]


def name_behind(text: str, header: str) -> str:
    """The name behind `header`: quoted, or everything to the end (names in broken encodings may hold blanks)."""
    rest = text[len(header) :].strip()
    if rest.startswith('"') and rest.find('"', 1) > 0:
        return rest[1 : rest.find('"', 1)]
    return rest
