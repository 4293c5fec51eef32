"""The text of `show current-config` and `show access-rules`: a header, its settings deeper or below it, and `exit`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from policyhub.domain.addresses import AddressSet
from policyhub.vendorkit.blocks import Block, Line
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD, IgnoreList, LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words, number_in
from policyhub.vendorkit.rendering import is_prompt
from policyhub.vendors.sonicwall.drafts import (
    FAMILIES,
    NO_CONDITION,
    NO_MATCH,
    Reading,
    RuleDraft,
    address_range,
    host,
    network,
    service,
)

IGNORED = IgnoreList.of("policyhub.vendors.sonicwall")
WORD = re.compile(r'"([^"]{0,4000})"|((?:\\.|[^\s"\\]){1,4000})')
OBJECT = {"exit", "uuid", "name", "zone", "comment", "no"}
# what stands below each header; in a text without indentation, these belong to the open header until `exit`
BELOW = {
    "access-rule": {
        "exit", "uuid", "id", "name", "no", "enable", "comment", "from", "to", "action", "source", "service", "destination",
        "schedule", "users", "logging", "priority",
    },
    "address-object": OBJECT | {"host", "network", "range", "domain"},
    "address-group": OBJECT | {"address-object", "address-group"},
    "service-object": OBJECT | {"tcp", "udp"},
    "service-group": OBJECT | {"service-object", "service-group"},
}  # fmt: skip
READ_OVER = {"id", *(name.replace("_", "-") for name in NO_MATCH)}


def split_words(text: str) -> list[str]:
    return [plain.replace("\\", "") if plain else quoted for quoted, plain in WORD.findall(text)]


def is_comment(text: str) -> bool:
    return text.startswith(("#", "!")) or is_prompt(text)


def read_cli(lines: Iterable[Line], ledger: LineLedger, reading: Reading) -> None:
    kept: list[Line] = []
    for line in ledger.without_long(lines):
        if line.text and is_comment(line.text):
            ledger.understood(line.number)
        elif line.text:
            kept.append(line)
    blocks = _blocks(kept)
    for block in blocks:
        read = READERS.get(block.words[0])
        if read is None:
            continue
        try:
            read(reading, ledger, block)
            ledger.understood(block.number)
        except NotUnderstood as error:
            for below in block.walk():
                ledger.unparsed(below.line, str(error))
    ledger.settle(blocks, IGNORED)


def _blocks(lines: list[Line]) -> list[Block]:
    """Deeper lines belong to the header above; without indentation what BELOW names, until `exit`."""
    top: list[Block] = []
    is_open = is_flat = False
    for line in lines:
        head = top[-1] if top else None
        words = line.words
        below = BELOW.get(head.words[0], set()) if head is not None else set()
        is_deeper = head is not None and line.indent > head.line.indent
        is_below = is_open and (is_flat or head is None or not head.children) and words[0].lower() in below
        if head is not None and (is_deeper or is_below):
            head.adopt(Block(line))
            is_flat = not is_deeper
            is_open = is_open and not (is_flat and words == ["exit"])
        else:
            top.append(Block(line))
            is_open, is_flat = True, False
    return top


def _rule(reading: Reading, ledger: LineLedger, block: Block) -> None:
    """Raises NotUnderstood."""
    at = Words(split_words(block.text), 1)
    draft = RuleDraft(at.accept(*FAMILIES) or "ipv4", block.numbers, "; ".join(line.text for line in block.walk()))
    while at:
        if not _setting(draft, at):
            raise NotUnderstood(f"{at.peek()[:40]!r} is not understood here")
    for below in block.children:
        _below(draft, ledger, below)
    draft.check()
    reading.drafts.append(draft)


def _below(draft: RuleDraft, ledger: LineLedger, below: Block) -> None:
    """One setting. One that nobody understands may narrow the rule: it is a condition as well."""
    words = split_words(below.text)
    at = Words(words)
    try:
        if not (_setting(draft, at) or _about(draft, at)):
            raise NotUnderstood(NOT_UNDERSTOOD)
        at.end()
        ledger.understood(below.number)
    except NotUnderstood as error:
        draft.conditions.append(below.text)
        ledger.unparsed(below.line, str(error))


def _setting(draft: RuleDraft, at: Words) -> bool:
    """What a header may hold, too. False when it is something else. Raises NotUnderstood."""
    word = at.peek().lower()
    if word in ("from", "to"):
        at.next()
        draft.zones[word] = at.next("a zone")
    elif word == "action":
        at.next()
        draft.action = at.next("an action").lower()
    elif word in ("source", "destination"):
        at.next()
        kind = at.accept("address", "port") if word == "source" else at.accept("address")
        if not kind:
            raise NotUnderstood(f"{at.peek()[:40]!r} is not understood here")
        draft.operands["port" if kind == "port" else word] = _operand(at)
    elif word == "service":
        at.next()
        draft.operands["service"] = _operand(at)
    else:
        return False
    return True


def _operand(at: Words) -> tuple[str, ...]:
    """Raises NotUnderstood."""
    if at.accept("any"):
        return ()
    if not at.accept("name", "group"):
        raise NotUnderstood(f"{at.peek()[:40]!r} is not any, name or group")
    return (at.next("a name"),)


def _about(draft: RuleDraft, at: Words) -> bool:
    """What stands below a header only. False when nobody knows it. Raises NotUnderstood."""
    is_on = not at.accept("no")
    word = at.next("a setting").lower()
    if word == "exit":
        return is_on
    if word == "enable":
        draft.is_enabled = is_on
    elif word == "logging":
        draft.is_logged = is_on
    elif word in ("name", "comment"):
        setattr(draft, word, at.next("a text") if is_on else "")
    elif word == "priority":
        _priority(draft, at)
    elif word in ("schedule", "users"):
        text = f"{word} {at.rest()}"
        if text not in NO_CONDITION:
            draft.conditions.append(text)
            draft.schedule = text.removeprefix("schedule name ") if word == "schedule" else draft.schedule
    elif word in READ_OVER:
        rest = at.rest()
        draft.identity = f"id {rest}" if word == "id" else draft.identity
    elif word in ("botnet-filter", "geo-ip-filter", "connection-limit"):
        if is_on:
            draft.conditions.append(f"{word} {at.rest()}".strip())
        at.rest()
    else:
        return word == "quality-of-service" and (_quality(draft, at) if is_on else at.rest() is not None)
    return True


def _quality(draft: RuleDraft, at: Words) -> bool:
    """`dscp|class-of-service preserve|explicit N`; the map depends on a table of the device. Raises NotUnderstood."""
    which = at.accept("dscp", "class-of-service")
    if which and at.accept("explicit"):
        value = number_in(at.next("a mark"), 0, 63 if which == "dscp" else 7, "a mark")
        draft.mark(**{"dscp" if which == "dscp" else "pcp": value})
        return True
    return bool(which and at.accept("preserve"))


def _priority(draft: RuleDraft, at: Words) -> None:
    """Raises NotUnderstood."""
    if at.accept("manual"):
        draft.priority = number_in(at.next("a priority"), 0, 2**31, "a priority")
    elif not at.accept("auto"):
        raise NotUnderstood(f"{at.peek()[:40]!r} is not a priority")


def _named(block: Block, families: tuple[str, ...]) -> tuple[str, str, Words]:
    """Family, name and the rest of a header. Raises NotUnderstood."""
    at = Words(split_words(block.text), 1)
    family = at.accept(*families) if families else ""
    if families and not family:
        raise NotUnderstood(f"{at.peek()[:40]!r} is not {' or '.join(families)}")
    return family, at.next("a name"), at


def _settings(block: Block, rest: Words) -> list[Words]:
    """The rest of a header and each line below, without `uuid`, `name`, `zone`, `comment` and `exit`. Raises NotUnderstood."""
    found: list[Words] = []
    for at in (rest, *(Words(split_words(below.text)) for below in block.children)):
        while at:
            if at.accept("exit", "no"):
                at.rest()
            elif at.accept("uuid", "name", "zone", "comment"):
                at.next("a value")
            else:
                break
        if at:
            found.append(at)
    return found


def _address(reading: Reading, ledger: LineLedger, block: Block) -> None:
    """Raises NotUnderstood."""
    family, name, rest = _named(block, ("ipv4", "ipv6", "fqdn"))
    settings = _settings(block, rest)
    if len(settings) != 1:
        raise NotUnderstood("an object without one readable address")
    at = settings[0]
    text = " ".join(at.words[at.at :])
    value = _literal(at) if family != "fqdn" else None
    if family == "fqdn" and not (at.accept("domain") and at.next("a domain")):
        raise NotUnderstood("an object without a domain")
    if at.accept("zone"):
        at.next("a zone")
    at.end()
    ledger.understood(*block.numbers)
    reading.add_address(name, value, block.numbers, text, "fqdn" if family == "fqdn" else "static")


def _literal(at: Words) -> AddressSet:
    """Raises NotUnderstood."""
    kind = at.accept("host", "network", "range")
    if kind == "host":
        return host(at.next("an address"))
    if not kind:
        raise NotUnderstood(f"{at.peek()[:40]!r} is not host, network or range")
    first, second = at.next("an address"), at.next("a mask" if kind == "network" else "an address")
    return network(first, second) if kind == "network" else address_range(first, second)


def _service(reading: Reading, ledger: LineLedger, block: Block) -> None:
    """Raises NotUnderstood."""
    _, name, rest = _named(block, ())
    settings = _settings(block, rest)
    if len(settings) != 1:
        raise NotUnderstood("an object without one readable service")
    at = settings[0]
    value = service(at.next("a protocol"), at.next() if at else "", at.next() if at else "")
    at.end()
    ledger.understood(*block.numbers)
    reading.add_service(name, value, block.numbers)


def _group(reading: Reading, ledger: LineLedger, block: Block) -> None:
    """A member that nobody understands leaves the group open. Raises NotUnderstood."""
    kind = "network" if block.words[0] == "address-group" else "service"
    _, name, rest = _named(block, ("ipv4", "ipv6") if kind == "network" else ())
    rest.end()
    members: list[str] = []
    is_whole = True
    for below in block.children:
        at = Words(split_words(below.text))
        with ledger.booking(below.line):
            if at.accept("exit", "uuid", "name", "no", "comment"):
                continue
            is_whole = False
            members.append(_member(at, kind))
            is_whole = True
    is_whole = is_whole and not any(not ledger.is_understood(below.number) for below in block.children)
    reading.add_group(name, kind, tuple(members), block.numbers, is_whole)


def _member(at: Words, kind: str) -> str:
    """Raises NotUnderstood."""
    wanted = ("address-object", "address-group") if kind == "network" else ("service-object", "service-group")
    if not at.accept(*wanted):
        raise NotUnderstood(f"{at.peek()[:40]!r} is not a member")
    if kind == "network" and not at.accept("ipv4", "ipv6", "fqdn"):
        raise NotUnderstood(f"{at.peek()[:40]!r} is not ipv4, ipv6 or fqdn")
    name = at.next("a name")
    at.end()
    return name


READERS = {
    "access-rule": _rule,
    "address-object": _address,
    "address-group": _group,
    "service-object": _service,
    "service-group": _group,
}
