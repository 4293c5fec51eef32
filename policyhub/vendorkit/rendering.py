"""What the guard renderers of all platforms share: sections of a running configuration, digests, members."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from policyhub.domain.change import OWN_PREFIX, GuardSpec
from policyhub.domain.errors import CannotRender
from policyhub.domain.message import gettext_noop
from policyhub.vendorkit.blocks import read_lines

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_PROMPT = re.compile(r"^(?:[<\[][~*]?[\w.\-/:@ ~]{1,64}[>\]][#$]?|[\w.\-/:@()~]{1,64}[#>$])(?:\s|$)")
MIN_BURST_BYTES = 64_000
BURST_MS = 10


def is_prompt(line: str) -> bool:
    """A device prompt, alone or followed by an echoed command; no configuration line looks like that."""
    return _PROMPT.match(line) is not None


def clean_lines(text: str) -> list[str]:
    """Lines with their indentation, without carriage returns, escape sequences, pager remnants and trailing blanks."""
    return [" " * line.indent + line.text for line in read_lines(text)]


def digest(lines: Iterable[str]) -> str:
    """SHA-256 of lines; trailing blanks and empty lines do not count."""
    kept = (line.rstrip() for line in lines)
    return hashlib.sha256("\n".join(line for line in kept if line).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Section:
    """A top-level line and what is indented below it (indentation kept)."""

    header: str
    body: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        yield self.header
        yield from self.body


def sections(text: str, comment: str) -> tuple[Section, ...]:
    """A running configuration as sections, without blank lines, prompts, and lines that start with `comment` (after blanks)."""
    found: list[Section] = []
    header, body = "", list[str]()
    for line in clean_lines(text):
        if not line or line.lstrip().startswith(comment) or is_prompt(line):
            continue
        if line[0] == " " and header:
            body.append(line)
            continue
        if header:
            found.append(Section(header, tuple(body)))
        header, body = line, []
    if header:
        found.append(Section(header, tuple(body)))
    return tuple(found)


def words(line: str) -> str:
    """The line with single blanks: devices pad as they like."""
    return " ".join(line.split())


def wildcard_network(address: str, wildcard: str) -> ipaddress.IPv4Network:
    """Address and wildcard mask ("0" is VRP's for a host) as a network. Raises ValueError when it is not exactly one.

    `ip_network("A/W")` cannot be used: it reads 255.255.255.255 as a netmask, i.e. one host, where the device means everybody.
    """
    free = 0 if wildcard == "0" else int(ipaddress.IPv4Address(wildcard))
    if free & (free + 1):
        raise ValueError(f"wildcard {wildcard} is not contiguous")
    return ipaddress.IPv4Network((address, 32 - free.bit_length()), strict=True)


def member_network(spec: GuardSpec, member: str) -> Network:
    """The member as a network. Raises CannotRender: not a prefix, everything, or of a family the guard does not hold."""
    try:
        network = ipaddress.ip_network(member, strict=True)
    except ValueError as error:
        said = gettext_noop("%(guard)s: %(member)r is not an address or prefix (%(error)s). Give it as 10.1.2.3/32")
        raise CannotRender.of(said, guard=spec.name, member=member, error=str(error)) from error
    if network.prefixlen == 0:
        said = gettext_noop("%(guard)s: %(member)s is everybody. A guard takes single senders")
        raise CannotRender.of(said, guard=spec.name, member=member)
    if network.version not in spec.families:
        said = gettext_noop("%(guard)s holds no IPv%(family)d members. Install a guard for that family")
        raise CannotRender.of(said, guard=spec.name, family=network.version)
    return network


def refuse_overlap(spec: GuardSpec, network: Network, members: Iterable[str]) -> None:
    """Raises CannotRender when another member shares addresses: taking one out would then not free the sender."""
    for text in members:
        other = ipaddress.ip_network(text)
        if other != network and other.version == network.version and other.overlaps(network):
            said = gettext_noop("%(guard)s: %(member)s overlaps the member %(other)s. Take that one out first")
            raise CannotRender.of(said, guard=spec.name, member=str(network), other=text)


def burst_bytes(rate_bps: int) -> int:
    """Bucket depth of a meter: 10 ms of the rate, at least 64 kB (a smaller one starves TCP)."""
    return max(rate_bps // 8 * BURST_MS // 1000, MIN_BURST_BYTES)


def is_own(name: str) -> bool:
    """Any guard's object, not only this one's."""
    return name.upper().startswith(OWN_PREFIX)
