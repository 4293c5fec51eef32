"""Tables of the SONiC command line: a header, a line of dashes, rows; columns stand where the dashes stand (python tabulate)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policyhub.vendorkit.blocks import Line

DASHES = re.compile(r"^-{2,200}(?: {2,20}-{2,200}){0,60}$")
TITLE = re.compile(
    r"^(?:For namespace ?.*:|Namespace asic\d+|Ingress PG (?:dropped packets|headroom per PG|"
    r"shared pool occupancy per PG|.*):|Egress .*:|"
    r"Changed polling interval to \d+ms|The rates are calculated within \d+ seconds period|Reading ACL info\.\.\.|"
    r"Total number of ACL (?:Tables|Rules): \d+|Last cached time was .*|(?:Pool|Profile)(?: for namespace \w+)?: \S+|"
    r"Switch (?:Trimming|Wide).*|Packet Trimming.*|BIN\d+.*)$"
)


@dataclass(frozen=True, slots=True)
class Row:
    """cells by column title."""

    line: int
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """`title` is the line above the header; columns () for lists of `name value` between two lines of dashes.

    shifted: numbers of lines, that of the header too, that do not keep the gaps between the columns free.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    lines: tuple[int, ...]
    shifted: tuple[int, ...] = ()


def read_tables(text_lines: Sequence[Line], text: str) -> Iterator[Table]:
    """text: what the lines, all of them, are of; columns stand where its blanks are."""
    lines = list(text_lines)
    raw = [line.expandtabs().rstrip() for line in text.removeprefix("\ufeff").split("\n")]
    at = 0
    while at < len(lines):
        if not DASHES.match(lines[at].text) or at == 0:
            at += 1
            continue
        is_list = not lines[at - 1].text or TITLE.match(lines[at - 1].text) is not None
        columns = [found.span() for found in re.finditer(r"-+", raw[at])]
        end = at + 1
        while end < len(lines) and (lines[end].text or _goes_on(lines, end)) and not DASHES.match(lines[end].text):
            if not is_list and TITLE.match(lines[end].text):
                break
            end += 1
        body = [i for i in range(at + 1, end) if lines[i].text and _fits(raw[i], columns)]
        numbers = {lines[i].number for i in (at - 1, at, *body)}
        if is_list:
            if end < len(lines) and DASHES.match(lines[end].text):
                numbers.add(lines[end].number)
            yield Table(lines[at - 1].text, (), tuple(_pair(lines[i]) for i in body), tuple(sorted(numbers)))
            at = end + 1
            continue
        titles = _cells(raw[at - 1], columns)
        title = lines[at - 2].text if at > 1 else ""
        rows = tuple(Row(lines[i].number, dict(zip(titles, _cells(raw[i], columns), strict=True))) for i in body)
        shifted = tuple(lines[i].number for i in (at - 1, *range(at + 1, end)) if lines[i].text and not _fits(raw[i], columns))
        yield Table(title, tuple(titles), rows, tuple(sorted(numbers)), shifted)
        at = end


def _fits(text: str, columns: list[tuple[int, int]]) -> bool:
    """Whether the line keeps the gaps between the columns free."""
    return all(not text[end:start].strip() for (_, end), (start, _) in itertools.pairwise(columns))


def _goes_on(lines: list[Line], at: int) -> bool:
    """A blank line inside a table: `show pfc counters history` puts one between ports."""
    following = lines[at + 1].text if at + 1 < len(lines) else ""
    after = lines[at + 2].text if at + 2 < len(lines) else ""
    return bool(re.match(r"Ethernet[\w-]*\s", following)) and not DASHES.match(after)


def _cells(text: str, columns: list[tuple[int, int]]) -> list[str]:
    """The last column takes what stands behind it."""
    found: list[str] = []
    for position, (start, end) in enumerate(columns):
        stop = end if position < len(columns) - 1 else len(text)
        found.append(text[start:stop].strip())
    return found


def _pair(line: Line) -> Row:
    name, _, value = line.text.partition(" ")
    return Row(line.number, {"name": name, "value": value.strip()})
