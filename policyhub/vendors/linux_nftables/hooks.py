"""In which order the kernel asks the base chains: by hook, then by priority (nft(8), "hooks" and "standard priorities")."""

from __future__ import annotations

import re
from collections.abc import Iterable

from policyhub.domain.evaluation import Seen, Stage, StageKind
from policyhub.vendors.linux_nftables.reading import Chain, Table

ORDER = ("ingress", "prerouting", "input", "forward", "output", "postrouting", "egress")
PRIORITIES = {"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
BRIDGE = {"dstnat": -300, "filter": -200, "out": 100, "srcnat": 300}
CONNECTION_TRACKING = -200
PRIORITY = re.compile(r"^(?P<name>[a-z]+)?\s*(?P<number>[+-]?\s*\d{1,10})?$")


def priority(chain: Chain, family: str) -> int | None:
    """`filter + 10`, `-100`, `raw`; None for what is none of them."""
    found = PRIORITY.match(chain.priority or "0")
    if found is None or (found["name"] and found["name"] not in (BRIDGE if family == "bridge" else PRIORITIES)):
        return None
    base = (BRIDGE if family == "bridge" else PRIORITIES).get(found["name"] or "", 0)
    return base + int((found["number"] or "0").replace(" ", ""))


def evaluation(tables: Iterable[Table]) -> tuple[Stage, ...]:
    """One stage per base chain: `accept` ends its chain only, so each one is asked. Dormant tables and ARP are left out."""
    found: list[tuple[int, int, int, Stage]] = []
    for table in tables:
        if table.dormant or table.family == "arp":
            continue
        for chain in table.chains.values():
            if chain.hook not in ORDER:
                continue
            place = priority(chain, table.family)
            note = f"{chain.hook}, priority {chain.priority if place is None else place}"
            where = 0 if place is None else place
            seen = _seen(table, chain, where)
            stage = Stage(_kind(chain, where), (f"{table.title} {chain.name}",), seen, note=note)
            found.append((ORDER.index(chain.hook), where, len(found), stage))
    return tuple(stage for *_, stage in sorted(found, key=lambda part: part[:3]))


def _kind(chain: Chain, where: int) -> StageKind:
    if chain.kind == "nat":
        return StageKind.SOURCE_NAT if chain.hook in ("input", "postrouting") else StageKind.DESTINATION_NAT
    before = chain.hook in ("prerouting", "output") and where < CONNECTION_TRACKING
    return StageKind.RAW if before or chain.hook == "ingress" else StageKind.FILTER


def _seen(table: Table, chain: Chain, where: int) -> Seen:
    """Behind the hook or the priority of destination NAT the packet has its new destination; a bridge translates nothing."""
    if table.family in ("bridge", "netdev"):
        return Seen.ORIGINAL
    behind = chain.hook in ("input", "forward", "postrouting") or where > PRIORITIES["dstnat"]
    return Seen.TRANSLATED if behind else Seen.ORIGINAL
