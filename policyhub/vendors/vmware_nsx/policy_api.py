"""Policies, groups and services of the NSX policy API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet
from policyhub.domain.objects import ObjectGroup
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, ICMP, ICMPV6, MAX_PROTOCOL, TCP, UDP, Service
from policyhub.vendorkit.json_books import JsonBooks, address, objects_of, port_range
from policyhub.vendorkit.json_lines import Node
from policyhub.vendorkit.lexing import NotUnderstood, number_in
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendorkit.service_names import icmp_service

ACTIONS = {"ALLOW": Action.PERMIT, "DROP": Action.DENY, "REJECT": Action.DENY, "JUMP_TO_APPLICATION": Action.CONTINUE}
CATEGORIES = ("Ethernet", "Emergency", "Infrastructure", "Environment", "Application")
CONTAINERS = ("results", "policies", "groups", "services", "children", "domains", "security_policies", "gateway_policies")
WRAPPED = ("Group", "Service", "SecurityPolicy", "GatewayPolicy", "Domain", "Infra")
REST = {
    "id", "display_name", "path", "relative_path", "parent_path", "unique_id", "realization_id", "owner_id", "overridden",
    "marked_for_delete", "is_default", "resource_type", "tags", "_create_user", "_create_time", "_last_modified_user",
    "_last_modified_time", "_system_owned", "_protection", "_revision", "remote_path", "origin_site_id", "result_count",
    "sort_by", "sort_ascending", "cursor", "description", "internal_sequence_number", "rule_count", "locked",
    "lock_modified_time", "stateful", "tcp_strict", "is_policy_based", "service_type", "extended_expression", "reference",
    "scheduler_path", "connectivity_preference", "default_rule_id", "group_type", "rule_id", "tag", "state", "target_type",
}  # fmt: skip
POLICY = {"id", "rules", "scope", "category", "sequence_number", "resource_type"}
RULE = {
    "id", "action", "source_groups", "destination_groups", "services", "service_entries", "scope", "direction", "ip_protocol",
    "profiles", "disabled", "logged", "notes", "sequence_number", "sources_excluded", "destinations_excluded",
}  # fmt: skip
ENTRY = {
    "l4_protocol", "source_ports", "destination_ports", "protocol", "icmp_type", "icmp_code", "protocol_number", "alg",
    "nested_service_path", "ether_type",
}  # fmt: skip
FAMILIES = {"IPV4": ANY4, "IPV6": ANY6}


@dataclass(slots=True)
class Names:
    """Groups and services of one answer; what it does not hold is asked of the whole text."""

    groups: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)


@dataclass(slots=True)
class Answers:
    """distributed: those of `policies` that belong to the distributed firewall, in the order they are asked."""

    policies: list[Policy] = field(default_factory=list)
    distributed: list[Policy] = field(default_factory=list)
    groups: tuple[ObjectGroup, ...] = ()


def read_answers(books: JsonBooks) -> Answers:
    everywhere = Names()
    groups: dict[str, ObjectGroup] = {}
    own: list[tuple[Names, list[Node]]] = []
    for root in books.document.roots:
        here, policies = Names(), []
        for node in _things(books, root):
            if node.get("expression") is not None:
                _group(books, node, (here, everywhere), groups)
            elif node.get("service_entries") is not None:
                _service(books, node, (here, everywhere))
            else:
                policies.append(node)
        own.append((here, policies))
    found: list[tuple[tuple[int, int], bool, list[Policy]]] = []
    for here, nodes in own:
        found += [_policy(books, node, here, everywhere) for node in nodes]
    found.sort(key=lambda entry: entry[0])
    answers = Answers(groups=tuple(groups.values()))
    for _, is_distributed, policies_made in found:
        answers.policies += policies_made
        answers.distributed += policies_made if is_distributed else []
    return answers


def _things(books: JsonBooks, root: Node) -> Iterator[Node]:
    """Groups, services and policies below a root, in text order."""
    stack = list(reversed(list(objects_of(root))))
    while stack:
        node = stack.pop()
        if node.get("rules") is not None or node.get("expression") is not None or node.get("service_entries") is not None:
            yield node
            continue
        below = [found for name in (*CONTAINERS, *WRAPPED) if (found := node.get(name)) is not None]
        if below or not node.members:
            books.take(node, (*CONTAINERS, *WRAPPED), REST)
            stack.extend(reversed([inner for found in below for inner in objects_of(found)]))
        else:
            books.refuse(node.numbers, "no policy, group or service")


def last(path: str) -> str:
    return path.rpartition("/")[2]


def _group(books: JsonBooks, node: Node, tables: tuple[Names, Names], groups: dict[str, ObjectGroup]) -> None:
    books.take(node, {"id", "expression"}, REST)
    name, members, is_dynamic = node.word("id"), [], False
    addresses: list[AddressSet] = []
    paths: list[str] = []
    for part in objects_of(node.get("expression")):
        books.take(part, part.members or ())  # an expression of any kind is read or makes the group dynamic
        kind = part.word("resource_type")
        words = [text for key in ("ip_addresses", "paths") for text in (part.get(key) or Node(0, 0)).words()]
        members += [last(word) if word.startswith("/") else word for word in words]
        if kind == "IPAddressExpression":
            found = [address(word) for word in words]
            addresses += [value for value in found if value is not None]
            is_dynamic = is_dynamic or None in found
        elif kind == "PathExpression":
            paths += [last(word) for word in words]
        elif not (kind == "ConjunctionOperator" and part.word("conjunction_operator") == "OR"):
            is_dynamic = True
    for table in tables:
        table.groups.define(name)
        for value in addresses:
            table.groups.add(name, value)
        for path in paths:
            table.groups.refer(name, path)
        if is_dynamic:
            table.groups.leave_open(name, name)
    groups.setdefault(name, ObjectGroup(name, "network", tuple(members), tuple(node.numbers)))


def _service(books: JsonBooks, node: Node, tables: tuple[Names, Names]) -> None:
    books.take(node, {"id", "service_entries"}, REST)
    name = node.word("id")
    for table in tables:
        table.services.define(name)
    for entry in objects_of(node.get("service_entries")):
        try:
            value, nested = _entry(books, entry)
        except NotUnderstood as error:
            books.refuse(entry.numbers, str(error))
            value, nested = None, ""
        for table in tables:
            if nested:
                table.services.refer(name, nested)
            elif value is None:
                table.services.leave_open(name, name)
            else:
                table.services.add(name, (value,))


def _entry(books: JsonBooks, entry: Node) -> tuple[Service | None, str]:
    """A service, or the name of a nested one; neither for what the model has no words for. Raises NotUnderstood."""
    books.take(entry, ENTRY, REST)
    kind = entry.word("resource_type")
    if kind == "NestedServiceServiceEntry":
        return None, last(entry.word("nested_service_path"))
    if kind == "ICMPTypeServiceEntry":
        protocol = ICMPV6 if entry.word("protocol").upper().endswith("6") else ICMP
        if not entry.word("icmp_type"):
            return Service.of(protocol), ""
        code = entry.word("icmp_code")
        number = number_in(entry.word("icmp_type"), 0, 255, "an ICMP type")
        return icmp_service(number, number_in(code, 0, 255, "an ICMP code") if code else None, protocol), ""
    if kind == "IPProtocolServiceEntry":
        return Service.of(number_in(entry.word("protocol_number"), 0, MAX_PROTOCOL, "a protocol")), ""
    if kind == "IGMPTypeServiceEntry":
        return Service.of(2), ""
    if kind not in ("L4PortSetServiceEntry", "ALGTypeServiceEntry"):
        return None, ""
    source, destination = (
        tuple(port_range(text) for text in (entry.get(name) or Node(0, 0)).words())
        for name in ("source_ports", "destination_ports")
    )
    is_udp = entry.word("l4_protocol").upper() == "UDP" or entry.word("alg") in ("TFTP", "NBNS_BROADCAST", "NBDG_BROADCAST")
    return Service.of(UDP if is_udp else TCP, destination, source), ""


def _words(node: Node, name: str) -> list[str]:
    """Members of a list, without ANY."""
    found = node.get(name)
    return [word for word in (found.words() if found is not None else []) if word != "ANY"]


def _policy(books: JsonBooks, node: Node, here: Names, everywhere: Names) -> tuple[tuple[int, int], bool, list[Policy]]:
    """Order, whether it is of the distributed firewall, and one policy, or one for each direction."""
    books.take(node, POLICY, REST)
    is_distributed = node.word("resource_type") != "GatewayPolicy"
    scope = _words(node, "scope")
    found: list[tuple[int, str, Rule]] = []
    gateways: dict[str, int] = {}
    entries = list(objects_of(node.get("rules")))
    shared = set(_words(entries[0], "scope")) if entries else set()
    for entry in entries:
        books.take(entry, RULE, REST)
        mine = _words(entry, "scope")
        for gateway in mine:
            gateways.setdefault(last(gateway), entry.line)
        applied = mine if is_distributed or set(mine) != shared else []
        try:
            number = number_in(entry.word("sequence_number") or "0", 0, 2**31, "a sequence number")
            found.append((number, entry.word("direction").upper(), _rule(books, entry, applied or scope, here, everywhere)))
        except NotUnderstood as error:
            books.refuse(entry.numbers, str(error))
    found.sort(key=lambda rule: rule[0])
    places = ("",) if is_distributed else tuple(gateways)
    category = node.word("category")
    order = CATEGORIES.index(category) if category in CATEGORIES else len(CATEGORIES)
    sequence = node.word("sequence_number")
    made = list(_directions(node, found, places))
    return (order, int(sequence) if sequence.isdecimal() and len(sequence) < 12 else 0), is_distributed, made


def _directions(node: Node, found: list[tuple[int, str, Rule]], places: tuple[str, ...]) -> Iterator[Policy]:
    name, lines = node.word("id"), tuple(node.numbers)
    if not any(direction in ("IN", "OUT") for _, direction, _ in found):
        bindings = tuple(Binding(place, "forward") for place in places)
        yield Policy(name, tuple(rule for *_, rule in found), None, bindings=bindings, lines=lines)
        return
    for side, other in (("in", "OUT"), ("out", "IN")):
        rules = tuple(rule for _, direction, rule in found if direction != other)
        bindings = tuple(Binding(place, side) for place in places)
        if rules:
            yield Policy(f"{name} {side}", rules, None, bindings=bindings, lines=lines)


def _rule(books: JsonBooks, entry: Node, applied: list[str], here: Names, everywhere: Names) -> Rule:
    """Raises NotUnderstood."""
    action = ACTIONS.get(entry.word("action"))
    if action is None:
        raise NotUnderstood(f"{entry.word('action')[:40]!r} is not an action")
    unresolved: list[str] = []
    conditions = [f"applied to {', '.join(map(last, applied))}"] if applied else []
    conditions += [f"profile {last(name)}" for name in _words(entry, "profiles")]
    family = FAMILIES.get(entry.word("ip_protocol"), ANY)
    sides = [
        _side(entry, side, (here, everywhere), unresolved, conditions).intersection(family) for side in ("source", "destination")
    ]
    services = _services(books, entry, (here, everywhere), unresolved)
    names = tuple(dict.fromkeys(unresolved))
    match = Match(sides[0], sides[1], services, conditions=tuple(conditions), unresolved=names)
    references = [
        last(p) for key in ("source_groups", "destination_groups", "services") for p in _words(entry, key) if p[0] == "/"
    ]
    logged = {"true": True, "false": False}.get(entry.word("logged"))
    return Rule(
        entry.word("id"), action, match, tuple(entry.numbers), books.text_of(entry), entry.word("disabled") != "true", logged,
        entry.word("notes"), references=tuple(dict.fromkeys(references)),
    )  # fmt: skip


def _side(entry: Node, side: str, tables: tuple[Names, Names], unresolved: list[str], conditions: list[str]) -> AddressSet:
    words = _words(entry, f"{side}_groups")
    known: list[AddressSet] = []
    names: list[str] = []
    for word in words:
        found = None if word.startswith("/") else address(word)
        if found is None:
            table = next((t.groups for t in tables if last(word) in t.groups), tables[1].groups)
            resolved = table.resolve(last(word))
            names += resolved.unresolved
            found = resolved.value
        known.append(found)
    if not words:
        return ANY
    value = AddressSet().union(*known)
    if entry.word(f"{side}s_excluded") == "true":
        conditions += [f"{side}s excluded {', '.join(names)}"] if names else []
        return ANY.minus(value)
    unresolved.extend(names)
    return ANY if names else value


def _services(books: JsonBooks, entry: Node, tables: tuple[Names, Names], unresolved: list[str]) -> Services:
    """Raises NotUnderstood."""
    found: list[Service] = []
    names: list[str] = []
    for word in _words(entry, "services"):
        table = next((t.services for t in tables if last(word) in t.services), tables[1].services)
        resolved = table.resolve(last(word))
        found += resolved.value
        names += resolved.unresolved
    for inline in objects_of(entry.get("service_entries")):
        value, nested = _entry(books, inline)
        found += [value] if value is not None else []
        names += [] if value is not None else [nested or inline.word("resource_type")]
    unresolved.extend(names)
    return tuple(dict.fromkeys(found)) if found and not names else (ANY_SERVICE,)
