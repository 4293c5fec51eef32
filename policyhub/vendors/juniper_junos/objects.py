"""Operands: address books, applications, schedulers, prefix lists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import zip_longest

from policyhub.domain.addresses import AddressSet
from policyhub.domain.objects import AddressObject, ObjectGroup, Schedule, ServiceObject
from policyhub.domain.services import ICMP, ICMPV6, MAX_PORT, Service
from policyhub.vendorkit.lexing import NotUnderstood, TooScattered, is_decimal, range_set
from policyhub.vendorkit.operands import Services
from policyhub.vendorkit.service_names import icmp_service
from policyhub.vendors.juniper_junos.groups import pattern
from policyhub.vendors.juniper_junos.reading import GLOBAL_BOOK, NAMES, PACKAGE, SEPARATOR, Context, Reading
from policyhub.vendors.juniper_junos.tree import Node

DATA = json.loads(files(PACKAGE).joinpath("applications.json").read_text(encoding="utf-8"))
PREDEFINED: dict[str, list[list[str | None]]] = DATA["applications"]
PREDEFINED_SETS: dict[str, list[str]] = DATA["sets"]
DYNAMIC = frozenset(DATA["dynamic"])
# statements of an application that do not say which packets it takes
QUIET = (
    "inactivity-timeout",
    "application-protocol",
    "alg",
    "description",
    "ether-type",
    "do-not-translate-AAAA-query-to-A-query",
)
LEARNED = ("rpc-program-number", "uuid")  # ports that the device learns at run time
STOP = re.compile(r"^(\d{4})-(\d{2})-(\d{2})\.(\d{2}):(\d{2})")


def full_name(book: str, name: str) -> str:
    return name if book == GLOBAL_BOOK else f"{book}/{name}"


def read_books(reading: Reading, context: Context) -> None:
    """`security address-book B` with `attach zone Z`, and the books inside zones."""
    for book in context.root.kids("security", "address-book"):
        for zone in book.values("attach", "zone"):
            context.books[zone] = book.word
        _read_book(reading, context, book, book.word)
    for place in context.root.kids("security", "zones", "security-zone"):
        inner = place.at("address-book")
        if inner is not None:
            context.books.setdefault(place.word, place.word)
            _read_book(reading, context, inner, place.word)


def _read_book(reading: Reading, context: Context, book: Node, name: str) -> None:
    reading.take_known(book, "book")
    for node in book.kids("address"):
        _read_address(reading, context, node, name)
    for node in book.kids("address-set"):
        _read_set(reading, context, node, name)


def _read_address(reading: Reading, context: Context, node: Node, book: str) -> None:
    name, key = full_name(book, node.word), f"{book}{SEPARATOR}{node.word}"
    lines = node.all_lines()
    context.addresses.define(key)
    dns = node.value("dns-name")
    if dns:
        context.addresses.leave_open(key, name)
        reading.addresses.append(AddressObject(name, None, "fqdn", lines, dns, context.name))
        return
    found: list[AddressSet] = []
    for kid in node.active():
        if kid.word in ("description", "apply-groups"):
            continue
        value = _address_value(reading, kid)
        if value is None:
            reading.leave(kid, "not an address")
            context.addresses.leave_open(key, name)
        else:
            found.append(value)
    for value in found:
        context.addresses.add(key, value)
    known = AddressSet().union(*found) if found else None
    reading.addresses.append(AddressObject(name, known, "static", lines, context=context.name))
    if not found:
        context.addresses.leave_open(key, name)


def _address_value(reading: Reading, kid: Node) -> AddressSet | None:
    try:
        if kid.word == "wildcard-address":
            return reading.masked(kid.active()[0].word) if kid.children else None
        if kid.word == "range-address":
            low = kid.active()[0] if kid.children else kid
            return range_set(low.word, low.value("to"))
        if kid.word == "ip-prefix":
            return reading.masked(kid.value())
        return reading.masked(kid.word)
    except TooScattered:
        return None


def _read_set(reading: Reading, context: Context, node: Node, book: str) -> None:
    key = f"{book}{SEPARATOR}{node.word}"
    context.addresses.define(key)
    names = [*node.values("address"), *node.values("address-set")]
    members: list[str] = []
    for name in names:
        other = f"{book}{SEPARATOR}{name}"
        context.addresses.refer(key, other)
        members.append(full_name(book, name))
    reading.groups.append(
        ObjectGroup(full_name(book, node.word), "network", tuple(members), node.all_lines(), context=context.name)
    )


def read_applications(reading: Reading, context: Context) -> None:
    applications = context.root.at("applications")
    for name, parts in PREDEFINED.items():
        context.services.add(name, tuple(_predefined(part) for part in parts))
    for name, inside in PREDEFINED_SETS.items():
        for other in inside:
            context.services.refer(name, other)
    for name in DYNAMIC:
        context.services.leave_open(name, name)
    if applications is None:
        return
    reading.take_known(applications, "applications")
    for node in applications.kids("application"):
        _read_application(reading, context, node)
    for node in applications.kids("application-set"):
        _read_application_set(reading, context, node)


def _predefined(part: list[str | None]) -> Service:
    protocol = NAMES.protocol(part[0] or "")
    text = part[1]
    if text is None:
        return Service.of(protocol)
    if protocol in (ICMP, ICMPV6):
        kind, _, code = text.partition(":")
        return icmp_service(int(kind), int(code) if code else None, protocol)
    low, _, high = text.partition("-")
    return Service.of(protocol, ((int(low), int(high or low)),))


def _read_application(reading: Reading, context: Context, node: Node) -> None:
    terms = node.kids("term") or [node]
    for kid in node.active() if node.has("term") else ():
        if kid.word not in ("term", *QUIET):
            reading.leave(kid, "not understood in an application with terms")
    context.services.define(node.word)
    found: list[Service] = []
    for term in terms:
        try:
            service = _application_term(term)
        except NotUnderstood as reason:
            reading.leave(term, str(reason))
            service = None
        if service is None:
            context.services.leave_open(node.word, node.word)
        else:
            found.append(service)
    if found:
        context.services.add(node.word, tuple(found))
    reading.services.append(ServiceObject(node.word, tuple(found), node.all_lines(), context.name))


def _application_term(term: Node) -> Service | None:
    """None when the device learns the ports. Raises NotUnderstood."""
    protocol: int | None = None
    source = destination = None
    icmp: dict[str, str] = {}
    learned = False
    for key, value in _pairs(term):
        if key == "protocol":
            protocol = NAMES.protocol(value)
        elif key in ("source-port", "destination-port"):
            ports = port_range(value, protocol)
            source, destination = (ports, destination) if key == "source-port" else (source, ports)
        elif key in ("icmp-type", "icmp-code", "icmp6-type", "icmp6-code"):
            icmp[key.replace("icmp6", "icmp")] = value
            protocol = protocol or (ICMPV6 if key.startswith("icmp6") else ICMP)
        elif key in LEARNED:
            learned = True
        elif key not in QUIET and key != "term":
            raise NotUnderstood(f"{key[:40]!r} is not understood in an application")
    if learned or (protocol is None and not source and not destination):
        return None
    if icmp and protocol is not None:
        return _icmp(icmp.get("icmp-type", ""), icmp.get("icmp-code", ""), protocol)
    return Service.of(protocol, destination, source)


def _pairs(term: Node) -> Iterator[tuple[str, str]]:
    """Keys and values; a device prints a term on one line: `term t1 protocol tcp destination-port 80`."""
    for path in term.paths():
        yield from zip_longest(path[::2], path[1::2], fillvalue="")


def _icmp(kind: str, code: str, protocol: int) -> Service:
    if not kind:
        number = icmp_code(code, protocol)
        return Service.of(protocol, tuple((n * 256 + (number or 0),) * 2 for n in range(256)))
    found = NAMES.icmp_type(kind, protocol)
    if found is None:
        raise NotUnderstood(f"{kind[:40]!r} is not an ICMP type")
    return icmp_service(found[0], icmp_code(code, protocol), protocol)


CODES: dict[int, dict[str, int]] = {}


def icmp_code(word: str, protocol: int) -> int | None:
    """A number or a synonym; None when there is none. Raises NotUnderstood."""
    if not word:
        return None
    if not CODES:
        data = json.loads(files(PACKAGE).joinpath("names.json").read_text(encoding="utf-8"))
        CODES[ICMP], CODES[ICMPV6] = data["icmp_codes"], data["icmp6_codes"]
    if is_decimal(word) and len(word) < 4 and int(word) <= 255:
        return int(word)
    known = CODES[ICMPV6 if protocol == ICMPV6 else ICMP].get(word)
    if known is None:
        raise NotUnderstood(f"{word[:40]!r} is not an ICMP code")
    return known


def port_range(text: str, protocol: int | None) -> tuple[tuple[int, int], ...]:
    """`80`, `http`, `1000-2000`. Raises NotUnderstood."""
    if text.lower() in NAMES.tcp:
        port = NAMES.port(text, protocol)
        return ((port, port),)
    low, dash, high = text.partition("-")
    first = NAMES.port(low.strip(), protocol)
    last = NAMES.port(high.strip(), protocol) if dash else first
    if first > last or last > MAX_PORT:
        raise NotUnderstood(f"{text[:40]!r} is not a range of ports")
    return ((first, last),)


def _read_application_set(reading: Reading, context: Context, node: Node) -> None:
    context.services.define(node.word)
    members = [*node.values("application"), *node.values("application-set")]
    for name in members:
        if name == "any":
            context.services.add(node.word, (Service(),))
        else:
            context.services.refer(node.word, name)
    reading.groups.append(ObjectGroup(node.word, "service", tuple(members), node.all_lines(), context=context.name))


def application(context: Context, name: str) -> tuple[Services, tuple[str, ...]]:
    """Services of a name, and what of it is unknown."""
    found = context.services.resolve(name)
    return found.value, found.unresolved


def read_schedules(reading: Reading, context: Context) -> None:
    for node in context.root.kids("schedulers", "scheduler"):
        reading.take_known(node, "scheduler")
        texts = [text for text in node.statements() if not text.startswith("description")]
        stops = [
            found for word in node.walk() if (found := STOP.match(word.word)) and "stop-date" in word.word + _parents(node, word)
        ]
        expires = max((f"{m[1]}-{m[2]}-{m[3]}T{m[4]}:{m[5]}" for m in stops), default=None)
        reading.schedules.append(Schedule(node.word, "; ".join(texts), expires, node.all_lines(), context.name))
    reading.take_headers(context.root.at("schedulers"))


def _parents(node: Node, below: Node) -> str:
    """The word above a date: start-date or stop-date."""
    return next((parent.word for parent in node.walk() if parent.children.get(below.word) is below), "")


def read_prefix_lists(reading: Reading, context: Context) -> None:
    """`prefix-list` with prefixes or an `apply-path` over the configuration itself."""
    for node in context.root.kids("policy-options", "prefix-list"):
        reading.take(node)
        context.prefix_lists.define(node.word)
        members: list[str] = []
        found: list[AddressSet] = []
        for kid in node.active():
            if kid.word in ("apply-groups", "apply-path"):
                continue
            value = reading.address(kid.word)
            if value is None:
                reading.leave(kid, "not a prefix")
                context.prefix_lists.leave_open(node.word, node.word)
            else:
                members.append(kid.word)
                found.append(value)
        for path in node.values("apply-path"):
            for word in follow(context.root, path):
                value = reading.address(word)
                if value is not None:
                    members.append(word)
                    found.append(value)
        if found:
            context.prefix_lists.add(node.word, AddressSet().union(*found))
        reading.groups.append(ObjectGroup(node.word, "network", tuple(members), node.all_lines(), context=context.name))


def follow(root: Node, path: str) -> list[str]:
    """Words at the end of an `apply-path`; `<*>` and `<10.*>` match one word."""
    here = [root]
    for step in path.split():
        after: list[Node] = []
        for node in here:
            if step.startswith("<") and step.endswith(">"):
                after.extend(kid for kid in node.active() if pattern(step).fullmatch(kid.word))
            else:
                kid = node.at(step)
                after.extend([kid] if kid is not None else [])
        here = after
    return [node.word for node in here]
