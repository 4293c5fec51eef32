"""ACLs from the configuration and from `display acl`, and the places that bind or use them."""

from __future__ import annotations

import re
from typing import TypeVar

from policyhub.domain.rules import Action, Binding, Policy
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words
from policyhub.vendorkit.vrp_acl import AUTO_NOTE, ENTRY, Acl, AclDialect, bound_only, collect, is_number, rules
from policyhub.vendorkit.vrp_lines import quoted_words, take_direction
from policyhub.vendors.h3c_comware.reading import NAMES, AclKey, Reading, take_acl

KINDS = ((2000, "basic"), (3000, "advanced"), (4000, "layer-2"), (5000, "user"))
KIND_WORDS = {
    "basic": "basic",
    "advanced": "advanced",
    "mac": "layer-2",
    "user-defined": "user",
    "wlan": "user",
    "link": "layer-2",
}
SHOWN = re.compile(
    r"^(?P<kind>Basic|Advanced|MAC|Ethernet frame|User-defined|WLAN client|WLAN AP) (?:(?P<family>IPv4|IPv6) )?ACL +"
    r"(?:named )?(?P<name>[^\s,]+)(?:, named (?P<alias>[^\s,]+))?, (?P<count>\d+|no) rules?",
    re.IGNORECASE,
)
SHOWN_STEP = re.compile(r"^ACL's step is (\d{1,5})(?:, start ID is \d+)?$", re.IGNORECASE)
SHOWN_ABOUT = re.compile(r"^This is an? .{0,40}ACL\b.*$", re.IGNORECASE)
SERVICE_ACL = re.compile(
    r"^(?P<service>(?:snmp-agent|telnet|ssh|sftp|ftp|http|https|ip http|ip https|ntp-service|ntp|netconf|tftp|tftp-server|snmp"
    r"|restful)\b.*?) acl\b",
    re.IGNORECASE,
)


def read_acl(reading: Reading, block: Block) -> None:
    """`acl basic|advanced|mac|user-defined N|name X`, `acl [ipv6] number N [name X] [match-order auto]`. Raises NotUnderstood."""
    words = Words(quoted_words(block.text), 1)
    if words.peek().lower() in ("logging", "trap", "copy", "log"):
        return
    family = 6 if words.accept("ipv6") else 4
    kind, number, name, auto = "", "", "", False
    while words:
        word = words.next().lower()
        if word in KIND_WORDS:
            kind = KIND_WORDS[word]
        elif word == "name":
            name = words.next("a name")
        elif word == "match-order":
            auto = words.next("auto or config").lower() == "auto"
        elif is_number(word):
            number = word
        elif word != "number":
            raise NotUnderstood(f"{word[:40]!r} is not understood here")
    if number and not kind:
        kind = next((known for low, known in reversed(KINDS) if int(number) >= low), "basic")
    family = 0 if kind in ("layer-2", "user") else family
    acl = _open(reading, reading.acls, family, name or number, kind or "advanced", number)
    acl.auto = acl.auto or auto
    acl.lines.append(block.number)
    collect(reading.ledger, acl, block)


def _open(reading: Reading, lists: dict[AclKey, Acl], family: int, name: str, kind: str, number: str) -> Acl:
    if not name:
        raise NotUnderstood("an ACL needs a number or a name")
    if number and number != name:
        reading.aliases[(family, number)] = (family, name)
    return lists.setdefault((family, name), Acl(family, name, kind, number))


def read_shown(reading: Reading, blocks: list[Block]) -> None:
    """`display acl`: a heading, the step, and the rules, indented or not."""
    acl: Acl | None = None
    for block in blocks:
        heading = SHOWN.match(block.text)
        if heading:
            kind = KIND_WORDS.get(heading["kind"].lower().split()[0].replace("ethernet", "link"), "user")
            family = 0 if kind in ("layer-2", "user") else 6 if (heading["family"] or "").lower() == "ipv6" else 4
            alias = heading["alias"] or ""
            name = alias if alias and alias != "-none-" else heading["name"]
            number = heading["name"] if is_number(heading["name"]) else ""
            acl = _open(reading, reading.shown, family, name, kind, number)
        elif acl is not None and (SHOWN_STEP.match(block.text) or SHOWN_ABOUT.match(block.text)):
            step = SHOWN_STEP.match(block.text)
            acl.step = max(1, int(step[1])) if step else acl.step
        elif acl is not None and ENTRY.match(block.text):
            collect(reading.ledger, acl, Block(block.line, [block]))
            continue
        else:
            acl = None
            continue
        acl.lines.append(block.number)
        reading.ledger.understood(block.number)
        for child in block.children:  # step and remarks may be indented under the heading
            if SHOWN_STEP.match(child.text) or SHOWN_ABOUT.match(child.text):
                acl.lines.append(child.number)
                reading.ledger.understood(child.number)
        collect(reading.ledger, acl, block)


