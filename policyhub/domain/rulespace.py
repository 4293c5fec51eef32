"""Which rules of a policy can never decide a packet, because of which others, and which could go without a difference.

A policy becomes a list of boxes (products of value sets) for `native_capture.rulespace`, whose answers are exact or
"undecided"; `policyhub.domain.rulespace_twin` answers the same slowly and is its oracle in tests.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, cast

import native_capture.rulespace as native
from policyhub.domain.addresses import AddressSet, Interval, normalise
from policyhub.domain.rules import Policy, Rule
from policyhub.domain.services import ALL_PORTS, Service

BUDGET = 10_000_000  # comparisons of two intervals per rule and question, about 0.05 s; a policy has fifty times this
MAX_DSCP = 63

ValueSet = tuple[int, Sequence[Interval]]
RuleBoxes = tuple[str, bool, bool, Sequence[Sequence[int]]]
Reply = tuple[str, Sequence[int], bool, Sequence[tuple[int, int]] | None]


class Engine(Protocol):
    """axes: per axis its distinct sets (number space, closed intervals). rules: action, enabled, exact, boxes of set numbers."""

    def __call__(
        self,
        axes: Sequence[Sequence[ValueSet]],
        rules: Sequence[RuleBoxes],
        *,
        default_action: str | None = None,
        below: bool = True,
        witnesses: bool = False,
        budget: int = BUDGET,
    ) -> Sequence[Reply]: ...


NATIVE = cast(Engine, native.analyse)


class Fate(StrEnum):
    """SKIPPED: disabled, or matches nothing. FREE: some packet reaches it. SHADOWED: none does, and what decides acts otherwise.
    REDUNDANT: none does, and earlier rules of the same action say all of it. REDUNDANT_BELOW: packets reach it, and without it
    would meet the same action further down. UNDECIDED: the budget ended first."""

    SKIPPED = "skipped"
    FREE = "free"
    SHADOWED = "shadowed"
    REDUNDANT = "redundant"
    REDUNDANT_BELOW = "redundant-below"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Packet:
    """A witness. For ICMP `destination_port` is type * 256 + code; a zone "" is any that no rule names."""

    source: str
    destination: str
    protocol: int
    source_port: int
    destination_port: int
    dscp: int
    source_zone: str = ""
    destination_zone: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one rule. by: indices of the rules that cause it, none of them superfluous; by_default: so does
    the policy's default. witness: a packet that reaches a live rule, when asked for."""

    fate: Fate
    by: tuple[int, ...] = ()
    by_default: bool = False
    witness: Packet | None = None


def coverage(
    policy: Policy, *, engine: Engine = NATIVE, below: bool = True, witnesses: bool = False, budget: int = BUDGET
) -> tuple[Coverage, ...]:
    """One Coverage per rule, in order. For a policy that is not first-match every fate is UNDECIDED: order says nothing there."""
    if not policy.first_match:
        return tuple(Coverage(Fate.UNDECIDED if rule.enabled else Fate.SKIPPED) for rule in policy.rules)
    encoder = _Encoder(policy)
    boxes = [encoder.rule(rule) for rule in policy.rules]
    default = policy.default.value if policy.default else None
    replies = engine(encoder.tables(), boxes, default_action=default, below=below, witnesses=witnesses, budget=budget)
    return tuple(
        Coverage(Fate(state), tuple(by), by_default, encoder.packet(witness) if witness else None)
        for state, by, by_default, witness in replies
    )


@dataclass(frozen=True, slots=True)
class Probe:
    """A packet as far as it is known; None = not known. Addresses are integers of the family (4 or 6)."""

    family: int
    source: int
    destination: int
    protocol: int | None = None
    source_port: int | None = None
    destination_port: int | None = None
    source_zone: str | None = None
    destination_zone: str | None = None
    dscp: int | None = None


def deciders(policy: Policy, probes: Sequence[Probe]) -> tuple[tuple[int, ...], ...]:
    """Per probe: the rules that may decide it, in order, up to the first that certainly does.

    A rule with conditions may or may not match, and so may one that asks for what the probe does not know. Rules whose action is
    CONTINUE and disabled rules are left out. Protocol and destination port are one axis: both are known, or neither counts.
    """
    encoder = _Encoder(policy)
    boxes = [encoder.rule(rule) for rule in policy.rules]
    points = [encoder.point(probe) for probe in probes]
    return tuple(tuple(found) for found in native.matching(encoder.tables(), boxes, points))


