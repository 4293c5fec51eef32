"""`rate-limit` of a port: committed access rates, tried in the order of their lines."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.domain.qos import ClassMatch, QosAttachment, QosClass, QosPolicy
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_police import has_no_field, read_police
from policyhub.vendorkit.lexing import NotUnderstood, Words, dscp_in
from policyhub.vendors.cisco_ios.reading import Reading


def read_line(reading: Reading, interface: str, block: Block) -> None:
    """`rate-limit input|output [access-group N|dscp N|qos-group N] BPS BURST MAXIMUM conform-action A exceed-action A`."""
    words = Words(block.words, 1)
    direction = words.accept("input", "output")
    if not direction:
        raise NotUnderstood("input or output is expected")
    name, match = _match(reading, words)
    limit = words.rest().split()
    policer = read_police(Words(limit))
    notes = (block.text,) if has_no_field(["police", *limit], policer) else ()
    made = QosClass(name, match, policer=policer, lines=(block.number,), notes=notes)
    reading.rates.setdefault((interface, "in" if direction == "input" else "out"), []).append(made)


def _match(reading: Reading, words: Words) -> tuple[str, ClassMatch]:
    kind = words.accept("access-group", "dscp", "qos-group")
    if not kind:
        return "any", ClassMatch(any=True)
    if kind == "access-group" and words.accept("rate-limit"):  # a list of precedences or of MAC addresses
        kind = "access-group rate-limit"
    name = words.next("what is limited")
    if kind == "access-group":
        reading.mqc.selectors.add(name)
        return f"{kind} {name}", ClassMatch(acls=(name,))
    if kind == "dscp":
        return f"{kind} {name}", ClassMatch(dscp=frozenset({dscp_in(name)}))
    return f"{kind} {name}", ClassMatch(other=(f"{kind} {name}",))


def policies(reading: Reading) -> Iterator[QosPolicy]:
    for (interface, direction), classes in reading.rates.items():
        lines = tuple(line for made in classes for line in made.lines)
        attached = (QosAttachment(interface, direction, lines),)
        yield QosPolicy(f"rate-limit {interface} {direction}", tuple(classes), attached, lines)
