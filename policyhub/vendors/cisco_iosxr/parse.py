"""Running configuration and `show access-lists` of Cisco IOS-XR into the domain model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.evaluation import Stage, StageKind
from policyhub.domain.rules import UNDEFINED_PERMITS, Action, Policy
from policyhub.vendorkit.blocks import Block, Line, read_blocks, read_lines
from policyhub.vendorkit.ios_acl import ENTRY
from policyhub.vendorkit.ios_groups import read_group
from policyhub.vendorkit.ios_lines import excuse_paths, note_selectors, static_route, without_banners
from policyhub.vendorkit.ios_mqc import qos_policies
from policyhub.vendorkit.ios_pfc import read_pfc
from policyhub.vendorkit.ios_ports import Port, read_interface
from policyhub.vendorkit.ios_reading import (
    Gaps,
    IosReading,
    collect,
    dispatch,
    list_policies,
    read_class_map,
    read_policy_map,
    remove_list,
    take_direction,
)
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD, IgnoreList, LineLedger, is_sensitive
from policyhub.vendorkit.lexing import NotUnderstood, Words, score
from policyhub.vendors.cisco_iosxr import management, qos
from policyhub.vendors.cisco_iosxr.reading import ACL, NAMES, PACKAGE, SPEEDS, Reading

NAME = "cisco_iosxr"
IGNORED = IgnoreList.of(PACKAGE)
GAPS = Gaps(
    None,
    "empty: what the device does is not documented",
    Action.PERMIT,
    UNDEFINED_PERMITS,
)
IPV6_NOTE = "the device permits nd-na and nd-ns before the final deny"
COMMON_NOTE = "common list: what nothing matches is asked of the interface's own list"
SIGNS = (
    (r"^!! IOS XR Configuration", 0.9),
    (r"^!RANCID-CONTENT-TYPE: cisco-xr", 0.9),
    (r"^RP/\d+/\w+/CPU\d+:", 0.8),
    (r"^ipv4 access-list \S+", 0.6),
    (r"^[ \t]+ipv4 (?:address|access-group|unnumbered) ", 0.6),
    (r"^[ \t]*end-(?:policy-map|class-map|policy|set)[ \t\r]*$", 0.6),
    (r"^(?:route-policy|prefix-set|community-set|as-path-set) \S+[ \t\r]*$", 0.5),
    (r"^router static[ \t\r]*\n", 0.4),
    (r"^object-group (?:network ipv[46]|port) \S+", 0.5),
    (r"^interface (?:preconfigure )?(?:\w+GigE|Bundle-[Ee]ther|MgmtEth)\d", 0.4),
    (r"^lpts pifib|^ethernet-services access-list", 0.6),
    (r"\(\d+ hw match(?:es)?\)", 0.5),
    (r"^configure exclusive|^commit show-error", 0.4),
    (r"^!Command: |^feature \S+|^! device: .*EOS-|^ip access-list |^boot-start-marker", -1.0),
)
HEADER = re.compile(r"^(?P<kind>ipv4|ipv6|ethernet-services) access-list (?P<name>\S+)$")
REMOVED = re.compile(r"^no (?P<kind>ipv4|ipv6|ethernet-services) access-list (?P<name>\S+)$")
GROUP = re.compile(r"^object-group (?:network ipv[46]|(?P<port>port)) (?P<name>\S+)$")
FAMILY = {"ipv4": 4, "ipv6": 6, "ethernet-services": 0}
SETS = "prefix|community|as-path|extcommunity|large-community|rd|ospf-area|tag|mac|etag"
RPL = re.compile(rf"^(?:route-policy|(?:{SETS})-set) \S|^policy-global$")
RPL_TEXT = re.compile(
    r"^(?:end-|[!#(\d]|(?:if|elseif|else|endif|set|pass|drop|done|apply|delete|prepend|suppress|unsuppress|ios-regex|dfa-regex|private)\b)"
)
RPL_END = re.compile(r"^end-(?:policy|set|global)$")
VERSION = re.compile(r"^!! IOS XR Configuration (?:version = )?(?P<version>[\w.]+)")
LIST_OPTIONS = ("hardware-count", "interface-statistics")


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    reading = Reading(mqc_syntax=qos.SYNTAX)
    lines = read_lines(text)
    for line in lines[:50]:
        found = VERSION.match(line.text[:300])
        reading.version = reading.version or (found["version"] if found else "")
    kept = without_banners(reading.ledger, reading.ledger.without_long(lines))
    last = max((line.number for line in lines if RPL_END.match(line.text)), default=0)
    blocks = read_blocks(_without_rpl(reading.ledger, kept, last), lambda line: line.startswith(("!", "#")), adopts)
    for block in blocks:
        dispatch(reading, block, IGNORED, _handler, _note_users)
    policies = [*list_policies(reading, ACL, GAPS, IPV6_NOTE), *reading.policies]
    found_qos = [*qos_policies(reading.mqc), *reading.lpts]
    excuse_paths(reading.ledger, blocks, IGNORED)
    reading.ledger.settle(blocks, IGNORED, _reason)
    return replace(
        reading.config(NAME, len(lines), _commons(reading, policies), found_qos),
        losslessness=qos.losslessness(reading),
        evaluation=tuple(reading.stages),
    )


def _reason(text: str) -> str:
    if text.startswith("apply-group"):
        return "what a configuration group adds is not modelled"
    return "a command, not configuration" if text.startswith("no ") else NOT_UNDERSTOOD


def adopts(parent: str, child: str) -> bool:
    """Entries of an access list that lost their indentation."""
    return HEADER.match(parent) is not None and ENTRY.match(child) is not None and not child.startswith("no ")


def _without_rpl(ledger: LineLedger, lines: Iterable[Line], last: int) -> Iterator[Line]:
    """Route policies and their sets are texts of their own, from the header to `end-policy` or `end-set`.

    last: number of the last line that ends one.
    """
    header = ""
    for line in lines:
        if header and line.text and line.indent == 0 and not RPL_TEXT.match(line.text):
            header = ""  # a text that never ended
        if not header and line.indent == 0 and line.number < last and RPL.match(line.text):
            header = line.text
        if not header:
            yield line
            continue
        if line.text and not line.text.startswith(("!", "#")):
            path = line.text if line.text == header else f"{header}\n{line.text}"
            _book_rpl(ledger, line, path)
        if RPL_END.match(line.text):
            header = ""


def _book_rpl(ledger: LineLedger, line: Line, path: str) -> None:
    if not is_sensitive(line.text):
        ledger.ignore(line)
    elif IGNORED.excuses(path):
        ledger.excuse(line.number)
    else:
        ledger.unparsed(line, "not a line of a route policy")


def _commons(reading: Reading, policies: list[Policy]) -> list[Policy]:
    """A list that is asked in front of an interface's own decides nothing for what it does not match."""
    commons = {stage.policies[0] for stage in reading.stages}
    return [
        replace(policy, default=None, notes=(*policy.notes, COMMON_NOTE)) if policy.name in commons and policy.family else policy
        for policy in policies
    ]


