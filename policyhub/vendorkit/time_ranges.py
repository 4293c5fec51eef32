"""`time-range NAME` of Cisco platforms: `absolute [start ..] [end ..]` and `periodic ..` lines, numbered or not."""

from __future__ import annotations

from policyhub.domain.objects import Schedule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import Words, device_time, is_decimal


def read_time_range(block: Block, ledger: LineLedger) -> Schedule:
    """`expires` is the end of the absolute line. Raises NotUnderstood without a name."""
    name = Words(block.words, 1).next("a name")
    expires: str | None = None
    texts: list[str] = []
    for child in block.children:
        words = child.words[1:] if is_decimal(child.words[0]) and len(child.words) > 1 else child.words
        if words[0].lower() not in ("absolute", "periodic", "exit"):
            ledger.unparsed(child.line, "absolute or periodic is expected")
            continue
        if words[0].lower() == "absolute" and "end" in words:
            expires = device_time(words[words.index("end") + 1 :])
            if expires is None:
                ledger.unparsed(child.line, "the end is not a time")
                continue
        ledger.understood(child.number)
        if words[0].lower() != "exit":
            texts.append(" ".join(words))
    return Schedule(name, "; ".join(texts), expires, block.numbers)
