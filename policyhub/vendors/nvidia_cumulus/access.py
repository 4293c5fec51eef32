"""NVUE access lists as policies, their NAT and QoS actions."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet, Interval, normalise
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.qos import ClassMatch, Marker, Policer, QosAttachment, QosClass, QosPolicy, parse_dscp
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ALL_PORTS, ANY_SERVICE, ICMP, ICMPV6, TCP, UDP, Service, shared_service
from policyhub.vendorkit.blocks import Lines
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, dscp_in, host_set, is_decimal, number_in, prefix_set
from policyhub.vendorkit.operands import alone
from policyhub.vendorkit.xtables.facts import NAMES
from policyhub.vendors.nvidia_cumulus.tree import Branch, ports_of

FAMILIES = {"ipv4": 4, "ipv6": 6}
ANY_OF = {0: ANY, 4: ANY4, 6: ANY6}
DIRECTIONS = {"inbound": "in", "outbound": "out"}
RATE_SCALE = {"kbps": 10**3, "mbps": 10**6, "gbps": 10**9}
ICMP_NAMES = {"dest-unreachable": (3, None), "port-unreachable": (3, 3)}


@dataclass(slots=True)
class Lists:
    policies: list[Policy] = field(default_factory=list)
    qos_policies: list[QosPolicy] = field(default_factory=list)
    nat_rules: list[NatRule] = field(default_factory=list)


@dataclass(slots=True)
class _Fields:
    """Matches of one rule."""

    source: AddressSet
    destination: AddressSet
    protocol: int | None = None
    source_ports: list[Interval] = field(default_factory=list)
    destination_ports: list[Interval] = field(default_factory=list)
    icmp: tuple[int, int | None] | None = None
    dscp: frozenset[int] | None = None
    conditions: list[str] = field(default_factory=list)

    def services(self) -> tuple[Service, ...]:
        source, destination = normalise(self.source_ports) or ALL_PORTS, normalise(self.destination_ports) or ALL_PORTS
        if self.icmp is not None and self.protocol is not None:
            kind, code = self.icmp
            low = kind * 256 + (code or 0)
            return (Service.of(self.protocol, ((low, low if code is not None else low + 255),)),)
        if self.protocol is not None:
            return alone(shared_service(((self.protocol, self.protocol),), source, destination))
        if (source, destination) == (ALL_PORTS, ALL_PORTS):
            return (ANY_SERVICE,)
        return (shared_service(((TCP, TCP), (UDP, UDP)), source, destination),)

    def match(self) -> Match:
        return Match(self.source, self.destination, self.services(), (), (), self.dscp, tuple(self.conditions))


def read_lists(root: Branch, ledger: LineLedger, by_number: Lines) -> Lists:
    lists = Lists()
    bindings = _bindings(root)
    for name, acl in root.items("acl"):
        kind = acl.value("type")
        family = FAMILIES.get(kind, 0)
        rules: list[Rule] = []
        classes: list[QosClass] = []
        numbered = list(acl.items("rule"))
        numbered.sort(key=lambda pair: int(pair[0]) if is_decimal(pair[0]) and len(pair[0]) < 9 else 10**9)
        own = (acl.at("rule") or acl).children if name in (root.at("acl") or root).children else {}
        for number, branch in numbered:
            rule = _rule(number, branch, family, ledger, by_number)
            rules.append(rule)
            made = _class(rule, branch)
            if made is not None:
                classes.append(made)
            lists.nat_rules += _nat(rule, branch, name)
            if number in own:  # not one of a list of names, which share the branch
                branch.forget()
        bound = tuple(bindings.get(name, ()))
        purpose = "mac" if kind == "mac" else "filter"
        lists.policies.append(Policy(name, tuple(rules), Action.PERMIT, family, bound, acl.all_lines(), purpose=purpose))
        if classes:
            attachments = tuple(QosAttachment(binding.interface, binding.direction, binding.lines) for binding in bound)
            lines = tuple(line for made_class in classes for line in made_class.lines)
            lists.qos_policies.append(QosPolicy(f"acl {name}", tuple(classes), attachments, lines))
    return lists


def _bindings(root: Branch) -> dict[str, list[Binding]]:
    found: dict[str, list[Binding]] = {}
    bound = ((port, branch) for port, branches in ports_of(root).items() for branch in branches)
    for port, branch in bound:
        for name, acl in branch.items("acl"):
            for word, below in acl.children.items():
                direction = "local" if "control-plane" in below.children else DIRECTIONS.get(word, word)
                found.setdefault(name, []).append(Binding(port, direction, acl.all_lines()))
    for name, acl in root.items("system", "control-plane", "acl"):
        found.setdefault(name, []).append(Binding("", "local", acl.all_lines()))
    return found


def _rule(number: str, branch: Branch, family: int, ledger: LineLedger, by_number: Lines) -> Rule:
    fields = _Fields(ANY_OF[family], ANY_OF[family])
    enabled = True
    match = branch.at("match")
    for path, lines in match.leaves() if match is not None else ():
        try:
            _match(fields, path, family)
        except NotUnderstood as error:
            for line in lines:
                ledger.unparsed(by_number.at(line), str(error))
            fields.conditions.append(" ".join(path))
            enabled = False
    action = branch.at("action")
    words = set(action.children) if action is not None else set()
    verdict = (
        Action.PERMIT if words & {"permit", "dest-nat", "source-nat"} else Action.DENY if "deny" in words else Action.CONTINUE
    )
    text = " ".join(("rule", number, *("; ".join(" ".join(path) for path, _ in branch.leaves()),)))[:400]
    comment = branch.value("remark")
    return Rule(
        number, verdict, fields.match(), branch.all_lines(), text, enabled, "log" in words, comment, "", number,
    )  # fmt: skip


def _match(fields: _Fields, path: tuple[str, ...], family: int) -> None:
    """Raises NotUnderstood for a value that NVUE would not take."""
    if path[0] != "ip" or len(path) < 2:
        fields.conditions.append(" ".join(path))
        return
    words = list(path[1:])
    if words[0] in ("tcp", "udp"):
        fields.protocol = TCP if words.pop(0) == "tcp" else UDP
        if not words:
            return
    name, value = words[0], words[-1] if len(words) > 1 else ""
    if name in ("source-ip", "dest-ip"):
        _address(fields, name, value, family)
    elif name == "protocol":
        if value.upper() != "ANY":
            fields.protocol = NAMES.protocol(value)
    elif name in ("source-port", "dest-port"):
        if value.upper() != "ANY":
            (fields.source_ports if name == "source-port" else fields.destination_ports).append(_port(value))
    elif name == "dscp":
        if value.upper() != "ANY":
            fields.dscp = (fields.dscp or frozenset()) | {dscp_in(value)}
    elif name in ("icmp-type", "icmpv6-type"):
        fields.protocol = ICMPV6 if name == "icmpv6-type" else ICMP
        fields.icmp = ICMP_NAMES.get(value) or NAMES.icmp_type(value, fields.protocol)
        if fields.icmp is None:
            raise NotUnderstood(f"{value[:40]!r} is not an ICMP type")
    else:
        fields.conditions.append(" ".join(path))


def _address(fields: _Fields, name: str, value: str, family: int) -> None:
    if value.upper() == "ANY":
        return
    found = prefix_set(value) if "/" in value else host_set(value)
    if found is None or (family and bool(found.v4) != (family == 4)):
        raise NotUnderstood(f"{value[:60]!r} is not an address of this list")
    if name == "source-ip":
        fields.source = found
    else:
        fields.destination = found


def _port(text: str) -> Interval:
    low, dash, high = text.partition("-")
    if dash and is_decimal(low) and is_decimal(high):
        first, last = number_in(low, 0, 65535, "a port"), number_in(high, 0, 65535, "a port")
        if first > last:
            raise NotUnderstood(f"{text[:40]!r} is not a range of ports")
        return first, last
    port = NAMES.port(text, None)
    return port, port


def _class(rule: Rule, branch: Branch) -> QosClass | None:
    action = branch.at("action")
    if action is None:
        return None
    marker = _marker(action)
    policer = _policer(action)
    if marker is None and policer is None:
        return None
    match = branch.at("match")
    other = [" ".join(path) for path, _ in match.leaves() if path[:2] != ("ip", "dscp")] if match is not None else []
    classes = ClassMatch(dscp=rule.match.dscp, any=not other and rule.match.dscp is None, other=tuple(other))
    return QosClass(rule.name, classes, marker, policer, lines=rule.lines)


def _marker(action: Branch) -> Marker | None:
    dscp, cos, level = (action.value("set", name) for name in ("dscp", "cos", "class"))
    try:
        value = parse_dscp(dscp) if dscp else None
    except ValueError:
        value = None
    pcp = int(cos) if is_decimal(cos) and len(cos) == 1 else None
    queue = int(level) if is_decimal(level) and len(level) < 3 else None
    return Marker(value, pcp, queue) if (value, pcp, queue) != (None, None, None) else None


def _policer(action: Branch) -> Policer | None:
    police = action.at("police")
    if police is None:
        return None
    rate, burst = police.value("rate"), police.value("burst")
    scale = RATE_SCALE.get(police.value("mode") or "packet")
    bps = int(rate) * scale if scale and is_decimal(rate) and len(rate) < 12 else None
    size = int(burst) * 1000 if scale and is_decimal(burst) and len(burst) < 12 else None
    return Policer(bps, size)


def _nat(rule: Rule, branch: Branch, acl: str) -> list[NatRule]:
    found: list[NatRule] = []
    for word, kind in (("source-nat", NatKind.SOURCE), ("dest-nat", NatKind.DESTINATION)):
        nat = branch.at("action", word)
        if nat is None:
            continue
        to, port = " ".join(_first_path(nat, "translate-ip")), " ".join(_first_path(nat, "translate-port"))
        source, destination = (to, "") if kind is NatKind.SOURCE else ("", to)
        found.append(
            NatRule(
                rule.name,
                kind,
                rule.match,
                rule.lines,
                source,
                destination,
                port,
                acl,
                enabled=rule.enabled,
                hit_key=rule.hit_key,
            )
        )
    return found


def _first_path(branch: Branch, name: str) -> tuple[str, ...]:
    below = branch.at(name)
    return next((path for path, _ in below.leaves()), ()) if below is not None else ()
