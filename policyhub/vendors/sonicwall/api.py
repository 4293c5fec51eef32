"""Answers of the SonicOS 7 API, one or several in a document, and exports with `ipv4` below each collection."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.domain.addresses import AddressSet
from policyhub.vendorkit.json_books import JsonBooks, objects_of
from policyhub.vendorkit.json_lines import Node
from policyhub.vendorkit.lexing import NotUnderstood, number_in
from policyhub.vendors.sonicwall.api_network import names, priority, read_nat, read_route
from policyhub.vendors.sonicwall.drafts import (
    NO_MATCH,
    PROTOCOLS,
    WITH_RANGE,
    Reading,
    RuleDraft,
    address_range,
    host,
    network,
    service,
)

COLLECTIONS = {
    "access_rules": "rule", "access_rule": "rule", "address_objects": "address", "address_object": "address",
    "address_groups": "group", "address_group": "group", "service_objects": "service", "service_object": "service",
    "service_groups": "group", "service_group": "group", "nat_policies": "nat", "nat_policy": "nat",
    "route_policies": "route", "route_policy": "route",
}  # fmt: skip
TOP = {"firmware_version", "model", "serial_number", "zones", "interfaces", "status"}
REST = {"uuid", "description", "comment", "zone"}
ABOUT = {"name", "from", "to", "action", "enable", "enabled", "logging", "priority", "comment"}
RULE = ABOUT | {"source", "destination", "service", "schedule", "users"}
READ_OVER = NO_MATCH | {
    "auto_rule", "packet_dissection_filter", "ticket", "redirect_unauthenticated_users_to_log_in",
    "block_traffic_for_single_sign_on",
}  # fmt: skip
CONDITIONS = {"botnet_filter", "geo_ip_filter", "connection_limit"}  # but for their values that say nothing
QUALITY = "quality_of_service"
FAMILIES = ("ipv4", "ipv6", "fqdn")


def read_api(books: JsonBooks, reading: Reading) -> None:
    for root in books.document.roots:
        for answer in objects_of(root):
            books.take(answer, COLLECTIONS, TOP)
            for name, value in answer.pairs():
                if name in COLLECTIONS:
                    _collection(books, reading, name, value)


def _collection(books: JsonBooks, reading: Reading, name: str, value: Node) -> None:
    kind = COLLECTIONS[name]
    for family, node in _families(books, value) if not name.startswith("service") else (("", n) for n in objects_of(value)):
        try:
            if family == "fqdn" and kind not in ("address", "group"):
                raise NotUnderstood("only an address or a group is of fqdn")
            if kind == "rule":
                _rule(books, reading, family, node)
            elif kind == "address":
                _address(books, reading, family, node)
            elif kind == "service":
                _service(books, reading, node)
            elif kind == "nat":
                read_nat(books, reading, family, node)
            elif kind == "route":
                read_route(books, reading, family, node)
            else:
                _group(books, reading, "service" if name.startswith("service") else "network", node)
        except NotUnderstood as error:
            books.refuse(node.numbers, str(error))


def _families(books: JsonBooks, value: Node) -> Iterator[tuple[str, Node]]:
    """`{"ipv4": [..]}`, `[{"ipv4": {..}}, ..]` and `{"ipv4": {..}}`."""
    for holder in objects_of(value):
        books.take(holder, FAMILIES)
        for family in FAMILIES:
            for node in objects_of(holder.get(family)):
                yield family, node


def _name(node: Node) -> str:
    """Raises NotUnderstood."""
    name = node.word("name")
    if not name:
        raise NotUnderstood("an object without a name")
    return name


def _address(books: JsonBooks, reading: Reading, family: str, node: Node) -> None:
    """Raises NotUnderstood."""
    books.take(node, {"name", "host", "network", "range", "domain"}, REST)
    name, kind = _name(node), "fqdn" if family == "fqdn" else "static"
    if kind == "fqdn":
        if not node.word("domain"):
            raise NotUnderstood("an object without a domain")
        reading.add_address(name, None, tuple(node.numbers), f"domain {node.word('domain')}", kind)
        return
    value, text = _literal(books, node)
    reading.add_address(name, value, tuple(node.numbers), text, kind)


def _literal(books: JsonBooks, node: Node) -> tuple[AddressSet, str]:
    """What an object holds, and its words. Raises NotUnderstood."""
    found = [(kind, value) for kind in ("host", "network", "range") if (value := node.get(kind)) is not None]
    if len(found) != 1:
        raise NotUnderstood("an object without one readable address")
    kind, value = found[0]
    books.take(value, {"host": {"ip"}, "network": {"subnet", "ip", "mask"}, "range": {"begin", "end"}}[kind])
    text = " ".join((kind, *(inner.text for _, inner in value.pairs())))
    if kind == "host":
        return host(value.word("ip")), text
    if kind == "network":
        return network(value.word("subnet") or value.word("ip"), value.word("mask")), text
    return address_range(value.word("begin"), value.word("end")), text


def _service(books: JsonBooks, reading: Reading, node: Node) -> None:
    """`"tcp": {"begin", "end"}`, `"gre": true`, or `protocol` beside `port_range`. Raises NotUnderstood."""
    words = {*WITH_RANGE, *PROTOCOLS}
    books.take(node, {"name", "protocol", "port_range", *words}, REST)
    name = _name(node)
    holder = node.get("protocol") or node
    if holder is not node:
        books.take(holder, words)
    found = [(word, value) for word, value in holder.pairs() if word in words and value.text != "false"]
    if len(found) != 1:
        raise NotUnderstood("an object without one readable service")
    word, value = found[0]
    ports = node.get("port_range") if holder is not node else value
    if ports is not None and ports.members is not None:
        books.take(ports, {"begin", "end"})
    elif word in PROTOCOLS and value.text != "true":
        raise NotUnderstood(f"{value.text[:40]!r} is not read of {word}")
    low, high = (ports.word("begin"), ports.word("end")) if ports is not None else ("", "")
    reading.add_service(name, service(word, low, high), tuple(node.numbers))


def _group(books: JsonBooks, reading: Reading, kind: str, node: Node) -> None:
    """Raises NotUnderstood."""
    wanted = ("address_object", "address_group") if kind == "network" else ("service_object", "service_group")
    books.take(node, {"name", *wanted}, REST)
    members: list[str] = []
    for value in (found for key in wanted if (found := node.get(key)) is not None):
        parts = [part for _, part in _families(books, value)] if kind == "network" else list(objects_of(value))
        for part in parts:
            books.take(part, {"name"}, REST)
            members.append(_name(part))
    is_whole = set(dict(node.pairs())) <= {"name", *wanted, *REST}
    reading.add_group(_name(node), kind, tuple(members), tuple(node.numbers), is_whole)


def _rule(books: JsonBooks, reading: Reading, family: str, node: Node) -> None:
    """Raises NotUnderstood."""
    books.take(node, {*RULE, *CONDITIONS, QUALITY}, READ_OVER)
    draft = RuleDraft(family, tuple(node.numbers), books.text_of(node))
    draft.zones = {side: node.word(side) for side in ("from", "to") if node.word(side)}
    draft.action = node.word("action").lower()
    draft.check()
    draft.name, draft.comment = node.word("name"), node.word("comment")
    draft.identity = f"uuid {node.word('uuid')}" if node.word("uuid") else ""
    draft.is_enabled = "false" not in (node.word("enable"), node.word("enabled"))
    draft.is_logged = {"true": True, "false": False}.get(node.word("logging"))
    draft.priority = priority(books, node)
    for side in ("source", "destination"):
        _side(books, draft, side, node.get(side))
    _operand(books, draft, "service", node.get("service"))
    _conditions(books, draft, node)
    _marks(books, draft, node.get(QUALITY))
    reading.drafts.append(draft)


def _side(books: JsonBooks, draft: RuleDraft, side: str, node: Node | None) -> None:
    """`{"address": {..}, "port": {..}}` or `{"any": true}`; what else stands there is a condition. Raises NotUnderstood."""
    if node is None:
        return
    books.take(node, {"address", "port", "any", "group"} if side == "source" else {"address", "any"})
    if node.get("address") is None and node.word("any") != "true":
        raise NotUnderstood(f"a rule without a readable {side}")
    draft.operands[side] = ()
    _operand(books, draft, side, node.get("address"))
    _operand(books, draft, "port", node.get("port"))
    if side == "source" and node.word("group"):
        draft.conditions.append(f"source group {node.word('group')}")


def _operand(books: JsonBooks, draft: RuleDraft, key: str, node: Node | None) -> None:
    """any, a name or a group, or a list of them. Raises NotUnderstood."""
    if node is not None:
        draft.operands[key] = names(books, node, "any", f"a rule without a readable {key}")


def _conditions(books: JsonBooks, draft: RuleDraft, node: Node) -> None:
    schedule, users = node.get("schedule"), node.get("users")
    if schedule is not None:
        books.take(schedule, {"always_on", "name"})
        draft.schedule = schedule.word("name")
        draft.conditions += [f"schedule name {draft.schedule}"] if draft.schedule else []
    if users is not None:
        books.take(users, {"included", "excluded"})
        for key, value in users.pairs():
            books.take(value, {"all", "none", "guests", "administrator", "name", "group"})
            for word, inner in value.pairs():
                if word not in ("all", "none"):
                    draft.conditions.append(f"users {key} {word} {inner.text}".removesuffix(" true"))
    for name, value in node.pairs():  # what take() has refused may narrow the rule
        if name in RULE or name in READ_OVER or name == QUALITY:
            continue
        said = [words for words in _leaves(books, value, name) if not words.endswith((" false", " preserve true"))]
        draft.conditions += [words.removesuffix(" true").strip() for words in said]


def _marks(books: JsonBooks, draft: RuleDraft, node: Node | None) -> None:
    """`dscp` and `class_of_service`, each preserve, explicit N, or map, which depends on a table of the device."""
    if node is None:
        return
    books.take(node, {"dscp", "class_of_service"})
    for name, key, most in (("dscp", "dscp", 63), ("class_of_service", "pcp", 7)):
        one = node.get(name)
        if one is None:
            continue
        books.take(one, {"explicit", "preserve"})
        if one.word("explicit"):
            try:
                draft.mark(**{key: number_in(one.word("explicit"), 0, most, "a mark")})
            except NotUnderstood as error:
                books.refuse(one.numbers, str(error))


def _leaves(books: JsonBooks, node: Node, path: str) -> Iterator[str]:
    """`path name value` of everything below, booked as understood."""
    if node.is_scalar:
        yield f"{path} {node.text}"
        return
    if node.members is not None:
        books.take(node, node.members)
    for name, value in (*node.pairs(), *(("", item) for item in node.items or ())):
        yield from _leaves(books, value, f"{path} {name}".strip())
