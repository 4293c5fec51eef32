"""Guard as named ACLs, classifiers, one behavior and one traffic policy, attached last.

Rules get an identifier made from the member itself: the same member always has the same one, and writing it can never fall on
another member's rule (VRP replaces a rule whose number is used again).
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
from collections.abc import Mapping
from importlib.resources import files

from policyhub.domain.change import Commands, GuardSpec, GuardState
from policyhub.domain.errors import CannotRender
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.qos import dscp_name
from policyhub.vendorkit.rendering import Network, digest, is_single_sender, member_network, refuse_damaged, refuse_overlap, words
from policyhub.vendors.huawei_vrp.installed import (
    BLANK,
    BLANK_ID,
    KEYWORD,
    Installed,
    canonical_action,
    canonical_match,
    find,
    foreign_lines,
    object_name,
)
from policyhub.vendors.huawei_vrp.statistics import policy_totals

DIALECT: dict[str, dict[str, str]] = json.loads(files(__package__).joinpath("dialect.json").read_text(encoding="utf-8"))["lines"]
RUNNING = "display current-configuration"
MOST_MARKS = 8  # of one `if-match dscp` line
LEAST_RATE_BPS = 64_000  # `car cir` starts at 64 kbit/s
FIRST_ID, LAST_ID = 1_000, 999_999
INTERFACE = re.compile(r"^(?:[A-Za-z][A-Za-z-]*|\d+G?E|\d+GE)\d[\d/.:]*$")
PRECEDENCES = ("be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7")  # local-precedence 0..7


def reads(spec: GuardSpec) -> tuple[str, ...]:
    return (RUNNING, *(_counters(interface) for interface in spec.interfaces))


TAKEN = gettext_noop("%(interface)s has the inbound policy %(policy)s, which is not ours. Add a classifier there by hand")


def install(spec: GuardSpec, running: str) -> Commands:
    """Raises CannotRender: an interface is unknown or holds another policy, or a part of the guard is there in another form."""
    found = _find(spec, running)
    if found.anything:
        faults = _faults(spec, found)
        if faults:
            said = gettext_noop("%(guard)s exists but is not as installed (%(fault)s). Remove the guard first")
            raise CannotRender.of(said, guard=spec.name, fault=faults[0])
        return Commands((), (), reads(spec))
    interfaces = [found.free_interface(interface, TAKEN) for interface in spec.interfaces]
    return Commands(_build(spec, interfaces, running), _unbuild(spec, interfaces, _parts(spec)), reads(spec))


def remove(spec: GuardSpec, running: str) -> Commands:
    """Takes what is there in reverse order. The inverse of removing a damaged guard is empty: damage is not built again."""
    found = _find(spec, running)
    attached = found.attached(spec)
    inverse: tuple[str, ...] = ()
    if found.anything and not _faults(spec, found):
        inverse = _build(spec, attached, running)
        for member, number in found.members.items():
            network = ipaddress.ip_network(member)
            inverse += (_acl_header(spec, network.version), f" {_rule(number, network)}", "quit")
    return Commands(_unbuild(spec, attached, tuple(found.parts)), inverse, reads(spec))


def add_member(spec: GuardSpec, member: str, running: str) -> Commands:
    """Raises CannotRender when the guard is not there as rendered, or the member overlaps another one."""
    network = member_network(spec, member)
    found = _find(spec, running)
    if not found.anything:
        said = gettext_noop("guard %(guard)s is not installed. Install it in a change window")
        raise CannotRender.of(said, guard=spec.name)
    refuse_damaged(spec, _faults(spec, found))
    if str(network) in found.members:
        return Commands((), (), reads(spec))
    refuse_overlap(spec, network, found.members)
    number = _rule_id(network)
    while number in found.ids[network.version]:
        number += 1
    header = _acl_header(spec, network.version)
    return Commands((header, f" {_rule(number, network)}", "quit"), (header, f" undo rule {number}", "quit"), reads(spec))


def remove_member(spec: GuardSpec, member: str, running: str) -> Commands:
    """Taking back works on a damaged guard too."""
    network = member_network(spec, member)
    number = _find(spec, running).members.get(str(network))
    if number is None:
        return Commands((), (), reads(spec))
    header = _acl_header(spec, network.version)
    return Commands((header, f" undo rule {number}", "quit"), (header, f" {_rule(number, network)}", "quit"), reads(spec))


def read(spec: GuardSpec, outputs: Mapping[str, str]) -> GuardState:
    """From the running configuration and the policy statistics of each interface."""
    problems = [f"no output of {command!r}" for command in reads(spec) if command not in outputs]
    running = outputs.get(RUNNING, "")
    found = find(spec, running)
    faults = _faults(spec, found) if found.anything else []
    packets, size = policy_totals(spec.name, [outputs.get(_counters(interface), "") for interface in spec.interfaces])
    return GuardState(
        installed=found.anything,
        intact=found.anything and not faults,
        members=frozenset(found.members),
        foreign_sha256=digest(foreign_lines(running)),
        packets=packets,
        bytes=size,
        problems=(*problems, *faults),
    )


def owns(line: str, spec: GuardSpec) -> bool:
    """Exactly the lines of install and remove, and one rule with a number of ours at a time."""
    text = words(line)
    try:
        if text.lower() in {words(known).lower() for known in _vocabulary(spec)}:
            return True
    except CannotRender:
        return False
    undo = re.fullmatch(r"undo rule (\d{1,10})", text)
    if undo:
        return int(undo[1]) != BLANK_ID
    found = re.fullmatch(r"rule (\d{1,10}) permit (?:ip source ([\d.]+ [\d.]+)|ipv6 source ([0-9A-Fa-f:.]+/\d+))", text)
    return found is not None and int(found[1]) != BLANK_ID and is_single_sender(spec, found[2] or found[3])


def _vocabulary(spec: GuardSpec) -> tuple[str, ...]:
    spellings = [line for choice in DIALECT.values() for line in choice.values()]
    return (*_build(spec, spec.interfaces, ""), *_unbuild(spec, spec.interfaces, _parts(spec)), *spellings)


def _counters(interface: str) -> str:
    return f"display traffic policy statistics interface {interface} inbound"


def _find(spec: GuardSpec, running: str) -> Installed:
    found = find(spec, running)
    if found.two_stage:
        said = gettext_noop(
            "this device activates by commit (CloudEngine or NE); this version pushes to S series only. Do it by hand"
        )
        raise CannotRender(Message(said))
    return found


def _faults(spec: GuardSpec, found: Installed) -> list[str]:
    return found.faults(spec, _expected(spec), "rule")


def _parts(spec: GuardSpec) -> tuple[str, ...]:
    classifiers = [f"classifier{family}" for family in spec.families]
    return ("policy", "behavior", *classifiers, *(f"acl{family}" for family in spec.families))


def _acl_header(spec: GuardSpec, family: int) -> str:
    return f"acl{' ipv6' if family == 6 else ''} name {object_name(spec, family)} {DIALECT['acl_kind']['default']}"


def _rule_id(network: Network) -> int:
    number = int.from_bytes(hashlib.sha256(str(network).encode()).digest()[:8], "big")
    return FIRST_ID + number % (LAST_ID - FIRST_ID + 1)


def _rule(number: int, network: Network) -> str:
    if isinstance(network, ipaddress.IPv6Network):
        return f"rule {number} permit ipv6 source {network}"
    wildcard = "0" if network.prefixlen == network.max_prefixlen else str(network.hostmask)
    return f"rule {number} permit ip source {network.network_address} {wildcard}"


def _classifier(spec: GuardSpec, family: int) -> tuple[str, ...]:
    name = object_name(spec, family)
    marks = " ".join(str(mark) for mark in sorted(spec.marks))
    acl = f" if-match {'ipv6 ' if family == 6 else ''}acl {name}"
    return (f"traffic classifier {name} operator and", acl, f" if-match dscp {marks}")


def _behavior(spec: GuardSpec, running: str) -> tuple[str, ...]:
    """Mark, queue, meter, count. The queue, because a rewritten DSCP alone leaves the packet where its old mark put it here.

    `car` without a bucket size: the device derives one second of rate.
    """
    lines = [f"traffic behavior {spec.name}", f" remark dscp {_dscp(spec.target_dscp)}"]
    lines.append(f" remark local-precedence {_local_precedence(spec.target_dscp)}")
    if spec.rate_bps is not None:
        lines.append(f" car cir {spec.rate_bps // 1000}")
    choices = DIALECT["statistics"]
    other = choices["other"] in {words(line) for line in running.splitlines()}
    lines.append(f" {choices['other'] if other else choices['default']}")
    return tuple(lines)


def _dscp(value: int) -> str:
    """VRP knows default, csN, afNN and ef by name."""
    name = dscp_name(value).lower()
    return "default" if value == 0 else name if name[:2] in ("cs", "af", "ef") else str(value)


def _local_precedence(target: int) -> str:
    """Default maps put CS1 above best effort; LE and CS1 are meant to be below or equal."""
    return PRECEDENCES[0 if target == 8 else target >> 3]


def _policy(spec: GuardSpec) -> tuple[str, ...]:
    lines = [f" classifier {object_name(spec, family)} behavior {spec.name}" for family in sorted(spec.families)]
    return (f"traffic policy {spec.name}", *lines)


def _check(spec: GuardSpec) -> None:
    if not spec.families or set(spec.families) - KEYWORD.keys():
        said = gettext_noop("%(guard)s: families %(families)s are not 4 and/or 6")
        raise CannotRender.of(said, guard=spec.name, families=str(spec.families))
    if len(spec.marks) > MOST_MARKS:
        said = gettext_noop("%(guard)s: VRP matches at most %(most)d marks in one classifier, not %(marks)d. Use two guards")
        raise CannotRender.of(said, guard=spec.name, most=MOST_MARKS, marks=len(spec.marks))
    if spec.rate_bps is not None and len(spec.families) > 1:
        said = gettext_noop("%(guard)s: one meter over IPv4 and IPv6 together cannot be expressed. Use one guard per family")
        raise CannotRender.of(said, guard=spec.name)
    if spec.rate_bps is not None and (spec.rate_bps < LEAST_RATE_BPS or spec.rate_bps % 1000):
        said = gettext_noop("%(guard)s: VRP polices whole kbit/s from 64 on, not %(rate)d bit/s")
        raise CannotRender.of(said, guard=spec.name, rate=spec.rate_bps)
    for interface in spec.interfaces:
        if not INTERFACE.match(interface):
            said = gettext_noop("%(interface)r is not the name of an interface. Write it as the device prints it")
            raise CannotRender.of(said, interface=interface)


def _build(spec: GuardSpec, interfaces: list[str] | tuple[str, ...], running: str) -> tuple[str, ...]:
    _check(spec)
    views: list[tuple[str, ...]] = []
    for family in sorted(spec.families):
        views.append((_acl_header(spec, family), f" {_rule(BLANK_ID, BLANK[family])}"))
    views += [_classifier(spec, family) for family in sorted(spec.families)]
    views += [_behavior(spec, running), _policy(spec)]
    views += [(f"interface {interface}", f" traffic-policy {spec.name} inbound") for interface in interfaces]
    return tuple(line for view in views for line in (*view, "quit"))


def _unbuild(spec: GuardSpec, interfaces: list[str] | tuple[str, ...], parts: tuple[str, ...]) -> tuple[str, ...]:
    """In reverse order of dependency, or the device answers that the object is used."""
    lines: list[str] = []
    for interface in interfaces:
        lines += [f"interface {interface}", f" undo traffic-policy {spec.name} inbound", "quit"]
    lines += [f"undo traffic {part} {spec.name}" for part in ("policy", "behavior") if part in parts]
    lines += [f"undo traffic classifier {object_name(spec, family)}" for family in (4, 6) if f"classifier{family}" in parts]
    for family in (4, 6):
        if f"acl{family}" in parts:
            lines.append(f"undo acl{' ipv6' if family == 6 else ''} name {object_name(spec, family)}")
    return tuple(lines)


def _expected(spec: GuardSpec) -> dict[str, tuple[str, ...]]:
    """The parts of `_build` in canonical form."""
    parts: dict[str, tuple[str, ...]] = {
        "policy": tuple(words(line) for line in _policy(spec)[1:]),
        "behavior": tuple(sorted(canonical_action(words(line)) for line in _behavior(spec, "")[1:])),
    }
    for family in spec.families:
        parts[f"acl{family}"] = ()
        parts[f"classifier{family}"] = ("and", *sorted(canonical_match(words(line)) for line in _classifier(spec, family)[1:]))
    return parts
