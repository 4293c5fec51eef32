"""Hits of `show policy hit-count`, as a table and by id.

StoneOS command line manual, "show policy hit-count": traffic that matches a rule adds one; zero is printed. Columns may hold
blanks and cut names, so only the first two words and the last two are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.ledger import MAX_LINE
from policyhub.vendorkit.unread_hits import NO_COUNT, unread

POLICY = "policy-global"
SEEN = re.compile(r"^(?:Most hit policy rules:|Policy id \d+ is hit \d+ times)", re.MULTILINE)
ROW = re.compile(r"^\d{1,9}\s+(\d{1,9})\s.*\s([A-Za-z][A-Za-z_-]{2,20})\s+(\d{1,20})\+?$")
BY_ID = re.compile(r"^Policy id (\d{1,9}) is hit (\d{1,20}) times")
SENTENCE = re.compile(r"^Policy id \S+ is hit\b")
ACTIONS = frozenset({"permit", "deny", "tunnel", "fromtunnel", "webauth", "portal", "portal-server"})
PROMPT = re.compile(r"^([\w.\-/]{1,64})((?:\([^()\s]{1,64}\)){0,2})[#>] ?")
HOSTNAME = re.compile(r'^hostname "?([^"\s]{1,64})"?$')
MODES = ("config",)


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """One HitCount per rule id; None when the text holds none. A rule printed by several commands keeps its last number."""
    if SEEN.search(text.replace("\r", "")) is None:
        return None
    found: dict[tuple[str, str], HitCount] = {}
    policy, hostname, in_table = POLICY, "", False
    for line in read_lines(text):
        if len(line.text) > MAX_LINE:
            continue
        prompt = PROMPT.match(line.text)
        if prompt is not None:
            hostname, policy, in_table = prompt[1], _policy(prompt[2]), False
        named = HOSTNAME.match(line.text)
        hostname = named[1] if named is not None else hostname
        in_table = in_table or line.text.startswith("Most hit policy rules:")
        row = ROW.match(line.text) if in_table else None
        shown = BY_ID.match(line.text)
        if row is not None and row[2].lower() in ACTIONS:
            _add(found, policy, row[1], int(row[3]), line.number)
        elif shown is not None:
            _add(found, policy, shown[1], int(shown[2]), line.number)
    if not found:
        return None
    return HitSample("hillstone_stoneos", "sessions", tuple(found.values()), read_at=read_at, hostname=hostname)


def unread_counts(text: str) -> Iterator[Unparsed]:
    """Rows and sentences whose count is no number."""
    in_table = False
    for line in read_lines(text):
        if PROMPT.match(line.text):
            in_table = False
        elif line.text.startswith("Most hit policy rules:"):
            in_table = True
        elif (in_table and line.text[:1].isdigit() and ROW.match(line.text) is None) or (
            SENTENCE.match(line.text) and BY_ID.match(line.text) is None
        ):
            yield unread(line.number, line.text, NO_COUNT)


def _add(found: dict[tuple[str, str], HitCount], policy: str, key: str, hits: int, number: int) -> None:
    found[policy, key] = HitCount(policy, key, hits, line=number)


def _policy(modes: str) -> str:
    """`(vsys-a)` in a prompt is a vsys; `(config..)` a mode."""
    names = [name for name in modes.strip("()").split(")(") if name and not name.startswith(MODES)]
    return f"{names[0]}/{POLICY}" if names else POLICY
