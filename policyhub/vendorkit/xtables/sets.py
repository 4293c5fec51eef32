"""ipset: named sets of addresses and ports, from `ipset save` or commands. Grammar: ipset(8)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policyhub.domain.addresses import AddressSet, Interval, normalise
from policyhub.domain.objects import AddressObject, ObjectGroup, ServiceObject
from policyhub.domain.services import Service
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, is_decimal, prefix_set, range_set
from policyhub.vendorkit.operands import NameTable, address_table

ADDRESS_TYPES = frozenset({"hash:ip", "hash:net", "bitmap:ip", "iphash", "nethash", "ipmap", "iptree", "iptreemap"})
HOST_TYPES = frozenset({"hash:ip", "bitmap:ip", "iphash", "ipmap", "iptree", "iptreemap"})
PORT_TYPES = frozenset({"bitmap:port", "portmap", "hash:port"})
LIST_TYPES = frozenset({"list:set", "setlist"})
CREATE = frozenset({"create", "-N", "--create", "n"})
ADD = frozenset({"add", "-A", "--add", "a"})
DELETE = frozenset({"del", "-D", "--del", "d"})
FLUSH, DESTROY = frozenset({"flush", "-F", "--flush"}), frozenset({"destroy", "-X", "--destroy", "x"})
SWAP, RENAME = frozenset({"swap", "-W", "--swap", "w"}), frozenset({"rename", "-E", "--rename", "e"})
WITHOUT_EFFECT = frozenset({"list", "-L", "--list", "save", "-S", "test", "-T", "version", "-v", "restore", "-R", "COMMIT"})


@dataclass(slots=True)
class SetDef:
    name: str
    kind: str
    lines: list[int] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    is_dynamic: bool = False

    def delete(self, member: str) -> None:
        """An entry as it was added, or addresses out of a range that a set of hosts was given."""
        value = _member(member)
        for texts in (self.members, self.excluded):
            texts[:] = [text for text in texts if text != member and (value is None or _member(text) != value)]
        if self.kind in HOST_TYPES and value is not None:
            self.excluded.append(member)

    def restore(self, member: str) -> None:
        """What was deleted is there again; of a part of it no more is known."""
        added = _member(member) or AddressSet()
        gone = {text: _member(text) or AddressSet() for text in self.excluded}
        self.excluded = [text for text, value in gone.items() if not added.covers(value)]
        self.is_dynamic = self.is_dynamic or any(gone[text].overlaps(added) for text in self.excluded)

    def flush(self) -> None:
        self.members.clear()
        self.excluded.clear()


class SetTable:
    """All sets of a text."""

    def __init__(self) -> None:
        self.sets: dict[str, SetDef] = {}
        self._table: NameTable[AddressSet] | None = None
        self._known: dict[str, AddressSet | None] = {}
        self._ports: dict[str, tuple[Interval, ...] | None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.sets

    def command(self, words: list[str], line: int) -> None:
        """One ipset command without its `ipset`. Raises NotUnderstood."""
        reader = Words([word for word in words if word not in ("-exist", "-!", "-q", "-quiet")])
        verb = reader.next("an ipset command")
        if verb in WITHOUT_EFFECT:
            return
        if verb in CREATE:
            name, kind = reader.next("a name"), reader.next("a type")
            known = self.sets.setdefault(name, SetDef(name, kind))
            known.lines.append(line)
            options = reader.rest().split()
            if "timeout" in options:
                known.is_dynamic = True
        elif verb in ADD:
            self._add(reader, line)
        else:
            self._change(verb, reader)

    def _change(self, verb: str, reader: Words) -> None:
        """`del`, `flush`, `destroy`, `swap`, `rename`; of a set that the text does not hold they change nothing."""
        name = reader.next("a name") if reader or verb not in FLUSH | DESTROY else ""
        known = self.sets.get(name)
        if verb in DELETE:
            member = reader.next("a member")
            if known is not None:
                known.delete(member)
        elif verb in FLUSH:
            for one in [known] if name else self.sets.values():
                if one is not None:
                    one.flush()
        elif verb in DESTROY:
            for gone in [name] if name else [*self.sets]:
                self.sets.pop(gone, None)
        elif verb in SWAP | RENAME:
            other = reader.next("a name")
            titles = {name: other, other: name} if verb in SWAP else {name: other}
            renamed = {titles.get(title, title): one for title, one in self.sets.items()}
            self.sets = {title: replace(one, name=title) for title, one in renamed.items()}
        else:
            raise NotUnderstood(f"ipset {verb[:40]!r} is not understood")

    def _add(self, reader: Words, line: int) -> None:
        name, member = reader.next("a name"), reader.next("a member")
        known = self.sets.get(name)
        if known is None:
            raise NotUnderstood(f"set {name[:40]!r} is not created in this text")
        known.lines.append(line)
        options = reader.rest().split()
        if known.kind in HOST_TYPES and known.excluded:
            known.restore(member)
        (known.excluded if "nomatch" in options else known.members).append(member)
        if "timeout" in options:
            known.is_dynamic = True

    def is_open(self, name: str) -> bool:
        known = self.sets.get(name)
        return known is None or known.is_dynamic

    def filled_by_rules(self, name: str) -> None:
        """A SET target adds to it: its members are known to the kernel only."""
        if name in self.sets:
            self.sets[name].is_dynamic = True

    def addresses_of(self, name: str) -> AddressSet | None:
        """None when it is not a set of addresses or not all of them are known."""
        if name not in self._known:
            self._known[name] = self._addresses_of(name)
        return self._known[name]

    def _addresses_of(self, name: str) -> AddressSet | None:
        if self._table is None:
            self._table = self._address_table()
        if name not in self._table:
            return None
        found = self._table.resolve(name)
        return None if found.unresolved else found.value

    def _address_table(self) -> NameTable[AddressSet]:
        table = address_table()
        for name, known in self.sets.items():
            if known.kind in LIST_TYPES:
                table.define(name)
                for member in known.members:
                    table.refer(name, member)
            elif known.kind in ADDRESS_TYPES:
                table.define(name)
                if known.is_dynamic:
                    table.leave_open(name, f"set {name}")
                    continue
                parts = [_member(text) for text in known.members]
                missing = [_member(text) for text in known.excluded]
                if None in parts or None in missing:
                    table.leave_open(name, f"set {name}")
                    continue
                whole = AddressSet().union(*(part for part in parts if part is not None))
                table.add(name, whole.minus(AddressSet().union(*(part for part in missing if part is not None))))
        return table

    def ports_of(self, name: str) -> tuple[Interval, ...] | None:
        if name not in self._ports:
            known = self.sets.get(name)
            found: tuple[Interval, ...] | None = None
            if known is not None and known.kind in PORT_TYPES and not known.is_dynamic:
                ports = [_port(text) for text in known.members]
                found = None if None in ports else normalise(port for port in ports if port is not None)
            self._ports[name] = found
        return self._ports[name]

    def objects(self) -> tuple[tuple[AddressObject, ...], tuple[ServiceObject, ...], tuple[ObjectGroup, ...]]:
        addresses: list[AddressObject] = []
        services: list[ServiceObject] = []
        groups: list[ObjectGroup] = []
        for name, known in self.sets.items():
            lines = tuple(dict.fromkeys(known.lines))
            ports = self.ports_of(name)
            if known.kind in ADDRESS_TYPES or known.kind in LIST_TYPES:
                kind = "dynamic" if known.is_dynamic else "static"
                addresses.append(AddressObject(name, self.addresses_of(name), kind, lines, known.kind))
            elif ports is not None:
                both = Service(((6, 6), (17, 17)), destination_ports=ports)
                services.append(ServiceObject(name, (both,) if ports else (), lines))
            else:
                groups.append(ObjectGroup(name, "set", tuple(known.members), lines, tuple(known.excluded)))
        return tuple(addresses), tuple(services), tuple(groups)


def _member(text: str) -> AddressSet | None:
    low, dash, high = text.partition("-")
    if dash:
        return range_set(low, high)
    return prefix_set(text) if "/" in text else host_set(text)


def _port(text: str) -> Interval | None:
    low, dash, high = text.rpartition(":")[2].partition("-")
    high = high if dash else low
    if not is_decimal(low) or not is_decimal(high) or len(low) > 5 or len(high) > 5 or not int(low) <= int(high) <= 65535:
        return None
    return int(low), int(high)