def policies(reading: Reading) -> list[Policy]:
    """Configured lists, and lists only seen in a display output."""
    lists = dict(reading.acls)
    for key, shown in reading.shown.items():
        known = reading.aliases.get(key, key)
        if known in lists:
            reading.ledger.understood(*shown.lines, *(entry.number for entry in shown.entries))
        else:
            lists[key] = shown
    dialect = AclDialect(
        NAMES,
        comment="comment",
        one_value=("flow-label", "qos-local-id", "destination-mac", "source-mac"),
        ignored=("counting",),
        first_id=0,
        addresses=reading.address_group,
        services=reading.service_group,
    )
    bound, uses = _by_list(reading, reading.bindings), _by_list(reading, reading.uses)
    uncounted = _by_list(reading, reading.uncounted)
    found = [
        _policy(reading, dialect, acl, bound.get(key, []), uses.get(key, []), uncounted.get(key, []))
        for key, acl in lists.items()
    ]
    return [*found, *bound_only({key: pairs for key, pairs in bound.items() if key not in lists})]


T = TypeVar("T")


def _by_list(reading: Reading, told: dict[AclKey, list[T]]) -> dict[AclKey, list[T]]:
    """A list may be named by its number or its name: all under one key."""
    found: dict[AclKey, list[T]] = {}
    for at, texts in told.items():
        found.setdefault(reading.aliases.get(at, at), []).extend(texts)
    return found


def _policy(
    reading: Reading, dialect: AclDialect, acl: Acl, bound: list[tuple[Binding, str]], uses: list[str], uncounted: list[str]
) -> Policy:
    ends = {reading.filter_default if end == "filter" else end for _, end in bound}
    default = Action.DENY if ends == {"deny"} else Action.PERMIT if ends == {"permit"} else None
    notes = [AUTO_NOTE] if acl.auto else []
    notes += ["bound in places that treat packets without a match differently"] if len(ends) > 1 else []
    notes += dict.fromkeys([*uses, *(f"no hardware-count: {place}" for place in uncounted)])
    purpose = {"layer-2": "mac", "user": "user"}.get(acl.kind, "match" if uses and not bound else "filter")
    bindings = tuple(binding for binding, _ in bound)
    made = rules(reading.ledger, dialect, acl, acl.family)
    lines = tuple(acl.lines)
    return Policy(acl.name, made, default, acl.family, bindings, lines, purpose=purpose, notes=tuple(notes))


def read_packet_filter(reading: Reading, place: str, block: Block) -> None:
    """`packet-filter [ipv6|mac] N|name X inbound|outbound [hardware-count]`, `packet-filter default deny`."""
    words = Words(quoted_words(block.text), 1)
    if words.accept("default"):
        reading.filter_default = "deny" if words.accept("deny") else "permit"
        return
    if words.accept("filter", "statistics"):
        return
    where = place
    if words.accept("global"):
        where = "global"
    elif words.accept("vlan"):
        where = f"vlan {words.next('a vlan')}"
    key = take_acl(words)
    while words and words.peek().lower() in ("global", "vlan"):
        where = "global" if words.next().lower() == "global" else f"vlan {words.next('a vlan')}"
    direction = take_direction(words)
    reading.bind(key, where, direction, "filter", block.number)
    if "hardware-count" not in (word.lower() for word in words.words):
        reading.uncounted.setdefault(key, []).append(f"{where} {direction}")


def read_lines_view(reading: Reading, block: Block) -> None:
    """`line vty 0 63`, `user-interface vty 0 4`: an ACL there decides who may log in; what no rule permits is refused."""
    place = " ".join(block.words[:5])
    for child in block.below():
        words = Words(child.words)
        if words.peek().lower() != "acl":
            continue
        with reading.ledger.booking(child.line):
            key = take_acl(words)
            direction = "local" if take_direction(words) == "in" else "out"
            reading.bind(key, place, direction, "deny", child.number)


def read_service(reading: Reading, block: Block) -> None:
    """`telnet server acl 2000`, `snmp-agent community .. acl 2001`, `ip https acl 2000`. Raises NotUnderstood."""
    found = SERVICE_ACL.match(block.text)
    if found is None:
        raise NotUnderstood("may hold a rule")
    words = Words(block.text[found.end("service") :].split())
    service = found["service"].split()
    place = " ".join(service[:2]) if service[0].lower() == "ip" else service[0]
    reading.bind(take_acl(words), place, "local", "deny", block.number)


def use(reading: Reading, key: AclKey, text: str) -> None:
    """A list that only picks packets."""
    reading.uses.setdefault(key, []).append(text)
