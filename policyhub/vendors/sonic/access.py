"""ACL_TABLE and ACL_RULE, and OpenConfig ACL files, as policies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from policyhub.domain.rules import Action, Binding, Policy, Rule
from policyhub.vendorkit.blocks import Lines
from policyhub.vendorkit.json_lines import Node
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal, number_in
from policyhub.vendors.sonic.database import Database, Row
from policyhub.vendors.sonic.match import IP_TYPES, Fields, ethertype, masked, ports

FAMILIES = {"L3": 4, "L3V6": 6}
ACTIONS = {"FORWARD": Action.PERMIT, "ACCEPT": Action.PERMIT, "DROP": Action.DENY, "REJECT": Action.DENY}
OPEN_ACTIONS = ACTIONS
MIRRORS = ("MIRROR_ACTION", "MIRROR_INGRESS_ACTION", "MIRROR_EGRESS_ACTION")
CONTROL = "CTRLPLANE"
LOADER_NOTE = "acl-loader adds a last deny"
NOT_HERE = "the table is not in this text"
MAX_SEQUENCE = 65535


@dataclass(slots=True)
class _Found:
    """A rule with its place."""

    order: int
    rule: Rule


@dataclass(slots=True)
class _Draft:
    """One rule while it is read."""

    fields: Fields
    action: Action = Action.CONTINUE
    priority: int = 0
    comment: str = ""
    references: list[str] = field(default_factory=list)
    enabled: bool = True


Reader = Callable[[Fields, str], None]


def _zones(attribute: str) -> Reader:
    def read(fields: Fields, text: str) -> None:
        setattr(fields, attribute, tuple(part.strip() for part in text.split(",") if part.strip()))

    return read


def _dscp(fields: Fields, text: str) -> None:
    fields.dscp = masked(text, 63)


def _source_ports(fields: Fields, text: str) -> None:
    fields.source_ports = ports(text)


def _destination_ports(fields: Fields, text: str) -> None:
    fields.destination_ports = ports(text)


def _ip_type(fields: Fields, text: str) -> None:
    version = IP_TYPES.get(text.upper())
    if version is None:
        raise NotUnderstood(f"{text[:40]!r} is not an IP type")
    if version > 0:
        fields.only(version)
    elif version < 0:
        fields.conditions.append(f"IP_TYPE {text}")


READERS: dict[str, Reader] = {
    "SRC_IP": lambda f, t: f.address("source", t, 4), "DST_IP": lambda f, t: f.address("destination", t, 4),
    "SRC_IPV6": lambda f, t: f.address("source", t, 6), "DST_IPV6": lambda f, t: f.address("destination", t, 6),
    "IP_PROTOCOL": lambda f, t: f.set_protocol(t), "NEXT_HEADER": lambda f, t: f.set_protocol(t),
    "L4_SRC_PORT": _source_ports, "L4_SRC_PORT_RANGE": _source_ports, "L4_DST_PORT": _destination_ports,
    "L4_DST_PORT_RANGE": _destination_ports, "DSCP": _dscp, "IP_TYPE": _ip_type, "ETHER_TYPE": lambda f, t: ethertype(f, t,
    "ETHER_TYPE"), "ICMP_TYPE": lambda f, t: f.icmp(1, "type", t), "ICMP_CODE": lambda f, t: f.icmp(1, "code", t),
    "ICMPV6_TYPE": lambda f, t: f.icmp(58, "type", t), "ICMPV6_CODE": lambda f, t: f.icmp(58, "code", t),
    "IN_PORTS": _zones("zones_in"), "OUT_PORTS": _zones("zones_out"),
}  # fmt: skip


def policies(database: Database, ledger: LineLedger, by_number: Lines) -> list[Policy]:
    tables = {row.name: row for row in database.rows("ACL_TABLE")}
    rules: dict[str, list[_Found]] = {name: [] for name in tables}
    for position, row in enumerate(database.rows("ACL_RULE")):
        name = row.key[0]
        kind = tables[name].word("type") if name in tables else ""
        found = _rule(row, FAMILIES.get(kind.upper(), 0), position, ledger, by_number)
        rules.setdefault(name, []).append(found)
    made = [_policy(name, tables.get(name), found) for name, found in rules.items()]
    for root in database.openconfig:
        made += _openconfig(root, tables, ledger, by_number)
    seen: dict[str, Policy] = {}
    for policy in made:
        seen[policy.name] = policy if policy.name not in seen or policy.rules else seen[policy.name]
    return list(seen.values())


def _policy(name: str, table: Row | None, found: list[_Found]) -> Policy:
    rules = tuple(entry.rule for entry in sorted(found, key=lambda entry: -entry.order))
    if table is None:
        return Policy(name, rules, Action.PERMIT, notes=(NOT_HERE,))
    kind = table.word("type")
    default = Action.DENY if kind == CONTROL and rules else Action.PERMIT
    family = FAMILIES.get(kind.upper(), 0)
    return Policy(name, rules, default, family, _bindings(table), table.lines, purpose=_purpose(kind), notes=_notes(table))


def _purpose(kind: str) -> str:
    return "mirror" if kind.upper().startswith("MIRROR") else "control-plane" if kind == CONTROL else "filter"


def _notes(table: Row) -> tuple[str, ...]:
    services = table.list("services")
    notes = [f"type {table.word('type')}"] if table.word("type") else []
    return (*notes, f"services: {', '.join(services)}") if services else tuple(notes)


def _bindings(table: Row) -> tuple[Binding, ...]:
    if table.word("type") == CONTROL:
        return (Binding("", "local", (table.node.line,)),)
    direction = "out" if table.word("stage").lower() == "egress" else "in"
    node = table.node.get("ports") or table.node.get("ports@")
    lines = (node.line,) if node is not None else ()
    return tuple(Binding(port, direction, lines) for port in table.list("ports"))


def _rule(row: Row, family: int, position: int, ledger: LineLedger, by_number: Lines) -> _Found:
    draft = _Draft(Fields(family))
    # a rule of an IPv4 table with fields of IPv6 is refused by the switch; without a table the fields tell the family
    for name, node in row.node.pairs():
        text = ",".join(node.words()) if node.items is not None else node.text
        try:
            _field(draft, name.removesuffix("@"), text)
        except NotUnderstood as error:
            line = by_number.get(node.line)
            if line is not None:
                ledger.unparsed(line, str(error))
            draft.enabled = False
            draft.fields.unresolved.append(f"{name} {text}"[:120])
    name = row.key[1] if len(row.key) > 1 else row.name
    rule = Rule(
        name, draft.action, draft.fields.match(), row.lines, _text(row.node), draft.enabled, None, draft.comment, "", name,
        tuple(draft.references),
    )  # fmt: skip
    return _Found(draft.priority, rule)


def _text(node: Node) -> str:
    return ", ".join(f"{name} {value.text or ','.join(value.words())}" for name, value in node.pairs())[:400]


def _field(draft: _Draft, name: str, text: str) -> None:
    """Raises NotUnderstood for a value that SONiC refuses."""
    upper = name.upper()
    reader = READERS.get(upper)
    if reader is not None:
        reader(draft.fields, text)
    elif upper == "PRIORITY":
        draft.priority = number_in(text, 0, 2**31, "a priority")
    elif upper == "PACKET_ACTION":
        _action(draft, text)
    elif upper == "REDIRECT_ACTION":
        draft.action, draft.comment = Action.PERMIT, f"redirect {text}"
    elif upper in MIRRORS:
        draft.references.append(text)
    elif upper.endswith("_ACTION") or upper.startswith(
        ("FLOW_OP", "INT_SESSION", "DROP_REPORT", "TAIL_DROP", "FLOW_SAMPLE", "REPORT_ALL")
    ):
        draft.comment = draft.comment or f"{name} {text}"
    elif upper not in ("POLICY_DESC", "DESCRIPTION"):
        draft.fields.conditions.append(f"{upper} {text}")


def _action(draft: _Draft, text: str) -> None:
    verb, colon, target = text.partition(":")
    verb = verb.upper()
    if verb in ACTIONS:
        draft.action = ACTIONS[verb]
    elif verb == "REDIRECT" and colon:
        draft.action, draft.comment = Action.PERMIT, f"redirect {target}"
    elif verb == "DO_NOT_NAT":
        draft.comment = "do not nat"
    elif verb not in ("COPY", "TRAP"):
        raise NotUnderstood(f"{text[:40]!r} is not an action")


def _openconfig(root: Node, tables: dict[str, Row], ledger: LineLedger, by_number: Lines) -> list[Policy]:
    """`acl-sets/acl-set/NAME/acl-entries/acl-entry/N`, as acl-loader reads it: for the table of that name in capitals, - as _."""
    ledger.understood(*(n for n in root.numbers if n <= len(by_number)))
    made: list[Policy] = []
    sets = root.get("acl-sets", "acl-set")
    for title, node in sets.pairs() if sets is not None else ():
        if node.members is None:
            if (line := by_number.get(node.line)) is not None:
                ledger.unparsed(line, "no list of rules; acl-loader refuses the whole file")
            continue
        name = title.replace(" ", "_").replace("-", "_").upper()
        known = tables.get(name)
        kind = known.word("type") if known else ""
        family, purpose = FAMILIES.get(kind.upper(), 0), _purpose(kind)
        rules: list[_Found] = []
        entries = node.get("acl-entries", "acl-entry")
        for number, entry in entries.pairs() if entries is not None else ():
            rules.append(_entry(number, entry, family, ledger, by_number, is_mirror=purpose == "mirror"))
        ordered = tuple(found.rule for found in sorted(rules, key=lambda found: found.order))
        bindings, notes = (_bindings(known), _notes(known)) if known else ((), ())
        adds_deny = purpose != "mirror" and (known is None or known.word("stage").lower() != "egress")
        default, notes = (Action.DENY, (*notes, LOADER_NOTE)) if adds_deny else (Action.PERMIT, notes)
        lines = tuple(sorted({*node.numbers, *(known.lines if known else ())}))
        made.append(Policy(name, ordered, default, family, bindings, lines, purpose=purpose, notes=notes))
    return made


def _entry(number: str, node: Node, family: int, ledger: LineLedger, by_number: Lines, *, is_mirror: bool) -> _Found:
    """In a table that mirrors, ACCEPT means to mirror."""
    draft = _Draft(Fields(family))
    sequence = node.get("config", "sequence-id")
    text = sequence.text if sequence is not None else number
    order = int(text) if is_decimal(text) and len(text) < 7 else MAX_SEQUENCE
    for part, name, value in _leaves(node):
        words = " ".join(value.words()) if value.items is not None else value.text
        try:
            _leaf(draft, part, name, words)
        except NotUnderstood as error:
            line = by_number.get(value.line)
            if line is not None:
                ledger.unparsed(line, str(error))
            draft.enabled = False
            draft.fields.unresolved.append(f"{name} {words}"[:120])
    title = f"RULE_{order if is_decimal(text) else number}"
    action = Action.CONTINUE if is_mirror and draft.action is Action.PERMIT else draft.action
    rule = Rule(title, action, draft.fields.match(), tuple(node.numbers), "", draft.enabled, None, draft.comment, "", title)
    return _Found(order, rule)


def _leaves(node: Node) -> list[tuple[str, str, Node]]:
    """(part, name, value) of every `PART/config/NAME`, protocols first: ports need them."""
    found: list[tuple[str, str, Node]] = []
    for part, inner in node.pairs():
        config = inner.get("config")
        if part == "config":
            found += [("", name, value) for name, value in inner.pairs()]
        elif part == "input_interface":
            reference = inner.get("interface_ref", "config")
            found += [(part, name, value) for name, value in reference.pairs()] if reference is not None else []
        elif config is not None:
            found += [(part, name, value) for name, value in config.pairs()]
        elif inner.is_scalar:
            found.append((part, part, inner))
    return sorted(found, key=lambda leaf: leaf[1] != "protocol")


def _leaf(draft: _Draft, part: str, name: str, text: str) -> None:
    fields = draft.fields
    if part == "" or name == "description":
        draft.comment = text if name == "description" else draft.comment
    elif name == "forwarding-action":
        if text.upper() not in OPEN_ACTIONS:
            raise NotUnderstood(f"{text[:40]!r} is not an action")
        draft.action = OPEN_ACTIONS[text.upper()]
    elif name in ("source-ip-address", "destination-ip-address"):
        fields.address(name.partition("-")[0], text)
    elif name == "protocol":
        fields.set_protocol(text)
    elif name == "dscp":
        fields.dscp = masked(text, 63)
    elif name == "source-port":
        fields.source_ports = ports(text)
    elif name == "destination-port":
        fields.destination_ports = ports(text)
    elif part in ("icmp", "icmpv6") and name in ("type", "code"):
        fields.icmp(58 if fields.protocol == 58 or part == "icmpv6" or fields.version == 6 else 1, name, text)
    elif name == "ethertype" and text.upper() not in ("ETHERTYPE_IPV4", "ETHERTYPE_IPV6"):
        ethertype(fields, text, "ethertype")
    elif name == "ethertype":
        fields.only(4 if text.upper().endswith("4") else 6)
    elif name in ("vlan_id", "vlan-id"):
        number_in(text, 1, 4094, "a VLAN")
        fields.conditions.append(f"{name} {text}")
    elif part == "input_interface":
        fields.zones_in = tuple(text.split())
    elif name == "tcp-flags" and fields.protocol not in (None, 6):
        raise NotUnderstood("TCP flags are given for another protocol")
    else:
        fields.conditions.append(f"{name} {text}")
