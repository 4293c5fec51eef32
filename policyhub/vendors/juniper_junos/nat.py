"""Network address translation: rule sets of static, destination and source NAT, and their pools."""

from __future__ import annotations

from policyhub.domain.addresses import ANY, NOWHERE, AddressSet
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE, Service
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendorkit.operands import Services, merge_services
from policyhub.vendors.juniper_junos import objects
from policyhub.vendors.juniper_junos.policies import plain
from policyhub.vendors.juniper_junos.reading import GLOBAL_BOOK, NAMES, SEPARATOR, Context, Reading
from policyhub.vendors.juniper_junos.tree import Node, one_or_list

STAGES = ("static", "destination", "source")
ADDRESS_KEYS = ("source-address", "destination-address", "source-address-name", "destination-address-name")
SERVICE_KEYS = ("protocol", "source-port", "destination-port", "application")
# options of a stage that translate nothing by themselves
QUIET = (
    "pool-utilization-alarm", "port-randomization", "interface", "address-persistent", "pool-default-port-range", "apply-groups",
    "pool-default-twin-port-range", "session-persistence-scan", "session-drop-hold-down", "port-round-robin", "description",
    "port-scaling-enlargement", "pool-distribution",
)  # fmt: skip
PREFIX_OPTIONS = ("mapped-port", "routing-instance")
PERSISTENT = "persistent-nat"
DONE = ("pool", "rule-set", "port-forwarding")


def read_nat(reading: Reading, context: Context) -> None:
    security = context.root.children.get("security")
    node = security.children.get("nat") if security is not None else None
    if security is None or node is None:
        return
    reading.take_headers(node)
    dead = security.inactive or node.inactive
    for kind in STAGES:
        stage = node.children.get(kind)
        if stage is None:
            continue
        reading.take_headers(stage)
        pools = {pool.word: pool for pool in stage.kids("pool")}
        for pool in pools.values():
            reading.take_known(pool, "pool")
        holder = stage.children.get("rule-set")
        for rule_set in holder.children.values() if holder is not None else ():
            _read_rule_set(reading, context, kind, rule_set, pools, dead or stage.inactive or rule_set.inactive)
        for kid in stage.active():
            if kid.word in QUIET:
                reading.take(kid)
            elif kid.word not in DONE:
                reading.leave(kid, "not understood in NAT")
    for kid in node.active():
        if kid.word in ("proxy-arp", "proxy-ndp", "traceoptions", "apply-groups", "allow-overlapping-pools"):
            reading.take(kid)
        elif kid.word not in STAGES:
            reading.leave(kid, "this kind of NAT is not modelled")


def _read_rule_set(reading: Reading, context: Context, kind: str, node: Node, pools: dict[str, Node], dead: bool) -> None:
    reading.take_known(node, "rule-set")
    sides: dict[str, tuple[str, ...]] = {}
    conditions: list[str] = []
    for side in ("from", "to"):
        sides[side] = tuple(node.values(side, "zone"))
        for kid in node.kids(side):
            if kid.word != "zone":
                conditions.append(f"{side} {one_or_list(kid.word, kid.statements())}")
    holder = node.children.get("rule")
    for rule in holder.children.values() if holder is not None else ():
        found = _read_rule(reading, context, kind, node.word, rule, sides, conditions, pools, dead)
        if found is None:
            reading.leave(rule, "the rule has no translation")
        else:
            reading.nat_rules.append(found)


def _read_rule(
    reading: Reading,
    context: Context,
    kind: str,
    rule_set: str,
    node: Node,
    sides: dict[str, tuple[str, ...]],
    conditions: list[str],
    pools: dict[str, Node],
    dead: bool,
) -> NatRule | None:
    then = node.at("then", f"{kind}-nat")
    if then is None:
        return None
    reading.take_known(node, "nat-rule")
    match = node.at("match") or Node("match")
    source, source_refs, source_open = _addresses(reading, context, match, "source-address")
    destination, destination_refs, destination_open = _addresses(reading, context, match, "destination-address")
    services, service_refs, service_open = _services(reading, context, match)
    extra = [
        one_or_list(kid.word, kid.statements())
        for kid in match.active()
        if kid.word not in (*ADDRESS_KEYS, *SERVICE_KEYS, "apply-groups")
    ]
    for word in then.kids("prefix"):
        if word.word not in PREFIX_OPTIONS and reading.address(word.word) is None:
            reading.leave(word, "not a prefix")
    draft = _translation(kind, then, pools)
    return NatRule(
        name=node.word,
        kind=draft.kind,
        match=Match(
            source, destination, services, sides["from"], sides["to"],
            conditions=(*conditions, *extra), unresolved=tuple(dict.fromkeys((*source_open, *destination_open, *service_open))),
        ),
        lines=node.all_lines(),
        translated_source=draft.source,
        translated_destination=draft.destination,
        translated_service=draft.service,
        rule_set=rule_set,
        context=context.name,
        enabled=not (dead or node.inactive),
        comment=node.value("description"),
        hit_key=f"{kind} {rule_set} {node.word}",
        references=(*source_refs, *destination_refs, *service_refs, *draft.references),
        notes=tuple(draft.notes),
    )  # fmt: skip


