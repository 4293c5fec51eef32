"""Pools of addresses, and what a dynamic rule translates to, as IOS and NX-OS write them."""

from __future__ import annotations

from collections.abc import Callable

from policyhub.domain.addresses import AddressSet
from policyhub.domain.objects import AddressObject
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words, range_set


def read_pool(ledger: LineLedger, words: Words, block: Block, options: Callable[[Words], None]) -> AddressObject:
    """`N A B ..`, or `address A B` below; `options` reads what follows the range. Raises NotUnderstood."""
    name = words.next("a name")
    found: AddressSet | None = None
    if words.peek().lower() not in ("prefix-length", "netmask", ""):
        found = range_set(words.next("an address"), words.next("an address"))
        if found is None:
            raise NotUnderstood("the pool is not a range of addresses")
    options(words)
    lines = [block.number]
    for child in block.children:
        below = Words(child.words)
        part = range_set(below.next(), below.next()) if below.accept("address") and below.peek(1) else None
        if part is None:
            ledger.unparsed(child.line, "address FIRST LAST is expected")
            continue
        found = part if found is None else found.union(part)
        lines.append(child.number)
        ledger.understood(child.number)
    return AddressObject(name, found, "pool", tuple(lines))


def take_target(words: Words) -> tuple[str, list[str], list[str]]:
    """`pool P` or `interface IF`: what addresses become, names it refers to, notes. Raises NotUnderstood."""
    if words.accept("pool"):
        pool = words.next("a pool")
        return pool, [pool], []
    if words.accept("interface"):
        return "interface", [], [f"interface {words.next('an interface')}"]
    raise NotUnderstood("pool or interface is expected")
