"""`mls qos`: trust of ports, the DSCP-to-CoS map (configured or the documented default), aggregate policers."""

from __future__ import annotations

import json
import re
from importlib.resources import files

from policyhub.domain.qos import DscpMap, Trust
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, dscp_in, number_in
from policyhub.vendors.cisco_ios import port_queues
from policyhub.vendors.cisco_ios.reading import PACKAGE, Reading

DEFAULT_DSCP_TO_COS: tuple[int, ...] = tuple(
    json.loads(files(PACKAGE).joinpath("default_maps.json").read_text(encoding="utf-8"))["dscp_to_cos"]
)
PHYSICAL = re.compile(
    r"^(fast|gigabit|tengigabit|twogigabit|fivegigabit|twentyfivegige|fortygigabit|hundredgig\w*)?ethernet", re.IGNORECASE
)


def read_mls(reading: Reading, block: Block) -> None:
    """Global `mls qos ..`; maps and queues."""
    words = Words(block.words, 1)
    if not words.accept("qos"):
        raise NotUnderstood("not understood")
    if not words:
        reading.mls_line = block.number
    elif words.accept("map"):
        _read_map(reading, words, block)
    elif words.accept("aggregate-policer"):
        reading.mqc.aggregate_policers[words.next("a name")] = block
    elif words.peek().lower() in ("srr-queue", "queue-set"):
        port_queues.read_global(reading, words, block)
    elif not words.accept("rewrite"):
        raise NotUnderstood(
            f"mls qos {words.peek()[:40]!r} is not modelled" if not words.accept("statistics-export") else "not understood"
        )


def read_auto(reading: Reading, block: Block) -> None:
    """`auto qos srnd4`, `auto qos global compact`: the lines that it wrote stand in the configuration themselves."""
    if block.words[1:2] != ["qos"] or len(block.words) < 3:
        raise NotUnderstood("not understood")
    reading.queue_notes.append((block.text, block.number))


def _read_map(reading: Reading, words: Words, block: Block) -> None:
    """`mls qos map dscp-cos 8 10 to 1`: at most 13 marks per line, lines add up."""
    kind = words.next("a map").lower()
    if kind != "dscp-cos":
        port_queues.read_map(reading, kind, words, block)
        return
    marks: list[int] = []
    while words and words.peek().lower() != "to":
        marks.append(dscp_in(words.next()))
    words.next("to")
    level = number_in(words.next("a level"), 0, 7, "a class of service")
    words.end()
    reading.dscp_to_cos.update(dict.fromkeys(marks, level))
    reading.dscp_to_cos_lines.append(block.number)


def read_trust(reading: Reading, interface: str, block: Block) -> None:
    """`mls qos trust [dscp|cos|ip-precedence]` (dscp when none is named), `qos trust ..`, and their `no` forms.

    Trust that depends on an attached phone is a note of the port (`port_queues`).
    """
    words = Words(block.words)
    words.accept("no")
    words.accept("mls")
    if not words.accept("qos") or not words.accept("trust"):
        raise NotUnderstood("not a trust line that is modelled")
    if block.words[0].lower() == "no":
        mode = "none"
    else:
        word = words.accept("dscp", "cos", "ip-precedence", "precedence") or ("" if words else "dscp")
        if not word:
            raise NotUnderstood(f"{words.peek()[:40]!r} is no mark that can be trusted")
        mode = "pcp" if word == "cos" else "dscp"  # the precedence is the upper half of the same byte
    words.accept("pass-through")
    words.accept("dscp")
    words.end()
    reading.trusts.append(Trust(interface, mode, (block.number,)))


def trusts(reading: Reading) -> tuple[Trust, ...]:
    """With `mls qos` on, a port without a trust line believes nothing."""
    if not reading.mls_line:
        return tuple(reading.trusts)
    told = {trust.interface for trust in reading.trusts}
    silent = [i.name for i in reading.interfaces.values() if i.name not in told and PHYSICAL.match(i.name)]
    return (*reading.trusts, *(Trust(name, "none", (reading.mls_line,)) for name in silent))


def dscp_maps(reading: Reading) -> tuple[DscpMap, ...]:
    """The level is the class of service; without `mls qos` the platform keeps no such map."""
    if not reading.mls_line and not reading.dscp_to_cos:
        return ()
    level = tuple((mark, reading.dscp_to_cos.get(mark, cos)) for mark, cos in enumerate(DEFAULT_DSCP_TO_COS))
    lines = tuple(line for line in (reading.mls_line, *reading.dscp_to_cos_lines) if line)
    return (DscpMap("dscp-cos", level, (), not reading.dscp_to_cos, lines),)
