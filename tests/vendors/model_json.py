"""A model as short, readable JSON: defaults are left out, addresses and services are written as a person would."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from policyhub.domain.addresses import AddressSet, Interval
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.hits import HitCount, HitSample
from policyhub.domain.qos import DscpMap, QosAttachment
from policyhub.domain.rules import Binding, Policy, Rule
from policyhub.domain.services import ALL_PORTS, ALL_PROTOCOLS, ANY_SERVICE, Service

PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmp6", 132: "sctp"}


def addresses(value: AddressSet) -> str:
    """`any` is both families, `any4` and `any6` one of them, else prefixes."""
    if value.is_any4 and value.is_any6:
        return "any"
    if value.is_any4 and not value.v6:
        return "any4"
    if value.is_any6 and not value.v4:
        return "any6"
    return ", ".join(value.prefixes()) or "none"


def service(value: Service) -> str:
    """`tcp 443`, `tcp from 1024-65535 to 80`, `icmp 8`, `icmp 3:4`, `tcp+udp 53`, `proto 50`, `any`."""
    if value == ANY_SERVICE:
        return "any"
    names = [PROTOCOLS.get(low, f"proto {low}") if low == high else f"proto {low}-{high}" for low, high in value.protocols]
    text = "any" if value.protocols == ALL_PROTOCOLS else "+".join(names)
    if value.source_ports != ALL_PORTS:
        text += f" from {_ports(value.source_ports)} to"
    if value.destination_ports != ALL_PORTS:
        text += " " + (_icmp(value.destination_ports) if names in (["icmp"], ["icmp6"]) else _ports(value.destination_ports))
    return text.removesuffix(" to")


def _ports(intervals: tuple[Interval, ...]) -> str:
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in intervals)


def _icmp(intervals: tuple[Interval, ...]) -> str:
    """A whole type is its number; one code is `type:code`."""
    parts = []
    for low, high in intervals:
        if low % 256 == 0 and high % 256 == 255:
            first, last = low // 256, high // 256
            parts.append(str(first) if first == last else f"{first}-{last}")
        else:
            parts.append(f"{low // 256}:{low % 256}" if low == high else f"{low}-{high}")
    return ",".join(parts)


def readable(value: Any) -> Any:
    """Anything of the domain as JSON values."""
    if isinstance(value, AddressSet):
        return addresses(value)
    if isinstance(value, Service):
        return service(value)
    if isinstance(value, Rule):
        return _rule(value)
    if isinstance(value, Binding):
        return [value.interface, value.direction, list(value.lines)]
    if isinstance(value, QosAttachment):
        return [value.interface, value.direction, list(value.lines)]
    if isinstance(value, DscpMap):
        return {**_given(value, skip=("level",)), "level": " ".join(str(level) for _, level in value.level)}
    if isinstance(value, Policy):
        return {**_given(value, skip=("rules", "default")), "default": value.default, "rules": [_rule(r) for r in value.rules]}
    if is_dataclass(value) and not isinstance(value, type):
        return _given(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [readable(item) for item in value]
    return value


def _given(value: Any, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    """Fields that differ from their default."""
    found = {}
    for field in fields(value):
        item = getattr(value, field.name)
        if field.name not in skip and item != field.default and not (item == () or item == ""):
            found[field.name] = readable(item)
    return found


def _rule(rule: Rule) -> dict[str, Any]:
    """The match is written flat; `text` is the source line and left out; `hit_key` is left out when it is the name."""
    found: dict[str, Any] = {"name": rule.name, "action": rule.action.value}
    found |= {"from": addresses(rule.match.source), "to": addresses(rule.match.destination)}
    found["services"] = [service(s) for s in rule.match.services]
    found |= {key: value for key, value in _given(rule.match).items() if key not in ("source", "destination", "services")}
    found |= {k: v for k, v in _given(rule, skip=("text", "match", "action", "name")).items() if k != "hit_key" or v != rule.name}
    return found


def model(config: DeviceConfig) -> dict[str, Any]:
    found = _given(config, skip=("platform", "lines", "unparsed"))
    if config.unparsed:
        found["unparsed"] = [[u.line, u.text, u.reason] for u in config.unparsed]
    return found


def sample(value: HitSample) -> dict[str, Any]:
    """Counters as `[key, hits, last hit]`, the last only when known."""
    return {**_given(value, skip=("hits", "platform")), "hits": [_hit(hit) for hit in value.hits]}


def _hit(hit: HitCount) -> list[Any]:
    extra = [hit.last_hit_at.isoformat()] if hit.last_hit_at else []
    return [hit.key, hit.hits, *([{"bytes": hit.bytes}] if hit.bytes is not None else []), *extra]
