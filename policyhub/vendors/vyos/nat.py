"""`nat source|destination|static`."""

from __future__ import annotations

from policyhub.domain.nat import NatKind, NatRule
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal
from policyhub.vendors.vyos.groups import Groups
from policyhub.vendors.vyos.reading import Reading
from policyhub.vendors.vyos.rules import read_match
from policyhub.vendors.vyos.tree import Node

KINDS = {"source": NatKind.SOURCE, "destination": NatKind.DESTINATION, "static": NatKind.STATIC}


def nat_rules(reading: Reading, groups: Groups) -> tuple[NatRule, ...]:
    found: list[NatRule] = []
    for kind, listed in reading.root.pairs("nat"):
        numbered = [(int(n), node) for n, node in listed.pairs("rule") if is_decimal(n) and len(n) < 10 and kind in KINDS]
        reading.ledger.understood(*(listed.own if kind in KINDS else ()))
        for number, node in sorted(numbered, key=lambda pair: pair[0]):
            try:
                found.append(_rule(groups, kind, number, node))
                reading.ledger.understood(*node.lines)
            except NotUnderstood as error:
                reading.refuse(node.lines, str(error), again=True)
    top = reading.root.get("nat")
    reading.ledger.understood(*(top.own if top else ()))
    return tuple(found)


def _rule(groups: Groups, kind: str, number: int, node: Node) -> NatRule:
    """Raises NotUnderstood."""
    match, references = read_match(groups, "ipv4", node)
    is_exempt = node.has("exclude")
    address, port = node.word("translation", "address"), node.word("translation", "port")
    if address == "masquerade":
        address = "interface"
    if not address and not port and not is_exempt and not node.has("translation"):
        raise NotUnderstood("a rule translates nothing")
    return NatRule(
        f"{kind} {number}", NatKind.EXEMPT if is_exempt else KINDS[kind], match, node.lines,
        translated_source=address if kind == "source" else "", translated_destination=address if kind != "source" else "",
        translated_service=port, rule_set=kind, enabled=not node.has("disable"), comment=node.word("description"),
        references=references,
    )  # fmt: skip