def _note_users(reading: Reading, block: Block) -> None:
    """Lists that routing protocols and others pick addresses with."""
    note_selectors(reading.selectors, block)
    for below in block.walk():
        words = below.words
        if words[0] == "distribute-list" and len(words) > 1:
            reading.selectors.add(words[1])
        for at, word in enumerate(words[:-1]):
            if word in ("access-list", "advertise-to", "accept-from", "access-group"):
                reading.selectors.add(words[at + 1])


def _handler(words: list[str]) -> Callable[[Reading, Block], None] | None:
    first, second = words[0], words[1] if len(words) > 1 else ""
    if first in FAMILY and second == "access-list":
        return _list
    if first == "no" and words[2:3] == ["access-list"]:
        return _removed
    if first == "router" and second == "static":
        return _static
    if first in ("ssh", "telnet", "http", "xml") and any(word in ("access-list", "access-group") for word in words):
        return management.read_server
    return HANDLERS.get(first)


def _list(reading: Reading, block: Block) -> None:
    header = HEADER.match(block.text)
    if header is None:
        raise NotUnderstood("not an access list that is modelled")
    family = FAMILY[header["kind"]]
    form = {0: "mac", 6: "ipv6"}.get(family, "extended")
    collect(reading, (family, header["name"]), form, block)


