"""config.xml of pfSense and OPNsense into the domain model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files

from policyhub.domain.addresses import ANY
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.vendorkit.json_books import JsonBooks
from policyhub.vendorkit.json_lines import Node
from policyhub.vendorkit.lexing import NotUnderstood, score
from policyhub.vendorkit.xml_lines import TEXT
from policyhub.vendors.opnsense_pfsense.reading import FAMILIES, PING_TYPES, Operands, Reading, items, read_alias, read_interfaces

NAME = "opnsense_pfsense"
SECTIONS = json.loads(files("policyhub.vendors.opnsense_pfsense").joinpath("sections.json").read_text(encoding="utf-8"))
SIGNS = ((r"^<(pfsense|opnsense)>", 0.9), (r"^[ \t]*<(OPNsense|ipprotocol>inet)", 0.3), (r"^[ \t]*<tracker>\d", 0.2))
ACTIONS = {"pass": Action.PERMIT, "block": Action.DENY, "reject": Action.DENY, "match": Action.CONTINUE}
RULE = {
    "type", "interface", "ipprotocol", "protocol", "icmptype", "source", "destination", "descr", "log", "disabled", "quick",
    "direction", "floating", "tracker", "gateway", "sched", "tag", "tagged", "os", "dscp", "vlanprio", "max-src-nodes",
    "max-src-states", "max-src-conn", "max", "@uuid", "tcpflags1", "tcpflags2", "tcpflags_any",
}  # fmt: skip
CONDITIONS = ("gateway", "sched", "tagged", "os", "dscp", "vlanprio", "max", "max-src-nodes", "max-src-states", "max-src-conn")
REST = {
    "created", "updated", "id", "statetype", "statetimeout", "associated-rule-id", "category", "natreflection", "defaultqueue",
    "ackqueue", "sequence", "state-policy", "prio", "allowopts", "nopfsync", "nosync", "poolopts", "poolopts_sourcehashkey",
    "source_hash_key", "staticnatport", "target_subnet", "local-port-end", "separator",
}  # fmt: skip
NAT = RULE | {"target", "local-port", "nordr", "nonat", "sourceport", "dstport", "external", "subnet", "natport", "targetip"}


def looks_like(text: str) -> float:
    return score(text[:400_000].replace("\r", ""), SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    reading = Reading(JsonBooks.read(text))
    top = next(
        (node for root in reading.books.document.roots for node in (root.get("pfsense"), root.get("opnsense")) if node), None
    )
    if top is None or top.members is None:
        return reading.books.config(NAME)
    interfaces = read_interfaces(reading, top.get("interfaces"))
    _sections(reading, top)
    for section in (top.get("aliases"), top.get("OPNsense", "Firewall", "Alias", "aliases")):
        for entry in items(section, "alias"):
            read_alias(reading, entry)
    policies = _policies(reading, top.get("filter"))
    translations = tuple(_nat(reading, top.get("nat")))
    system = top.get("system")
    return replace(
        reading.books.config(NAME), hostname=system.word("hostname") if system is not None else "", policies=policies,
        interfaces=interfaces, groups=tuple(reading.groups), nat_rules=translations, version=top.word("version"),
    )  # fmt: skip


def _sections(reading: Reading, top: Node) -> None:
    """Book every section by name; empty ones hold nothing."""
    books = reading.books
    read = {"interfaces", "aliases", "filter", "nat", "OPNsense"}
    books.take(top, {*read, *_empty(top)}, SECTIONS["ignored"])
    opnsense = top.get("OPNsense")
    alias = top.get("OPNsense", "Firewall", "Alias")
    for section, known, ignored in (
        (top, None, ()),
        (top.get("interfaces"), None, ()),
        (top.get("aliases"), {"alias"}, ()),
        (top.get("filter"), {"rule"}, ("separator", "bypassstaticroutes")),
        (opnsense, {"Firewall"}, SECTIONS["ignored_opnsense"]),
        (opnsense.get("Firewall") if opnsense is not None else None, {"Alias"}, SECTIONS["ignored_firewall"]),
        (alias, {"aliases"}, ("geoip", "@version")),
        (alias.get("aliases") if alias is not None else None, {"alias"}, ()),
    ):
        if section is None or section.members is None:
            continue
        empty = _empty(section)
        for name in empty:
            books.ledger.understood(*section.members[name].numbers)
        if section is not top:
            books.take(section, {*(section.members.keys() - {TEXT} if known is None else known), *empty}, ignored)


def _empty(node: Node) -> set[str]:
    """Members that hold no text at all, however they are nested."""
    found: set[str] = set()
    for name, value in node.pairs():
        stack, is_empty = [value], True
        while stack and is_empty:
            inner = stack.pop()
            is_empty = not inner.text
            stack += [*(below for key, below in inner.pairs() if not key.startswith("@")), *(inner.items or ())]
        if is_empty:
            found.add(name)
    return found


def _policies(reading: Reading, section: Node | None) -> tuple[Policy, ...]:
    found: dict[str, list[Rule]] = {}
    lines: dict[str, list[int]] = {}
    for entry in items(section, "rule"):
        reading.books.take(entry, RULE, REST)
        is_floating = entry.get("floating") is not None and entry.word("floating") != "no"
        for name in ["floating"] if is_floating else [part.strip() for part in entry.word("interface").split(",")]:
            rules = found.setdefault(name, [])
            try:
                rules.append(_rule(reading, entry, f"rule {len(rules) + 1}", is_floating))
                lines.setdefault(name, []).extend(entry.numbers)
            except NotUnderstood as error:
                reading.books.refuse(entry.numbers, str(error))
    names = sorted(found, key=lambda name: name != "floating")
    return tuple(
        Policy(
            name, tuple(found[name]), None if name == "floating" else Action.DENY,
            bindings=(Binding("" if name == "floating" else name, "in"),), lines=tuple(lines.get(name, ())),
        )
        for name in names
    )  # fmt: skip


def _rule(reading: Reading, entry: Node, name: str, is_floating: bool) -> Rule:
    """Raises NotUnderstood."""
    action = ACTIONS.get(entry.word("type") or "pass")
    if action is None:
        raise NotUnderstood(f"{entry.word('type')[:40]!r} is not an action")
    operands = Operands()
    match = _match(reading, entry, operands)
    conditions = [f"{key} {entry.word(key)}" for key in CONDITIONS if entry.word(key)]
    kinds = entry.word("icmptype")
    if kinds and any(kind.strip() not in (*PING_TYPES, "any") for kind in kinds.split(",")):
        conditions.append(f"icmptype {kinds}")
    if entry.word("tcpflags1") or entry.word("tcpflags2"):
        conditions.append(f"flags {entry.word('tcpflags1')}/{entry.word('tcpflags2')}")
    zones: tuple[str, ...] = ()
    if is_floating:
        zones = tuple(part.strip() for part in entry.word("interface").split(",") if part.strip() not in ("", "any"))
        conditions += [] if entry.word("quick") in ("yes", "1") else ["not quick"]
        conditions += [f"direction {entry.word('direction')}"] if entry.word("direction") in ("in", "out") else []
    match = replace(match, source_zones=zones, conditions=tuple(conditions))
    return Rule(
        name, action, match, tuple(entry.numbers), reading.books.text_of(entry), _is_enabled(entry), _is_set(entry, "log"),
        entry.word("descr"), entry.word("sched"), entry.word("tracker") or entry.word("@uuid"),
        tuple(dict.fromkeys(operands.references)),
    )  # fmt: skip


def _match(reading: Reading, entry: Node, operands: Operands) -> Match:
    """Raises NotUnderstood."""
    for side in ("source", "destination"):
        operands.side(reading, side, entry.get(side))
    family = FAMILIES.get(entry.word("ipprotocol"), ANY)
    services = operands.services(entry)
    sides = []
    for side, value in (("source", operands.source), ("destination", operands.destination)):
        cut = value.intersection(family)
        node = entry.get(side)
        if cut.is_empty and node is not None:  # an interface whose address of this family only the device knows, if it has one
            operands.unresolved.append(node.word("network") or node.word("address"))
            cut = family
        sides.append(cut)
    return Match(sides[0], sides[1], services, unresolved=tuple(dict.fromkeys(operands.unresolved)))


def _is_set(entry: Node, name: str) -> bool:
    """An empty element is set: pfSense writes `<log></log>`."""
    return entry.get(name) is not None and entry.word(name) != "0"


def _is_enabled(entry: Node) -> bool:
    return not _is_set(entry, "disabled")


def _nat(reading: Reading, section: Node | None) -> Iterator[NatRule]:
    """Port forwards, outbound rules, one to one."""
    if section is None or section.members is None:
        return
    books = reading.books
    books.take(section, {"rule", "outbound", "onetoone", *_empty(section)}, ("separator",))
    outbound = section.get("outbound")
    if outbound is not None and outbound.members is not None:
        books.take(outbound, {"mode", "rule", *_empty(outbound)})
    for kind, entries in (
        ("rdr", items(section, "rule")),
        ("binat", items(section, "onetoone")),
        ("nat", items(outbound, "rule")),
    ):
        for number, entry in enumerate(entries, 1):
            books.take(entry, NAT, REST)
            try:
                yield _translation(reading, entry, kind, number)
            except NotUnderstood as error:
                books.refuse(entry.numbers, str(error))


def _translation(reading: Reading, entry: Node, kind: str, number: int) -> NatRule:
    """Raises NotUnderstood."""
    operands = Operands()
    for key, side in (("sourceport", "source_ports"), ("dstport", "destination_ports")):
        if entry.word(key):
            setattr(operands, side, operands.port(reading, entry.word(key)))
    match = _match(reading, entry, operands)
    zones = (entry.word("interface"),) if entry.word("interface") else ()
    match = replace(match, source_zones=zones) if kind == "rdr" else replace(match, destination_zones=zones)
    target = entry.word("target") or entry.word("targetip")
    is_exempt = _is_set(entry, "nordr") or _is_set(entry, "nonat")
    kinds = {"rdr": NatKind.DESTINATION, "nat": NatKind.SOURCE, "binat": NatKind.STATIC}
    source = "" if kind == "rdr" or is_exempt else entry.word("external") if kind == "binat" else target or "interface"
    return NatRule(
        f"{kind} {number}", NatKind.EXEMPT if is_exempt else kinds[kind], match, tuple(entry.numbers), translated_source=source,
        translated_destination=target if kind == "rdr" and not is_exempt else "",
        translated_service=entry.word("local-port") or entry.word("natport"), rule_set=kind, enabled=_is_enabled(entry),
        comment=entry.word("descr"), references=tuple(dict.fromkeys(operands.references)),
    )  # fmt: skip