class _Table:
    """The distinct sets of one axis."""

    def __init__(self) -> None:
        self.sets: list[ValueSet] = []
        self._number: dict[tuple[int, tuple[Interval, ...]], int] = {}

    def number(self, intervals: tuple[Interval, ...], space: int = 0) -> int:
        key = (space, intervals)
        found = self._number.get(key)
        if found is None:
            found = self._number[key] = len(self.sets)
            self.sets.append(key)
        return found


class _Encoder:
    """Axes: source, destination, source port, protocol and destination port, source zone, destination zone, DSCP."""

    def __init__(self, policy: Policy) -> None:
        self._family = policy.family
        self._axes = [_Table() for _ in range(7)]
        self._services: dict[tuple[Service, ...], list[tuple[int, int]]] = {}
        self._source_zones = _names(rule.match.source_zones for rule in policy.rules)
        self._destination_zones = _names(rule.match.destination_zones for rule in policy.rules)

    def tables(self) -> list[list[ValueSet]]:
        return [axis.sets for axis in self._axes]

    def rule(self, rule: Rule) -> RuleBoxes:
        match = rule.match
        zone_in = self._axes[4].number(_zones(match.source_zones, self._source_zones))
        zone_out = self._axes[5].number(_zones(match.destination_zones, self._destination_zones))
        dscp = self._axes[6].number(_marks(match.dscp))
        boxes = [
            (source, destination, sport, dport, zone_in, zone_out, dscp)
            for source, destination in self._addresses(match.source, match.destination)
            for sport, dport in self._service(match.services)
        ]
        return rule.action.value, rule.enabled, match.is_exact and not rule.schedule, boxes

    def _addresses(self, source: AddressSet, destination: AddressSet) -> list[tuple[int, int]]:
        pairs = []
        for space, ours, theirs in ((4, source.v4, destination.v4), (6, source.v6, destination.v6)):
            if ours and theirs and self._family in (0, space):
                pairs.append((self._axes[0].number(ours, space), self._axes[1].number(theirs, space)))
        return pairs

    def _service(self, services: tuple[Service, ...]) -> list[tuple[int, int]]:
        found = self._services.get(services)
        if found is None:
            by_source: dict[tuple[Interval, ...], list[Interval]] = {}
            for service in services:
                by_source.setdefault(service.source_ports, []).extend(_protocol_ports(service))
            found = self._services[services] = [
                (self._axes[2].number(source), self._axes[3].number(normalise(ports)))
                for source, ports in by_source.items()
                if source and ports
            ]
        return found

    def point(self, probe: Probe) -> list[tuple[int, int] | None]:
        service = None
        if probe.protocol is not None and probe.destination_port is not None:
            service = probe.protocol << 16 | probe.destination_port
        zone_in = None if probe.source_zone is None else self._source_zones.get(probe.source_zone, len(self._source_zones))
        zones_out = self._destination_zones
        zone_out = None if probe.destination_zone is None else zones_out.get(probe.destination_zone, len(zones_out))
        rest = (probe.source_port, service, zone_in, zone_out, probe.dscp)
        addresses = (probe.family, probe.source), (probe.family, probe.destination)
        return [*addresses, *((0, value) if value is not None else None for value in rest)]

    def packet(self, point: Sequence[tuple[int, int]]) -> Packet:
        (family, source), (_, destination), (_, sport), (_, port), (_, zone_in), (_, zone_out), (_, dscp) = point
        address = ipaddress.IPv4Address if family == 4 else ipaddress.IPv6Address
        return Packet(
            str(address(source)), str(address(destination)), port >> 16, sport, port & 0xFFFF, dscp,
            _name(zone_in, self._source_zones), _name(zone_out, self._destination_zones),
        )  # fmt: skip


def _names(lists: Iterable[tuple[str, ...]]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted({name for names in lists for name in names}))}


def _name(number: int, known: dict[str, int]) -> str:
    return next((name for name, at in known.items() if at == number), "")


def _zones(names: tuple[str, ...], known: dict[str, int]) -> tuple[Interval, ...]:
    """No name = every zone; the last number stands for all zones that no rule names."""
    return normalise((known[name], known[name]) for name in names) if names else ((0, len(known)),)


def _marks(dscp: frozenset[int] | None) -> tuple[Interval, ...]:
    return ((0, MAX_DSCP),) if dscp is None else normalise((mark, mark) for mark in dscp)


def _protocol_ports(service: Service) -> list[Interval]:
    """Protocol and destination port as one number: protocol * 65536 + port."""
    if service.destination_ports == ALL_PORTS:
        return [(low << 16, high << 16 | 0xFFFF) for low, high in service.protocols]
    return [
        (protocol << 16 | low, protocol << 16 | high)
        for first, last in service.protocols
        for protocol in range(first, last + 1)
        for low, high in service.destination_ports
    ]