class _Draft:
    """What a rule does; kind and texts as NatRule wants them."""

    def __init__(self, kind: NatKind) -> None:
        self.kind = kind
        self.source = self.destination = self.service = ""
        self.references: list[str] = []
        self.notes: list[str] = []


def _translation(kind: str, then: Node, pools: dict[str, Node]) -> _Draft:
    draft = _Draft(NatKind(kind))
    names = [word.word for word in then.kids("pool") if word.word != PERSISTENT]
    pool = names[-1] if names else ""
    if then.has("off"):
        draft.kind = NatKind.EXEMPT
    elif kind == "static":
        _static(draft, then)
    elif pool:
        draft.references.append(pool)
        if kind == "source":
            draft.source = pool
        else:
            draft.destination = pool
        _note_pool(draft, pool, pools.get(pool))
    elif then.has("interface"):
        draft.source = "interface"
    for node in then.walk():
        if node.word == PERSISTENT:
            draft.notes.append(one_or_list(PERSISTENT, node.statements()))
    return draft


def _static(draft: _Draft, then: Node) -> None:
    for key in ("prefix", "prefix-name"):
        for node in then.kids(key):
            if node.word not in PREFIX_OPTIONS:
                draft.destination = node.word
                if key == "prefix-name":
                    draft.references.append(node.word)
        mapped = then.at(key, draft.destination, "mapped-port") or then.at(key, "mapped-port")
        if mapped is not None:
            draft.service = _port(mapped)
    if then.has("inet"):
        draft.destination = "inet"
        draft.notes.append("translates IPv6 to the IPv4 address inside it")


def _port(node: Node) -> str:
    first = next(iter(node.active()), None)
    if first is None:
        return ""
    last = first.value("to")
    return f"{first.word}-{last}" if last else first.word


def _note_pool(draft: _Draft, name: str, pool: Node | None) -> None:
    if pool is None:
        draft.notes.append(f"pool {name}: not in this text")
        return
    texts: list[str] = []
    for address in pool.kids("address"):
        if address.word == "port":
            draft.service = next(iter(address.active()), address).word
            continue
        text = address.word
        if address.value("to"):
            text += f" to {address.value('to')}"
        port = address.value("port")
        if port:
            draft.service = port
        texts.append(text)
    texts.extend(f"address-name {word}" for word in pool.values("address-name"))
    port = draft.service
    draft.notes.append(f"pool {name}: {', '.join(texts)}{f' port {port}' if port else ''}")


Found = tuple[AddressSet, list[str], list[str]]


def _addresses(reading: Reading, context: Context, match: Node, key: str) -> Found:
    """Literal prefixes and names of the global book."""
    found: list[AddressSet] = []
    names: list[str] = []
    unknown: list[str] = []
    for word in match.kids(key):
        value = reading.address(word.word)
        if word.word == "any":
            value = ANY
        if value is None:
            reading.leave(word, "not a prefix")
            unknown.append(word.word)
        else:
            found.append(value)
    for name in match.values(f"{key}-name"):
        names.append(name)
        resolved = context.addresses.resolve(f"{GLOBAL_BOOK}{SEPARATOR}{name}")
        found.append(resolved.value)
        unknown.extend(plain(item) for item in resolved.unresolved)
    return (NOWHERE.union(*found) if found and not unknown else ANY), names, unknown


def _services(reading: Reading, context: Context, match: Node) -> tuple[Services, list[str], list[str]]:
    names = [name for name in match.values("application") if name != "any"]
    if names:
        found = [objects.application(context, name) for name in names]
        unknown = [item for _, unresolved in found for item in unresolved]
        return ((ANY_SERVICE,) if unknown else merge_services(services for services, _ in found)), names, unknown
    protocols: list[int | None] = []
    ports: dict[str, list[tuple[int, int]]] = {"source-port": [], "destination-port": []}
    for key in ("protocol", *ports):
        for word in match.kids(key):
            try:
                if key == "protocol":
                    protocols.append(NAMES.protocol(word.word))
                else:
                    last = word.value("to")
                    ports[key].extend(objects.port_range(f"{word.word}-{last}" if last else word.word, None))
            except NotUnderstood as reason:
                reading.leave(word, str(reason))
    has_ports = any(ports.values())
    if not protocols and not has_ports:
        return (ANY_SERVICE,), [], []
    numbers = protocols or [6, 17]
    source, destination = tuple(ports["source-port"]), tuple(ports["destination-port"])
    return tuple(Service.of(n, destination or None, source or None) for n in numbers), [], []
