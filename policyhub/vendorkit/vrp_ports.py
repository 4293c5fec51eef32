"""An interface of a Huawei or H3C firewall: what both say in the same words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from policyhub.domain.device_config import Interface
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in
from policyhub.vendorkit.vrp_lines import interface_name, take_interface_address

Hook = Callable[[Interface, Block], Interface | None]
Speeds = Sequence[tuple[re.Pattern[str], int]]


def read_port(ledger: LineLedger, block: Block, speeds: Speeds, hook: Hook) -> Interface:
    """The interface with what the common words and `hook` understand below it. Raises NotUnderstood without a name."""
    name = interface_name(Words(block.words, 1))
    parent, dot, _ = name.partition(".")
    speed = None if dot else next((bps for sign, bps in speeds if sign.match(name)), None)
    interface = Interface(name, speed_bps=speed, parent=parent if dot else "")
    lines = [block.number]
    for child in block.below():
        try:
            changed = _common(interface, child) or hook(interface, child)
        except NotUnderstood as reason:
            ledger.unparsed(child.line, str(reason))
            continue
        if changed is not None:
            interface = changed
            lines.append(child.number)
            ledger.understood(child.number)
    return replace(interface, lines=tuple(lines))


def _common(interface: Interface, child: Block) -> Interface | None:
    """The interface with the line in it; None when the platform has to say what it means."""
    words = Words(child.words)
    word = words.next().lower()
    text = child.text.lower()
    if text == "undo shutdown":
        return replace(interface, enabled=True)
    if word == "shutdown":
        return replace(interface, enabled=False)
    if word == "description":
        return replace(interface, description=child.text.partition(" ")[2].strip())
    if text.startswith("ip binding vpn-instance "):
        return replace(interface, vrf=words.words[-1])
    if word in ("ip", "ipv6") and words.accept("address"):
        address = take_interface_address(words)
        return replace(interface, addresses=(*interface.addresses, address)) if address else interface
    if word == "mtu" and is_decimal(words.peek()):
        return replace(interface, mtu=number_in(words.next(), 1, 65535, "an MTU"))
    if word == "speed" and is_decimal(words.peek()):
        return replace(interface, speed_bps=number_in(words.next(), 1, 10**6, "a speed") * 10**6)
    return None
