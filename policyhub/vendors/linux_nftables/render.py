"""Guard as an own nftables table: nothing outside `table inet phg_<name>` is ever named in a command.

The lines are shell commands. They use double quotes only, so that a watchdog can hold them inside single quotes.
Source: nft(8) 1.0.6; every form here is run on a real kernel by tests/vendors/linux_nftables/test_kernel.py.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

from policyhub.domain.change import Commands, GuardSpec, GuardState
from policyhub.domain.errors import CannotRender
from policyhub.domain.message import gettext_noop
from policyhub.vendorkit.rendering import burst_bytes, digest, member_network, refuse_damaged, refuse_overlap
from policyhub.vendors.linux_nftables.ownership import OwnTable, canonical, read_own, split, table_name, without_dynamic

RULESET = "nft -s list ruleset"
COUNTERS = "nft list counters"
INTERFACE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.@:-]{0,14}$")  # IFNAMSIZ; nothing that a shell or nft could read as its own
HOOK = "type filter hook prerouting priority mangle; policy accept;"
FAMILIES = {4: ("m4", "ipv4_addr", "ip"), 6: ("m6", "ipv6_addr", "ip6")}


def reads(spec: GuardSpec) -> tuple[str, ...]:
    return (RULESET, COUNTERS)


def install(spec: GuardSpec, running: str) -> Commands:
    """The table first, hooked in by its last line. Raises CannotRender when another form of it exists."""
    own = _own(spec, running)
    if own is not None:
        if _faults(spec, own):
            said = gettext_noop("table inet %(table)s exists in another form (%(fault)s). Remove the guard first")
            raise CannotRender.of(said, table=table_name(spec), fault=_faults(spec, own)[0])
        return Commands((), (), reads(spec))
    return Commands(_build(spec), (_drop(spec),), reads(spec))


def remove(spec: GuardSpec, running: str) -> Commands:
    """One line takes the table with all its members; the inverse builds both again."""
    own = _own(spec, running)
    if own is None:
        return Commands((), (), reads(spec))
    members = sorted(own.members, key=lambda text: (":" in text, text))
    return Commands((_drop(spec),), (*_build(spec), *(_element("add", spec, member) for member in members)), reads(spec))


def add_member(spec: GuardSpec, member: str, running: str) -> Commands:
    """Raises CannotRender when the guard is not there as rendered, or the member overlaps another one."""
    network = member_network(spec, member)
    own = _own(spec, running)
    if own is None:
        said = gettext_noop("guard %(guard)s is not installed (no table inet %(table)s). Install it in a change window")
        raise CannotRender.of(said, guard=spec.name, table=table_name(spec))
    refuse_damaged(spec, _faults(spec, own))
    if str(network) in own.members:
        return Commands((), (), reads(spec))
    refuse_overlap(spec, network, own.members)
    return Commands((_element("add", spec, str(network)),), (_element("delete", spec, str(network)),), reads(spec))


def remove_member(spec: GuardSpec, member: str, running: str) -> Commands:
    """Taking back works on a damaged guard too."""
    network = str(member_network(spec, member))
    own = _own(spec, running)
    if own is None or network not in own.members:
        return Commands((), (), reads(spec))
    return Commands((_element("delete", spec, network),), (_element("add", spec, network),), reads(spec))


def read(spec: GuardSpec, outputs: Mapping[str, str]) -> GuardState:
    """From `nft -s list ruleset` and `nft list counters`."""
    problems = [f"no output of {command!r}" for command in reads(spec) if command not in outputs]
    lines, foreign = split(outputs.get(RULESET, ""), spec)
    counted, _ = split(outputs.get(COUNTERS, ""), spec)
    hits = read_own(counted).hits if counted else None
    own = read_own(lines) if lines is not None else None
    faults = _faults(spec, own) if own else []
    return GuardState(
        installed=own is not None,
        intact=own is not None and not faults,
        members=frozenset(own.members if own else ()),
        foreign_sha256=digest(without_dynamic(foreign)),
        packets=hits[0] if hits else None,
        bytes=hits[1] if hits else None,
        problems=(*problems, *faults),
    )


def owns(line: str, spec: GuardSpec) -> bool:
    """Exactly the lines of install and remove, and one set element at a time."""
    try:
        if line in _build(spec) or line == _drop(spec):
            return True
    except CannotRender:
        return False
    found = re.fullmatch(rf'nft (add|delete) element inet {table_name(spec)} (m[46]) "\{{ ([0-9a-f.:/]+) \}}"', line)
    if found is None:
        return False
    try:
        network = member_network(spec, found[3])
    except CannotRender:
        return False
    return str(network) == found[3] and FAMILIES[network.version][0] == found[2]


def _own(spec: GuardSpec, running: str) -> OwnTable | None:
    lines, _ = split(running, spec)
    return None if lines is None else read_own(lines)


def _faults(spec: GuardSpec, own: OwnTable) -> list[str]:
    """How the table differs from what we write; members do not count."""
    try:
        expected = _expected(spec)
    except CannotRender as refusal:
        return [refusal.message]
    faults = [f"{name} is missing" for name in expected if name not in own.objects]
    faults += [f"{name} is not ours" for name in own.objects if name not in expected]
    faults += [f"{name} was changed" for name, lines in expected.items() if own.objects.get(name, lines) != lines]
    return faults + [f"not understood: {text}" for text in own.odd]


def _element(verb: str, spec: GuardSpec, member: str) -> str:
    name = FAMILIES[ipaddress.ip_network(member).version][0]
    return f'nft {verb} element inet {table_name(spec)} {name} "{{ {member} }}"'


def _drop(spec: GuardSpec) -> str:
    """Adding first makes it succeed when the table is gone already; both run in one transaction."""
    return f'nft "add table inet {table_name(spec)}; delete table inet {table_name(spec)}"'


def _rules(spec: GuardSpec) -> list[str]:
    """Count, meter together, rewrite. Two families share the counter and the meter by name."""
    marks = ", ".join(str(mark) for mark in sorted(spec.marks))
    rules: list[str] = []
    for family in sorted(spec.families):
        name, _, layer = FAMILIES[family]
        match = f"{layer} saddr @{name} {layer} dscp {{ {marks} }}"
        rules.append(f"{match} counter name hits")
        if spec.rate_bps is not None:
            rules.append(f"{match} limit name cap drop")
        rules.append(f"{match} {layer} dscp set {spec.target_dscp}")
    return rules


def _cap(spec: GuardSpec) -> str:
    """nft counts bytes of the packet from its IP header on; its bucket holds one second of rate plus the burst."""
    rate = (spec.rate_bps or 0) // 8
    if rate < 1:
        said = gettext_noop("%(guard)s: a meter of %(rate)d bit/s is below one byte per second. Give a rate or none")
        raise CannotRender.of(said, guard=spec.name, rate=spec.rate_bps)
    return f"rate over {rate} bytes/second burst {burst_bytes(spec.rate_bps or 0)} bytes"


def _jump(spec: GuardSpec) -> str:
    for interface in spec.interfaces:
        if not INTERFACE.match(interface):
            said = gettext_noop("%(interface)r is not the name of a Linux interface. Give it as `ip link` prints it")
            raise CannotRender.of(said, interface=interface)
    return "iifname {{ {} }} jump act".format(", ".join(f'"{name}"' for name in sorted(set(spec.interfaces))))


def _build(spec: GuardSpec) -> tuple[str, ...]:
    if not spec.families or set(spec.families) - FAMILIES.keys():
        said = gettext_noop("%(guard)s: families %(families)s are not 4 and/or 6")
        raise CannotRender.of(said, guard=spec.name, families=str(spec.families))
    table = f"inet {table_name(spec)}"
    lines = [f"nft add table {table}"]
    for family in sorted(spec.families):
        name, kind, _ = FAMILIES[family]
        lines.append(f'nft add set {table} {name} "{{ type {kind}; flags interval; }}"')
    lines.append(f"nft add counter {table} hits")
    if spec.rate_bps is not None:
        lines.append(f'nft add limit {table} cap "{{ {_cap(spec)}; }}"')
    lines.append(f"nft add chain {table} act")
    lines += [f'nft add rule {table} act "{rule}"' for rule in _rules(spec)]
    lines.append(f'nft add chain {table} pre "{{ {HOOK} }}"')
    jump = _jump(spec).replace('"', '\\"')
    lines.append(f'nft add rule {table} pre "{jump}"')
    return tuple(lines)


def _expected(spec: GuardSpec) -> dict[str, tuple[str, ...]]:
    """What `nft list` shows of `_build`, in canonical form."""
    objects: dict[str, tuple[str, ...]] = {"counter hits": ()}
    for family in spec.families:
        name, kind, _ = FAMILIES[family]
        objects[f"set {name}"] = (f"type {kind}", "flags interval")
    if spec.rate_bps is not None:
        objects["limit cap"] = (canonical(_cap(spec)),)
    objects["chain act"] = tuple(canonical(rule) for rule in _rules(spec))
    objects["chain pre"] = (canonical(HOOK), canonical(_jump(spec)))
    return objects
