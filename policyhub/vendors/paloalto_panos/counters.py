"""Answers of the XML API to `show rule-hit-count`: of a firewall (`vsys`) and of Panorama (`device-group`, a number per device).

Times are epoch seconds, 0 is never. Zero is printed. A device that did not answer (`latest no`, no number) makes a sum of
zero unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendorkit.unread_hits import NO_COUNT, unread
from policyhub.vendors.paloalto_panos.reading import SHARED
from policyhub.vendors.paloalto_panos.rules import DEFAULT_POLICY, DEFAULTS
from policyhub.vendors.paloalto_panos.tree import Node
from policyhub.vendors.paloalto_panos.xml_form import read_xml

SIGN = "<rule-hit-count>"
BASES = ("rule-base", "pre-rulebase", "post-rulebase")
USED = ("Used", "Partially Used")
LATEST_TIME = 253_402_300_799  # the last second that datetime can hold


@dataclass(frozen=True, slots=True)
class _Count:
    """since: when counting began (reset or creation of the rule); 0 when the answer does not say."""

    hits: int | None
    last: int
    since: int


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """None when the text holds no counters. `counts` is sessions: a rule hits once per session, when it is looked up."""
    if SIGN not in text:
        return None
    root = read_xml("\n".join(line.text for line in read_lines(text))).root
    found: list[HitCount] = []
    since: list[int] = []
    for holder in _holders(root):
        for place in holder:
            if place.name in ("vsys", "device-group", SHARED):
                _place(place, found, since)
    if not found:
        return None
    begins = datetime.fromtimestamp(max(since), UTC) if since and min(since) > 0 else None
    return HitSample("paloalto_panos", "sessions", tuple(found), read_at=read_at, counting_since=begins)


def unread_counts(text: str) -> Iterator[Unparsed]:
    """Rules of an answer whose `hit-count` is no number."""
    stack = list(_holders(read_xml("\n".join(line.text for line in read_lines(text))).root)) if SIGN in text else []
    while stack:
        node = stack.pop()
        stack.extend(node)
        told = node.text("hit-count")
        if told and _number(node, "hit-count") is None:
            yield unread(node.line, f"{node.name}: {told}", NO_COUNT)


def _holders(root: Node) -> Iterator[Node]:
    """Every `rule-hit-count` of the text; answers wrap it in `response` and `result`."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.name == "rule-hit-count":
            yield node
        else:
            stack.extend(child for child in reversed(list(node)) if child.name in ("response", "result", "rule-hit-count"))


def _place(place: Node, found: list[HitCount], since: list[int]) -> None:
    entries = [place] if place.name == SHARED else list(place)
    for entry in entries:
        for base in entry:
            if base.name not in BASES:
                continue
            for kind in base:
                for rule in kind.get("rules") or ():
                    count = _count(rule)
                    if count.hits == 0:
                        since.append(count.since)
                    last = datetime.fromtimestamp(count.last, UTC) if count.last else None
                    for policy in _policies(place.name, entry.name, base.name, kind.name):
                        found.append(HitCount(policy, rule.name, count.hits, last_hit_at=last, line=rule.line))


def _policies(place: str, entry: str, base: str, kind: str) -> tuple[str, ...]:
    """Names as the configuration's policies have them. Panorama's answer says `rule-base` for both positions."""
    name = DEFAULT_POLICY if kind in (DEFAULTS, DEFAULT_POLICY) else kind
    if place == "vsys":
        return (name,) if entry == "vsys1" else (f"{entry}/{name}",)
    if name == DEFAULT_POLICY:
        return (f"{entry}/{name}",)
    positions = {"pre-rulebase": ("pre",), "post-rulebase": ("post",)}.get(base, ("pre", "post"))
    return tuple(f"{entry}/{position}-{name}" for position in positions)


def _count(rule: Node) -> _Count:
    devices = rule.get("device-vsys")
    if devices is not None and devices.children:
        return _sum([_single(device) for device in devices], _started(rule))
    if rule.get("hit-count") is None and rule.get("rule-state") is not None:
        return _by_state(rule)
    return _single(rule)


def _single(node: Node) -> _Count:
    hits = _number(node, "hit-count")
    is_old = node.text("latest") == "no"
    return _Count(None if is_old and not hits else hits, _number(node, "last-hit-timestamp") or 0, _started(node))


def _sum(counts: list[_Count], since: int) -> _Count:
    """All devices together; a zero is one only when every device said so."""
    known = [count.hits for count in counts if count.hits is not None]
    total = sum(known) if known else None
    if total == 0 and len(known) < len(counts):
        total = None
    starts = [count.since or since for count in counts]
    begins = 0 if 0 in starts else max([since, *starts])
    return _Count(total, max(count.last for count in counts), begins)


def _by_state(rule: Node) -> _Count:
    """`rule-state` without numbers: used at least once, or by no connected device."""
    state = rule.text("rule-state")
    if state in USED:
        return _Count(1, 0, 0)
    connected = rule.text("all-connected") == "yes"
    return _Count(0 if state == "Unused" and connected else None, 0, _started(rule))


def _started(node: Node) -> int:
    return max(_number(node, "last-reset-timestamp") or 0, _number(node, "rule-creation-timestamp") or 0)


def _number(node: Node, name: str) -> int | None:
    text = node.text(name)
    if not is_decimal(text) or len(text) > 18:
        return None
    value = int(text)
    return None if name.endswith("timestamp") and value > LATEST_TIME else value
