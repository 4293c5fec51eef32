"""VPC firewall rules as gcloud and the REST API print them into the domain model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, ICMP, MAX_PROTOCOL, SCTP, TCP, UDP, WITH_PORTS, Service
from policyhub.vendorkit.json_books import JsonBooks, address, objects_of, port_range, whole
from policyhub.vendorkit.json_lines import Node
from policyhub.vendorkit.lexing import NotUnderstood, number_in, score

NAME = "gcp"
SIGNS = (
    (r'"IPProtocol"\s*:', 0.6),
    (r'"direction"\s*:\s*"(INGRESS|EGRESS)"', 0.4),
    (r'"(targetTags|targetServiceAccounts|sourceServiceAccounts)"\s*:|compute#firewall"', 0.2),
)
PROTOCOLS = {"tcp": TCP, "udp": UDP, "icmp": ICMP, "esp": 50, "ah": 51, "sctp": SCTP, "ipip": 94}
DEFAULTS = {"INGRESS": Action.DENY, "EGRESS": Action.PERMIT}
DIRECTIONS = {"INGRESS": "in", "EGRESS": "out"}
EVERYWHERE = "0.0.0.0/0"
RULE = {
    "name", "description", "network", "direction", "priority", "disabled", "sourceRanges", "destinationRanges", "sourceTags",
    "sourceServiceAccounts", "targetTags", "targetServiceAccounts", "allowed", "denied", "logConfig", "enableLogging",
}  # fmt: skip
REST = {"kind", "id", "creationTimestamp", "selfLink", "selfLinkWithId"}


@dataclass(slots=True)
class _Direction:
    """Rules of one network in one direction: (priority, permits, rule)."""

    network: str
    side: str
    found: list[tuple[int, bool, Rule]] = field(default_factory=list)

    def policy(self) -> Policy:
        rules = tuple(rule for *_, rule in sorted(self.found, key=lambda entry: entry[:2]))
        bindings = (Binding(self.network, DIRECTIONS[self.side]),)
        return Policy(f"{self.network} {self.side.lower()}", rules, DEFAULTS[self.side], bindings=bindings)


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    books = JsonBooks.read(text)
    directions: dict[tuple[str, str], _Direction] = {}
    for node in _rules(books):
        books.take(node, RULE, REST)
        network = node.word("network").rpartition("/")[2] or "default"
        side = node.word("direction").upper() or "INGRESS"
        try:
            priority, rule = _rule(books, node, side)
        except NotUnderstood as error:
            books.refuse(node.numbers, str(error))
            continue
        direction = directions.setdefault((network, side), _Direction(network, side))
        direction.found.append((priority, rule.action is Action.PERMIT, rule))
    return replace(books.config(NAME), policies=tuple(direction.policy() for direction in directions.values()))


def _rules(books: JsonBooks) -> Iterator[Node]:
    for root in books.document.roots:
        items = root.get("items")
        if items is not None:
            books.take(root, {"items"}, {"warning", "nextPageToken", *REST})
        for node in objects_of(items or root):
            if node.get("allowed") or node.get("denied"):
                yield node
            else:
                books.refuse(node.numbers, "the object is no firewall rule")


def _rule(books: JsonBooks, node: Node, side: str) -> tuple[int, Rule]:
    """Raises NotUnderstood."""
    if side not in DIRECTIONS:
        raise NotUnderstood(f"{side[:40]!r} is not a direction")
    priority = number_in(node.word("priority") or "1000", 0, 65535, "a priority")
    action, services = _services(books, node)
    source, destination, unresolved = _sides(node, side)
    conditions = tuple(
        f"target {what} {', '.join(names)}"
        for what, key in (("tag", "targetTags"), ("service account", "targetServiceAccounts"))
        if (names := _words(node, key))
    )
    log = node.get("logConfig")
    if log is not None:
        books.take(log, {"enable"}, {"metadata"})
    logged = {"true": True, "false": False}.get(log.word("enable") if log is not None else node.word("enableLogging"))
    match = Match(source, destination, services, conditions=conditions, unresolved=unresolved)
    rule = Rule(
        node.word("name"), action, match, tuple(node.numbers), books.text_of(node), node.word("disabled") != "true", logged,
        node.word("description"),
    )  # fmt: skip
    return priority, rule


def _words(node: Node, name: str) -> list[str]:
    found = node.get(name)
    return found.words() if found is not None else []


def _ranges(node: Node, name: str) -> AddressSet | None:
    """None when none is given. Raises NotUnderstood."""
    known: list[AddressSet] = []
    for text in _words(node, name):
        found = address(text)
        if found is None:
            raise NotUnderstood(f"{text[:40]!r} is not an address")
        known.append(found)
    return AddressSet().union(*known) if known else None


def _sides(node: Node, side: str) -> tuple[AddressSet, AddressSet, tuple[str, ...]]:
    source, destination = _ranges(node, "sourceRanges"), _ranges(node, "destinationRanges")
    names = [f"tag {name}" for name in _words(node, "sourceTags")]
    names += [f"service account {name}" for name in _words(node, "sourceServiceAccounts")]
    if names:
        return ANY, destination or ANY, tuple(names)
    if side == "INGRESS":
        source = source or AddressSet.of(EVERYWHERE)
        return source, destination or whole(source), ()
    destination = destination or AddressSet.of(EVERYWHERE)
    return source or whole(destination), destination, ()


def _services(books: JsonBooks, node: Node) -> tuple[Action, tuple[Service, ...]]:
    """Raises NotUnderstood."""
    action = Action.PERMIT if node.get("allowed") else Action.DENY
    found: list[Service] = []
    for entry in objects_of(node.get("allowed") or node.get("denied")):
        books.take(entry, {"IPProtocol", "ports"})
        found.append(_service(entry))
    if not found or (node.get("allowed") and node.get("denied")):
        raise NotUnderstood("a rule allows or denies at least one protocol, not both")
    return action, tuple(found)


def _service(entry: Node) -> Service:
    word = entry.word("IPProtocol").lower()
    if word == "all":
        return ANY_SERVICE
    protocol = PROTOCOLS[word] if word in PROTOCOLS else number_in(word, 0, MAX_PROTOCOL, "a protocol")
    ports = tuple(port_range(text) for text in _words(entry, "ports"))
    if ports and protocol not in WITH_PORTS:
        raise NotUnderstood("ports are given for a protocol that has none")
    return Service.of(protocol, ports or None)
