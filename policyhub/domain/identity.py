"""Who a prefix is, which marks it may use, when and how fast. Longest prefix wins inside its realm."""

from __future__ import annotations

import csv
import io
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo

from policyhub.domain.addresses import MAX4, PREFIX_LENGTHS, quad_number
from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.qos import parse_dscp

COLUMNS = ("prefix", "name", "business", "owner", "class", "allowed_dscp", "active_window", "peak_mbps")
WINDOW = re.compile(r"^([01]\d|2[0-3]):[0-5]\d-(([01]\d|2[0-3]):[0-5]\d|24:00)(@[A-Z][a-z]{2}(-[A-Z][a-z]{2})?)?( \S+)?$")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


class Rows(Protocol):
    """What `csv.reader` gives; its class has no public name."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]: ...
    def __next__(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Identity:
    """allowed_dscp None = anything; active_window "" = always; peak_mbps None = unlimited (Mbit/s)."""

    prefix: str
    name: str
    business: str = ""
    owner: str = ""
    core: bool = False
    allowed_dscp: frozenset[int] | None = None
    active_window: str = ""
    peak_mbps: float | None = None
    realm: str = ""


class IdentityTable:
    """Longest-prefix lookup per realm."""

    def __init__(self, identities: Iterable[Identity]) -> None:
        self._by_realm: dict[tuple[str, int], dict[int, dict[int, Identity]]] = {}
        for identity in identities:
            network = ipaddress.ip_network(identity.prefix)
            lengths = self._by_realm.setdefault((identity.realm, network.version), {})
            lengths.setdefault(network.prefixlen, {})[int(network.network_address)] = identity

    def find(self, address: str, realm: str = "") -> Identity | None:
        parsed = ipaddress.ip_address(address)
        lengths = self._by_realm.get((realm, parsed.version), {})
        for length in sorted(lengths, reverse=True):
            shift = parsed.max_prefixlen - length
            found = lengths[length].get(int(parsed) >> shift << shift)
            if found:
                return found
        return None


def read_identities(text: str, file: str) -> tuple[Identity, ...]:
    """Identities from CSV (columns of the contract), one at least. Raises BadInput naming file, line and the cure."""
    reader = csv.reader(io.StringIO(text.lstrip("\ufeff")), strict=True)
    header = [name.strip() for name in next(_rows(reader, file), [])]
    missing = [name for name in COLUMNS if name not in header]
    unknown = [name for name in header if name not in (*COLUMNS, "realm")]
    if missing or unknown:
        wrong = gettext_noop("missing column %(names)s") if missing else gettext_noop("unknown column %(names)s")
        cure = Message(gettext_noop("The header must be %(header)s"), {"header": f"{','.join(COLUMNS)}[,realm]"})
        raise BadInput.at(file, 1, Message(wrong, {"names": ", ".join(missing or unknown)}), cure)
    identities: list[Identity] = []
    seen: dict[str, int] = {}  # by text: in pairs the garbage collector would look through all of them, again and again
    for row in _rows(reader, file):
        if len(row) != len(header):
            differs = Message(gettext_noop("the number of fields differs from the header"))
            cure = Message(gettext_noop("Write %(few)d or %(many)d fields"), {"few": len(COLUMNS), "many": len(COLUMNS) + 1})
            raise BadInput.at(file, reader.line_num, differs, cure)
        identity = _identity(dict(zip(header, map(str.strip, row), strict=True)), file, reader.line_num)
        first = seen.setdefault(f"{identity.realm} {identity.prefix}", reader.line_num)
        if first != reader.line_num:
            twice = Message(
                gettext_noop("%(prefix)s stands on line %(line)d already"), {"prefix": identity.prefix, "line": first}
            )
            raise BadInput.at(file, reader.line_num, twice, Message(gettext_noop("Keep one")))
        identities.append(identity)
    if not identities:
        said = Message(gettext_noop("holds no identity"))
        raise BadInput.at(file, 2, said, Message(gettext_noop("Add at least one row")))
    return tuple(identities)


def _rows(reader: Rows, file: str) -> Iterator[list[str]]:
    """Those that are not empty. Raises BadInput."""
    try:
        yield from filter(None, reader)
    except csv.Error as error:
        said = Message(gettext_noop("not readable as CSV (%(error)s)"), {"error": str(error)})
        raise BadInput.at(file, reader.line_num, said, Message(gettext_noop("Check quotes and separators"))) from None


def check_fields(prefix: str, allowed_dscp: object, active_window: str, peak_mbps: float | None) -> None:
    """The same demands on an entry that was typed into a form. allowed_dscp: a list of numbers or None. Raises BadInput."""
    if allowed_dscp is not None and (not isinstance(allowed_dscp, list) or not allowed_dscp):
        said = gettext_noop("allowed_dscp is no list of numbers. Write e.g. [46, 8], or nothing for anything")
        raise BadInput(Message(said))
    row = dict.fromkeys(COLUMNS, "")
    marks = " ".join(str(mark) for mark in allowed_dscp or ())
    peak = "" if peak_mbps is None else str(peak_mbps)
    row |= {"prefix": prefix, "class": "core", "allowed_dscp": marks, "active_window": active_window, "peak_mbps": peak}
    identity = _identity(row, "identity", 0)
    if identity.prefix != prefix:
        raise BadInput.of(gettext_noop("prefix %(given)r is written %(prefix)s"), given=prefix, prefix=identity.prefix)
    if any(isinstance(mark, bool) or not isinstance(mark, int) for mark in allowed_dscp or ()):
        raise BadInput(Message(gettext_noop("allowed_dscp holds something that is no number. Write e.g. [46, 8]")))


def _identity(text: Mapping[str, str], file: str, line: int) -> Identity:
    def bad(field: str, cure: str) -> BadInput:
        what = Message(gettext_noop("%(field)s %(value)r cannot be used"), {"field": field, "value": text[field]})
        return BadInput.at(file, line, what, Message(cure))

    try:
        prefix = _prefix(text["prefix"])
    except ValueError as error:
        wrong = Message(gettext_noop("prefix %(prefix)r: %(error)s"), {"prefix": text["prefix"], "error": str(error)})
        raise BadInput.at(file, line, wrong, Message(gettext_noop("Write e.g. 10.1.2.0/24"))) from None
    if text["class"] not in ("core", "non-core"):
        raise bad("class", gettext_noop("Write core or non-core"))
    try:
        marks = _marks(text["allowed_dscp"])
    except ValueError:
        raise bad("allowed_dscp", gettext_noop("Write numbers 0..63 or names, e.g. 46 AF31 CS1")) from None
    if text["active_window"] and not _window_ok(text["active_window"]):
        raise bad("active_window", gettext_noop("Write e.g. 22:00-06:00@Mon-Fri Asia/Shanghai"))
    try:
        peak = float(text["peak_mbps"]) if text["peak_mbps"] else None
    except ValueError:
        peak = -1.0
    if peak is not None and not 0 < peak < 1e9:
        raise bad("peak_mbps", gettext_noop("Write a positive number of Mbit/s"))
    return Identity(
        prefix, text["name"], text["business"], text["owner"], text["class"] == "core", marks or None,
        text["active_window"], peak, text.get("realm", ""),
    )  # fmt: skip


def _prefix(text: str) -> str:
    """As it is written. Raises ValueError."""
    address, _, length = text.partition("/")
    base, bits = quad_number(address), PREFIX_LENGTHS.get(length)
    if base is not None and bits is not None and not base & MAX4 >> bits:  # as `ip_network` writes it, ten times as fast
        return text
    return str(ipaddress.ip_network(text))


@lru_cache(maxsize=4096)
def _marks(text: str) -> frozenset[int]:
    """Raises ValueError."""
    return frozenset(parse_dscp(part) for part in text.split())


def with_zone(window: str) -> str:
    """Hours as a person reads them: UTC is said where no zone is written. "" stays, it means always."""
    return f"{window} UTC" if window and " " not in window else window


@lru_cache(maxsize=4096)
def _window_ok(text: str) -> bool:
    found = WINDOW.match(text)
    if not found:
        return False
    days = (found.group(4) or "@Mon")[1:].split("-")
    zone = found.group(6)
    if any(day not in DAYS for day in days):
        return False
    try:
        return not zone or bool(ZoneInfo(zone.strip()))
    except (ValueError, OSError, KeyError):
        return False
