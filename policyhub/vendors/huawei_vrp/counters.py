"""Hit counters: `display acl` in its spellings, `display acl N statistics`, `display traffic policy statistics`.

`(94 matches)` stands at the end of a rule and is absent at zero; CloudEngine prints `(0 times matched)`, sometimes on a line of
its own, S series `(match-counter 0)`. Keys are "ACL rule-id" as in the parser, and the policy's name for a whole traffic policy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.unread_hits import NO_COUNT, in_order, is_garbled, signed_lines
from policyhub.vendors.huawei_vrp.acl import SHOWN, SHOWN_STEP
from policyhub.vendors.huawei_vrp.statistics import NAMED, read_totals

RULE = re.compile(r"^rule (?P<id>\d{1,10}) (?:permit|deny)\b")
MATCHES = re.compile(r"\((?:(?P<a>\d{1,20}) (?:times )?match(?:es|ed)?|match-counter (?P<b>\d{1,20})|(?P<c>\d{1,20}) times)\)")
STATISTICS_ACL = re.compile(r"^Acl +: (?P<name>\S+)$", re.IGNORECASE)
STATISTICS_RULE = re.compile(r"^Rule +: (?P<id>\d{1,10})$", re.IGNORECASE)
STATISTICS_COUNT = re.compile(r"^Packets +: (?P<packets>[\d,]+) +Bytes +: (?P<bytes>[\d,]+)$", re.IGNORECASE)
SIGN = re.compile(r"^rule \d+ (?:permit|deny)\b.*\(|^\(.*(?:match|times)|^Packets *:", re.IGNORECASE)
SYSNAME = re.compile(r"^(?:sysname |[<\[][~*]?)([\w.-]+)")


@dataclass(slots=True)
class _Sample:
    hits: dict[str, HitCount] = field(default_factory=dict)
    zero_printed: bool = False
    hostname: str = ""

    def put(self, hit: HitCount) -> None:
        """A rule that is counted in several places adds up."""
        known = self.hits.get(hit.key)
        if known is not None and known.hits is not None:
            packets = known.hits + (hit.hits or 0)
            size = None if known.bytes is None or hit.bytes is None else known.bytes + hit.bytes
            hit = HitCount(hit.policy, hit.key, packets, size, line=known.line)
        self.hits[hit.key] = hit


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """None when the text holds none. `counts`: matches for `display acl`, packets for the statistics outputs."""
    sample = _Sample()
    in_packets = _read_statistics(text, sample)
    _read_lists(text, sample)
    in_packets = _read_policies(text, sample) or in_packets
    if not sample.hits:
        return None
    counts = "packets" if in_packets else "matches"
    hits = tuple(sample.hits.values())
    zero = sample.zero_printed or in_packets
    return HitSample("huawei_vrp", counts, hits, zero_is_printed=zero, read_at=read_at, hostname=sample.hostname)


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Counts that are no numbers."""
    return in_order(signed_lines(text, SIGN, _why_unread))


def _why_unread(text: str) -> str:
    if text.startswith("P"):
        return "" if STATISTICS_COUNT.match(text) else NO_COUNT
    return NO_COUNT if is_garbled(text, MATCHES) else ""


def _read_lists(text: str, sample: _Sample) -> None:
    name, last = "", ""
    for line in read_lines(text):
        host = SYSNAME.match(line.text)
        if host:
            sample.hostname = sample.hostname or host[1]
        heading = SHOWN.match(line.text)
        if heading:
            name, last = heading["names"].split()[0], ""
            continue
        rule = RULE.match(line.text)
        if rule and name and is_garbled(line.text, MATCHES):
            last = ""
        elif rule and name:
            last = rule["id"]
            sample.put(HitCount(name, f"{name} {last}", None, line=line.number))
        elif not line.text.startswith(("(", "rule ")) and not SHOWN_STEP.match(line.text):
            name = name if not line.text else ""
            last = ""
        found = MATCHES.search(line.text)
        if found and name and last:
            hits = int(found["a"] or found["b"] or found["c"] or 0)
            sample.zero_printed = sample.zero_printed or hits == 0
            sample.hits[f"{name} {last}"] = HitCount(name, f"{name} {last}", hits, line=line.number)


def _read_statistics(text: str, sample: _Sample) -> bool:
    """`display acl N statistics` of NE: rule by rule, once per policy and port it is used in."""
    name, rule, seen = "", "", False
    for line in read_lines(text):
        heading = STATISTICS_ACL.match(line.text)
        if heading:
            name, rule = heading["name"], ""
        found = STATISTICS_RULE.match(line.text)
        if found:
            rule = found["id"]
        count = STATISTICS_COUNT.match(line.text)
        if count and name and rule:
            packets, size = (int(count[key].replace(",", "")) for key in ("packets", "bytes"))
            sample.put(HitCount(name, f"{name} {rule}", packets, size, line=line.number))
            seen = True
    return seen


def _read_policies(text: str, sample: _Sample) -> bool:
    if NAMED.search(text) is None and "raffic policy" not in text:
        return False
    seen = False
    for policy, totals in read_totals(text).items():
        packets, size = totals.matched
        if packets is not None:
            sample.put(HitCount(policy, policy, packets, size))
            seen = True
    return seen
