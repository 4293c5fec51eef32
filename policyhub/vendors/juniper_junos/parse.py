"""Configuration of Junos, braces or `display set`, into the domain model."""

from __future__ import annotations

from dataclasses import dataclass

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.evaluation import Seen, Stage, StageKind
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD, IgnoreList
from policyhub.vendorkit.lexing import score
from policyhub.vendors.juniper_junos import cos, filters, groups, interfaces, nat, objects, policies
from policyhub.vendors.juniper_junos.counters import output_lines
from policyhub.vendors.juniper_junos.reader import Text, read
from policyhub.vendors.juniper_junos.reading import PACKAGE, Context, Reading
from policyhub.vendors.juniper_junos.tree import Node

NAME = "juniper_junos"
IGNORED = IgnoreList.of(PACKAGE)
MAX_PATH = 300  # of what the ignore lists are asked about: nesting comes from outside
CONTEXTS = ("logical-systems", "tenants")
STANZAS = (
    "system|security|firewall|class-of-service|policy-options|routing-options|routing-instances|forwarding-options|protocols"
)
SIGNS = (
    (r"^(## Last commit: |# ?RANCID-CONTENT-TYPE: juniper)", 0.9),
    (r"^[ \t]*(from-zone \S+ to-zone \S+ \{|security-zone \S+ \{|host-inbound-traffic \{)", 0.6),
    (r"^set security (policies|zones|nat|address-book|screen|ike|ipsec|flow) ", 0.7),
    (r"^set (firewall (family|filter|policer)|class-of-service) ", 0.7),
    (r"^set (interfaces \S+ (unit \d|description|apply-groups)|policy-options |routing-(options|instances) |protocols )", 0.5),
    (r"^set (system (host-name|root-authentication|services|login|syslog)|applications |groups |apply-groups )", 0.5),
    (r"^set (logical-systems |tenants |schedulers |version )", 0.5),
    (r"^(deactivate|activate) (security|firewall|interfaces|system|class-of-service|protocols|groups) ", 0.6),
    (rf"^({STANZAS}) \{{", 0.5),
    (r"^[ \t]*(term \S+|replace: \S+|family (inet6?|ethernet-switching|any)|filter \S+|then|from|groups|interfaces) \{", 0.25),
    (r"^[ \t]*(host-name|apply-groups|family inet|address|input|accept|discard|next term|import|export)\b[^{}\n]*;[ \t]*$", 0.2),
    (r"^version \d\d\.\d[^;]*;", 0.7),
    (r"^ *Index +From zone +To zone +Name +Policy count", 0.9),
    (r"^ *Filter: \S+[ \t\r]*\n *Counters:", 0.9),
    (r"RT_FLOW_SESSION_(CREATE|CLOSE|DENY)|RT_FLOW: ", 0.9),
    (
        r"^(set|delete) (rulebase|deviceconfig|device-group|firewall name|interfaces ethernet|interface |service |mgt-config)",
        -0.7,
    ),
    (r"^(table|add rule) (inet|ip|ip6) ", -0.6),
)


@dataclass(slots=True)
class _Settling:
    """A node on the way through the tree. done: its children are; has_understood: one of them was understood."""

    node: Node
    path: str
    is_idle: bool
    above: _Settling | None = None
    done: bool = False
    has_understood: bool = False


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    reading = Reading(lines)
    shown = output_lines(lines)
    reading.ledger.understood(*shown)
    kept = reading.ledger.without_long(line for line in lines if line.number not in shown)
    source = read(kept)
    reading.ledger.understood(*source.idle)
    open_groups = groups.expand(source.root, source.applies)
    for numbers, reason in open_groups:
        reading.leave_lines(numbers, reason)
    if source.applies:
        _take_applied(reading, source.root)
    for context in _contexts(source.root):
        _read_context(reading, context)
    reading.version = source.root.value("version")
    reading.take(source.root.at("version"), source.root.at("system", "host-name"))
    reading.hostname = source.root.value("system", "host-name") or source.hostname
    _settle(reading, source)
    return reading.config(NAME, len(lines))


def _take_applied(reading: Reading, root: Node) -> None:
    for node in root.walk():
        if node.word in ("apply-groups", "apply-groups-except"):
            reading.take(node)


