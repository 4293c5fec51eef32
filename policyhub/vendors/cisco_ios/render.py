"""Guard as access lists, class-maps and one policy-map (MQC), attached last.

The lists always hold an entry that matches nobody: what a class does with an empty list differs between platforms.
Members are appended and removed by their content, never by sequence number: classic IOS does not show numbers in the running
configuration and renumbers at reload; the order of members does not matter.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

from policyhub.domain.change import Commands, GuardSpec, GuardState
from policyhub.domain.errors import CannotRender
from policyhub.domain.message import gettext_noop
from policyhub.domain.qos import dscp_name
from policyhub.vendorkit.rendering import (
    Network,
    burst_bytes,
    digest,
    is_single_sender,
    member_network,
    refuse_damaged,
    refuse_overlap,
    words,
)
from policyhub.vendors.cisco_ios.installed import (
    BLANK,
    KEYWORD,
    Installed,
    canonical_match,
    canonical_policy,
    count,
    find,
    foreign_lines,
    object_name,
)

RUNNING = "show running-config"
MOST_MARKS = 8  # of one `match dscp` line; a second line in match-all would never match
LEAST_RATE_BPS, MOST_BURST_BYTES = 8_000, 512_000_000  # ranges of `police cir` and `bc`
INTERFACE = re.compile(r"^[A-Za-z][A-Za-z-]*\d[\d/.:]*$")
HEADERS = {4: "ip access-list extended", 6: "ipv6 access-list"}


def reads(spec: GuardSpec) -> tuple[str, ...]:
    return (RUNNING, *(_counters(interface) for interface in spec.interfaces))


TAKEN = gettext_noop(
    "%(interface)s has the input policy %(policy)s, which is not ours. Add a class there by hand or choose another"
)


def install(spec: GuardSpec, running: str) -> Commands:
    """Raises CannotRender: an interface is unknown or holds another policy, or a part of the guard is there in another form."""
    found = find(spec, running)
    if found.anything:
        faults = _faults(spec, found)
        if faults:
            said = gettext_noop("%(guard)s exists but is not as installed (%(fault)s). Remove the guard first")
            raise CannotRender.of(said, guard=spec.name, fault=faults[0])
        return Commands((), (), reads(spec))
    interfaces = [found.free_interface(interface, TAKEN) for interface in spec.interfaces]
    return Commands(_build(spec, interfaces), _unbuild(spec, interfaces, _parts(spec)), reads(spec))


def remove(spec: GuardSpec, running: str) -> Commands:
    """Takes what is there in reverse order. The inverse of removing a damaged guard is empty: damage is not built again."""
    found = find(spec, running)
    attached = found.attached(spec)
    inverse: tuple[str, ...] = ()
    if found.anything and not _faults(spec, found):
        inverse = _build(spec, attached)
        for member, entry in found.members.items():
            inverse += (_list_header(spec, ipaddress.ip_network(member).version), f" {entry}")
    return Commands(_unbuild(spec, attached, tuple(found.parts)), inverse, reads(spec))


def add_member(spec: GuardSpec, member: str, running: str) -> Commands:
    """Raises CannotRender when the guard is not there as rendered, or the member overlaps another one."""
    network = member_network(spec, member)
    found = find(spec, running)
    if not found.anything:
        said = gettext_noop("guard %(guard)s is not installed. Install it in a change window")
        raise CannotRender.of(said, guard=spec.name)
    refuse_damaged(spec, _faults(spec, found))
    if str(network) in found.members:
        return Commands((), (), reads(spec))
    refuse_overlap(spec, network, found.members)
    header = _list_header(spec, network.version)
    return Commands((header, f" {_entry(network)}"), (header, f" no {_entry(network)}"), reads(spec))


def remove_member(spec: GuardSpec, member: str, running: str) -> Commands:
    """Taking back works on a damaged guard too. The inverse uses the same sequence number where the device shows one."""
    network = member_network(spec, member)
    entry = find(spec, running).members.get(str(network))
    if entry is None:
        return Commands((), (), reads(spec))
    header = _list_header(spec, network.version)
    return Commands((header, f" no {_entry(network)}"), (header, f" {entry}"), reads(spec))


def read(spec: GuardSpec, outputs: Mapping[str, str]) -> GuardState:
    """From the running configuration and `show policy-map interface` of each interface."""
    problems = [f"no output of {command!r}" for command in reads(spec) if command not in outputs]
    running = outputs.get(RUNNING, "")
    found = find(spec, running)
    faults = _faults(spec, found) if found.anything else []
    packets, size = count(spec, [outputs.get(_counters(interface), "") for interface in spec.interfaces])
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
    """Exactly the lines of install and remove, and one entry of our lists at a time."""
    text = words(line)
    try:
        if text.lower() in {words(known).lower() for known in _vocabulary(spec)}:
            return True
    except CannotRender:
        return False
    found = re.fullmatch(r"(?:no |(?:sequence )?\d{1,10} )?permit (ip|ipv6) (host \S+|\S+ \S+|\S+) any", text)
    if found is None:
        return False
    for family in spec.families:
        if found[1] == KEYWORD[family]:
            return is_single_sender(spec, found[2].removeprefix("host "), family)
    return False


def _vocabulary(spec: GuardSpec) -> tuple[str, ...]:
    return (*_build(spec, spec.interfaces), *_unbuild(spec, spec.interfaces, _parts(spec)))


def _counters(interface: str) -> str:
    return f"show policy-map interface {interface} input"


def _faults(spec: GuardSpec, found: Installed) -> list[str]:
    return found.faults(spec, _expected(spec), "entry")


def _parts(spec: GuardSpec) -> tuple[str, ...]:
    return ("policy", *(f"class{family}" for family in spec.families), *(f"acl{family}" for family in spec.families))


def _list_header(spec: GuardSpec, family: int) -> str:
    return f"{HEADERS[family]} {object_name(spec, family)}"


def _entry(network: Network, action: str = "permit") -> str:
    if network.prefixlen == network.max_prefixlen:
        source = f"host {network.network_address}"
    elif isinstance(network, ipaddress.IPv4Network):
        source = f"{network.network_address} {network.hostmask}"
    else:
        source = str(network)
    return f"{action} {KEYWORD[network.version]} {source} any"


def _class(spec: GuardSpec, family: int) -> tuple[str, ...]:
    name = object_name(spec, family)
    marks = " ".join(str(mark) for mark in sorted(spec.marks))
    return (f"class-map match-all {name}", f" match access-group name {name}", f" match dscp {marks}")


def _dscp(value: int) -> str:
    """IOS knows default, csN, afNN and ef by name."""
    name = dscp_name(value).lower()
    return "default" if value == 0 else name if name[:2] in ("cs", "af", "ef") else str(value)


def _policy(spec: GuardSpec) -> tuple[str, ...]:
    lines = [f"policy-map {spec.name}"]
    for family in sorted(spec.families):
        lines.append(f" class {object_name(spec, family)}")
        lines.append(f"  set dscp {_dscp(spec.target_dscp)}")
        if spec.rate_bps is not None:
            burst = min(burst_bytes(spec.rate_bps), MOST_BURST_BYTES)
            lines.append(f"  police cir {spec.rate_bps} bc {burst} conform-action transmit exceed-action drop")
    return tuple(lines)


def _check(spec: GuardSpec) -> None:
    if not spec.families or set(spec.families) - KEYWORD.keys():
        said = gettext_noop("%(guard)s: families %(families)s are not 4 and/or 6")
        raise CannotRender.of(said, guard=spec.name, families=str(spec.families))
    if len(spec.marks) > MOST_MARKS:
        said = gettext_noop("%(guard)s: IOS matches at most %(most)d marks in one class, not %(marks)d. Use two guards")
        raise CannotRender.of(said, guard=spec.name, most=MOST_MARKS, marks=len(spec.marks))
    if spec.rate_bps is not None and len(spec.families) > 1:
        said = gettext_noop("%(guard)s: one meter over IPv4 and IPv6 together cannot be expressed. Use one guard per family")
        raise CannotRender.of(said, guard=spec.name)
    if spec.rate_bps is not None and spec.rate_bps < LEAST_RATE_BPS:
        said = gettext_noop("%(guard)s: IOS polices at least %(least)d bit/s, not %(rate)d")
        raise CannotRender.of(said, guard=spec.name, least=LEAST_RATE_BPS, rate=spec.rate_bps)
    for interface in spec.interfaces:
        if not INTERFACE.match(interface):
            said = gettext_noop("%(interface)r is not the name of an interface. Write it as the device prints it")
            raise CannotRender.of(said, interface=interface)


def _build(spec: GuardSpec, interfaces: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    _check(spec)
    lines: list[str] = []
    for family in sorted(spec.families):
        lines += [_list_header(spec, family), f" {_entry(BLANK[family], 'deny')}"]
    for family in sorted(spec.families):
        lines += _class(spec, family)
    lines += _policy(spec)
    for interface in interfaces:
        lines += [f"interface {interface}", f" service-policy input {spec.name}"]
    return tuple(lines)


def _unbuild(spec: GuardSpec, interfaces: list[str] | tuple[str, ...], parts: tuple[str, ...]) -> tuple[str, ...]:
    """In reverse order of dependency, or the device answers "in use"."""
    lines: list[str] = []
    for interface in interfaces:
        lines += [f"interface {interface}", f" no service-policy input {spec.name}"]
    if "policy" in parts:
        lines.append(f"no policy-map {spec.name}")
    lines += [f"no class-map match-all {object_name(spec, family)}" for family in (4, 6) if f"class{family}" in parts]
    lines += [f"no {_list_header(spec, family)}" for family in (4, 6) if f"acl{family}" in parts]
    return tuple(lines)


def _expected(spec: GuardSpec) -> dict[str, tuple[str, ...]]:
    """The parts of `_build` in canonical form."""
    policy = _policy(spec)
    parts: dict[str, tuple[str, ...]] = {"policy": (policy[0], *canonical_policy(policy[1:]))}
    for family in spec.families:
        lines = _class(spec, family)
        parts[f"acl{family}"] = ()
        parts[f"class{family}"] = (lines[0], *sorted(canonical_match(words(line)) for line in lines[1:]))
    return parts
