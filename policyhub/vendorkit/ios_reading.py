"""What the handlers of one parse of a Cisco-like text share, and how its access lists become policies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import DeviceConfig, Interface, Losslessness, Route
from policyhub.domain.nat import NatRule
from policyhub.domain.objects import AddressObject, Schedule
from policyhub.domain.qos import QosClass, QosPolicy, Trust
from policyhub.domain.rules import Action, Binding, Policy
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_acl import ENTRY, AclBook, AclSyntax, read_rules, verb_of
from policyhub.vendorkit.ios_groups import Groups
from policyhub.vendorkit.ios_lines import ECHOED
from policyhub.vendorkit.ios_mqc import Mqc, MqcSyntax
from policyhub.vendorkit.ledger import IgnoreList, LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words
from policyhub.vendorkit.operands import NameTable, Services

R = TypeVar("R", bound="IosReading")
AclKey = tuple[int, str]  # family 4, 6 or 0 (MAC), name
OPTIONS = ("statistics", "counters", "fragments", "ignore", "exit", "ipv4", "pmtud")


@dataclass(slots=True)
class AccessList:
    """Entries of one list in file order. `form`: standard, extended, ipv6, mac .. `notes`: options of the whole list."""

    form: str
    lines: list[int] = field(default_factory=list)
    entries: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class IosReading:
    """State of one parse. `shown` holds lists of show outputs, used where the configuration has none."""

    ledger: LineLedger = field(default_factory=LineLedger)
    hostname: str = ""
    version: str = ""
    groups: Groups = field(default_factory=Groups)
    configured: dict[AclKey, AccessList] = field(default_factory=dict)
    shown: dict[AclKey, AccessList] = field(default_factory=dict)
    bindings: dict[AclKey, list[Binding]] = field(default_factory=dict)
    interfaces: dict[str, Interface] = field(default_factory=dict)
    schedules: list[Schedule] = field(default_factory=list)
    mqc_syntax: MqcSyntax = field(default_factory=MqcSyntax)
    mqc: Mqc = field(init=False)
    trusts: list[Trust] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    nat_rules: list[NatRule] = field(default_factory=list)
    losslessness: dict[str, Losslessness] = field(default_factory=dict)
    pools: list[AddressObject] = field(default_factory=list)
    policies: list[Policy] = field(default_factory=list)
    tables: dict[str, dict[int, int]] = field(default_factory=dict)
    table_defaults: dict[str, int | None] = field(default_factory=dict)
    table_lines: dict[str, tuple[int, ...]] = field(default_factory=dict)
    default_marks: dict[str, QosClass] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mqc = Mqc(self.ledger, self.mqc_syntax)

    @property
    def addresses(self) -> NameTable[AddressSet]:
        return self.groups.addresses

    @property
    def services(self) -> NameTable[Services]:
        return self.groups.services

    @property
    def selectors(self) -> set[str]:
        """Names of lists that pick traffic for something else (QoS, NAT, VPN, routing): no filters."""
        return self.mqc.selectors

    def config(self, platform: str, lines: int, policies: Iterable[Policy], qos_policies: Iterable[QosPolicy]) -> DeviceConfig:
        """The model of what all of them have, once every line is booked; `dataclasses.replace` puts in the rest."""
        return DeviceConfig(
            platform,
            self.hostname,
            lines,
            policies=tuple(policies),
            qos_policies=tuple(qos_policies),
            trusts=tuple(self.trusts),
            interfaces=tuple(self.interfaces.values()),
            addresses=(*self.groups.address_objects(), *self.pools),
            services=self.groups.service_objects(),
            groups=self.groups.object_groups(),
            schedules=tuple(self.schedules),
            ignored=self.ledger.ignored_lines,
            unparsed=self.ledger.unparsed_lines,
            nat_rules=tuple(self.nat_rules),
            routes=tuple(self.routes),
            losslessness=tuple(self.losslessness.values()),
            version=self.version,
            special=self.ledger.special_lines,
        )

    def book(self, syntax: AclSyntax) -> AclBook:
        return AclBook(syntax, self.ledger, self.addresses, self.services)

    def lossless(self, place: str) -> Losslessness:
        """What is known of a port's pauses, "" for the device."""
        return self.losslessness.get(place) or Losslessness(place)

    def bind(self, family: int, name: str, interface: str, direction: str, line: int) -> None:
        self.bindings.setdefault((family, name), []).append(Binding(interface, direction, (line,)))

    def attach(self, policy: str, interface: str, direction: str, line: int) -> None:
        self.mqc.attach(policy, interface, direction, line)


def dispatch(
    reading: R,
    block: Block,
    ignored: IgnoreList,
    handler_of: Callable[[list[str]], Callable[[R, Block], None] | None],
    otherwise: Callable[[R, Block], None],
    reason_of: Callable[[str, str], str] = lambda text, said: said,
) -> None:
    """One block of the text to the handler that its words name, or to `otherwise`.

    Below an echoed command stand outputs. What a handler does not understand is on the ignore list or unparsed, for its reason
    as `reason_of(text, reason)` has it.
    """
    if ECHOED.match(block.text):
        reading.ledger.understood(block.number)
        for child in block.children:
            dispatch(reading, child, ignored, handler_of, otherwise, reason_of)
        return
    handler = handler_of(block.words)
    if handler is None:
        otherwise(reading, block)
        return
    try:
        handler(reading, block)
        reading.ledger.understood(block.number)
    except NotUnderstood as reason:
        if not ignored.takes(block.text) and not ignored.excuses(block.text):
            reading.ledger.unparsed(block.line, reason_of(block.text, str(reason)))


