"""Address book, service book and schedules."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.addresses import NOWHERE, AddressSet
from policyhub.domain.objects import AddressObject, ObjectGroup, Schedule, ServiceObject
from policyhub.vendorkit.lexing import NotUnderstood, TooScattered, Words, masked_set
from policyhub.vendors.hillstone_stoneos.reading import Reading, Scope, predefined, read_address, read_range, read_service
from policyhub.vendors.hillstone_stoneos.tree import Node

MOMENT = re.compile(r"^(\d{1,2})/(\d{1,2})/(\d{4}) (\d{1,2}):(\d{2})(?::\d{2})?$")
HELD = ("member", "exclude")
BY_DEVICE = {"host": "fqdn", "country": "geo"}


def object_name(node: Node) -> str:
    """`address [id N] "X"`: the name, "" without one."""
    words = node.words[1:]
    if words[:1] == ["id"] and len(words) > 2:
        words = words[2:]
    return words[0] if words else ""


def merged(nodes: list[Node]) -> dict[tuple[str, str], list[Node]]:
    """Objects by vsys and name: they may be opened several times."""
    found: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        found.setdefault((node.context, object_name(node)), []).append(node)
    return found


def lines_of(nodes: list[Node]) -> tuple[int, ...]:
    return tuple(sorted(number for node in nodes for number in node.all_numbers()))


def read_addresses(reading: Reading, nodes: list[Node]) -> None:
    groups: dict[tuple[str, str], list[Node]] = {}
    for key, places in merged(nodes).items():
        scope = reading.scope(key[0])
        scope.addresses.define(key[1])
        for node in places:
            reading.book(node)
        below = [child for node in places for child in node.children]
        if any(child.words[0] in HELD for child in below if child.words):
            groups[key] = places
        else:
            _address(reading, scope, key[1], places, below)
    _groups(reading, groups)


def _address(reading: Reading, scope: Scope, name: str, places: list[Node], below: list[Node]) -> None:
    words: list[str] = []
    kind = "static"
    for child in below:
        first = child.words[0]
        if first in BY_DEVICE and len(child.words) > 1:
            kind = BY_DEVICE[first]
            words.append(" ".join(child.words[1:]))
        _member(reading, scope, name, child)
    resolved = scope.addresses.resolve(name)
    value = None if resolved.unresolved else resolved.value
    reading.addresses.append(AddressObject(name, value, kind, lines_of(places), ", ".join(words), scope.name))


def _member(reading: Reading, scope: Scope, name: str, child: Node) -> None:
    """One line of an address that is no exclusion."""
    words = Words(child.words)
    try:
        word = words.next()
        if word == "member":
            _refer(scope, name, words.next("a name"))
        elif word in BY_DEVICE:
            scope.addresses.leave_open(name, words.rest())
        elif word not in ("description", "reference-zone"):
            scope.addresses.add(name, literal(reading, word, words))
            words.end()
        reading.book(child)
    except TooScattered:
        scope.addresses.leave_open(name, name)
        reading.book(child)
    except NotUnderstood as reason:
        scope.addresses.leave_open(name, name)
        reading.ledger.unparsed(child.line, str(reason))


def _refer(scope: Scope, name: str, member: str) -> None:
    if member.lower() in ("any", "ipv6-any"):
        scope.addresses.add(name, scope.address(member).value)
    else:
        scope.addresses.refer(name, member)


def literal(reading: Reading, word: str, words: Words) -> AddressSet:
    """What stands behind `ip`, `range`, `wildcard`. Raises NotUnderstood."""
    if word in ("ip", "ipv6"):
        return read_address(words)
    if word == "range":
        return read_range(words)
    if word == "wildcard":
        found = masked_set(words.next("an address"), words.next("a mask"))
        if found is not None:
            return found
    raise NotUnderstood(f"{word[:40]!r} is not understood in an address")


def _groups(reading: Reading, groups: dict[tuple[str, str], list[Node]]) -> None:
    """Groups, and addresses with exclusions: the excluded part is taken away once the inner ones are known."""
    excluding: dict[tuple[str, str], list[Node]] = {}
    inner: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for key, places in groups.items():
        scope = reading.scope(key[0])
        below = [child for node in places for child in node.children]
        members = [child for child in below if child.words[0] not in ("exclude", "description")]
        excluded = [child for child in below if child.words[0] == "exclude"]
        if excluded:
            excluding[key] = excluded
        inner[key] = [(key[0], child.words[-1]) for child in below if "member" in child.words[:2]]
        for child in below:
            if child not in excluded:
                _member(reading, scope, f"{key[1]}\0members" if excluded else key[1], child)
        group = ObjectGroup(
            key[1],
            "network",
            tuple(_shown(child.words) for child in members),
            lines_of(places),
            tuple(_shown(child.words[1:]) for child in excluded),
            key[0],
        )
        reading.groups.append(group)
    for key in inner_first(inner):
        if key in excluding:
            _exclude(reading, reading.scope(key[0]), key[1], excluding[key])


def _shown(words: list[str]) -> str:
    """A name, or the words of a literal."""
    return words[1] if words[:1] == ["member"] and len(words) > 1 else " ".join(words)


def inner_first(held: dict[tuple[str, str], list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """Each behind what it holds, without recursion; a cycle is cut somewhere."""
    done: dict[tuple[str, str], None] = {}
    seen: set[tuple[str, str]] = set()
    for start in held:
        stack = [start]
        while stack:
            key = stack[-1]
            waiting = [other for other in held[key] if other in held and other not in seen] if key not in seen else []
            seen.add(key)
            stack.extend(waiting)
            if not waiting:
                done[stack.pop()] = None
    return list(done)


def _exclude(reading: Reading, scope: Scope, name: str, excluded: list[Node]) -> None:
    names = scope.addresses
    plus, minus = f"{name}\0members", f"{name}\0excluded"
    names.define(plus)
    names.define(minus)
    for child in excluded:
        words = Words(child.words, 1)
        try:
            word = words.next("an address")
            if word == "member":
                _refer(scope, minus, words.next("a name"))
            elif word in BY_DEVICE:
                names.leave_open(minus, words.rest())
            else:
                names.add(minus, literal(reading, word, words))
            reading.book(child)
        except NotUnderstood as reason:
            names.leave_open(minus, name)
            reading.ledger.unparsed(child.line, str(reason))
    taken, without = names.resolve(plus), names.resolve(minus)
    names.add(name, NOWHERE.union(taken.value).minus(without.value))
    for unknown in (*taken.unresolved, *without.unresolved):
        names.leave_open(name, unknown)


def read_services(reading: Reading, nodes: list[Node]) -> None:
    for (context, name), places in merged(nodes).items():
        scope = reading.scope(context)
        scope.services.define(name)
        for node in places:
            reading.book(node)
        for child in (child for node in places for child in node.children):
            words = Words(child.words)
            try:
                if words.peek() != "description":
                    scope.services.add(name, (read_service(words),))
                reading.book(child)
            except NotUnderstood as reason:
                scope.services.leave_open(name, name)
                reading.ledger.unparsed(child.line, str(reason))
        value = scope.services.resolve(name).value
        reading.services.append(ServiceObject(name, value, lines_of(places), context))


def read_service_groups(reading: Reading, nodes: list[Node]) -> None:
    for (context, name), places in merged(nodes).items():
        scope = reading.scope(context)
        scope.services.define(name)
        members: list[str] = []
        for node in places:
            reading.book(node)
        for child in (child for node in places for child in node.children):
            words = child.words
            if words[0] in ("service", "servgroup") and len(words) == 2:
                members.append(words[1])
            elif words[0] != "description":
                reading.ledger.unparsed(child.line, "service and a name are expected")
                continue
            reading.book(child)
        for member in members:
            known = predefined(member) if member not in scope.services else None
            if known is not None:
                scope.services.add(name, known)
            else:
                scope.services.refer(name, member)
        reading.groups.append(ObjectGroup(name, "service", tuple(members), lines_of(places), (), context))


def read_schedules(reading: Reading, nodes: list[Node]) -> None:
    for (context, name), places in merged(nodes).items():
        expires: str | None = None
        texts: list[str] = []
        for node in places:
            reading.book(node)
        for child in (child for node in places for child in node.children):
            words = child.words
            if words[0] not in ("periodic", "absolute", "description"):
                reading.ledger.unparsed(child.line, "periodic or absolute is expected")
                continue
            if words[0] == "absolute" and "end" in words:
                end = device_moment(" ".join(words[words.index("end") + 1 :]))
                if end is None:
                    reading.ledger.unparsed(child.line, "the end is not a time")
                    continue
                expires = end if expires is None else max(expires, end)
            reading.book(child)
            texts.append(" ".join(words))
        schedule = Schedule(name, "; ".join(texts), expires, lines_of(places), context)
        reading.scope(context).schedules[name] = schedule
        reading.schedules.append(schedule)


def device_moment(text: str) -> str | None:
    """`MM/DD/YYYY HH:MM[:SS]` as ISO local time; None when it is none."""
    found = MOMENT.match(text.strip())
    if found is None:
        return None
    month, day, year, hour, minute = (int(part) for part in found.groups())
    try:
        return datetime(year, month, day, hour, minute).isoformat(timespec="minutes")  # noqa: DTZ001 (the device's own local time)
    except ValueError:
        return None
