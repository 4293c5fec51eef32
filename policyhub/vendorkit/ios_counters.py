"""Hit counters of Cisco-like show outputs: the lines of each access list, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policyhub.vendorkit.blocks import Line, read_lines
from policyhub.vendorkit.ledger import MAX_LINE

HOSTNAME = re.compile(r"^[ \t]*hostname +(\S[^\n]*)", re.MULTILINE)


def hostname_in(text: str) -> str:
    """Of the configuration that stands beside the output; "" when there is none."""
    found = HOSTNAME.findall(text)
    return found[-1].strip() if found else ""


def listed(text: str, header: re.Pattern[str], entry: re.Pattern[str]) -> Iterator[tuple[str, Line, re.Match[str] | None]]:
    """Name of a list, a line of it, and the match of `entry`, None for a line about the list.

    A list begins with `header` (group `name`) and ends with a line at the left margin that is no entry, the last it gives.
    """
    name = ""
    for line in read_lines(text):
        if not line.text or len(line.text) > MAX_LINE:
            continue
        begun = header.match(line.text)
        if begun is not None:
            name = begun["name"]
            continue
        found = entry.match(line.text)
        if name:
            yield name, line, found
        if found is None and line.indent == 0:
            name = ""
