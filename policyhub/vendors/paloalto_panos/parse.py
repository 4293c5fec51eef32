"""PAN-OS and Panorama configurations in all their forms into the domain model."""

from __future__ import annotations

import re
from itertools import islice

from policyhub.domain.device_config import DeviceConfig
from policyhub.vendorkit.blocks import Line, read_lines
from policyhub.vendorkit.ledger import MAX_LINE
from policyhub.vendorkit.lexing import score
from policyhub.vendorkit.rendering import is_prompt
from policyhub.vendors.paloalto_panos import evaluation, network, qos
from policyhub.vendors.paloalto_panos.brace_form import read_braces
from policyhub.vendors.paloalto_panos.nat import read_nat
from policyhub.vendors.paloalto_panos.objects import read_objects
from policyhub.vendors.paloalto_panos.operands import Operands
from policyhub.vendors.paloalto_panos.reading import IGNORED, Reading
from policyhub.vendors.paloalto_panos.rules import read_policies
from policyhub.vendors.paloalto_panos.running import read_running
from policyhub.vendors.paloalto_panos.set_form import read_set
from policyhub.vendors.paloalto_panos.structure import walk
from policyhub.vendors.paloalto_panos.tree import Node
from policyhub.vendors.paloalto_panos.xml_form import read_xml

NAME = "paloalto_panos"
SIGNS = (
    (r'<config [^>]*urldb="', 0.9),
    (r"<response [^>]*status=", 0.2),
    (r"<rule-hit-count>", 0.9),
    (r"<(?:pre-|post-)?rulebase>|<(?:device-group|vsys|mgt-config)>", 0.4),
    (r'<entry name="[^"]*"', 0.3),
    (r"<member>", 0.2),
    (r"^[!#]RANCID-CONTENT-TYPE: paloalto", 0.9),
    (r"^set (deviceconfig|mgt-config|device-group|template|template-stack) ", 0.6),
    (r"^set (shared |vsys \S+ |device-group \S+ |policy panorama )?(pre-|post-)?rulebase \S+ rules ", 0.8),
    (r"^set (shared |vsys \S+ |device-group \S+ )?(address|address-group|service|service-group|zone|schedule) ", 0.2),
    (r"^set (shared |vsys \S+ |device-group \S+ )?address \S+ (ip-netmask|ip-range|ip-wildcard|fqdn) ", 0.4),
    (r"^set (shared |vsys \S+ |device-group \S+ )?(schedule \S+ schedule-type|service \S+ protocol|zone \S+ network) ", 0.6),
    (r"^set (shared |vsys \S+ |device-group \S+ )?address-group \S+ (static|dynamic filter) ", 0.6),
    (r"^set network (interface|virtual-router|qos|profiles|logical-router) ", 0.6),
    (r"^[ \t]*(deviceconfig|mgt-config|localhost\.localdomain|ip-netmask [\d.]+.*;|(pre-|post-)?rulebase) ?\{?", 0.3),
    (r"^config \{\s*$", 0.3),
    (r"^[ \t]*application/service ", 0.9),
    (r"^[ \t]*translate-to \"|^[ \t]*nat-type ipv4;", 0.6),
    (r"^show rule-hit-count |^Rule Name +.*(Rule usage|Hit [Cc]ount)", 0.9),
    (r",(?:TRAFFIC|THREAT),(?:start|end|drop|deny),", 0.7),
    (r"^set (system|security policies|interfaces|groups|routing-options|firewall family) ", -0.9),
    (r"^(system|interfaces|security|firewall|table .*) \{", -0.6),
)
XML_START = re.compile(r"^\s{0,40}<[?!A-Za-z]", re.MULTILINE)
SET_START = re.compile(r"^\s{0,40}(?:set|delete|move|rename) \S", re.MULTILINE)
BRACE_START = re.compile(r"^[^<\n]{0,400}\{\s{0,9}$|^[^<\n]{0,400};\s{0,9}$", re.MULTILINE)

