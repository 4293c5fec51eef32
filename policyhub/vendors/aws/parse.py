"""Answers of `aws ec2 describe-security-groups`, `-network-acls` and their kin into the domain model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.objects import AddressObject
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, ICMP, ICMPV6, MAX_PORT, MAX_PROTOCOL, TCP, UDP, Service
from policyhub.vendorkit.json_books import JsonBooks, address, consumed, objects_of, whole
from policyhub.vendorkit.json_lines import Node
from policyhub.vendorkit.lexing import NotUnderstood, number_in, score
from policyhub.vendorkit.service_names import icmp_service

NAME = "aws"
SIGNS = (
    (r'"(SecurityGroups|SecurityGroupRules|NetworkAcls|PrefixLists)"\s*:\s*\[', 0.6),
    (r'"(IpPermissions(Egress)?|UserIdGroupPairs|NetworkAclId|SecurityGroupRuleId|PrefixListId)"\s*:', 0.4),
)
PROTOCOLS = {"tcp": TCP, "udp": UDP, "icmp": ICMP, "icmpv6": ICMPV6}
NAMES = {number: name for name, number in PROTOCOLS.items()}
SECTIONS = {"SecurityGroups", "SecurityGroupRules", "NetworkAcls", "PrefixLists"}
AROUND = {"NextToken", "ResponseMetadata"}
GROUP = {"GroupId", "GroupName", "Description", "VpcId", "IpPermissions", "IpPermissionsEgress"}
GROUP_REST = {"OwnerId", "Tags", "SecurityGroupArn"}
PERMISSION = {"IpProtocol", "FromPort", "ToPort", "IpRanges", "Ipv6Ranges", "PrefixListIds", "UserIdGroupPairs"}
FAR_SIDES = (
    ("IpRanges", "CidrIp"),
    ("Ipv6Ranges", "CidrIpv6"),
    ("PrefixListIds", "PrefixListId"),
    ("UserIdGroupPairs", "GroupId"),
)
PEER_REST = {"UserId", "VpcId", "VpcPeeringConnectionId", "PeeringStatus", "GroupName"}
SINGLE = {
    "SecurityGroupRuleId", "GroupId", "IsEgress", "IpProtocol", "FromPort", "ToPort", "CidrIpv4", "CidrIpv6", "PrefixListId",
    "ReferencedGroupInfo", "Description",
}  # fmt: skip
SINGLE_REST = {"GroupOwnerId", "Tags", "SecurityGroupRuleArn"}
ACL = {"NetworkAclId", "VpcId", "Entries", "Associations", "IsDefault"}
ENTRY = {"CidrBlock", "Ipv6CidrBlock", "Egress", "Protocol", "PortRange", "IcmpTypeCode", "RuleAction", "RuleNumber"}
LAST = {32767: "*", 32768: "* ipv6"}
ACTIONS = {"allow": Action.PERMIT, "deny": Action.DENY}
STATEFUL = "stateful: answers are allowed"
DIRECTIONS = (("ingress", "in"), ("egress", "out"))


@dataclass(slots=True)
class _Group:
    """One security group while it is read. rules: by direction."""

    name: str
    context: str = ""
    notes: tuple[str, ...] = (STATEFUL,)
    lines: list[int] = field(default_factory=list)
    rules: dict[str, list[Rule]] = field(default_factory=lambda: {"ingress": [], "egress": []})

    def policies(self) -> list[Policy]:
        lines = tuple(self.lines)
        return [
            Policy(f"{self.name} {side}", tuple(self.rules[side]), lines=lines, notes=self.notes, context=self.context)
            for side, _ in DIRECTIONS
        ]


@dataclass(slots=True)
class _Reading:
    books: JsonBooks
    lists: dict[str, AddressObject] = field(default_factory=dict)
    groups: dict[str, _Group] = field(default_factory=dict)
    acls: list[Policy] = field(default_factory=list)


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    reading = _Reading(JsonBooks.read(text))
    roots = [root for root in reading.books.document.roots if root.members is not None]
    for root in roots:
        reading.books.take(root, SECTIONS, AROUND)
        for node in objects_of(root.get("PrefixLists")):
            _prefix_list(reading, node)
    for root in roots:
        for node in objects_of(root.get("SecurityGroups")):
            _group(reading, node)
        for node in objects_of(root.get("SecurityGroupRules")):
            _single(reading, node)
        for node in objects_of(root.get("NetworkAcls")):
            _acl(reading, node)
    policies = [policy for group in reading.groups.values() for policy in group.policies()]
    return replace(reading.books.config(NAME), policies=(*policies, *reading.acls), addresses=tuple(reading.lists.values()))


def _prefix_list(reading: _Reading, node: Node) -> None:
    reading.books.take(node, {"PrefixListId", "PrefixListName", "Cidrs"})
    found = [address(item) for item in (node.get("Cidrs") or Node(0, 0)).words()]
    known = [item for item in found if item is not None]
    value = AddressSet().union(*known) if len(known) == len(found) else None
    name = node.word("PrefixListId")
    reading.lists[name] = AddressObject(name, value, lines=tuple(node.numbers), text=node.word("PrefixListName"))


def _group(reading: _Reading, node: Node) -> None:
    reading.books.take(node, GROUP, GROUP_REST)
    name = node.word("GroupId") or node.word("GroupName")
    group = reading.groups.setdefault(name, _Group(name))
    words = (node.word("GroupName"), node.word("Description"))
    group.context, group.notes = node.word("VpcId"), (STATEFUL, *(word for word in words if word))
    group.lines += node.numbers
    for key, side in (("IpPermissions", "ingress"), ("IpPermissionsEgress", "egress")):
        for permission in consumed(node.get(key)):
            reading.books.take(permission, PERMISSION)
            for list_name, word in FAR_SIDES:
                for far in objects_of(permission.get(list_name)):
                    reading.books.take(far, {word, "Description"}, PEER_REST)
                    _add(reading, group, side, permission, far.word(word), far.word("Description"), far)


def _single(reading: _Reading, node: Node) -> None:
    reading.books.take(node, SINGLE, SINGLE_REST)
    name = node.word("GroupId")
    group = reading.groups.setdefault(name, _Group(name))
    group.lines += node.numbers
    peer = node.get("ReferencedGroupInfo")
    if peer is not None:
        reading.books.take(peer, {"GroupId"}, PEER_REST)
    far = next((t for t in map(node.word, ("CidrIpv4", "CidrIpv6", "PrefixListId")) if t), peer.word("GroupId") if peer else "")
    side = "egress" if node.word("IsEgress") == "true" else "ingress"
    _add(reading, group, side, node, far, node.word("Description") or node.word("SecurityGroupRuleId"), node)


def _add(reading: _Reading, group: _Group, side: str, permission: Node, far: str, comment: str, at: Node) -> None:
    """One rule: a permission and one of its far sides."""
    try:
        service = _permitted(permission)
    except NotUnderstood as error:
        reading.books.refuse(at.numbers, str(error))
        return
    found = address(far)
    if found is None and far in reading.lists:
        found = reading.lists[far].addresses
    unresolved = (far or "nothing named",) if found is None else ()
    other = ANY if found is None else found
    near = whole(other)
    source, destination = (other, near) if side == "ingress" else (near, other)
    scalars = {value.line for name, value in permission.pairs() if name in ("IpProtocol", "FromPort", "ToPort")}
    rule = Rule(
        f"{_spelt(permission)} {'from' if side == 'ingress' else 'to'} {far}", Action.PERMIT,
        Match(source, destination, (service,), unresolved=unresolved), tuple(sorted({*scalars, *at.numbers})),
        reading.books.text_of(at), comment=comment, references=(far,) if address(far) is None and far else (),
    )  # fmt: skip
    group.rules[side].append(rule)


def _spelt(permission: Node) -> str:
    """`all`, `tcp`, `tcp 22`, `tcp 1-9`."""
    protocol, low, high = (permission.word(name) for name in ("IpProtocol", "FromPort", "ToPort"))
    if protocol == "-1":
        return "all"
    ports = "" if low in ("", "-1") else low if low == high else f"{low}-{high}"
    return f"{NAMES.get(int(protocol), protocol) if protocol.isdecimal() and len(protocol) < 4 else protocol} {ports}".strip()


def _protocol(text: str) -> int | None:
    """None for every protocol. Raises NotUnderstood."""
    if text == "-1":
        return None
    known = PROTOCOLS.get(text.lower())
    return known if known is not None else number_in(text, 0, MAX_PROTOCOL, "a protocol")


def _permitted(permission: Node) -> Service:
    low, high = permission.word("FromPort"), permission.word("ToPort")
    return _service(_protocol(permission.word("IpProtocol")), low, high, low, high)


def _service(protocol: int | None, low: str, high: str, kind: str, code: str) -> Service:
    """Ports as `low` and `high`, ICMP as `kind` and `code`; "" and -1 are all. Raises NotUnderstood."""
    if protocol is None:
        return ANY_SERVICE
    if protocol in (ICMP, ICMPV6):
        if kind in ("", "-1"):
            return Service.of(protocol)
        number = number_in(kind, 0, 255, "an ICMP type")
        return icmp_service(number, None if code in ("", "-1") else number_in(code, 0, 255, "an ICMP code"), protocol)
    if protocol not in (TCP, UDP) or low in ("", "-1"):
        return Service.of(protocol)
    first, last = number_in(low, 0, MAX_PORT, "a port"), number_in(high or low, 0, MAX_PORT, "a port")
    if first > last:
        raise NotUnderstood(f"{low}-{high} is not a range of ports")
    return Service.of(protocol, ((first, last),))


def _acl(reading: _Reading, node: Node) -> None:
    reading.books.take(node, ACL, GROUP_REST)
    subnets: list[tuple[str, int]] = []
    for association in objects_of(node.get("Associations")):
        reading.books.take(association, {"SubnetId", "NetworkAclId", "NetworkAclAssociationId"})
        subnets.append((association.word("SubnetId"), association.line))
    found: dict[str, list[tuple[int, Rule]]] = {"ingress": [], "egress": []}
    for entry in consumed(node.get("Entries")):
        reading.books.take(entry, ENTRY)
        try:
            side, number, rule = _entry(reading, entry)
        except NotUnderstood as error:
            reading.books.refuse(entry.numbers, str(error))
            continue
        found[side].append((number, rule))
    for side, direction in DIRECTIONS:
        rules = tuple(rule for _, rule in sorted(found[side], key=lambda pair: pair[0]))
        bindings = tuple(Binding(name, direction, (line,)) for name, line in subnets)
        title = f"{node.word('NetworkAclId')} {side}"
        reading.acls.append(Policy(title, rules, bindings=bindings, lines=tuple(node.numbers), context=node.word("VpcId")))


def _entry(reading: _Reading, entry: Node) -> tuple[str, int, Rule]:
    """Raises NotUnderstood."""
    number = number_in(entry.word("RuleNumber"), 1, 32768, "a rule number")
    text = entry.word("CidrBlock") or entry.word("Ipv6CidrBlock")
    far = address(text)
    action = ACTIONS.get(entry.word("RuleAction").lower())
    if far is None or action is None:
        raise NotUnderstood("an entry has no address block or no action")
    ports, icmp = entry.get("PortRange") or Node(0, 0), entry.get("IcmpTypeCode") or Node(0, 0)
    for part, names in ((ports, {"From", "To"}), (icmp, {"Type", "Code"})):
        reading.books.take(part, names)
    service = _service(
        _protocol(entry.word("Protocol")), ports.word("From"), ports.word("To"), icmp.word("Type"), icmp.word("Code")
    )
    side = "egress" if entry.word("Egress") == "true" else "ingress"
    source, destination = (whole(far), far) if side == "egress" else (far, whole(far))
    match = Match(source, destination, (service,))
    name = LAST.get(number, str(number))
    return side, number, Rule(name, action, match, tuple(entry.numbers), reading.books.text_of(entry))
