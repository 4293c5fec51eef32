"""`<section>` of NSX for vSphere: ordered rules of the distributed firewall."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, ICMP, ICMPV6, MAX_PROTOCOL, WITH_PORTS, Service
from policyhub.vendorkit.json_books import JsonBooks, address, port_range
from policyhub.vendorkit.json_lines import Node
from policyhub.vendorkit.lexing import NotUnderstood, number_in
from policyhub.vendorkit.operands import compact
from policyhub.vendorkit.service_names import icmp_service
from policyhub.vendorkit.xml_lines import several

ACTIONS = {"allow": Action.PERMIT, "deny": Action.DENY, "drop": Action.DENY, "reject": Action.DENY, "block": Action.DENY}
AROUND = ("firewallConfiguration", "layer3Sections")
AROUND_REST = {"contextId", "layer2Sections", "layer3RedirectSections", "generationNumber", "@timestamp"}
SECTION_REST = {"@id", "@generationNumber", "@timestamp", "@type", "@tcpStrict", "@stateless", "@useSid", "@managedBy"}
RULE = {
    "@logged", "@disabled", "name", "action", "sources", "destinations", "services", "appliedToList", "direction", "packetType",
    "notes", "tag",
}  # fmt: skip
RULE_REST = {"@id", "sectionId", "precedence", "@managedBy"}
EVERYWHERE = ("DISTRIBUTED_FIREWALL", "ANY")
PART_REST = {"isValid", "type", "value", "name"}
SERVICE = {"protocol", "sourcePort", "destinationPort", "subProtocol"}
SERVICE_REST = {"isValid", "protocolName", "subProtocolName", "type"}


def read_sections(books: JsonBooks) -> list[Policy]:
    return [_section(books, node) for root in books.document.roots for node in _sections(books, root)]


def _sections(books: JsonBooks, root: Node) -> Iterator[Node]:
    """Sections below a root, whatever is around them."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.members is None or not {"section", *AROUND} & node.members.keys():
            continue
        books.take(node, {"section", *AROUND}, AROUND_REST)
        yield from (section for section in several(node.get("section")) if section.members is not None)
        stack.extend(below for name in AROUND for below in several(node.get(name)))


def _section(books: JsonBooks, node: Node) -> Policy:
    books.take(node, {"@name", "rule"}, SECTION_REST)
    rules: list[Rule] = []
    for entry in several(node.get("rule")):
        if entry.members is None:
            continue
        books.take(entry, RULE, RULE_REST)
        try:
            rules.append(_rule(books, entry))
        except NotUnderstood as error:
            books.refuse(entry.numbers, str(error))
    bindings = (Binding("", "forward"),)
    return Policy(node.word("@name"), tuple(rules), None, bindings=bindings, lines=tuple(node.numbers))


def _rule(books: JsonBooks, entry: Node) -> Rule:
    """Raises NotUnderstood."""
    action = ACTIONS.get(entry.word("action").lower())
    if action is None:
        raise NotUnderstood(f"{entry.word('action')[:40]!r} is not an action")
    unresolved: list[str] = []
    conditions: list[str] = []
    source, destination = (_side(books, entry.get(name), name, unresolved, conditions) for name in ("sources", "destinations"))
    services = _services(books, entry.get("services"), unresolved)
    conditions += _applied(books, entry.get("appliedToList"))
    conditions += [f"{name} {entry.word(name)}" for name in ("direction", "packetType") if _narrows(entry.word(name))]
    match = Match(source, destination, services, conditions=tuple(conditions), unresolved=tuple(dict.fromkeys(unresolved)))
    logged = {"true": True, "false": False}.get(entry.word("@logged"))
    name, lines = entry.word("name"), tuple(entry.numbers)
    return Rule(name, action, match, lines, books.text_of(entry), entry.word("@disabled") != "true", logged, entry.word("notes"))


def _narrows(word: str) -> bool:
    return word.lower() not in ("", "inout", "any")


def _parts(books: JsonBooks, node: Node | None, tag: str, known: set[str], rest: set[str]) -> Iterator[Node]:
    if node is None or node.members is None:
        return
    books.take(node, {tag, "@excluded"})
    for part in several(node.get(tag)):
        if part.members is not None:
            books.take(part, known, rest)
            yield part


def _name_of(part: Node) -> str:
    return part.word("name") or f"{part.word('type')} {part.word('value')}".strip()


def _side(books: JsonBooks, node: Node | None, name: str, unresolved: list[str], conditions: list[str]) -> AddressSet:
    known: list[AddressSet] = []
    names: list[str] = []
    for part in _parts(books, node, name.removesuffix("s"), {"type", "value", "name"}, PART_REST):
        found = address(part.word("value")) if part.word("type") in ("Ipv4Address", "Ipv6Address") else None
        if found is None:
            names.append(_name_of(part))
        else:
            known.append(found)
    if node is None or not (known or names):
        return ANY
    is_excluded = node.word("@excluded") == "true"
    if names and is_excluded:
        conditions.append(f"{name} excluded {', '.join(names)}")
        return ANY.minus(AddressSet().union(*known))
    unresolved.extend(names)
    return ANY if names else ANY.minus(AddressSet().union(*known)) if is_excluded else AddressSet().union(*known)


def _applied(books: JsonBooks, node: Node | None) -> list[str]:
    parts = _parts(books, node, "appliedTo", {"type", "value", "name"}, PART_REST)
    names = [_name_of(part) for part in parts if part.word("type") not in EVERYWHERE]
    return [f"applied to {', '.join(names)}"] if names else []


def _services(books: JsonBooks, node: Node | None, unresolved: list[str]) -> tuple[Service, ...]:
    """Raises NotUnderstood."""
    found: list[Service] = []
    names: list[str] = []
    for part in _parts(books, node, "service", {*SERVICE, "name", "value"}, SERVICE_REST):
        if part.get("protocol") is None:
            names.append(_name_of(part))
        else:
            found.append(_service(part))
    unresolved.extend(names)
    return compact(found) if found and not names else (ANY_SERVICE,)


def _service(part: Node) -> Service:
    protocol = number_in(part.word("protocol"), 0, MAX_PROTOCOL, "a protocol")
    if protocol in (ICMP, ICMPV6) and part.word("subProtocol"):
        return icmp_service(number_in(part.word("subProtocol"), 0, 255, "an ICMP type"), None, protocol)
    if protocol not in WITH_PORTS:
        return Service.of(protocol)
    source, destination = (
        tuple(port_range(text.strip()) for text in part.word(name).split(",") if text.strip() not in ("", "any"))
        for name in ("sourcePort", "destinationPort")
    )
    return Service.of(protocol, destination, source)