def read_class_map(reading: IosReading, block: Block) -> None:
    """`class-map [type T] [match-any|match-all] NAME`. Raises NotUnderstood."""
    words, _ = reading.mqc.typed(block)
    words.accept("match-any", "match-all")
    reading.mqc.add_class_map(words.next("a name"), block)


def read_policy_map(reading: IosReading, block: Block) -> None:
    """`policy-map [type T] NAME`. Raises NotUnderstood."""
    words, _ = reading.mqc.typed(block)
    reading.mqc.add_policy_map(words.next("a name"), block)


def read_access_class(reading: IosReading, place: str, block: Block) -> None:
    """`[ip|ipv6] access-class NAME in|out` below `line`."""
    for child in block.children:
        words = Words(child.words)
        family = 6 if words.accept("ipv6") else 4
        words.accept("ip")
        if not words.accept("access-class"):
            continue
        with reading.ledger.booking(child.line):
            name, direction = words.next("an access list"), words.next("in or out").lower()
            reading.bind(family, name, place, "local" if direction == "in" else "out", child.number)


def remove_list(reading: IosReading, header: re.Match[str] | None, families: Mapping[str, int]) -> None:
    """`no ip access-list X` in a script: what stood above is gone. Raises NotUnderstood without a header."""
    if header is None:
        raise NotUnderstood("a command, not configuration")
    gone = reading.configured.pop((families[header["kind"]], header["name"]), None)
    reading.ledger.understood(*(gone.lines if gone else ()))


def collect(reading: IosReading, key: AclKey, form: str, block: Block, shown: bool = False) -> AccessList:
    """The lines below a list's header: entries, and options of the whole list that its policy keeps as notes."""
    lists = reading.shown if shown else reading.configured
    found = lists.setdefault(key, AccessList(form))
    found.lines.append(block.number)
    for child in block.below():
        if ENTRY.match(child.text):
            found.entries.append(child)
            found.lines.append(child.number)
        elif child.words[0].lower() in OPTIONS:
            found.lines.append(child.number)
            reading.ledger.understood(child.number)
            if child.text != "exit":
                found.notes.append(child.text)
    return found


def take_binding(reading: IosReading, family: int, words: Words, place: str, line: int) -> None:
    """`NAME in|out|ingress|egress`. Raises NotUnderstood."""
    name = words.next("an access list")
    reading.bind(family, name, place, take_direction(words), line)


def take_direction(words: Words) -> str:
    """`in`, `input`, `ingress` as in; `out`, `output`, `egress` as out. Raises NotUnderstood."""
    word = words.next("a direction").lower()
    if word in ("in", "input", "ingress"):
        return "in"
    if word in ("out", "output", "egress"):
        return "out"
    raise NotUnderstood(f"{word[:40]!r} is not a direction")


@dataclass(frozen=True, slots=True)
class Gaps:
    """What a platform does with a list that has no entries, and with a name that is bound but not defined."""

    empty: Action | None
    empty_note: str
    undefined: Action | None
    undefined_note: str


def list_policies(reading: IosReading, syntax: AclSyntax, gaps: Gaps, ipv6_note: str = "") -> list[Policy]:
    """Configured lists, lists only seen in a show output, and names that are bound but not defined."""
    lists = dict(reading.configured)
    for key, shown in reading.shown.items():
        if key in lists:
            reading.ledger.understood(*shown.lines)
        else:
            lists[key] = shown
    book = reading.book(syntax)
    found = [_policy(reading, book, key, acl, gaps, ipv6_note) for key, acl in lists.items()]
    for (family, name), bindings in reading.bindings.items():
        if (family, name) not in lists:
            lines = tuple(line for binding in bindings for line in binding.lines)
            notes = (gaps.undefined_note,)
            found.append(Policy(name, (), gaps.undefined, family, tuple(bindings), lines, notes=notes))
    return found


def _policy(reading: IosReading, book: AclBook, key: AclKey, acl: AccessList, gaps: Gaps, ipv6_note: str) -> Policy:
    family, name = key
    bindings = tuple(reading.bindings.get(key, ()))
    rules = read_rules(book, family, name, acl.form, acl.entries)
    reading.ledger.understood(acl.lines[0])
    default: Action | None = Action.DENY
    notes = (ipv6_note,) if family == 6 and ipv6_note else ()
    lost = sum(verb_of(entry) != "remark" for entry in acl.entries) - len(rules)
    if lost:
        notes = (*notes, f"{lost} entries are not understood")
    if all(verb_of(entry) == "remark" for entry in acl.entries):
        default, notes = gaps.empty, (gaps.empty_note,)
    purpose = "match" if name in reading.selectors and not bindings else "filter"
    if acl.form in ("mac", "role-based", "reflexive", "arp"):
        purpose = acl.form
    notes = (*notes, *acl.notes)
    return Policy(name, tuple(rules), default, family, bindings, tuple(acl.lines), notes=notes, purpose=purpose)
