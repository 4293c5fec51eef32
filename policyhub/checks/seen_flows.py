"""Which rules decided flows that a capture saw: packets on the wire prove use where counters are off or lie."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Policy
from policyhub.domain.rulespace import Probe, deciders
from policyhub.domain.services import MAX_PORT, WITH_PORTS

PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "gre": 47, "esp": 50, "icmpv6": 58, "ospf": 89, "sctp": 132}
TYPES = {1: (0, 3, 4, 5, 8, 11, 12, 13, 14), 58: (1, 2, 3, 4, 128, 129, 133, 134, 135, 136, 137)}  # tried when a flow has no type


@dataclass(frozen=True, slots=True)
class SeenFlow:
    """One direction of a flow as the packets it may consist of: one probe, or one per ICMP type when the type is not known."""

    probes: tuple[Probe, ...]
    packets: int


def read_flows(text: str, file: str) -> tuple[SeenFlow, ...]:
    """Flows of a `policyhub.flows/1` document. Raises BadInput naming the file, the place and the cure."""
    cure = Message(gettext_noop("Give the output of `policyhub flows --format json`"))
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput.at(
            file, getattr(error, "lineno", None), Message(gettext_noop("not JSON (%(error)s)"), {"error": str(error)}), cure
        ) from None
    if (
        not isinstance(document, dict)
        or document.get("schema") != "policyhub.flows/1"
        or not isinstance(document.get("flows"), list)
    ):
        raise BadInput.at(file, None, Message(gettext_noop("not a policyhub.flows/1 document")), cure)
    flows = []
    for number, flow in enumerate(document["flows"]):
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
    seen: dict[tuple[str, str], int] = {}
    flows = tuple(flows)
    probes = list(dict.fromkeys(probe for flow in flows for probe in flow.probes))
    for policy in policies:
        if policy.purpose != "filter" or not policy.rules:
            continue
        decided = dict(zip(probes, deciders(policy, probes), strict=True))
        for flow in flows:
            for number in {number for probe in flow.probes for number in decided[probe]}:
                key = (policy.name, policy.rules[number].name)
                seen[key] = seen.get(key, 0) + flow.packets
    return seen


def _flow(flow: Mapping[str, Any]) -> SeenFlow:
    source, destination = ipaddress.ip_address(flow["src"]), ipaddress.ip_address(flow["dst"])
    proto = flow["proto"]
    protocol = PROTOCOLS.get(str(proto).lower()) or _number(proto, "protocol")
    marks = [int(mark) for mark in (flow.get("dscp") or {})]
    mark = marks[0] if len(marks) == 1 else None
    sport: int | None = None
    dports: tuple[int, ...] = (0,)
    if protocol in WITH_PORTS:
        sport, dports = _number(flow["sport"], "sport"), (_number(flow["dport"], "dport"),)
    elif protocol in TYPES:
        dports = tuple(kind * 256 for kind in TYPES[protocol])
    probes = tuple(Probe(source.version, int(source), int(destination), protocol, sport, dport, dscp=mark) for dport in dports)
    return SeenFlow(probes, int(flow.get("packets") or 1))


def _number(value: object, what: str) -> int:
    text = str(value)
    if not text.isascii() or not text.isdigit() or int(text) > MAX_PORT:
        raise ValueError(f"{what} {value!r} is not a number from 0 to {MAX_PORT}")
    return int(text)
