"""Lines that IOS, NX-OS, IOS-XR and EOS share: banners, static routes, lists that only pick traffic, routing policy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from policyhub.domain.device_config import Route
from policyhub.vendorkit.blocks import Block, Line
from policyhub.vendorkit.ledger import IgnoreList, LineLedger, is_sensitive
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, ipv4_number, is_decimal, number_in, prefix_set

ECHOED = re.compile(r"^(\S*[#>]\s*)?(show|sh|sho|terminal) [a-z].*$", re.IGNORECASE)
SELECTOR = re.compile(
    r"^(?:match ip address|match ipv6 address|match address|distribute-list|ip nat \S+ \S+ list|access-group name"
    r"|match access-list) (?P<names>.+)$"
)
ROUTE_VALUES = ("name", "tag", "track", "description", "metric", "minimum-interval", "multiplier")
ROUTE_BARE = ("permanent", "bfd", "fast-detect", "global", "dhcp")


def without_banners(ledger: LineLedger, lines: Sequence[Line]) -> Iterator[Line]:
    """Banners are free text between two delimiters; a banner that never ends is its first line only."""
    missing: set[str] = set()
    behind = 0
    for at, line in enumerate(lines):
        if at < behind:
            continue
        words = () if line.indent or not line.text.startswith("banner") else line.text.split(None, 2)
        if len(words) < 3 or words[0] != "banner":
            yield line
            continue
        ledger.understood(line.number)
        mark = "^C" if words[2].startswith("^C") else words[2][0]
        if mark in words[2][len(mark) :] or mark in missing:
            continue
        end = next((i for i in range(at + 1, len(lines)) if mark in lines[i].text), None)
        if end is None:
            missing.add(mark)
            continue
        ledger.understood(*range(line.number, lines[end].number + 1))
        behind = end + 1


def note_selectors(selectors: set[str], block: Block) -> None:
    """Lists that pick traffic for something else (NAT, VPN, routing) are not filters."""
    for below in block.walk():
        found = SELECTOR.match(below.text)
        if found is not None:
            selectors.update(found["names"].split())


def excuse_paths(ledger: LineLedger, blocks: Iterable[Block], ignored: IgnoreList) -> None:
    """Sensitive lines that a row of `special` takes by where they stand, written `HEADER\\nLINE` (routing policy)."""
    for top in blocks:
        for below in top.walk():
            if below is top or ledger.is_booked(below.number) or not ignored.excuses(f"{top.text}\n{below.text}"):
                continue
            if is_sensitive(below.text):
                ledger.excuse(below.number)


def take_prefix(words: Words) -> str:
    """`A/L` or `A M` as `A/L`. Raises NotUnderstood."""
    first = words.next("a prefix")
    if "/" not in first:
        mask = words.next("a mask")
        number = ipv4_number(mask)
        length = 33 if number is None else number.bit_count()
        if number is None or number != (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF:
            raise NotUnderstood(f"{mask[:40]!r} is not a mask")
        first = f"{first}/{length}"
    if prefix_set(first) is None:
        raise NotUnderstood(f"{first[:40]!r} is not a prefix")
    return first


def static_route(words: Words, vrf: str, lines: tuple[int, ...]) -> Route:
    """`P/L|A M [INTERFACE] [NEXT HOP] [DISTANCE] [name|tag|track|.. VALUE] ..`. Raises NotUnderstood."""
    prefix = take_prefix(words)
    next_hop = interface = ""
    distance: int | None = None
    while words:
        word = words.next()
        if host_set(word.partition("/")[0]) is not None and not next_hop:
            next_hop = word.partition("/")[0]
        elif is_decimal(word) and distance is None:
            distance = number_in(word, 1, 255, "a distance")
        elif word.lower() in ("vrf", "egress-vrf"):
            words.next("a vrf")
        elif word.lower() in ROUTE_VALUES:
            words.next("a value")
        elif word.lower() not in ROUTE_BARE:
            if interface or next_hop:
                raise NotUnderstood(f"{word[:40]!r} is not understood in a route")
            interface = word + (words.next() if words.peek()[:1].isdigit() and word.isalpha() and "." not in words.peek() else "")
    if not next_hop and not interface:
        raise NotUnderstood("a route needs a next hop or an interface")
    discard = interface.lower().startswith("null")
    return Route(prefix, next_hop, interface, vrf, distance=distance, discard=discard, lines=lines)
