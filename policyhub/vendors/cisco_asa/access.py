"""`access-list` and `access-group`: rules in the device's order, bound to interfaces."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY6, AddressSet
from policyhub.domain.rules import UNDEFINED_REFUSED, Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, ICMP, ICMPV6, TCP, UDP, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, ipv4_number, is_decimal, number_in, range_set
from policyhub.vendorkit.operands import Services, as_source, bound, with_ports
from policyhub.vendorkit.service_names import PORT_WORDS
from policyhub.vendors.cisco_asa.objects import ANY_WORDS, TCP_UDP, read_literal
from policyhub.vendors.cisco_asa.reading import NAMES, Reading

SHOWN = re.compile(
    r"^\S+ \S+; \d+ elements|^\S+ \S+ line \d+ (?!remark ).*(?:\(hitcnt=\d+\)|\(inactive\)|\(unresolved\)| 0x[0-9a-f]{8}$)"
)
DECORATION = re.compile(r"\([^()]*\)| 0x[0-9a-f]{8}$")
ANY_SERVICES: Services = (ANY_SERVICE,)
NOT_ENTRIES = ("deny-flow-max", "alert-interval", "cached", "mode", "commit")
LOG_LEVELS = ("alerts", "critical", "debugging", "emergencies", "errors", "informational", "notifications", "warnings")
WHO = ("user", "user-group", "object-group-user", "security-group", "object-group-security")


@dataclass(slots=True)
class Entry:
    """One access-list line; `line` is the number written in it (show output, or an insertion), None when it has none.

    skipped: words in front of the body, which is cut again when it is read: all bodies together would be ten times the text.
    """

    block: Block
    line: int | None
    skipped: int
    shown: bool = False
    remark: str | None = None

    @property
    def body(self) -> list[str]:
        return _undecorated(self.block.text, self.shown).split()[self.skipped :]


@dataclass(slots=True)
class Parts:
    """What a rule is put together from."""

    any_address: AddressSet
    unresolved: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)


def read_access_list(reading: Reading, block: Block) -> None:
    """Collects; entries are read when every object is known."""
    words = block.words
    if len(words) < 2:
        raise NotUnderstood("access-list needs a name")
    if words[1].lower() in NOT_ENTRIES and (len(words) < 3 or words[2].lower() not in ("permit", "deny", "extended", "line")):
        return
    reading.entries.setdefault(words[1].rstrip(";"), []).extend(_shown_members(words[1], block))


def _shown_members(name: str, block: Block) -> list[Block]:
    """The line and, in a show output, the indented lines that the device expanded it to."""
    if not block.children:
        return [block]
    return [below for below in block.walk() if below.words[:2] == ["access-list", name]] or [block]


def read_ipv6(reading: Reading, block: Block) -> None:
    """`ipv6 access-list NAME ..` of releases before 9.0."""
    words = block.words
    if len(words) < 4 or words[1].lower() != "access-list":
        raise NotUnderstood("not understood")
    reading.ipv6_lists.add(words[2])
    reading.entries.setdefault(words[2], []).append(block)


def read_access_group(reading: Reading, block: Block) -> None:
    """`access-group NAME in|out interface IF [control-plane|per-user-override]` or `access-group NAME global`."""
    words = Words(block.words, 1)
    name = words.next("an access list")
    if words.accept("global"):
        binding = Binding("", "in", (block.number,))
    else:
        direction = words.next("in or out").lower()
        if direction not in ("in", "out") or not words.accept("interface"):
            raise NotUnderstood("access-group needs in|out interface NAME, or global")
        interface = words.next("an interface")
        if words.accept("control-plane", "per-user-override") == "control-plane":
            direction = "local"
        binding = Binding(interface, direction, (block.number,))
    words.end()
    reading.bindings.setdefault(name, []).append(binding)


def read_group_policy(reading: Reading, block: Block) -> None:
    """`group-policy G attributes` with `vpn-filter value LIST`: what users of a VPN group may reach."""
    name = Words(block.words, 1).peek()
    for child in block.children:
        below = child.words
        if below[:2] == ["vpn-filter", "value"] and len(below) == 3:
            binding = Binding(f"group-policy {name}", "forward", (child.number,))
            reading.bindings.setdefault(below[2], []).append(binding)
            reading.ledger.understood(child.number)
        elif below[:2] == ["split-tunnel-network-list", "value"] and len(below) == 3:
            reading.selectors.add(below[2])


def policies(reading: Reading) -> list[Policy]:
    """Every access list; one that is bound but not defined has no rules and says so."""
    has_global = any(b.interface == "" for found in reading.bindings.values() for b in found)
    found = [_policy(reading, name, blocks, has_global) for name, blocks in reading.entries.items()]
    for name, bindings in reading.bindings.items():
        if name not in reading.entries:
            lines = tuple(line for binding in bindings for line in binding.lines)
            notes = (UNDEFINED_REFUSED,)
            found.append(Policy(name, (), None, bindings=tuple(bindings), lines=lines, notes=notes))
    return found


def _policy(reading: Reading, name: str, blocks: list[Block], has_global: bool) -> Policy:
    bindings = tuple(reading.bindings.get(name, ()))
    rules, kind, lost = _rules(reading, name, blocks)
    purpose = kind or ("match" if name in reading.selectors and not bindings else "filter")
    falls = _falls_through(bindings, purpose, has_global)
    notes = [falls] if falls else []
    if lost:
        notes.append(f"{lost} entries are not understood")
    family = 6 if name in reading.ipv6_lists else 0
    lines = tuple(block.number for block in blocks)
    return Policy(
        name, tuple(rules), None if falls else Action.DENY, family, bindings, lines, notes=tuple(notes), purpose=purpose
    )


def _falls_through(bindings: tuple[Binding, ...], purpose: str, has_global: bool) -> str:
    """Why what no entry matches is not denied here (CLI configuration guide, access rules, implicit deny); "" when it is."""
    if purpose == "ethertype":
        return "the implicit deny does not reach IP and ARP"
    if bindings and all(b.direction == "local" for b in bindings):
        return "no implicit deny: what no entry matches is left to the device's other rules"
    if has_global and bindings and all(b.interface and b.direction == "in" for b in bindings):
        return "falls through to the global access list instead of an implicit deny"
    return ""


def _rules(reading: Reading, name: str, blocks: list[Block]) -> tuple[list[Rule], str, int]:
    """The rules, numbered as the device numbers them (remarks count), the type when it is no IP list, how many were lost."""
    rules: list[Rule] = []
    remarks: list[str] = []
    kind, lost = "", 0
    for number, entry in _in_device_order(reading, blocks):
        if entry.remark is not None:
            remarks.append(entry.remark)
            continue
        try:
            rule, kind = _rule(reading, name, number, entry, "\n".join(remarks))
            rules.append(rule)
        except NotUnderstood as reason:
            reading.ledger.unparsed(entry.block.line, str(reason))
            lost += 1
        remarks = []
    return rules, kind, lost


def _in_device_order(reading: Reading, blocks: list[Block]) -> list[tuple[int, Entry]]:
    """Configured lines as they stand (`line n` inserts); lines of a show output only when there is no configuration."""
    entries = [entry for block in blocks if (entry := _entry(reading, block)) is not None]
    shows = any(entry.shown for entry in entries)
    configured = [e for e in entries if not e.shown and not (shows and e.remark is not None and e.line is not None)]
    if any(entry.remark is None for entry in configured):
        return list(enumerate(_inserted(configured), 1))
    numbered: list[tuple[int, Entry]] = []
    for entry in entries:
        last = numbered[-1][0] if numbered else 0
        if entry.line is None or entry.line > last:
            numbered.append((entry.line or last + 1, entry))
        # else: a member that the device expanded from the line before
    return numbered


def _inserted(entries: list[Entry]) -> list[Entry]:
    placed: list[Entry] = []
    for entry in entries:
        if entry.line is not None and 0 < entry.line <= len(placed):
            placed.insert(entry.line - 1, entry)
        else:
            placed.append(entry)
    return placed


def _entry(reading: Reading, block: Block) -> Entry | None:
    """The line without its list name and decorations; None for the header of a show output or a line that is cut off."""
    shown = SHOWN.search(block.text) is not None
    words = _undecorated(block.text, shown).split(None, 7)
    skipped = 3 if words[0].lower() == "ipv6" else 2
    words = words[skipped:]
    reading.ledger.understood(block.number)
    if shown and words[1:2] == ["elements;"]:
        return None
    line = None
    if len(words) > 1 and words[0].lower() == "line" and is_decimal(words[1]):
        line, words, skipped = int(words[1][:9]), words[2:], skipped + 2
    if not words:
        reading.ledger.unparsed(block.line, "nothing follows the name")
        return None
    is_remark = words[0].lower() == "remark" or words[:2] == ["extended", "remark"]  # the second as generators write it
    remark = block.text.partition("remark")[2].strip() if is_remark else None
    return Entry(block, line, skipped, shown, remark)


def _undecorated(text: str, shown: bool) -> str:
    return DECORATION.sub(" ", text) if shown else text


def hit_key(name: str, body: list[str]) -> str:
    """Name and entry without line number, log options and state, ports as numbers: configuration and show output then agree."""
    words = Words(body)
    words.accept("extended")
    protocol = {"tcp": TCP, "udp": UDP}.get(words.peek(1).lower())
    kept = [name]
    while words:
        word = words.next()
        kind = word.lower()
        if kind == "log":
            _skip_log(words)
        elif kind in PORT_WORDS:
            kept.append(word)
            for _ in range(2 if kind == "range" else 1):
                kept.append(str(NAMES.port_or_word(words.peek(), protocol)))
                words.at += 1
        elif kind != "inactive":
            kept.append(word)
    return " ".join(kept).rstrip()


def _skip_log(words: Words) -> None:
    try:
        read_log(words)
    except NotUnderstood:  # the key is made for lines of a show output as well, whatever they hold
        return


def _rule(reading: Reading, name: str, number: int, entry: Entry, comment: str) -> tuple[Rule, str]:
    body = entry.body
    words = Words(body)
    form = words.accept("extended", "standard", "ethertype", "webtype") or "extended"
    verb = words.next("permit or deny").lower()
    if verb not in ("permit", "deny"):
        raise NotUnderstood(f"{verb[:40]!r} is not permit or deny")
    parts = Parts(ANY6 if name in reading.ipv6_lists else reading.any_address)
    source, destination, services = ANY, ANY, ANY_SERVICES
    if form == "extended":
        source, destination, services = _extended(reading, words, parts)
    elif form == "standard":
        destination = _address(reading, words, parts)
    else:
        parts.conditions.append(f"{form} {_until_options(words)}")
    enabled, logged, schedule = _options(words, parts)
    words.end()
    match = Match(
        source,
        destination,
        services,
        conditions=tuple(parts.conditions),
        unresolved=tuple(dict.fromkeys(parts.unresolved)),
    )
    rule = Rule(
        name=f"{name} line {number}",
        action=Action(verb),
        match=match,
        lines=(entry.block.number,),
        text=entry.block.line.spaced,
        enabled=enabled,
        logged=verb == "deny" if logged is None else logged,
        comment=comment,
        schedule=schedule,
        hit_key=hit_key(name, body),
        references=tuple(dict.fromkeys(parts.references)),
    )
    return rule, form if form in ("ethertype", "webtype") else ""


def _until_options(words: Words) -> str:
    taken: list[str] = []
    while words and words.peek().lower() not in ("log", "inactive", "time-range"):
        taken.append(words.next())
    return " ".join(taken)


def _extended(reading: Reading, words: Words, parts: Parts) -> tuple[AddressSet, AddressSet, Services]:
    """Source, destination and services."""
    base, protocol = _protocol(reading, words, parts)
    _who(words, parts)
    source = _address(reading, words, parts)
    source_ports = _ports(reading, words, parts, protocol, last=False)
    _who(words, parts)
    destination = _address(reading, words, parts)
    destination_ports = _ports(reading, words, parts, protocol, last=True)
    if protocol in (ICMP, ICMPV6) and destination_ports is None:
        found = NAMES.read_icmp(words, protocol)
        destination_ports = (found,) if found else None
    from_ports = None if source_ports is None else as_source(source_ports)
    return source, destination, with_ports(base, from_ports, destination_ports, bool(parts.unresolved))


def _protocol(reading: Reading, words: Words, parts: Parts) -> tuple[Services, int | None]:
    if words.peek().lower() in ("object", "object-group"):
        return _named_services(reading, words, parts), None
    word = words.next("a protocol")
    if word.lower() == "tcp-udp":
        return (Service(TCP_UDP),), None
    number = NAMES.protocol(word)
    return (Service.of(number),), number


def _named_services(reading: Reading, words: Words, parts: Parts) -> Services:
    words.next()
    name = words.next("a name")
    parts.references.append(name)
    found = reading.services.resolve(name)
    parts.unresolved += found.unresolved
    return (ANY_SERVICE,) if found.unresolved else found.value


def _who(words: Words, parts: Parts) -> None:
    """Users and security groups: verbatim conditions, their groups references."""
    while words.peek().lower() in WHO:
        kind = words.next().lower()
        count = 2 if kind == "security-group" else 1
        names = [words.next("a name") for _ in range(count)]
        parts.conditions.append(" ".join([kind, *names]))
        if kind.startswith("object-group"):
            parts.references += names


def _address(reading: Reading, words: Words, parts: Parts) -> AddressSet:
    word = words.next("an address")
    kind = word.lower()
    if kind in ANY_WORDS:
        return parts.any_address if kind == "any" else ANY_WORDS[kind]
    if kind in ("object", "object-group"):
        name = words.next("a name")
        parts.references.append(name)
        found = reading.addresses.resolve(name)
        parts.unresolved += found.unresolved
        return bound(found)
    if kind == "interface":
        return reading.own_addresses(words.next("an interface"), parts.unresolved)
    if kind == "fqdn":
        parts.unresolved.append(words.next("a domain name"))
        return ANY
    value: AddressSet | None
    if kind == "host":
        text = words.next("an address")
        value = reading.host(text)
    elif kind == "range":
        low, high = words.next("an address"), words.next("an address")
        value, text = range_set(reading.aliases.get(low, low), reading.aliases.get(high, high)), f"{low} {high}"
    else:
        words.at -= 1
        value, text = read_literal(reading, words)
    if value is None:
        raise NotUnderstood(f"{text[:60]!r} is not an address")
    return value


def _ports(reading: Reading, words: Words, parts: Parts, protocol: int | None, last: bool) -> Services | None:
    """Ports or a service group when they stand next; None when the next words are something else.

    A group name says by its kind what it is; a name of both kinds is a service only where no address can stand (`last`).
    """
    word, name = words.peek().lower(), words.peek(1)
    if word == "range" and ipv4_number(name) is not None:
        return None  # an address range, as the device prints expanded objects
    if word in PORT_WORDS:
        return (Service(destination_ports=NAMES.read_ports(words, protocol)),)
    if word in ("object-group", "object") and (last or (name in reading.services and name not in reading.addresses)):
        return _named_services(reading, words, parts)
    return None


def read_log(words: Words) -> bool:
    """After `log`: `[disable|default|level [interval n]]`. Whether matches are logged."""
    if words.accept("disable"):
        return False
    if words.accept("default"):
        return True
    if not words.accept(*LOG_LEVELS) and is_decimal(words.peek()) and int(words.peek()[:3]) <= 7:
        words.next()
    if words.accept("interval"):
        number_in(words.next("seconds"), 1, 600, "a log interval")
    return True


def _options(words: Words, parts: Parts) -> tuple[bool, bool | None, str]:
    """(enabled, logged or None when nothing is said, schedule)."""
    enabled, schedule = True, ""
    logged: bool | None = None
    while words:
        word = words.next().lower()
        if word == "log":
            logged = read_log(words)
        elif word == "inactive":
            enabled = False
        elif word == "time-range":
            schedule = words.next("a time range")
            parts.conditions.append(f"time-range {schedule}")
            parts.references.append(schedule)
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood here")
    return enabled, logged, schedule
