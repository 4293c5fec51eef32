"""`show-nat-rulebase`: manual and generated rules in their sections."""

from __future__ import annotations

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE
from policyhub.vendorkit.operands import Services
from policyhub.vendors.checkpoint_gaia.answers import Item
from policyhub.vendors.checkpoint_gaia.reading import Reading, in_order
from policyhub.vendors.checkpoint_gaia.rules import installed_on

KEYS = frozenset(
    ("uid", "name", "type", "domain", "rule-number", "method", "auto-generated", "original-destination",
     "translated-destination", "original-source", "translated-source", "original-service", "translated-service",
     "meta-info", "comments", "enabled", "install-on", "hits", "icon", "tags", "color", "read-only", "custom-fields",
     "package", "available-actions", "layer")
)  # fmt: skip
ORIGINAL = "Original"


def read_nat(reading: Reading) -> None:
    for section, item in in_order(reading.nat_items):
        unknown = reading.leave_unknown(item, KEYS, "a NAT rule")
        reading.nat_rules.append(_read_rule(reading, section, item, unknown))


def _read_rule(reading: Reading, section: str, item: Item, unknown: list[str]) -> NatRule:
    unresolved: list[str] = []
    references: list[str] = []
    source = _addresses(reading, item, "original-source", references, unresolved)
    destination = _addresses(reading, item, "original-destination", references, unresolved)
    services = _services(reading, item, references, unresolved)
    became = {key: _translated(reading, item, f"translated-{key}") for key in ("source", "destination", "service")}
    references.extend(name for name in became.values() if name)
    return NatRule(
        name=item.text("name") or f"rule {item.text('rule-number')}",
        kind=_kind(item, became),
        match=Match(
            source,
            destination,
            services,
            conditions=(*installed_on(reading, item), *unknown),
            unresolved=tuple(dict.fromkeys(unresolved)),
        ),
        lines=item.lines,
        translated_source=became["source"],
        translated_destination=became["destination"],
        translated_service=became["service"],
        rule_set=section,
        enabled=item.get("enabled") is not False,
        comment=item.text("comments"),
        hit_key=item.text("uid"),
        references=tuple(dict.fromkeys(references)),
        notes=("auto-generated",) if item.get("auto-generated") is True else (),
    )


def _kind(item: Item, became: dict[str, str]) -> NatKind:
    if not any(became.values()):
        return NatKind.EXEMPT
    if became["source"]:
        return NatKind.SOURCE if item.text("method") == "hide" else NatKind.STATIC
    return NatKind.DESTINATION


def _translated(reading: Reading, item: Item, key: str) -> str:
    """Name of the object, "" for Original."""
    entry = item.get(key)
    if entry is None:
        return ""
    name = reading.name_of(entry)
    return "" if name == ORIGINAL or entry == ORIGINAL else name


def _addresses(reading: Reading, item: Item, key: str, references: list[str], unresolved: list[str]) -> AddressSet:
    entry = item.get(key)
    if entry is None or reading.is_any(entry):
        return ANY
    name = reading.name_of(entry)
    references.append(name)
    known = reading.known(entry)
    if known is None or known.text("uid") not in reading.addresses:
        unresolved.append(name)
        return ANY
    resolved = reading.addresses.resolve(known.text("uid"))
    unresolved.extend(resolved.unresolved)
    return ANY if resolved.unresolved else resolved.value


def _services(reading: Reading, item: Item, references: list[str], unresolved: list[str]) -> Services:
    entry = item.get("original-service")
    if entry is None or reading.is_any(entry):
        return (ANY_SERVICE,)
    name = reading.name_of(entry)
    references.append(name)
    known = reading.known(entry)
    if known is None or known.text("uid") not in reading.services:
        unresolved.append(name)
        return (ANY_SERVICE,)
    resolved = reading.services.resolve(known.text("uid"))
    unresolved.extend(resolved.unresolved)
    return (ANY_SERVICE,) if resolved.unresolved else resolved.value
