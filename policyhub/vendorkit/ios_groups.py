"""Object groups of Cisco-like platforms: one table of names for rules, and the groups as pages show them."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY4, ANY6, AddressSet
from policyhub.domain.objects import AddressObject, ObjectGroup, ServiceObject
from policyhub.domain.services import Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import (
    NotUnderstood,
    TooScattered,
    Words,
    host_set,
    is_decimal,
    prefix_set,
    range_set,
    wildcard_set,
)
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendorkit.service_names import ServiceNames


@dataclass(slots=True)
class Group:
    """An object group; `kind` is network, service, protocol or security."""

    kind: str
    members: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Groups:
    """All groups of one text by (is_service, name)."""

    groups: dict[tuple[bool, str], Group] = field(default_factory=dict)
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)

    def open(self, kind: str, name: str) -> Group:
        group = self.groups.setdefault((kind != "network", name), Group(kind))
        (self.addresses if kind == "network" else self.services).define(name)
        return group

    def leave_open(self, group: Group, name: str, what: str) -> None:
        """A member that was not understood: what the name stands for is unknown."""
        (self.addresses if group.kind == "network" else self.services).leave_open(name, f"{name}: {what[:80]}")

    def address_objects(self) -> tuple[AddressObject, ...]:
        """These platforms have groups only; each also resolves to one set, so that a page can show it."""
        found: list[AddressObject] = []
        for (is_service, name), group in self.groups.items():
            if not is_service:
                resolved = self.addresses.resolve(name)
                known: AddressSet | None = None if resolved.unresolved else resolved.value
                found.append(AddressObject(name, known, "group", tuple(group.lines)))
        return tuple(found)

    def service_objects(self) -> tuple[ServiceObject, ...]:
        return tuple(
            ServiceObject(name, self.services.resolve(name).value, tuple(group.lines))
            for (is_service, name), group in self.groups.items()
            if is_service and group.kind != "security"
        )

    def object_groups(self) -> tuple[ObjectGroup, ...]:
        return tuple(ObjectGroup(name, g.kind, tuple(g.members), tuple(g.lines)) for (_, name), g in self.groups.items())


def read_group(groups: Groups, ledger: LineLedger, names: ServiceNames, kind: str, name: str, block: Block) -> None:
    """Members of NX-OS and IOS-XR: `[N] host A`, `[N] A/L`, `[N] A W`, `range A B`, `object-group G`; `[N] eq P`, ..

    A line that is not understood is booked and leaves the name open. Raises nothing.
    """
    group = groups.open(kind, name)
    group.lines.append(block.number)
    for child in block.below():
        words = Words(child.words)
        if words.accept("description", "exit"):
            ledger.understood(child.number)
            continue
        group.lines.append(child.number)
        if is_decimal(words.peek()):
            words.next()
        start = words.at
        try:
            if words.accept("object-group", "group-object"):
                member = words.next("a name")
                (groups.addresses if kind == "network" else groups.services).refer(name, member)
            else:
                _member(groups, names, kind, name, words)
                member = " ".join(words.words[start : words.at])
            words.end()
            group.members.append(member)
            ledger.understood(child.number)
        except NotUnderstood as reason:
            ledger.unparsed(child.line, str(reason))
            groups.leave_open(group, name, child.text)


def _member(groups: Groups, names: ServiceNames, kind: str, name: str, words: Words) -> None:
    if kind == "network":
        groups.addresses.add(name, _addresses(words))
    else:
        groups.services.add(name, (Service(destination_ports=names.read_ports(words, None, several=True)),))


def _addresses(words: Words) -> AddressSet:
    word = words.next("an address")
    value: AddressSet | None
    if word.lower() == "any":
        return ANY4.union(ANY6)
    if word.lower() == "host":
        value = host_set(words.next("an address"))
    elif word.lower() == "range":
        value = range_set(words.next("an address"), words.next("an address"))
    elif "/" in word:
        value = prefix_set(word)
    elif not words:
        value = host_set(word)
    else:
        try:
            value = wildcard_set(word, words.next("a wildcard"))
        except TooScattered as error:
            raise NotUnderstood(str(error)) from error
    if value is None:
        raise NotUnderstood(f"{word[:40]!r} is not an address")
    return value
