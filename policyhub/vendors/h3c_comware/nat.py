"""NAT: `nat global-policy`, and `nat outbound`, `nat server`, `nat static` at ports."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, NOWHERE, AddressSet
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.objects import AddressObject
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, is_decimal, range_set
from policyhub.vendorkit.vrp_lines import quoted_words
from policyhub.vendors.h3c_comware.acls import use
from policyhub.vendors.h3c_comware.reading import NAMES, Reading, take_acl
from policyhub.vendors.h3c_comware.security import Draft, rule_name

GLOBAL = "nat global-policy"
STATIC = "nat static"
SILENT = ("hairpin", "alg", "log", "mapping-behavior", "port-block-group", "ip-convergence", "dns-map", "gratuitous-arp")


def global_rules(reading: Reading) -> list[NatRule]:
    found: list[NatRule] = []
    for child in (child for block in reading.nat_blocks for child in block.children):
        words = Words(quoted_words(child.text))
        try:
            if not words.accept("rule"):
                continue
            found.append(_global_rule(reading, child, words))
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
    return found


def _global_rule(reading: Reading, block: Block, words: Words) -> NatRule:
    name, _, kind = rule_name(words).partition(" type ")  # nat64, nat66; without it addresses are of IPv4
    draft = Draft(reading, everything=ANY if kind else ANY4)
    does: dict[str, str] = {}
    groups: list[str] = []
    for child in block.below():
        with draft.booking(reading.ledger, child):
            below = Words(quoted_words(child.text))
            if below.accept("action"):
                _action(does, groups, below)
            else:
                draft.take(child)
    made = NatKind.DESTINATION if does.get("destination") else NatKind(does.get("kind", NatKind.EXEMPT))
    return NatRule(
        name,
        made,
        draft.match(),
        block.numbers,
        translated_source=does.get("source", ""),
        translated_destination=does.get("destination", ""),
        translated_service=does.get("service", ""),
        rule_set=GLOBAL,
        enabled=draft.enabled,
        comment=draft.comment,
        hit_key=name,
        references=tuple(dict.fromkeys([*draft.references, *groups])),
        notes=() if does else ("no action",),
    )


def _action(does: dict[str, str], groups: list[str], words: Words) -> None:
    """`snat easy-ip|address-group G|static ip-address A|no-nat`, `dnat ip-address A [local-port P]|no-nat`."""
    side = words.next("snat or dnat").lower()
    how = words.next("how").lower()
    if side not in ("snat", "dnat"):
        raise NotUnderstood(f"{side[:40]!r} is not snat or dnat")
    if how == "no-nat":
        does.setdefault("kind", NatKind.EXEMPT)
    elif side == "dnat":
        words.accept("address-group", "object-group")
        does["destination"] = (
            words.next("an address") if how in ("ip-address", "address-group", "object-group", "static") else how
        )
        if words.accept("local-port", "port"):
            does["service"] = words.rest().replace(" ", "-")
    elif how == "easy-ip":
        does |= {"kind": NatKind.SOURCE, "source": "interface"}
    elif how == "address-group":
        words.accept("name")
        does |= {"kind": NatKind.SOURCE, "source": words.next("an address group")}
        groups.append(does["source"])
    elif how in ("static", "object-group"):
        words.accept("ip-address", "subnet", "object-group")
        does |= {"kind": NatKind.STATIC if how == "static" else NatKind.SOURCE, "source": " ".join(words.rest().split())}
    else:
        raise NotUnderstood(f"{how[:40]!r} is not understood in a NAT action")


def read_line(reading: Reading, place: str, block: Block) -> bool:
    """A `nat ..` line of a port (or of the device, `place` ""). False when it translates nothing. Raises NotUnderstood."""
    words = Words(quoted_words(block.text), 1)
    kind = words.next("a kind").lower()
    if kind == "outbound" and place:
        reading.outbound.append(_outbound(reading, place, block, words))
    elif kind == "server" and place:
        reading.servers.append(_server(reading, place, block, words))
    elif kind == "static" and words.accept("enable"):
        return True
    elif kind == "static":
        reading.statics.append(_static(reading, block, words))
    else:
        return kind in SILENT
    return True


def _outbound(reading: Reading, place: str, block: Block, words: Words) -> NatRule:
    """`nat outbound [ipv6] [N|name X] [address-group G|name G] [no-pat] [vpn-instance V] [rule R] [disable]`."""
    acl, group, rule, enabled = "", "", "", True
    conditions = [f"egress-interface {place}"]
    notes: list[str] = []
    references: list[str] = []
    while words:
        word = words.next()
        if word.lower() == "address-group":
            words.accept("name")
            group = words.next("an address group")
            references.append(group)
        elif word.lower() == "rule":
            rule = words.next("a name")
        elif word.lower() in ("vpn-instance", "priority", "ds-lite-b4"):
            words.next("a value")
        elif word.lower() == "disable":
            enabled = False
        elif word.lower() in ("no-pat", "reversible", "port-preserved"):
            notes.append(word.lower())
        elif word.lower() in ("name", "ipv6") or is_decimal(word):
            words.at -= 1
            key = take_acl(words)
            acl = key[1]
            use(reading, key, "selects packets for nat")
        elif word.lower() not in ("counting", "enable"):
            raise NotUnderstood(f"{word[:40]!r} is not understood here")
    if acl:
        conditions.append(f"acl {acl}")
        references.insert(0, acl)
    name = rule or " ".join(["nat outbound", *([acl] if acl else [])])
    match = Match(source=ANY4, destination=ANY4, conditions=tuple(conditions))
    return NatRule(
        name,
        NatKind.SOURCE,
        match,
        (block.number,),
        translated_source=group or "interface",
        rule_set=place,
        enabled=enabled,
        references=tuple(references),
        notes=tuple(notes),
    )


@dataclass(slots=True)
class _Server:
    """Parts of a `nat server` line; ports None: not told. shown: the global address as written."""

    place: str
    conditions: list[str]
    protocol: int | None = None
    has_protocol: bool = False
    enabled: bool = True
    rule: str = ""
    shown: str = ""
    outside: AddressSet = NOWHERE
    outside_ports: tuple[int, int] | None = None
    inside: str = ""
    inside_ports: tuple[int, int] | None = None
    unresolved: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, reading: Reading, words: Words) -> None:
        """The next word with its values. Raises NotUnderstood."""
        word = words.next().lower()
        if word == "protocol":
            self.protocol, self.has_protocol = NAMES.protocol(words.next("a protocol")), True
        elif word == "global":
            self._global(words)
        elif word == "inside":
            self.inside = _span_of_addresses(words)[1]
            self.inside_ports = _ports(words, self.protocol)
        elif word == "acl":
            key = take_acl(words)
            use(reading, key, "selects packets for nat")
            self.conditions.append(f"acl {key[1]}")
        elif word == "rule":
            self.rule = words.next("a name")
        elif word in ("vpn-instance", "vrrp", "priority"):
            words.next("a value")
        elif word == "reversible":
            self.notes.append(word)
        elif word == "disable":
            self.enabled = False
        elif word not in ("counting", "enable", "no-reverse"):
            raise NotUnderstood(f"{word[:40]!r} is not understood in a NAT server")

    def _global(self, words: Words) -> None:
        start = words.at
        if words.accept("current-interface"):
            self.unresolved.append(f"interface {self.place}")
        elif words.accept("interface"):
            self.unresolved.append(f"interface {words.next('an interface')}")
        else:
            self.outside = _span_of_addresses(words)[0]
        self.outside_ports = _ports(words, self.protocol)
        self.shown = " ".join(words.words[start : words.at])


def _server(reading: Reading, place: str, block: Block, words: Words) -> NatRule:
    """`nat server [protocol P] global A [A2] [P [P2]] inside B [B2] [Q [Q2]] [acl X] [rule R] ..`. Raises NotUnderstood."""
    told = _Server(place, [f"ingress-interface {place}"])
    while words:
        told.take(reading, words)
    service = ANY_SERVICE
    if told.has_protocol:
        service = Service.of(told.protocol, (told.outside_ports,) if told.outside_ports else None)
    match = Match(
        source=ANY4,
        destination=ANY4 if told.unresolved else told.outside,
        services=(service,),
        conditions=tuple(told.conditions),
        unresolved=tuple(told.unresolved),
    )
    return NatRule(
        told.rule or f"nat server {told.shown}",
        NatKind.DESTINATION,
        match,
        (block.number,),
        translated_destination=told.inside,
        translated_service=_text(told.inside_ports),
        rule_set=place,
        enabled=told.enabled,
        notes=tuple(told.notes),
    )


def _span_of_addresses(words: Words) -> tuple[AddressSet, str]:
    first = words.next("an address")
    last = words.next() if host_set(words.peek()) is not None else first
    found = range_set(first, last)
    if found is None:
        raise NotUnderstood(f"{first[:40]!r} is not an address")
    return found, first if first == last else f"{first}-{last}"


def _ports(words: Words, protocol: int | None) -> tuple[int, int] | None:
    """`P` or `P Q`; nothing is consumed when no port follows."""
    if words.accept("any") or not NAMES.knows_port(words.peek(), protocol):
        return None
    low = high = NAMES.port(words.next(), protocol)
    if NAMES.knows_port(words.peek(), protocol):
        high = NAMES.port(words.next(), protocol)
    return (min(low, high), max(low, high))


def _text(ports: tuple[int, int] | None) -> str:
    if ports is None:
        return ""
    return str(ports[0]) if ports[0] == ports[1] else f"{ports[0]}-{ports[1]}"


def _static(reading: Reading, block: Block, words: Words) -> NatRule:
    """`nat static outbound LOCAL [vpn..] GLOBAL`, `inbound GLOBAL LOCAL`, `.. net-to-net A B global|local N M`."""
    way = words.next("outbound or inbound").lower()
    if way not in ("outbound", "inbound"):
        raise NotUnderstood(f"{way[:40]!r} is not outbound or inbound")
    rule, notes = "", list[str]()
    enabled = True
    kept: list[str] = []
    while words:
        word = words.next()
        if word.lower() == "acl":
            key = take_acl(words)
            use(reading, key, "selects packets for nat")
            notes.append(f"acl {key[1]}")
        elif word.lower() == "rule":
            rule = words.next("a name")
        elif word.lower() in ("vpn-instance", "priority"):
            words.next("a value")
        elif word.lower() in ("reversible", "counting", "enable"):
            notes += ["reversible"] if word.lower() == "reversible" else []
        elif word.lower() == "disable":
            enabled = False
        else:
            kept.append(word)
    source, first, second = _static_sides(kept)
    name = rule or f"nat static {way} {first}"
    match = Match(source=source, destination=ANY4)
    return NatRule(
        name,
        NatKind.STATIC,
        match,
        (block.number,),
        translated_source=second,
        rule_set=STATIC,
        enabled=enabled,
        notes=tuple(notes),
    )


def _static_sides(words: list[str]) -> tuple[AddressSet, str, str]:
    """The source, its words, and the words of what it becomes. Raises NotUnderstood."""
    if len(words) == 2:
        source = host_set(words[0])
        if source is not None and host_set(words[1]) is not None:
            return source, words[0], words[1]
    if words[:1] == ["net-to-net"] and len(words) >= 6 and words[3] in ("global", "local"):
        source = range_set(words[1], words[2])
        if source is not None:
            return source, f"net-to-net {words[1]} {words[2]}", " ".join(words[4:])
    if words[:1] == ["object-group"] and len(words) >= 4:
        raise NotUnderstood("static NAT of object groups is not modelled")
    raise NotUnderstood("two addresses are expected")


def read_group(reading: Reading, block: Block) -> None:
    """`nat address-group N [name X]` with `address A B`; Comware 5 writes `nat address-group N A B`."""
    words = Words(quoted_words(block.text), 2)
    name = words.next("a number")
    if words.accept("name"):
        name = words.next("a name")
    parts: list[AddressSet] = []
    if host_set(words.peek()) is not None:
        parts.append(_span_of_addresses(words)[0])
    for child in block.children:
        below = Words(child.words)
        try:
            if below.accept("address"):
                if below.accept("interface"):
                    below.rest()
                else:
                    parts.append(_span_of_addresses(below)[0])
            elif not below.accept(
                "port-range", "port-block", "failover-group", "description", "exclude-ip", "blade-load-sharing-group"
            ):
                continue
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
    reading.address_objects.append(AddressObject(name, NOWHERE.union(*parts), lines=block.numbers, text="nat address-group"))
