"""The last look at a plan before it may leave: an allow list by the guard's own names, and a deny list that always holds.

Reasons: a renderer with a bug, a plan edited in the database, an error sentence pushed as configuration
(nautobot-app-golden-config#906), an inverse that removes an interface (measured with hier_config).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from policyhub.domain.change import ChangeKind, Commands, GuardSpec
from policyhub.domain.errors import PlanRefused
from policyhub.domain.message import Message, gettext_noop

_DENIED = re.compile(
    r"""(?ix)^\s*(?:
      (?:no|undo|default|clear|delete)\s+interface | default\s+interface
    | (?:no|undo)\s+(?:vlan|aaa|username|user|ip\s+route|ip\s+address|route|router|vrf|ip\s+vpn-instance|ssh|stelnet|rsa|crypto)\b
    | (?:undo\s+)?shutdown\b | no\s+shutdown\b
    | reload | reboot | reset\s+saved | erase | format | delete\s+flash | squeeze
    | write\b | copy\b | save\b | commit\s+confirmed | configure\s+replace | rollback
    | line\s+(?:vty|con) | user-interface | enable\s+secret | aaa\b | username\b | local-user\b | super\s+password
    | hostname\b | sysname\b | prompt\b | banner\b
    | vrf\b | ip\s+vpn-instance | ip\s+route | router\b | bgp\b | ospf\b | snmp | ssh\b | stelnet\b
    | rm\b | ip\s+link | ip\s+addr | iptables | systemctl | kill | dd\b | mkfs
    )
    | \bflush\s+ruleset\b | \bflush\s+(?:table|chain)\b | \bnft\s+-f\b | \bpolicy\s+drop\b
    """
)
# Interactive questions break the dialogue (netmiko#2476); several commands in one line escape the allow list.
_SHAPE = re.compile(r"[\r\n\0\x1b\x7f`]|\$\(|&&|\|\||[<>]|\?\s*$")
_LEAVING = frozenset({"quit", "exit", "!", "#"})
PLACES = {
    "plan": gettext_noop("plan line %(number)d %(line)r"),
    "inverse": gettext_noop("inverse line %(number)d %(line)r"),
}
EXTRA_LINES_PER_INTERFACE = 3
MOST_CHARACTERS = 400  # a terminal of 511 columns still echoes it in one piece


@dataclass(frozen=True, slots=True)
class Limits:
    """max_lines: lines that configure something; leaving a view does not count. reads_allowed: full-match expressions."""

    max_lines: int
    snapshot_command: str
    reads_allowed: tuple[str, ...] = ()


def lint(kind: ChangeKind, spec: GuardSpec, commands: Commands, owns: Callable[[str, GuardSpec], bool], limits: Limits) -> None:
    """Raises PlanRefused naming the first line that must not leave."""
    lint_lines(spec, commands.lines, owns, "plan")
    lint_lines(spec, commands.inverse, owns, "inverse")
    count, most = count_lines(commands.lines), most_lines(kind, spec, limits)
    if count > most:
        said = gettext_noop("the plan has %(lines)d lines, at most %(most)d are allowed. Split it")
        raise PlanRefused.of(said, lines=count, most=most)
    if commands.lines and not commands.inverse and kind is not ChangeKind.GUARD_REMOVE:  # damage is not built again
        raise PlanRefused(Message(gettext_noop("the plan has no inverse; a change that cannot be taken back is never pushed")))
    lint_reads(commands.reads, limits)


def lint_lines(spec: GuardSpec, lines: Iterable[str], owns: Callable[[str, GuardSpec], bool], name: str = "plan") -> None:
    for number, line in enumerate(lines, 1):
        place = Message(PLACES[name], {"number": number, "line": line[:80]})
        if not line.strip() or len(line) > MOST_CHARACTERS or _SHAPE.search(line):
            said = gettext_noop("%(place)s is empty, too long, or holds characters that no plan needs")
            raise PlanRefused.of(said, place=place)
        if _DENIED.search(line):
            raise PlanRefused.of(gettext_noop("%(place)s is on the list of lines that never leave this program"), place=place)
        if line.strip() not in _LEAVING and not owns(line, spec):
            raise PlanRefused.of(gettext_noop("%(place)s does not belong to guard %(guard)s"), place=place, guard=spec.name)


def lint_reads(reads: Iterable[str], limits: Limits) -> None:
    for command in reads:
        if command != limits.snapshot_command and not any(re.fullmatch(allowed, command) for allowed in limits.reads_allowed):
            said = gettext_noop("read %(command)r is not among the platform's reading commands")
            raise PlanRefused.of(said, command=command[:80])


def count_lines(lines: Iterable[str]) -> int:
    return sum(1 for line in lines if line.strip() not in _LEAVING)


def most_lines(kind: ChangeKind, spec: GuardSpec, limits: Limits) -> int:
    """A member is a line or two. A guard, approved by a person, grows with its interfaces."""
    if kind in (ChangeKind.MEMBER_ADD, ChangeKind.MEMBER_REMOVE):
        return limits.max_lines
    return limits.max_lines + EXTRA_LINES_PER_INTERFACE * (len(spec.interfaces) - 1)
