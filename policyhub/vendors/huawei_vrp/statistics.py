"""`display traffic policy statistics` in three layouts: S series (Passed | Packets:), NE (Item Packets Bytes), CloudEngine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

NAMED = re.compile(r"^\s*Traffic policy(?: (?:inbound|outbound))?: ?([^\s,]+)", re.IGNORECASE)
TABLE_ROW = re.compile(r"^\s*(?:\+--)?(Matched|Passed|Dropped)\s+([\d,]+|N/A|-)(?:\s+([\d,]+|N/A|-))?", re.IGNORECASE)
BLOCK_ROW = re.compile(r"^\s*(Matched|Passed|Dropped)?\s*\|\s*(Packets|Bytes):\s*([\d,]+|-|N/A)", re.IGNORECASE)


@dataclass(slots=True)
class Totals:
    """Packets and bytes per word (matched, passed, dropped); a word is absent when the device prints no number for it."""

    packets: dict[str, int]
    size: dict[str, int]

    @property
    def matched(self) -> tuple[int | None, int | None]:
        """What the policy took: "Matched", or passed and dropped together."""
        return _whole(self.packets), _whole(self.size)


def _whole(counted: dict[str, int]) -> int | None:
    if "matched" in counted:
        return counted["matched"]
    return sum(counted.values()) if counted else None


def number(text: str | None) -> int | None:
    """`13,528`; None for N/A and a dash."""
    digits = (text or "").replace(",", "")
    return int(digits) if digits.isascii() and digits.isdigit() else None


def read_totals(text: str) -> dict[str, Totals]:
    """Policy name -> totals over the boards and classifiers printed for it. Rates are skipped."""
    found: dict[str, Totals] = {}
    now: Totals | None = None
    skipping, word = "", ""
    for line in text.splitlines():
        start = line.strip().lower()
        named = NAMED.match(line)
        if named:
            now = found.setdefault(named[1], Totals({}, {}))
            skipping = ""
        elif start.startswith("current car"):
            skipping = "car"
        elif start.startswith("classifier:"):
            skipping = ""
        elif start.startswith("last "):
            skipping = skipping or "rates"
        elif start.startswith("item ") and "packets" in start and skipping == "rates":
            skipping = ""
        elif now is not None and not skipping:
            word = _row(now, line, word)
    return found


def _row(totals: Totals, line: str, word: str) -> str:
    block = BLOCK_ROW.match(line)
    if block:
        word = (block[1] or word).lower()
        _add(totals.packets if block[2].lower() == "packets" else totals.size, word, number(block[3]))
        return word
    row = TABLE_ROW.match(line)
    if row:
        _add(totals.packets, row[1].lower(), number(row[2]))
        _add(totals.size, row[1].lower(), number(row[3]))
    return word


def _add(counted: dict[str, int], word: str, value: int | None) -> None:
    if value is not None and word:
        counted[word] = counted.get(word, 0) + value


OUTPUT = re.compile(
    r"^(?:Interface|Bridge-domain|Rule number|Current status|Statistics|Traffic policy applied|Slot|Board|Classifier|Behavior"
    r"|Operator|Firewall|Marking|remark|Info:|Item|Matched|Missed|\+--|Passed|Dropped|Filter|CAR|Green|Yellow|Red"
    r"|Last \d+|Current CAR|\||-{20,}|rule \d+ |if-match |\d+ bytes, )",
    re.IGNORECASE,
)


def output_lines(lines: Iterable[tuple[int, str]]) -> list[int]:
    """Numbers of the lines that belong to such outputs: from the heading to the first line that is none of theirs."""
    taken: list[int] = []
    waiting: list[int] = []
    inside = False
    for number, text in lines:
        if NAMED.match(text):
            inside = True
            taken += [*waiting, number]
        elif not text or not OUTPUT.match(text):
            inside = inside and not text
            waiting = []
        elif inside:
            taken.append(number)
        else:
            waiting = [*waiting[-2:], number]  # "Interface: .." stands before the policy's name
    return taken


def policy_totals(policy: str, outputs: Iterable[str]) -> tuple[int | None, int | None]:
    """Packets and bytes that one policy took over several outputs; None when no output has a number."""
    packets: list[int] = []
    size: list[int] = []
    for text in outputs:
        totals = read_totals(text).get(policy)
        if totals is None:
            continue
        taken, taken_bytes = totals.matched
        if taken is not None:
            packets.append(taken)
        if taken_bytes is not None:
            size.append(taken_bytes)
    return (sum(packets) if packets else None), (sum(size) if size and len(size) == len(packets) else None)
