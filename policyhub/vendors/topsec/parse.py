"""Lines of TopSec TOS into the domain model."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.objects import AddressObject, ObjectGroup, Schedule, ServiceObject
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, MAX_PORT, MAX_PROTOCOL, Service
from policyhub.vendorkit.blocks import Line, read_lines
from policyhub.vendorkit.json_books import address
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD, LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words, masked_set, number_in, range_set, score
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendorkit.predefined import read_predefined
from policyhub.vendorkit.rendering import is_prompt

NAME = "topsec"
PREDEFINED = read_predefined("policyhub.vendors.topsec")
SIGNS = (
    (r"^(ID \d+ )?firewall policy add action (accept|deny|reject) ", 0.7),
    (r"^define (host|subnet|range|service|schedule|group_address|group_service) add name ", 0.5),
)
WORD = re.compile(r"'([^']{0,4000})'|\"([^\"]{0,4000})\"|(\S+)")
ACTIONS = {"accept": Action.PERMIT, "deny": Action.DENY, "reject": Action.DENY}
ZONES = {"srcarea": 0, "dstarea": 1}


@dataclass(slots=True)
class _Reading:
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)
    address_objects: list[AddressObject] = field(default_factory=list)
    service_objects: list[ServiceObject] = field(default_factory=list)
    groups: list[ObjectGroup] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)
    rules: dict[str, list[Rule]] = field(default_factory=dict)


def looks_like(text: str) -> float:
    return score(text[:400_000].replace("\r", ""), SIGNS)


def words_of(text: str) -> list[str]:
    return [single or double or plain for single, double, plain in WORD.findall(text)]


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    ledger = LineLedger()
    reading = _Reading()
    kept = [line for line in ledger.without_long(lines) if line.text]
    for is_rule in (False, True):  # objects first: a rule may stand before what it names
        for line in kept:
            words = words_of(line.text)
            if line.text.startswith("#") or is_prompt(line.text):
                ledger.understood(line.number)
            elif (words[:1] == ["define"]) != is_rule:
                _line(reading, ledger, line, words)
    policies = tuple(
        Policy("policy" if vsid == "0" else f"policy vsid {vsid}", tuple(rules), None, bindings=(Binding("", "forward"),))
        for vsid, rules in reading.rules.items()
    )
    return DeviceConfig(
        platform=NAME, hostname="", lines=len(lines), policies=policies, addresses=tuple(reading.address_objects),
        services=tuple(reading.service_objects), groups=tuple(reading.groups), schedules=tuple(reading.schedules),
        ignored=ledger.ignored_lines, unparsed=ledger.unparsed_lines,
    )  # fmt: skip


def _line(reading: _Reading, ledger: LineLedger, line: Line, words: list[str]) -> None:
    with ledger.booking(line):
        if words[0] == "define":
            _define(reading, line, words)
        else:
            _rule(reading, line, words)


def _pairs(words: list[str]) -> dict[str, str]:
    """`name value name value`. Raises NotUnderstood when one has no value."""
    if len(words) % 2:
        raise NotUnderstood(f"{words[-1][:40]!r} has no value")
    return {words[at]: words[at + 1] for at in range(0, len(words), 2)}


def _define(reading: _Reading, line: Line, words: list[str]) -> None:
    """Raises NotUnderstood."""
    kind = words[1] if len(words) > 3 and words[2] == "add" else ""
    fields = _pairs(words[3:])
    name = fields.get("name", "")
    if kind in ("host", "subnet", "range") and name:
        value = _addresses(kind, fields)
        reading.addresses.add(name, value)
        reading.address_objects.append(AddressObject(name, value, lines=(line.number,), text=line.text))
    elif kind == "service" and name:
        service = _service(fields)
        reading.services.add(name, (service,))
        reading.service_objects.append(ServiceObject(name, (service,), (line.number,)))
    elif kind in ("group_address", "group_service") and name:
        members = fields.get("member", "").split()
        table: NameTable[AddressSet] | NameTable[Services] = reading.addresses if kind == "group_address" else reading.services
        table.define(name)
        for member in members:
            table.refer(name, member)
        reading.groups.append(
            ObjectGroup(name, "network" if kind == "group_address" else "service", tuple(members), (line.number,))
        )
    elif kind == "schedule" and name:
        rest = " ".join(f"{key} {value}" for key, value in fields.items() if key != "name")
        reading.schedules.append(Schedule(name, rest, lines=(line.number,)))
    else:
        raise NotUnderstood(NOT_UNDERSTOOD)


def _addresses(kind: str, fields: dict[str, str]) -> AddressSet:
    """Raises NotUnderstood."""
    if kind == "host":
        parts = [address(text) for text in fields.get("ipaddr", "").split()]
    elif kind == "subnet":
        parts = [masked_set(fields.get("ipaddr", ""), fields.get("mask", ""))]
    else:
        parts = [range_set(fields.get("ip1", ""), fields.get("ip2", ""))]
    found = [part for part in parts if part is not None]
    if not found or len(found) != len(parts):
        raise NotUnderstood("an object without a readable address")
    return AddressSet().union(*found)


def _service(fields: dict[str, str]) -> Service:
    """Raises NotUnderstood."""
    protocol = number_in(fields.get("protocol", ""), 0, MAX_PROTOCOL, "a protocol")
    if "port" not in fields:
        return Service.of(protocol)
    low = number_in(fields["port"], 0, MAX_PORT, "a port")
    high = number_in(fields.get("port2", fields["port"]), 0, MAX_PORT, "a port")
    if low > high:
        raise NotUnderstood(f"{low}-{high} is not a range of ports")
    return Service.of(protocol, ((low, high),))


def _rule(reading: _Reading, line: Line, words: list[str]) -> None:
    """Raises NotUnderstood."""
    at = Words(words)
    name = f"line {line.number}"
    if at.accept("id"):
        name = at.next("an ID")
    if [at.next("a command") for _ in range(3)] != ["firewall", "policy", "add"]:
        raise NotUnderstood(NOT_UNDERSTOOD)
    fields = _pairs(words[at.at :])
    action = ACTIONS.get(fields.pop("action", ""))
    if action is None:
        raise NotUnderstood("a rule has no action")
    unresolved: list[str] = []
    references: list[str] = []
    source, destination = (_side(reading, fields.pop(side, "any"), unresolved, references) for side in ("src", "dst"))
    services = _services(reading, fields.pop("service", "any"), unresolved, references)
    zones = [tuple(fields.pop(area, "").split()) for area in ZONES]
    vsid, is_enabled, log, comment = (
        fields.pop("vsid", "0"),
        fields.pop("enable", "yes"),
        fields.pop("log", ""),
        fields.pop("comment", ""),
    )
    conditions = tuple(f"{key} {value.strip()}" for key, value in fields.items())
    match = Match(source, destination, services, zones[0], zones[1], None, conditions, tuple(dict.fromkeys(unresolved)))
    rule = Rule(
        name, action, match, (line.number,), line.text[:400], is_enabled != "no", {"on": True, "off": False}.get(log), comment,
        fields.get("schedule", "").strip(), references=tuple(dict.fromkeys(references)),
    )  # fmt: skip
    reading.rules.setdefault(vsid, []).append(rule)


def _side(reading: _Reading, text: str, unresolved: list[str], references: list[str]) -> AddressSet:
    known: list[AddressSet] = []
    names: list[str] = []
    for word in text.split():
        found = ANY if word == "any" else address(word)
        if found is None:
            references.append(word)
            resolved = reading.addresses.resolve(word)
            names += resolved.unresolved
            found = resolved.value
        known.append(found)
    unresolved.extend(names)
    return ANY if names or not known else AddressSet().union(*known)


def _services(reading: _Reading, text: str, unresolved: list[str], references: list[str]) -> Services:
    found: list[Service] = []
    names: list[str] = []
    for word in text.split():
        if word in reading.services or word.lower() not in PREDEFINED:
            references.append(word)
            resolved = reading.services.resolve(word)
            names += resolved.unresolved
            found += resolved.value
        else:
            found += PREDEFINED[word.lower()]
    unresolved.extend(names)
    return (ANY_SERVICE,) if names or not found or ANY_SERVICE in found else tuple(dict.fromkeys(found))