def _removed(reading: Reading, block: Block) -> None:
    remove_list(reading, REMOVED.match(block.text), FAMILY)


def _group(reading: Reading, block: Block) -> None:
    header = GROUP.match(block.text)
    if header is None:
        raise NotUnderstood("only groups of networks and ports are modelled")
    read_group(reading.groups, reading.ledger, NAMES, "service" if header["port"] else "network", header["name"], block)


def _interface(reading: Reading, block: Block) -> None:
    read_interface(reading, block, _port_line, SPEEDS)


def _port_line(reading: IosReading, port: Port, child: Block) -> bool:
    assert isinstance(reading, Reading)
    words = Words(child.words)
    first = words.next().lower()
    if first in FAMILY and words.accept("access-group"):
        _access_group(reading, FAMILY[first], port, words, child)
        return True
    if first == "service-policy" and child.words[1:3] != ["type", "control"]:
        qos.read_service_policy(reading, port.name, child)
        return True
    return read_pfc(reading, port.name, child)


def _access_group(reading: Reading, family: int, port: Port, words: Words, child: Block) -> None:
    """`X ingress|egress [hardware-count] ..`, `common C [X] ingress`."""
    names = []
    if words.accept("common"):
        names.append(words.next("an access list"))
    if words.peek().lower() not in ("ingress", "egress"):
        names.append(words.next("an access list"))
    direction = take_direction(words)
    while words:
        if words.accept("compress"):
            words.accept("level")
            words.next("a level")
        elif not words.accept(*LIST_OPTIONS):
            words.end()
    for name in names:
        reading.bind(family, name, port.name, direction, child.number)
    if len(names) > 1:
        reading.stages.append(Stage(StageKind.FILTER, tuple(names), note=f"{port.name} {direction}"))


def _static(reading: Reading, block: Block) -> None:
    """`router static / [vrf V /] address-family ipv4 unicast / PREFIX ..`."""
    vrf = ""
    for child in block.below():
        words = Words(child.words)
        if child in block.children:
            vrf = ""
        try:
            if words.accept("vrf"):
                vrf = words.next("a vrf")
            elif not words.accept("address-family"):
                reading.routes.append(static_route(words, vrf, (child.number,)))
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            if not IGNORED.takes(child.text):
                reading.ledger.unparsed(child.line, str(reason))


def _hostname(reading: Reading, block: Block) -> None:
    reading.hostname = Words(block.words, 1).next("a name")


def _pfc(reading: Reading, block: Block) -> None:
    if not read_pfc(reading, "", block):
        raise NotUnderstood(NOT_UNDERSTOOD)


def _flowspec(reading: Reading, block: Block) -> None:
    for child in block.below():
        if child.words[0] == "service-policy":
            with reading.ledger.booking(child.line):
                qos.read_service_policy(reading, "flowspec", child)


def _end(reading: Reading, block: Block) -> None:
    """The end of a map, at the margin; what is indented below it belongs to nobody."""
    for child in block.children:
        dispatch(reading, child, IGNORED, _handler, _note_users)


HANDLERS: dict[str, Callable[[Reading, Block], None]] = {
    "object-group": _group,
    "interface": _interface,
    "class-map": read_class_map,
    "policy-map": read_policy_map,
    "control-plane": management.read_control_plane,
    "line": management.read_line,
    "ntp": management.read_ntp,
    "snmp-server": management.read_snmp,
    "flowspec": _flowspec,
    "lpts": qos.read_lpts,
    "end-policy-map": _end,
    "end-class-map": _end,
    "hw-module": qos.read_pauses,
    "priority-flow-control": _pfc,
    "hostname": _hostname,
}
