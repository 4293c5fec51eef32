"""Hosts, ports and protocols of a pf rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, AddressSet, Interval, normalise
from policyhub.domain.services import MAX_PORT, ports_except
from policyhub.vendorkit.json_books import address
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal
from policyhub.vendorkit.operands import NameTable
from policyhub.vendorkit.port_lists import NAMES

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
BETWEEN = (":", "><", "<>")


@dataclass(slots=True)
class Host:
    value: AddressSet = ANY
    unresolved: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)


def members(words: Words) -> Iterator[Words]:
    """A list in braces, one by one (commas may be left out), or the words themselves once."""
    if not words.accept("{"):
        yield words
        return
    while words and words.peek() != "}":
        if not words.accept(","):
            yield words
    if words.next("}") != "}":
        raise NotUnderstood("a list does not end")


def short_address(text: str) -> AddressSet | None:
    """Also `10/8`, `192.168/16`."""
    base, slash, length = text.partition("/")
    octets = base.split(".")
    if slash and 0 < len(octets) < 4 and all(is_decimal(octet) for octet in octets):
        text = ".".join([*octets, *["0"] * (4 - len(octets))]) + "/" + length
    return address(text)


def read_host(words: Words, tables: NameTable[AddressSet], side: str) -> Host:
    """What stands behind from and to. Raises NotUnderstood."""
    host = Host()
    known: list[AddressSet] = []
    excluded: list[AddressSet] = []
    for at in members(words):
        is_negated = bool(at.accept("!"))
        word = at.next("a host")
        if word == "any":
            known.append(ANY)
        elif word == "(":
            inside = []
            while at.peek() not in ("", ")"):
                inside.append(at.next())
            at.next(")")
            host.unresolved.append(f"({' '.join(inside)})")
        elif word.startswith("<"):
            resolved = tables.resolve(word[1:-1])
            host.unresolved += [word if name == word[1:-1] else name for name in resolved.unresolved]
            (excluded if is_negated else known).append(resolved.value)
        elif word in ("no-route", "urpf-failed", "route"):
            host.conditions.append(f"{side} {'! ' if is_negated else ''}{word}")
            known.append(ANY)
        else:
            if at.peek() == "-" and short_address(word):
                at.next()
                word = f"{word}-{at.next('an address')}"
            found = short_address(word)
            if found is None:
                host.unresolved.append(word)
            else:
                (excluded if is_negated else known).append(found)
    base = AddressSet().union(*known) if known else ANY
    host.value = ANY if host.unresolved else base.minus(AddressSet().union(*excluded))
    return host


def read_ports(words: Words, protocol: int | None) -> tuple[Interval, ...]:
    """Behind `port`. Raises NotUnderstood."""
    found: list[Interval] = []
    for at in members(words):
        operator = at.next() if at.peek() in OPERATORS else "="
        word = at.next("a port")
        if ":" in word and operator == "=":
            low, _, high = word.partition(":")
            found += _between(NAMES.port(low or "0", protocol), NAMES.port(high or str(MAX_PORT), protocol), ":")
        elif at.peek() in BETWEEN:
            found += _between(NAMES.port(word, protocol), -1, at.next(), at, protocol)
        else:
            found += _compared(NAMES.port(word, protocol), operator)
    if not found:
        raise NotUnderstood("the ports are empty")
    return normalise(found)


def _between(low: int, high: int, operator: str, words: Words | None = None, protocol: int | None = None) -> tuple[Interval, ...]:
    """`:` with, `><` without the ends, `<>` everything outside them."""
    if words is not None:
        high = NAMES.port(words.next("a port"), protocol)
    if operator == "<>":
        return ports_except(((low, high),))
    first, last = (low, high) if operator == ":" else (low + 1, high - 1)
    if first > last:
        raise NotUnderstood(f"{low}{operator}{high} is not a range of ports")
    return ((first, last),)


def _compared(port: int, operator: str) -> tuple[Interval, ...]:
    spans = {"=": (port, port), "<": (0, port - 1), "<=": (0, port), ">": (port + 1, MAX_PORT), ">=": (port, MAX_PORT)}
    if operator == "!=":
        return ports_except(((port, port),))
    low, high = spans[operator]
    return ((low, high),) if low <= high else ()
