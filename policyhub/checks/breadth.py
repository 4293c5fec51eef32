"""How wide a rule is, in bits: the shared measure of the checks for wide permits."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from policyhub.checks.context import Context
from policyhub.checks.wording import listed
from policyhub.domain.addresses import AddressSet, Interval
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Action, Policy, Rule
from policyhub.domain.services import ALL_PROTOCOLS, ICMP, ICMPV6, WITH_PORTS, Service

EVERY_SERVICE_BITS = 24.0  # 256 protocols x 65,536 ports, as one would write "any service"
LOOPBACK_ZONES = frozenset({"lo", "lo0", "loopback0", "localhost"})


TO_ITSELF, FROM_ITSELF = frozenset({"input", "local"}), frozenset({"output"})
UNKNOWN_PLACE = frozenset({""})
ITSELF = gettext_noop("the device itself")


@dataclass(frozen=True, slots=True)
class Width:
    """log2 of how many addresses and services a rule lets together; the three add up to `bits` (88 = everything)."""

    source: float
    destination: float
    service: float

    @property
    def bits(self) -> float:
        return round(self.source + self.destination + self.service, 1)


def width_of(policy: Policy, rule: Rule) -> Width:
    """In a policy for traffic to the device itself the destination is one host, whatever the rule says."""
    source = 0.0 if _directions(policy) <= FROM_ITSELF else address_bits(rule.match.source)
    destination = 0.0 if _directions(policy) <= TO_ITSELF else address_bits(rule.match.destination)
    return Width(source, destination, service_bits(rule.match.services))


def is_everywhere(policy: Policy, rule: Rule) -> bool:
    """Whether any source may reach any destination."""
    directions = _directions(policy)
    beyond_itself = not directions <= TO_ITSELF and not directions <= FROM_ITSELF
    return rule.match.source.is_any and rule.match.destination.is_any and beyond_itself


def _directions(policy: Policy) -> frozenset[str]:
    return frozenset(binding.direction for binding in policy.bindings) or UNKNOWN_PLACE


def address_bits(addresses: AddressSet) -> float:
    """0 (one host) .. 32 (every IPv4 address). IPv6 counts networks of /64, two bits as one, so that ::/0 is 32 as well."""
    v4, v6 = _count(addresses.v4), _count(addresses.v6)
    return max(log2(v4) if v4 else 0.0, (log2(v6) - 64) / 2 if v6 > 2**64 else 0.0)


def service_bits(services: tuple[Service, ...]) -> float:
    """0 (one port) .. 24 (any service). A protocol without ports counts as one service; source ports do not count."""
    if has_every_service(services):
        return EVERY_SERVICE_BITS
    total = 0
    for service in services:
        for low, high in service.protocols:
            with_ports = sum(1 for protocol in WITH_PORTS if low <= protocol <= high)
            total += with_ports * _count(service.destination_ports) + (high - low + 1 - with_ports)
    return min(log2(max(total, 1)), EVERY_SERVICE_BITS)


def has_every_service(services: tuple[Service, ...]) -> bool:
    return any(service.protocols == ALL_PROTOCOLS and service.any_port for service in services)


def opens(policy: Policy, rule: Rule) -> bool:
    """Whether the rule lets new traffic through, and its width is known.

    Left out: lists that select for QoS, NAT or routing; chains that others jump to, since the jump narrows them; disabled rules;
    rules with unknown names, or with conditions other than their schedule (what they let through is narrower than their
    addresses, e.g. answers only); the loopback.
    """
    match = rule.match
    return (
        policy.purpose == "filter"
        and (policy.default is not None or bool(policy.bindings))
        and rule.enabled
        and rule.action is Action.PERMIT
        and not match.unresolved
        and all(rule.schedule and rule.schedule in condition for condition in match.conditions)
        and not (match.source_zones and set(match.source_zones) <= LOOPBACK_ZONES)
    )


def is_loose(policy: Policy) -> bool:
    """Bound to no place we know: the list opens nothing by itself."""
    return not policy.bindings


def only_icmp(rule: Rule) -> bool:
    """Ping and error messages open no service."""
    return all(service.protocols in (((ICMP, ICMP),), ((ICMPV6, ICMPV6),)) for service in rule.match.services)


def core_reached(rule: Rule, context: Context) -> list[str]:
    """Names of core business whose addresses the rule opens."""
    core = context.remember("core", lambda: [(i.name, AddressSet.of(i.prefix)) for i in context.identities if i.core])
    return [name for name, addresses in core if rule.match.destination.overlaps(addresses)]


def reaching_core(said: Message, core: list[str]) -> Message:
    return Message(gettext_noop("%(reason)s; it reaches core business (%(names)s)"), {"reason": said, "names": listed(core)})


def sources(policy: Policy, rule: Rule) -> Message:
    """How many, as one says it."""
    return Message(ITSELF) if _directions(policy) <= FROM_ITSELF else _addresses(rule.match.source)


def destinations(policy: Policy, rule: Rule) -> Message:
    return Message(ITSELF) if _directions(policy) <= TO_ITSELF else _addresses(rule.match.destination)


def services(rule: Rule) -> Message:
    if has_every_service(rule.match.services):
        return Message(gettext_noop("every service"))
    count = round(2 ** service_bits(rule.match.services))
    if count == 1:
        return Message(gettext_noop("one service"))
    return Message(gettext_noop("%(count)s services"), {"count": f"{count:,}"})


def _addresses(addresses: AddressSet) -> Message:
    v4, v6 = _count(addresses.v4), _count(addresses.v6)
    if v4 == 2**32 or v6 == 2**128:
        return Message(gettext_noop("any address"))
    if v6 > 2**64 and (log2(v6) - 64) / 2 > (log2(v4) if v4 else 0.0):
        return Message(gettext_noop("%(count)s IPv6 networks of /64"), {"count": f"{v6 // 2**64:,}"})
    if max(v4, v6) <= 1:
        return Message(gettext_noop("one address"))
    return Message(gettext_noop("%(count)s addresses"), {"count": f"{v4 or v6:,}"})


def _count(intervals: tuple[Interval, ...]) -> int:
    return sum(high - low + 1 for low, high in intervals)