def _contexts(root: Node) -> list[Context]:
    found = [Context("", root)]
    for key in CONTEXTS:
        found.extend(Context(node.word, node) for node in root.kids(key))
    return found


def _read_context(reading: Reading, context: Context) -> None:
    """Operands first, then what uses them, then what hangs on interfaces."""
    before = (len(reading.policies), len(reading.nat_rules))
    objects.read_books(reading, context)
    objects.read_applications(reading, context)
    objects.read_schedules(reading, context)
    objects.read_prefix_lists(reading, context)
    interfaces.read_zones(reading, context)
    interfaces.read_instances(reading, context)
    interfaces.read_interfaces(reading, context)
    interfaces.read_other_bindings(reading, context)
    interfaces.read_routes(reading, context)
    policies.read_policies(reading, context)
    nat.read_nat(reading, context)
    cos.read_forwarding_classes(reading, context)
    filters.read_filters(reading, context)
    cos.read_cos(reading, context)
    _evaluate(reading, context, *before)


def _evaluate(reading: Reading, context: Context, policies_before: int, nat_before: int) -> None:
    """A packet's path through a device with zones; routers ask just the filters of the interface."""
    own = reading.policies[policies_before:]
    zoned = [p.name for p in own if any(b.direction == "zone pair" for b in p.bindings)]
    if not zoned:
        return
    kinds = {rule.hit_key.partition(" ")[0] for rule in reading.nat_rules[nat_before:]}
    coming = tuple(p.name for p in own if any(b.direction == "in" for b in p.bindings))
    leaving = tuple(p.name for p in own if any(b.direction == "out" for b in p.bindings))
    name = context.name
    if coming:
        reading.evaluation.append(Stage(StageKind.RAW, coming, context=name, note="the filter of the interface"))
    if kinds & {"static", "destination"}:
        reading.evaluation.append(Stage(StageKind.DESTINATION_NAT, context=name, note="static before destination"))
    reading.evaluation.append(Stage(StageKind.ROUTE, context=name))
    note = "of the zone pairs only that of the packet"
    reading.evaluation.append(Stage(StageKind.FILTER, tuple(zoned), Seen.TRANSLATED, name, note))
    if kinds & {"static", "source"}:
        reading.evaluation.append(Stage(StageKind.SOURCE_NAT, context=name, note="static before source"))
    if leaving:
        reading.evaluation.append(Stage(StageKind.FILTER, leaving, Seen.TRANSLATED, name, "the filter of the interface"))


def _settle(reading: Reading, source: Text) -> None:
    """Books every line that nobody has booked, by its place in the tree."""
    for line, reason in source.stray:
        reading.ledger.settle_at(line, line.text, IGNORED, reason or NOT_UNDERSTOOD)
    later: list[int] = []
    stack = [_Settling(source.root, "", False)]
    while stack:
        top = stack.pop()
        if not top.done:
            top.done = True
            stack.append(top)
            if top.node.taken:
                top.has_understood = True
            else:
                stack.extend(_below(source.root, top))
            continue
        _settle_node(reading, top, later)
    reading.ledger.understood(*(number for number in later if not reading.ledger.is_booked(number)))


def _settle_node(reading: Reading, top: _Settling, later: list[int]) -> None:
    book = reading.ledger
    for number in top.node.lines:
        if book.is_booked(number):
            continue
        if top.is_idle:
            later.append(number)
        elif top.has_understood:  # the line that opens a stanza
            book.understood(number)
        else:
            book.settle_at(reading.lines[number - 1], _place(top.path), IGNORED)
    if top.above is not None and not top.above.has_understood:
        top.above.has_understood = top.has_understood or any(map(book.is_understood, top.node.lines))


def _below(root: Node, top: _Settling) -> list[_Settling]:
    """Groups were taken over where they apply; what is left of them, and of inactive statements, has no effect."""
    path = f"{top.path} "[:MAX_PATH] if top.path else ""
    is_top = top.node is root
    return [
        _Settling(kid, path + kid.word, top.is_idle or kid.inactive or (is_top and kid.word == "groups"), top)
        for kid in top.node.children.values()
    ]


def _place(path: str) -> str:
    """The path inside its logical system, tenant or routing instance."""
    words = path.split(" ")
    while len(words) > 2 and words[0] in (*CONTEXTS, "routing-instances"):
        words = words[2:]
    return " ".join(words)
