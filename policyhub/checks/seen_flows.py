"""Which rules decided flows that a capture saw: packets on the wire prove use where counters are off or lie."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from policyhub.domain.addresses import AddressSet, Interval
from policyhub.domain.errors import BadInput
from policyhub.domain.rules import Action, Policy, Rule

PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "gre": 47, "esp": 50, "icmpv6": 58, "ospf": 89, "sctp": 132}


@dataclass(frozen=True, slots=True)
class SeenFlow:
    """One direction of a flow. Ports None: the protocol has none, or they are not known."""

    source: int
    destination: int
    family: int
    protocol: int
    source_port: int | None
    destination_port: int | None
    marks: frozenset[int]
    packets: int


def read_flows(text: str, file: str) -> tuple[SeenFlow, ...]:
    """Flows of a `policyhub.flows/1` document. Raises BadInput naming the file, the place and the cure."""
    cure = "Give the output of `policyhub flows --format json`"
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BadInput.at(file, getattr(error, "lineno", None), f"not JSON ({error})", cure) from None
    if not isinstance(document, dict) or document.get("schema") != "policyhub.flows/1":
        raise BadInput.at(file, None, "not a policyhub.flows/1 document", cure)
    flows = []
    for number, flow in enumerate(document.get("flows", [])):
        try:
            flows.append(_flow(flow))
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise BadInput.at(file, None, f"flows[{number}]: {error}", cure) from None
    return tuple(flows)


def rules_seen(policies: Iterable[Policy], flows: Iterable[SeenFlow]) -> dict[tuple[str, str], int]:
    """Packets by (policy, rule).

    A flow counts for the rule that decides it in each policy, and for rules before it whose conditions may or may not have held:
    when nobody knows, a rule counts as used. Whether the flow passed the place where the policy is bound is not known either.
    """
    flows = tuple(flows)
    seen: dict[tuple[str, str], int] = {}
    for policy in policies:
        if policy.purpose != "filter":
            continue
        for flow in flows:
            for rule in policy.rules:
                if rule.enabled and rule.action is not Action.CONTINUE and _matches(rule, flow):
                    seen[policy.name, rule.name] = seen.get((policy.name, rule.name), 0) + flow.packets
                    if rule.match.is_exact:
                        break
    return seen


def _flow(flow: Mapping[str, Any]) -> SeenFlow:
    source, destination = ipaddress.ip_address(flow["src"]), ipaddress.ip_address(flow["dst"])
    proto = flow["proto"]
    protocol = PROTOCOLS[proto.lower()] if isinstance(proto, str) and not proto.isdigit() else int(proto)
    has_ports = protocol in (6, 17, 132)
    return SeenFlow(
        int(source), int(destination), source.version, protocol,
        _port(flow.get("sport")) if has_ports else None,
        _port(flow.get("dport")) if has_ports else None,
        frozenset(int(mark) for mark in (flow.get("dscp") or {})),
        int(flow.get("packets") or 1),
    )  # fmt: skip


def _port(value: object) -> int | None:
    return int(str(value)) if value is not None else None


def _matches(rule: Rule, flow: SeenFlow) -> bool:
    match = rule.match
    return (
        _holds(match.source, flow.source, flow.family)
        and _holds(match.destination, flow.destination, flow.family)
        and (match.dscp is None or not flow.marks or bool(match.dscp & flow.marks))
        and any(
            _within(flow.protocol, service.protocols)
            and (flow.source_port is None or _within(flow.source_port, service.source_ports))
            and (flow.destination_port is None or _within(flow.destination_port, service.destination_ports))
            for service in match.services
        )
    )


def _holds(addresses: AddressSet, number: int, family: int) -> bool:
    return _within(number, addresses.v4 if family == 4 else addresses.v6)


def _within(number: int, intervals: tuple[Interval, ...]) -> bool:
    return any(low <= number <= high for low, high in intervals)
