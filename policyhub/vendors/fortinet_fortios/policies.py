"""Tables of rules (`firewall policy` and its relatives) of one vdom into policies."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

from policyhub.domain.addresses import ANY, NOWHERE, AddressSet, Interval, complement, normalise
from policyhub.domain.objects import Schedule
from policyhub.domain.qos import parse_dscp
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, ICMP, MAX_PROTOCOL, Service, ports_except
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal
from policyhub.vendorkit.operands import Services
from policyhub.vendors.fortinet_fortios.objects import device_moment, port_range
from policyhub.vendors.fortinet_fortios.reading import EVERYTHING, SETTINGS, UNKNOWN_SETTING, Family, Reading, Scope, Vip
from policyhub.vendors.fortinet_fortios.tree import Node

TABLES: dict[str, dict[str, str | int | None]] = SETTINGS["tables"]
CONDITIONS = frozenset(SETTINGS["conditions"])
INTERNET: dict[str, list[str]] = SETTINGS["internet_services"]
PLAIN = {"src": "srcaddr", "dst": "dstaddr"}
RARE = frozenset(f"{side}addr{kind}" for side in ("src", "dst") for kind in ("6", "-negate", "6-negate")) | frozenset(INTERNET)
READ_OVER = frozenset(SETTINGS["read_over"]) | {name for names in INTERNET.values() for name in names}
READ_OVER_OR_NARROWING = READ_OVER | CONDITIONS
HEEDED_SINCE = (7, 2, 4)  # the release from which on rules that deny heed VIPs
NEVER_DECIDE = ("dos", "inspection", "qos")
ACTIONS = {"accept": Action.PERMIT, "permit": Action.PERMIT, "deny": Action.DENY, "": Action.DENY}
ZONE_SETTINGS = {"source": ("srcintf", "interface", "intf"), "destination": ("dstintf",)}
ALWAYS_ON_THE_WIRE = ("multicast", "qos", "dos", "inspection")  # tables whose rules may leave the service out
DSCP_BITS = 0xFC
MOST_ZONE_PAIRS = 64
ZonePair = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(slots=True)
class Table:
    """One table of rules as `settings.json` describes it. family 0: settings for IPv4 and IPv6 stand side by side."""

    path: str
    family: int
    default: Action | None
    direction: str
    purpose: str

    @classmethod
    def of(cls, path: str, inspects: bool) -> Table:
        row = TABLES[path]
        if inspects:
            return cls(path, 0, None, "forward", "inspection")
        default = None if row["default"] is None else Action.DENY
        return cls(path, int(row["family"] or 0), default, str(row["direction"]), str(row["purpose"]))

    def sides(self, side: str) -> tuple[tuple[str, Family], ...]:
        """Names of the address settings of `src` or `dst` with the family of each."""
        name = f"{side}addr"
        if self.path == "firewall consolidated policy":
            return ((f"{name}4", "4"), (f"{name}6", "6"))
        if self.family == 0:
            return ((name, "4"), (f"{name}6", "6"))
        multicast = "m" if self.purpose == "multicast" and side == "dst" else ""
        return ((name, f"{multicast}{self.family}"),)


@dataclass(slots=True)
class Side:
    """Source or destination of a rule."""

    value: AddressSet
    unresolved: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    names6: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    has_internet_service: bool = False


def read_policies(reading: Reading, scope: Scope) -> None:
    decides_by_application = scope.setting("system settings", "ngfw-mode") == "policy-based"
    central_nat = scope.is_on("system settings", "central-nat")
    by_default = tuple(int(part) for part in reading.version.split(".") if part) >= HEEDED_SINCE
    for path in TABLES:
        nodes = scope.tables.get(path)
        if not nodes:
            continue
        table = Table.of(path, inspects=path == "firewall policy" and decides_by_application)
        reading.book_headers(scope, path)
        rules = [read_rule(reading, scope, table, node) for node in scope.entries(path)]
        if scope.vips and not central_nat and table.direction == "forward" and table.purpose in ("filter", "inspection"):
            heeding = {node.name for node in scope.entries(path) if _heeds_vips(node, by_default)}
            rules = _spared_by_vips(scope, rules, heeding)
        lines = tuple(number for node in nodes for number in node.headers)
        reading.policies.append(
            Policy(
                scope.prefix + path,
                tuple(rules),
                table.default,
                table.family,
                (Binding("", table.direction),),
                lines,
                purpose=table.purpose,
                context=scope.name,
            )
        )


def read_rule(reading: Reading, scope: Scope, table: Table, node: Node) -> Rule:
    conditions = _conditions(reading, table, node)
    source, destination = _side(scope, table, node, "src"), _side(scope, table, node, "dst")
    services, service_names, service_unresolved = _services(scope, table, node, destination, conditions)
    forwarding = _forwarding(scope, destination)
    if forwarding:
        services = tuple(dict.fromkeys((*services, *(vip.forwarded for vip in forwarding if vip.forwarded is not None))))
        conditions += [vip.note for vip in forwarding]
    conditions += source.conditions + destination.conditions
    if node.tables:
        conditions += _anomalies(reading, node)
    dscp, odd = _dscp(node)
    conditions += odd
    references = source.names + destination.names + source.names6 + destination.names6 + service_names
    named = node.value("schedule")
    schedule = _schedule(reading, scope, node, named)
    if named not in ("", "always"):
        conditions.append(f"schedule {named}")
        references = (*references, named)
    unresolved = source.unresolved + destination.unresolved + service_unresolved
    match = Match(
        source.value,
        destination.value,
        services,
        _zones(scope, node, "source"),
        _zones(scope, node, "destination"),
        dscp,
        tuple(conditions),
        tuple(dict.fromkeys(unresolved)),
    )
    name, comment = node.value("name"), node.value("comments") or node.value("comment")
    return Rule(
        name=node.name,
        action=_action(table, node),
        match=match,
        lines=node.all_numbers(),
        text="; ".join([f"{name} {raw}" if raw else name for name, raw in node.settings.items() if name != "uuid"]),
        enabled=node.value("status") != "disable",
        logged=_logged(table, node),
        comment=f"{name}: {comment}" if name and comment else name or comment,
        schedule=schedule,
        hit_key=node.name,
        references=tuple(dict.fromkeys(references)),
    )


def _conditions(reading: Reading, table: Table, node: Node) -> list[str]:
    """Settings that narrow the match beyond the model; a setting that nobody knows is unparsed, and one of them."""
    reading.ledger.understood(*node.numbers)
    reading.leave_settings(node, READ_OVER_OR_NARROWING, UNKNOWN_SETTING)
    kept = READ_OVER
    if table.purpose not in NEVER_DECIDE and node.value("action") not in ACTIONS:
        kept = READ_OVER - {"action"}
    if kept.issuperset(node.settings):  # nearly all
        return []
    narrowing = [name for name in node.settings if name not in kept]
    return [node.words(name) for name in narrowing if name not in CONDITIONS or node.value(name) not in ("disable", "")]


def _side(scope: Scope, table: Table, node: Node, side: str) -> Side:
    if table.path == "firewall policy" and node.settings.keys().isdisjoint(RARE):  # nearly all rules: this is only for speed
        raw = node.settings.get(PLAIN[side])
        if raw is not None:
            plain = scope.find_addresses("4", raw)
            return Side(plain.value, plain.unresolved, plain.names)
    found: list[AddressSet] = []
    unresolved: list[str] = []
    names: dict[bool, list[str]] = {False: [], True: []}
    conditions: list[str] = []
    for name, family in table.sides(side):
        service = f"internet-service{'6' if name.endswith('6') else ''}{'-src' if side == 'src' else ''}"
        raw = node.settings.get(name)
        if node.is_on(service):
            found.append(EVERYTHING[family])
            unresolved += [f"internet-service {value}" for of in INTERNET[service] for value in node.values(of)]
        elif raw is not None:
            addresses = scope.find_addresses(family, raw)
            value = addresses.value
            if node.is_on(f"{name.removesuffix('4')}-negate"):
                if addresses.unresolved:
                    conditions.append(f"{name.removesuffix('4')}-negate enable")
                else:
                    value = EVERYTHING[family].minus(value)
            found.append(value)
            unresolved += addresses.unresolved
            names[name.endswith("6")] += addresses.names
    everything = ANY if table.family == 0 else EVERYTHING[str(table.family)]
    if not found:  # the TTL of a packet is asked whatever its destination
        return Side(everything, () if table.purpose == "ttl" else (f"{side}addr",))
    by_service = node.is_on("internet-service") or node.is_on("internet-service6")
    value = found[0].union(*found[1:]) if len(found) > 1 else found[0]
    return Side(
        value, tuple(unresolved), tuple(names[False]), tuple(names[True]), tuple(conditions), side == "dst" and by_service
    )


def _services(
    scope: Scope, table: Table, node: Node, destination: Side, conditions: list[str]
) -> tuple[Services, tuple[str, ...], tuple[str, ...]]:
    """Services, the names that stand for them, and those that are not known; conditions are added."""
    raw = node.settings.get("service")
    if raw is None or destination.has_internet_service:
        missing = () if destination.has_internet_service or table.purpose in ALWAYS_ON_THE_WIRE else ("service",)
        if table.purpose == "multicast":
            return _by_protocol(node, conditions), (), missing
        return (ANY_SERVICE,), (), missing
    found = scope.find_services(raw)
    conditions += found.conditions
    if not node.is_on("service-negate"):
        return found.value, found.names, found.unresolved
    negated = None if found.unresolved or found.conditions else all_but(found.value)
    if negated is None:
        conditions.append("service-negate enable")
        return (ANY_SERVICE,), found.names, found.unresolved
    return negated, found.names, found.unresolved


def all_but(services: Services) -> Services | None:
    """Everything else; None when a source port takes part, because that is no product."""
    ports: dict[int, list[tuple[int, int]]] = {}
    for service in services:
        low, high = service.protocols[0]
        if service.is_any:
            return ()
        if service.source_ports != ANY_SERVICE.source_ports or len(service.protocols) != 1 or low != high:
            return None
        ports.setdefault(low, []).extend(service.destination_ports)
    others = complement(normalise((number, number) for number in ports), MAX_PROTOCOL)
    found = [Service(others)] if others else []
    for number, taken in sorted(ports.items()):
        left = ports_except(tuple(taken))
        if left:
            found.append(Service.of(number, left))
    return tuple(found)


def _by_protocol(node: Node, conditions: list[str]) -> Services:
    """`protocol N` with `start-port` and `end-port` of multicast policies."""
    words = node.value("protocol")
    if words in ("", "0") or not is_decimal(words) or len(words) > 3 or int(words) > MAX_PROTOCOL:
        return (ANY_SERVICE,)
    try:
        ports = port_range(f"{node.value('start-port') or 0}-{node.value('end-port') or 65535}")
    except NotUnderstood:
        conditions.append(f"start-port {node.value('start-port')}")
        return (Service.of(int(words)),)
    return (Service.of(int(words), None if int(words) == ICMP else (ports,)),)


def _forwarding(scope: Scope, destination: Side) -> list[Vip]:
    return (
        [vip for vip in scope.vips_of((*destination.names, *destination.names6)) if vip.forwarded is not None]
        if scope.vips
        else []
    )


def _anomalies(reading: Reading, node: Node) -> list[str]:
    """`config anomaly` of a DoS policy: what must exceed which rate."""
    rows = reading.book_rows(node, "anomaly", READ_OVER)
    return [f"anomaly {row.name} threshold {row.value('threshold') or 'default'}" for row in rows if row.is_on("status")]


def _zones(scope: Scope, node: Node, side: str) -> tuple[str, ...]:
    given = [node.settings[name] for name in ZONE_SETTINGS[side] if name in node.settings]
    return scope.find_zones(" ".join(given)) if given else ()


def _action(table: Table, node: Node) -> Action:
    if table.purpose in NEVER_DECIDE:
        return Action.CONTINUE
    word = node.value("action")
    if table.purpose == "multicast" and not word:
        return Action.PERMIT
    if table.path.startswith("firewall acl"):
        return Action.DENY
    return ACTIONS.get(word, Action.PERMIT)


def _logged(table: Table, node: Node) -> bool | None:
    words = node.value("logtraffic") or node.value("log")
    if not words and (table.direction != "forward" or table.purpose not in ("filter", "inspection")):
        return None
    return words in ("all", "enable")


def _schedule(reading: Reading, scope: Scope, node: Node, name: str) -> str:
    """Name of the schedule; a date after which the policy ends is one as well."""
    if name not in ("", "always"):
        return name
    if not node.is_on("policy-expiry"):
        return ""
    name = "policy-expiry-date"
    is_given = name in node.settings
    expires = device_moment(" ".join(node.values(name)).split()) if is_given else None
    text = node.words(name) if is_given else ""
    schedule = Schedule(f"policy-expiry {node.name}", text, expires, node.all_numbers(), scope.name)
    reading.schedules.append(schedule)
    return schedule.name


def _dscp(node: Node) -> tuple[frozenset[int] | None, list[str]]:
    """DSCP of `tos` (bits of the TOS byte that `tos-mask` picks) or `dscp-value`; conditions for what is no set of DSCP."""
    if node.is_on("dscp-match"):
        try:
            found = frozenset({binary_dscp(node.value("dscp-value") or "000000")})
        except ValueError:
            return None, [node.words("dscp-value")]
        return (frozenset(range(64)) - found if node.is_on("dscp-negate") else found), []
    return tos_dscp(node)


def tos_dscp(node: Node) -> tuple[frozenset[int] | None, list[str]]:
    if "tos" not in node.settings and "tos-mask" not in node.settings:
        return None, []
    try:
        value, mask = int(node.value("tos") or "0", 16), int(node.value("tos-mask") or "0", 16)
    except ValueError:
        mask, value = 0xFF, 0
    if mask == 0:
        return None, []
    if mask & ~DSCP_BITS:
        return None, [node.words(name) for name in ("tos", "tos-mask", "tos-negate") if name in node.settings]
    found = frozenset(dscp for dscp in range(64) if dscp << 2 & mask == value & mask)
    return (frozenset(range(64)) - found if node.is_on("tos-negate") else found), []


def binary_dscp(word: str) -> int:
    """`101110`. Raises ValueError."""
    if len(word) != 6 or set(word) - {"0", "1"}:
        raise ValueError(f"{word[:20]!r} is not a DSCP in binary")
    return parse_dscp(str(int(word, 2)))


def _heeds_vips(node: Node, by_default: bool) -> bool:
    """Whether a rule matches what VIPs translate, though it names none: told, or by default when it denies.

    A release that is not known, and 7.2.3, of which Fortinet's tips say both, spare it: the rule then covers no other.
    """
    told = node.value("match-vip")
    if told:
        return told == "enable" or node.is_on("match-vip-only")
    return (by_default and node.value("action") in ("", "deny")) or node.is_on("match-vip-only")


def _spared_by_vips(scope: Scope, rules: list[Rule], heeding: set[str]) -> list[Rule]:
    """Rules that do not match traffic which VIPs of a rule below them translate get the condition that says so.

    heeding: rules that match it. Fortinet, Technical Tips: DENY policy for Virtual IP; Local-In-Policy VS Virtual-IP-Policy.
    """
    external: dict[ZonePair, list[AddressSet]] = {}
    last: dict[ZonePair, int] = {}
    with_vip = [bool(scope.vips_of(rule.references)) for rule in rules]
    for at, rule in enumerate(rules):
        if with_vip[at] and rule.enabled:
            zones = (rule.match.source_zones, rule.match.destination_zones)
            zones = zones if zones in external or len(external) < MOST_ZONE_PAIRS else ((), ())
            external.setdefault(zones, []).extend(vip.external for vip in scope.vips_of(rule.references))
            last[zones] = at
    merged = {zones: NOWHERE.union(*sets) for zones, sets in external.items()}
    found: list[Rule] = []
    for at, rule in enumerate(rules):
        spared = rule.enabled and not with_vip[at] and rule.name not in heeding
        if spared and any(at < last[zones] and _meets(rule, zones, merged[zones]) for zones in merged):
            rule = replace(rule, match=replace(rule.match, conditions=(*rule.match.conditions, "match-vip disable")))
        found.append(rule)
    return found


def _meets(rule: Rule, zones: ZonePair, external: AddressSet) -> bool:
    own = (rule.match.source_zones, rule.match.destination_zones)
    if any(a and b and set(a).isdisjoint(b) for a, b in zip(own, zones, strict=True)):
        return False
    destination = rule.match.destination
    return _touches(destination.v4, external.v4) or _touches(destination.v6, external.v6)


def _touches(few: tuple[Interval, ...], many: tuple[Interval, ...]) -> bool:
    """Whether two sets share an address; the cost is that of the first."""
    return any(
        (at := bisect_left(many, (low, 0), key=lambda i: (i[1], 0))) < len(many) and many[at][0] <= high for low, high in few
    )