FIRST_PART = 100_000  # characters; a form that shows there needs no search in the rest
LONGEST_LIST = 1_000_000  # a group of thousands of members is one line
TRAILER = re.compile(r"^(?:\[edit\]|dynamic url: \w+|pol objs matched)$")


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def is_comment(text: str) -> bool:
    return text.startswith(("#", "!"))


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    reading = Reading(lines)
    root = _tree(reading)
    walk(reading, root)
    _device_groups(reading)
    objects = read_objects(reading)
    operands = Operands(reading)
    policies = read_policies(operands)
    nat_rules = read_nat(operands)
    running, running_nat = read_running(reading)
    policies += running
    nat_rules += running_nat
    qos_policies = qos.finished(reading)
    interfaces, zones, routes = network.finished(reading)
    reading.settle_left()
    reading.ledger.settle_lines(lines, IGNORED, is_comment)
    return DeviceConfig(
        platform=NAME,
        hostname=reading.hostname,
        lines=len(lines),
        policies=tuple(policies),
        qos_policies=qos_policies,
        interfaces=interfaces,
        addresses=tuple(objects.addresses),
        services=tuple(objects.services),
        groups=tuple(objects.groups),
        zones=zones,
        schedules=tuple(objects.schedules),
        ignored=reading.ledger.ignored_lines,
        unparsed=reading.ledger.unparsed_lines,
        nat_rules=tuple(nat_rules),
        routes=routes,
        evaluation=evaluation.stages(reading, policies, nat_rules),
        managed_by=reading.manager,
        version=reading.version,
        special=reading.ledger.special_lines,
    )


def _tree(reading: Reading) -> Node:
    """The form is told by what comes first: a tag, a `set` line, or a brace."""
    plain = "\n".join(reading.lines.texts())
    form = _form(plain[:FIRST_PART]) or _form(plain) or "set"
    if form == "xml":
        return _xml(reading, plain)
    kept = []
    for line in reading.lines:
        if not line.text or is_comment(line.text):
            continue
        if form == "set" and len(line.text) > (LONGEST_LIST if line.text.startswith("set ") else MAX_LINE):
            reading.ledger.unparsed(line, "the line is too long to be configuration")
            continue
        if is_prompt(line.text) or TRAILER.match(line.text):
            reading.ledger.understood(line.number)
        else:
            kept.append(line)
    return _set(reading, kept) if form == "set" else _braces(reading, kept)


def _form(text: str) -> str:
    starts = [(found.start(), form) for form, pattern in _FORMS if (found := pattern.search(text))]
    return min(starts)[1] if starts else ""


_FORMS = (("xml", XML_START), ("set", SET_START), ("brace", BRACE_START))


def _xml(reading: Reading, plain: str) -> Node:
    found = read_xml(plain)
    reading.version = found.version
    ledger = reading.ledger
    ledger.understood(*found.passed)
    for number in found.stray:
        reading.complain_line(number, "text between elements")
    last = len(reading.lines)
    if found.broken is not None:
        line, reason = found.broken
        last = line
        reading.complain_line(min(line, len(reading.lines)), reason)
        for behind in reading.lines[line:]:
            if behind.text:
                ledger.unparsed(behind, f"behind the break of the XML in line {line}")
    texts = islice(enumerate(reading.lines.texts(), 1), last)
    ledger.understood(*[number for number, text in texts if text[:1] not in ("<", "") and is_prompt(text)])
    return found.root


def _set(reading: Reading, lines: list[Line]) -> Node:
    found = read_set(lines)
    reading.ledger.understood(*found.understood)
    for line, reason in found.odd:
        reading.ledger.unparsed(line, reason)
    return found.root


def _braces(reading: Reading, lines: list[Line]) -> Node:
    found = read_braces(lines)
    for line, reason in found.odd:
        reading.ledger.unparsed(line, reason)
    return found.root


def _device_groups(reading: Reading) -> None:
    """Who is above whom; a parent that is not in the text is the shared scope."""
    for name, scope in reading.groups.items():
        parent = reading.groups.get(reading.parents.get(name, ""))
        scope.above = parent if parent is not None else reading.shared
