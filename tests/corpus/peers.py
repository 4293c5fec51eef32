"""Independent readers beside ours: what one says of a text is a row per item, and every difference is either new or explained.

`tests/corpus/disagreements.tsv` lists the explained ones; `docs/differential.md` says of each kind who is right, and why.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

from policyhub.domain.addresses import AddressSet
from policyhub.domain.rules import Match, Rule
from policyhub.vendorkit.contract import Vendor

HERE = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("POLICYHUB_CORPUS") or HERE.parents[1].parent / "shared" / "data") / "configs"
PEERS = Path(os.environ.get("POLICYHUB_PEERS") or HERE.parents[1] / "build" / "peers")
TABLE = HERE / "disagreements.tsv"
PAGE = HERE.parents[1] / "docs" / "differential.md"

# item -> field -> what the reader says; a field that is None or left out is one that it does not tell
Said = dict[str, dict[str, object]]

PROTOCOLS = {
    "icmp": 1, "igmp": 2, "ipinip": 4, "tcp": 6, "egp": 8, "igrp": 9, "udp": 17, "gre": 47, "esp": 50, "ah": 51, "ahp": 51,
    "icmp6": 58, "icmpv6": 58, "eigrp": 88, "ospf": 89, "nos": 94, "pim": 103, "pcp": 108, "vrrp": 112, "sctp": 132,
}  # fmt: skip
EVERY_PROTOCOL = ("ip", "ipv4", "ipv6", "any")
PROMPT = re.compile(r"^[ \t]*(\S*[#>] ?)?((show|display) .*)?\n", re.MULTILINE)  # with blank lines


def peer(program: str, venv: str = "") -> str:
    """A program of the readers that `make peers` installs apart from us. Raises AssertionError when it is missing."""
    path = PEERS / (venv or program) / "bin" / program
    assert path.exists(), f"no {path}: run `make peers`"
    return str(path)


def corpus_file(name: str) -> str:
    """A text of the corpus. Raises AssertionError when it is missing: a test that lacks its text fails."""
    path = CORPUS / name
    assert path.is_file(), f"no {path}: set POLICYHUB_CORPUS"
    return path.read_bytes().decode("utf-8", errors="replace")


def bare(text: str) -> str:
    """An output without the command that asked for it and without the indentation that a recording gave it."""
    return textwrap.dedent(PROMPT.sub("", text))


def address(text: AddressSet | str | None) -> str | None:
    """One spelling for equal sets of addresses; "any" of whichever family."""
    if text is None:
        return None
    known = AddressSet.of(text) if isinstance(text, str) else text
    return str(known)


def masked(first: str, wild: str) -> str | None:
    """A wildcard mask; None for those with more gaps than the model expands (it then says so, too)."""
    try:
        return address(AddressSet.wildcard(first, wild))
    except ValueError:
        return None


def protocol(name: str | None) -> object:
    """The number of a protocol, "any", or None when the word is not known here."""
    word = (name or "").lower()
    return "any" if word in EVERY_PROTOCOL else int(word) if word.isdigit() else PROTOCOLS.get(word)


def one_protocol(match: Match) -> object:
    spans = {service.protocols for service in match.services}
    if len(spans) != 1:
        return None
    (((low, high), *others),) = spans
    return None if others else "any" if (low, high) == (0, 255) else low if low == high else None


def ports(match: Match) -> object:
    """The destination ports, when one service says them."""
    return match.services[0].destination_ports if len(match.services) == 1 and one_protocol(match) in (6, 17) else None


def rule_row(rule: Rule) -> dict[str, object]:
    """What is compared of one rule of ours; addresses that hang on unknown names are not told."""
    known = not rule.match.unresolved
    return {
        "action": rule.action.value,
        "enabled": rule.enabled,
        "source": address(rule.match.source) if known else None,
        "destination": address(rule.match.destination) if known else None,
        "protocol": one_protocol(rule.match) if known else None,
        "ports": ports(rule.match) if known else None,
    }


def our_rules(vendor: Vendor, text: str, by_place: bool, family: int = 0) -> Said:
    """Rules with their hits, by list and number ("OUTSIDE 30") or list and place ("OUTSIDE 3"); `family` leaves out others."""
    sample = vendor.counters(text, None)
    hits = {(hit.policy, hit.key): hit.hits for hit in sample.hits} if sample else {}
    said = {}
    for policy in vendor.parse(text).policies:
        for n, rule in enumerate(policy.rules, 1):
            if family in (0, policy.family):
                item = f"{policy.name} {n if by_place else rule.name.rpartition(' ')[2]}"
                said[item] = rule_row(rule) | {"hits": hits.get((policy.name, rule.hit_key))}
    return said


def differences(ours: Said, theirs: Said) -> dict[tuple[str, str], str]:
    """(item, field) -> "ours / theirs". An item that only one side has differs in the field "there"."""
    found = {}
    for item in sorted({*ours, *theirs}):
        if item not in ours or item not in theirs:
            found[item, "there"] = "theirs only" if item in theirs else "ours only"
            continue
        for field, value in theirs[item].items():
            mine = ours[item].get(field)
            if value is not None and mine is not None and value != mine:
                found[item, field] = f"{mine} / {value}"
    return found


def compared(ours: Said, theirs: Said) -> int:
    """How many values both sides told, so that a test can ask for enough of them."""
    return sum(
        value is not None and ours[item].get(field) is not None
        for item in ours.keys() & theirs.keys()
        for field, value in theirs[item].items()
    )


def explained(reader: str) -> dict[tuple[str, str, str], str]:
    """(file, item, field) -> kind, of the differences from one reader that are in the table."""
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {(file, item, field): kind for name, file, item, field, kind in rows if name == reader}


def settle(reader: str, found: Mapping[tuple[str, str, str], str], files: Iterable[str]) -> None:
    """Raises AssertionError for a difference that nobody explained, and for an explanation of none (`files`: those looked at)."""
    known = explained(reader)
    looked_at = set(files)
    new = ["\t".join((reader, *key, said)) for key, said in found.items() if key not in known]
    gone = [key for key in known if key[0] in looked_at and key not in found]
    assert not new, "differences that docs/differential.md does not explain:\n" + "\n".join(new)
    assert not gone, f"differences that are no more, remove them from {TABLE.name}: {gone}"
