"""NAT rules. They match the packet as it arrives; `to` is the zone that the route to the original destination leads to."""

from __future__ import annotations

from policyhub.domain.nat import NatKind, NatRule
from policyhub.vendors.paloalto_panos.fields import flag, read_match
from policyhub.vendors.paloalto_panos.operands import Operands
from policyhub.vendors.paloalto_panos.reading import LOCAL, Rulebase, Scope
from policyhub.vendors.paloalto_panos.rules import ORDER, OTHER_FIELDS, on_panorama, place, policy_name
from policyhub.vendors.paloalto_panos.tree import Node, unknown

NAT = "nat"
SOURCE_KINDS = ("dynamic-ip-and-port", "dynamic-ip", "static-ip", "persistent-dynamic-ip-and-port")
SOURCE_FIELDS = frozenset(("translated-address", "interface-address", "bi-directional", "fallback"))
DESTINATION_FIELDS = frozenset(("translated-address", "translated-port", "dns-rewrite", "distribution"))
DESTINATIONS = ("destination-translation", "dynamic-destination-translation")


def read_nat(operands: Operands) -> list[NatRule]:
    """In order of evaluation: pushed before local, pre before post."""
    reading = operands.reading
    bases = [(scope, base) for scope in reading.scopes() for base in scope.rulebases if base.kind == NAT]
    bases.sort(key=lambda pair: (place(reading, pair[0], pair[1].position), pair[0].prefix, ORDER.index(pair[1].position)))
    return [_rule(operands, scope, base, node) for scope, base in bases for node in base.node]


def rule_set(operands: Operands, scope: Scope, base: Rulebase) -> str:
    """Panorama has one list for each position; on a firewall they are one."""
    return policy_name(scope, base.position if on_panorama(operands.reading, scope) else LOCAL, NAT)


def _rule(operands: Operands, scope: Scope, base: Rulebase, node: Node) -> NatRule:
    reading = operands.reading
    reading.understand(node)
    for child in unknown(node, OTHER_FIELDS):
        reading.complain(child, f"{child.name[:40]!r} of a NAT rule is not understood")
    matched = read_match(operands, scope, node, NAT)
    source, source_notes, is_static, both_ways = _source(operands, node)
    target, port, target_notes = _destination(operands, node)
    nat_type = node.text("nat-type")
    notes = [*source_notes, *target_notes]
    if nat_type not in ("", "ipv4"):
        notes.append(f"nat-type {nat_type}")
    if target:
        kind = NatKind.DESTINATION
    elif source:
        kind = NatKind.STATIC if is_static and both_ways else NatKind.SOURCE
    else:
        kind = NatKind.EXEMPT
    return NatRule(
        node.name,
        kind,
        matched.match,
        node.lines,
        translated_source=source,
        translated_destination=target,
        translated_service=port,
        rule_set=rule_set(operands, scope, base),
        context=reading.context_of(scope),
        enabled=not flag(reading, node, "disabled"),
        comment=node.text("description"),
        hit_key=node.name,
        references=tuple(dict.fromkeys((*matched.names, *_object_names(scope, node)))),
        notes=tuple(notes),
    )


def _source(operands: Operands, node: Node) -> tuple[str, list[str], bool, bool]:
    """What the sender becomes, notes, whether it is static, and in both directions."""
    translation = node.get("source-translation")
    if translation is None:
        return "", [], False, False
    notes: list[str] = []
    text, is_static, both_ways = "", False, False
    for kind in translation:
        if kind.name not in SOURCE_KINDS:
            operands.reading.complain(kind, f"source translation {kind.name[:40]!r} is not understood")
            continue
        is_static = kind.name == "static-ip"
        both_ways = kind.text("bi-directional") == "yes"
        text = _pool(kind)
        if both_ways:
            notes.append("bi-directional")
        fallback = kind.get("fallback")
        if fallback is not None and fallback.children:
            notes.append(f"fallback {_pool(fallback)}")
        for child in kind:
            if child.name not in SOURCE_FIELDS:
                operands.reading.complain(child, f"{child.name[:40]!r} of a source translation is not understood")
    return text, notes, is_static, both_ways


def _pool(node: Node) -> str:
    """`translated-address ..`, or `interface ethernet1/1 [address]`."""
    addresses = node.members("translated-address")
    if addresses:
        return " ".join(addresses)
    interface = node.get("interface-address")
    if interface is None:
        return ""
    address = interface.text("ip") or interface.text("floating-ip")
    return " ".join(part for part in ("interface", interface.text("interface"), address) if part)


def _destination(operands: Operands, node: Node) -> tuple[str, str, list[str]]:
    """What the receiver and its port become, and notes."""
    for name in DESTINATIONS:
        translation = node.get(name)
        if translation is None:
            continue
        for child in translation:
            if child.name not in DESTINATION_FIELDS:
                operands.reading.complain(child, f"{child.name[:40]!r} of a destination translation is not understood")
        notes = []
        rewrite = translation.text("dns-rewrite", "direction")
        if translation.get("dns-rewrite") is not None:
            notes.append(f"dns-rewrite {rewrite}".strip())
        distribution = translation.text("distribution")
        if distribution:
            notes.append(f"distribution {distribution}")
        return translation.text("translated-address"), translation.text("translated-port"), notes
    return "", "", []


def _object_names(scope: Scope, node: Node) -> tuple[str, ...]:
    """Address objects and groups among the translated addresses."""
    words = [
        *(word for kind in node.get("source-translation") or () for word in kind.members("translated-address")),
        *(word for name in DESTINATIONS for word in node.members(name, "translated-address")),
    ]
    return tuple(word for word in words if scope.find(("address", "address-group"), word))
