"""NAT policies, routes and the marks of rules, once the names of a text are known.

SonicOS 7 API reference (NAT policies IPv4, route policies IPv4, access rules: quality of service) and clients generated from its
schema; SonicOS 7.1 Rules and Policies (NAT Rules; Routing; 802.1p and DSCP QoS).
"""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import Route
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.qos import ClassMatch, QosAttachment, QosClass, QosPolicy
from policyhub.domain.rules import Match
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendors.sonicwall.drafts import FAMILIES, SIDES, NatDraft, Reading, RouteDraft, RuleDraft, ordered


def nat_rules(reading: Reading, drafts: list[NatDraft]) -> Iterator[NatRule]:
    return (_nat_rule(reading, draft) for draft in ordered(drafts))


def _nat_rule(reading: Reading, draft: NatDraft) -> NatRule:
    unresolved: list[str] = []
    everything = FAMILIES[draft.family][1]
    source, destination = (
        reading.addresses_of(draft.operands.get(side, ()), everything, unresolved) for side in ("source", "destination")
    )
    services = reading.services_of(draft.operands.get("service", ()), unresolved)
    zones = [() if place.lower() in ("", "any") else (place,) for place in (draft.inbound, draft.outbound)]
    references = [name for side in SIDES for name in draft.operands.get(side, ())]
    became = {side: draft.translated.get(side, "") for side in SIDES}
    kind = NatKind.DESTINATION if became["destination"] else NatKind.SOURCE if became["source"] else NatKind.EXEMPT
    kind = NatKind.DESTINATION if kind is NatKind.EXEMPT and became["service"] else kind
    return NatRule(
        draft.name or f"line {draft.lines[0]}", kind,
        Match(source, destination, services, zones[0], zones[1], unresolved=tuple(dict.fromkeys(unresolved))), draft.lines,
        became["source"], became["destination"], became["service"], f"nat {draft.family}", enabled=draft.is_enabled,
        comment=draft.comment, references=tuple(dict.fromkeys((*references, *filter(None, became.values())))), notes=draft.notes,
    )  # fmt: skip


def routes(reading: Reading, draft: RouteDraft) -> Iterator[Route]:
    """One for each prefix of the destination. Raises NotUnderstood when it is not known."""
    unresolved: list[str] = []
    prefixes = reading.addresses_of(draft.destination, FAMILIES[draft.family][1], unresolved)
    if unresolved:
        raise NotUnderstood(f"the destination {unresolved[0][:40]!r} is not known")
    for prefix in prefixes.prefixes():
        gateway = _gateway(reading, draft.gateway)
        yield Route(prefix, gateway, draft.interface, distance=draft.distance, lines=draft.lines)


def _gateway(reading: Reading, name: str) -> str:
    """The address of an object that is one host, else the words."""
    found: AddressSet = reading.addresses.resolve(name).value if name in reading.addresses else AddressSet()
    prefixes = found.prefixes()
    is_host = len(prefixes) == 1 and prefixes[0].endswith(("/32", "/128")) and found.size == 1
    return prefixes[0].rpartition("/")[0] if is_host else name


def marks(drafts: list[RuleDraft]) -> Iterator[QosPolicy]:
    """A class for each enabled rule that marks, attached to the zones it leads to."""
    for family in FAMILIES:
        found = [draft for draft in drafts if draft.family == family and draft.is_enabled and draft.marker is not None]
        if found:
            places = dict.fromkeys(zone for draft in found for zone in draft.zone("to") or ("",))
            attached = tuple(QosAttachment(place, "out") for place in places)
            yield QosPolicy(
                f"access rules {family}", tuple(map(_class, found)), attached, tuple(draft.lines[0] for draft in found)
            )


def _class(draft: RuleDraft) -> QosClass:
    match = ClassMatch(other=(f"access rule {draft.title}",))
    return QosClass(draft.title, match, draft.marker, lines=draft.lines)
