"""Network security groups as Azure prints them into the domain model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from policyhub.domain.addresses import ANY, AddressSet, Interval, normalise
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ALL_PORTS, ANY_SERVICE, ICMP, TCP, UDP, Service
from policyhub.vendorkit.json_books import JsonBooks, address, objects_of, port_range
from policyhub.vendorkit.json_lines import Node
from policyhub.vendorkit.lexing import NotUnderstood, number_in, score

NAME = "azure"
SIGNS = (
    (r'"(securityRules|defaultSecurityRules)"\s*:', 0.7),
    (r'"(source|destination)(AddressPrefix|PortRange)(es|s)?"\s*:', 0.3),
    (r'"Microsoft\.Network/networkSecurityGroups"', 0.5),
)
TYPE = "microsoft.network/networksecuritygroups"
PROTOCOLS: dict[str, int | None] = {"*": None, "any": None, "tcp": TCP, "udp": UDP, "icmp": ICMP, "esp": 50, "ah": 51}
ACTIONS = {"allow": Action.PERMIT, "deny": Action.DENY}
SIDES = (("inbound", "in"), ("outbound", "out"))
EVERYTHING = ("*", "any")
RULE_LISTS = ("securityRules", "defaultSecurityRules")
GROUP = {"name", "type", "properties", "resourceGroup", "subnets", "networkInterfaces", *RULE_LISTS}
REST = {
    "id", "etag", "location", "provisioningState", "resourceGuid", "tags", "type", "apiVersion", "dependsOn", "flowLogs",
    "flushConnection", "comments", "resourceGroup", "kind", "dataPathSource",
}  # fmt: skip
RULE = {"name", "properties", "priority", "direction", "access", "protocol", "description"} | {
    f"{side}{what}"
    for side in ("source", "destination")
    for what in ("AddressPrefix", "AddressPrefixes", "PortRange", "PortRanges", "ApplicationSecurityGroups")
}
AROUND = {"value", "resources"}
AROUND_REST = {"$schema", "contentVersion", "nextLink", "outputs"}
NO_DEFAULTS = "the default rules are not in this text"


@dataclass(slots=True)
class _Group:
    """A network security group while it is read. found: (priority, rule) by direction."""

    name: str
    lines: tuple[int, ...]
    bindings: list[tuple[str, int]] = field(default_factory=list)
    found: dict[str, list[tuple[int, Rule]]] = field(default_factory=lambda: {"inbound": [], "outbound": []})
    has_defaults: bool = False

    def policies(self) -> Iterator[Policy]:
        default, notes = (Action.DENY, ()) if self.has_defaults else (None, (NO_DEFAULTS,))
        for side, direction in SIDES:
            rules = tuple(rule for _, rule in sorted(self.found[side], key=lambda pair: pair[0]))
            bindings = tuple(Binding(name, direction, (line,)) for name, line in self.bindings)
            yield Policy(f"{self.name} {side}", rules, default, bindings=bindings, lines=self.lines, notes=notes)


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    books = JsonBooks.read(text)
    groups: dict[str, _Group] = {}
    for node in _resources(books):
        _group(books, node, groups)
    return replace(books.config(NAME), policies=tuple(policy for group in groups.values() for policy in group.policies()))


def _resources(books: JsonBooks) -> Iterator[Node]:
    for root in books.document.roots:
        lists = [root] if root.items is not None else [found for key in AROUND if (found := root.get(key)) is not None]
        if root.members is not None and lists:
            books.take(root, AROUND, AROUND_REST)
        yield from (node for found in lists or [root] for node in objects_of(found))


def _get(node: Node, name: str) -> Node | None:
    """A member, or one of `properties`: the REST API nests what the command line prints flat."""
    return node.get(name) or node.get("properties", name)


def _word(node: Node, name: str) -> str:
    found = _get(node, name)
    return found.text if found is not None and found.is_scalar else ""


def _take(books: JsonBooks, node: Node, known: set[str]) -> None:
    books.take(node, known, REST)
    inner = node.get("properties")
    if inner is not None and inner.members is not None:
        books.take(inner, known, REST)


def _group(books: JsonBooks, node: Node, groups: dict[str, _Group]) -> None:
    kind = node.word("type").lower()
    if (kind and kind != TYPE) or not any(_get(node, key) for key in RULE_LISTS):
        books.refuse(node.numbers, f"{kind[:60] or 'the object'} is no network security group")
        return
    _take(books, node, GROUP)
    name = node.word("name")
    if name in groups:
        name = f"{_resource_group(node) or len(groups)}/{name}"
    group = groups.setdefault(name, _Group(name, tuple(node.numbers)))
    group.has_defaults = group.has_defaults or any(True for _ in objects_of(_get(node, RULE_LISTS[1])))
    for key, parts in (("subnets", (-3, -1)), ("networkInterfaces", (-1,))):
        for place in objects_of(_get(node, key)):
            books.take(place, {"id"}, {"resourceGroup", *REST})
            path = place.word("id").split("/")
            group.bindings.append(("/".join(path[at] for at in parts if len(path) >= -at), place.line))
    for key in RULE_LISTS:
        for entry in objects_of(_get(node, key)):
            _take(books, entry, RULE)
            try:
                side, priority, rule = _rule(books, entry)
            except NotUnderstood as error:
                books.refuse(entry.numbers, str(error))
                continue
            group.found[side].append((priority, rule))


def _resource_group(node: Node) -> str:
    path = node.word("id").split("/")
    return node.word("resourceGroup") or (path[4] if len(path) > 4 else "")


def _rule(books: JsonBooks, entry: Node) -> tuple[str, int, Rule]:
    """Raises NotUnderstood."""
    side, action = _word(entry, "direction").lower(), ACTIONS.get(_word(entry, "access").lower())
    if side not in ("inbound", "outbound") or action is None:
        raise NotUnderstood("a rule has no direction or no access")
    priority = number_in(_word(entry, "priority"), 1, 65535, "a priority")
    unresolved: list[str] = []
    source, destination = (_addresses(books, entry, name, unresolved) for name in ("source", "destination"))
    match = Match(source, destination, (_service(entry),), unresolved=tuple(dict.fromkeys(unresolved)))
    lines, comment = tuple(entry.numbers), _word(entry, "description")
    return side, priority, Rule(entry.word("name"), action, match, lines, books.text_of(entry), comment=comment)


def _texts(entry: Node, *names: str) -> list[str]:
    found = [_get(entry, name) for name in names]
    return [text for node in found if node is not None for text in ([node.text] if node.is_scalar else node.words()) if text]


def _addresses(books: JsonBooks, entry: Node, side: str, unresolved: list[str]) -> AddressSet:
    names: list[str] = []
    known: list[AddressSet] = []
    for text in _texts(entry, f"{side}AddressPrefix", f"{side}AddressPrefixes"):
        found = ANY if text.lower() in EVERYTHING else address(text)
        if found is None:
            names.append(text)
        else:
            known.append(found)
    for group in objects_of(_get(entry, f"{side}ApplicationSecurityGroups")):
        books.take(group, {"id"}, REST)
        names.append(group.word("id").rpartition("/")[2])
    if not names and not known:
        raise NotUnderstood(f"a rule has no {side}")
    unresolved.extend(names)
    return ANY if names else AddressSet().union(*known)


def _ports(entry: Node, side: str) -> tuple[Interval, ...]:
    texts = _texts(entry, f"{side}PortRange", f"{side}PortRanges")
    if not texts or any(text in EVERYTHING for text in texts):
        return ALL_PORTS
    return normalise(port_range(text) for text in texts)


def _service(entry: Node) -> Service:
    """Raises NotUnderstood."""
    word = _word(entry, "protocol").lower()
    if word not in PROTOCOLS:
        raise NotUnderstood(f"{word[:40]!r} is not a protocol")
    protocol, source, destination = PROTOCOLS[word], _ports(entry, "source"), _ports(entry, "destination")
    if protocol in (TCP, UDP):
        return Service(((protocol, protocol),), source, destination)
    if protocol is not None:
        return Service.of(protocol)
    return ANY_SERVICE if source == destination == ALL_PORTS else Service(((TCP, TCP), (UDP, UDP)), source, destination)
