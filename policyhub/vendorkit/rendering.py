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


def is_single_sender(spec: GuardSpec, source: str, family: int = 0) -> bool:
    """Whether `A WILDCARD`, an address or a prefix is what the guard takes as a member, of the family when one is given."""
    address, _, wildcard = source.partition(" ")
    try:
        network = wildcard_network(address, wildcard) if wildcard else ipaddress.ip_network(address, strict=True)
        return family in (0, network.version) and member_network(spec, str(network)) is not None
    except (ValueError, CannotRender):
        return False


def refuse_damaged(spec: GuardSpec, faults: list[str]) -> None:
    """Raises CannotRender when there are faults: no member goes into a guard that is not what was approved."""
    if faults:
        said = gettext_noop("guard %(guard)s is not as installed: %(fault)s. Remove and install it again")
        raise CannotRender.of(said, guard=spec.name, fault=faults[0])


def foreign_lines(
    running: str, comment: str, owned: re.Pattern[str], volatile: re.Pattern[str], attached: re.Pattern[str]
) -> Iterator[str]:
    """The running configuration without any guard's objects and attachments, and without what changes by itself.

    owned: headers of objects, their name as the first group; attached: lines of interfaces, the policy as the first group.
    """
    for section in sections(running, comment):
        header = words(section.header)
        named = owned.match(header)
        if (named and is_own(named[1])) or volatile.match(header):
            continue
        yield section.header
        for line in section.body:
            policy = attached.match(words(line))
            if not (policy and is_own(policy[1])):
                yield line


def burst_bytes(rate_bps: int) -> int:
    """Bucket depth of a meter: 10 ms of the rate, at least 64 kB (a smaller one starves TCP)."""
    return max(rate_bps // 8 * BURST_MS // 1000, MIN_BURST_BYTES)


def is_own(name: str) -> bool:
    """Any guard's object, not only this one's."""
    return name.upper().startswith(OWN_PREFIX)
