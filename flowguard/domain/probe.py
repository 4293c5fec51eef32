"""Marked probes: what each packet carries, what a mirror's copies of them say about the mirror, told as facts of the point."""

from __future__ import annotations

import statistics
import struct
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAGIC = b"PHPROBE1"
PORT = 47_801  # UDP; in no registry of IANA
PAYLOAD = struct.Struct("!8s8sIBxxxQ")  # magic, run, sequence, DSCP as sent, time of sending (ns since 1970)
LEAST_BYTES, MOST_BYTES = PAYLOAD.size, 1_400
UDP_HEAD, IP4_HEAD, IP6_HEAD = 8, 20, 40
TAGS = (0x8100, 0x88A8)
LEAST_COPIES = 20  # fewer say nothing
LEAST_LOST = 5
MOST, FEW = 0.9, 0.05


@dataclass(frozen=True, slots=True)
class Seen:
    """One probe in a capture. sent_dscp: as its payload says; dscp: of the IP header it was seen with; vlan: innermost tag."""

    run: str
    sequence: int
    sent_dscp: int
    dscp: int
    vlan: int | None
    ts_ns: int
    sent_ns: int


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent: run (16 hex digits) and the mark of each sequence number, by place."""

    run: str
    marks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PointFacts:
    """rewrite: copies show marks "before" or "after" the device changes them, or "both". egress_drop: copies are made "before" or
    "after" what is dropped on the way out. tags: "kept", "stripped", "some" or "none". pause: "seen" or "not-seen".

    "unknown" where the run does not tell. cut_to: bytes kept at most, None when whole. duplicates: share of probes copied twice.
    mirror_loss: share of those that arrived and were not copied, None without the receiver's capture.
    """

    rewrite: str = "unknown"
    egress_drop: str = "unknown"
    tags: str = "unknown"
    pause: str = "unknown"
    cut_to: int | None = None
    duplicates: float | None = None
    mirror_loss: float | None = None


def payload(run: str, sequence: int, dscp: int, now_ns: int, size: int = LEAST_BYTES) -> bytes:
    """UDP payload of one probe. run: 16 hex digits."""
    return PAYLOAD.pack(MAGIC, bytes.fromhex(run), sequence, dscp, now_ns).ljust(size, b"\0")


def find(frame: bytes, ts_ns: int) -> Seen | None:
    """The probe in a frame, however it is wrapped (tags, ERSPAN, VXLAN): by its payload, and the headers right before it."""
    at = frame.find(MAGIC)
    if at < 0 or len(frame) < at + PAYLOAD.size:
        return None
    ip = _ip_before(frame, at - UDP_HEAD)
    if ip is None:
        return None
    four, start = ip
    tos = frame[start + 1] if four else (frame[start] << 4 | frame[start + 1] >> 4) & 0xFF
    _, run, sequence, sent_dscp, sent_ns = PAYLOAD.unpack_from(frame, at)
    return Seen(run.hex(), sequence, sent_dscp, tos >> 2, _tag_before(frame, start), ts_ns, sent_ns)


def _ip_before(frame: bytes, udp: int) -> tuple[bool, int] | None:
    """(is it IPv4, where its header begins); options and extension headers are not expected of our own packets."""
    four, six = udp - IP4_HEAD, udp - IP6_HEAD
    if four >= 0 and frame[four] == 0x45 and frame[four + 9] == 17:
        return True, four
    if six >= 0 and frame[six] >> 4 == 6 and frame[six + 6] == 17:
        return False, six
    return None


def _tag_before(frame: bytes, ip: int) -> int | None:
    """Ethertype and tag control stand right before the IP header."""
    if ip < 18 or int.from_bytes(frame[ip - 6 : ip - 4], "big") not in TAGS:
        return None
    return int.from_bytes(frame[ip - 4 : ip - 2], "big") & 0xFFF


def judge(
    copies: Sequence[Seen], *, arrivals: Sequence[Seen] | None = None, sent: Sent | None = None, tagged: bool = False,
    pauses: int | None = None, cut_to: int | None = None,
) -> tuple[PointFacts, dict[str, Any]]:  # fmt: skip
    """Facts of the mirror that made `copies`, and the figures behind them. All of one run.

    arrivals: the same run where the packets went to, right behind the device. tagged: they cross the mirrored port with a tag.
    pauses: pause frames among the copies.
    """
    copied, arrived = _by_sequence(copies), None if arrivals is None else _by_sequence(arrivals)
    twice = sum(len(rows) > 1 for rows in copied.values())
    known = len(copied) >= LEAST_COPIES
    whole = set(range(len(sent.marks))) if sent else set(copied) | set(arrived or ())
    missing = whole - set(arrived) if arrived is not None else set()
    lost = [sequence for sequence in arrived if sequence not in copied] if arrived else []
    facts = PointFacts(
        rewrite=_rewrite(copied, arrived) if known else "unknown",
        egress_drop=_egress_drop(copied, arrived, missing) if known and arrived else "unknown",
        tags=_tags(copies, tagged) if known else "unknown",
        pause="unknown" if pauses is None else "seen" if pauses else "not-seen",
        cut_to=cut_to,
        duplicates=round(twice / len(copied), 4) if known else None,
        mirror_loss=round(len(lost) / len(arrived), 6) if arrived else None,
    )
    delays = [row.ts_ns - row.sent_ns for row in copies]
    figures = {
        "sent": len(sent.marks) if sent else None, "copied": len(copied), "twice": twice,
        "arrived": None if arrived is None else len(arrived), "arrived_not_copied": len(lost) if arrived else None,
        "copied_not_arrived": len(missing & set(copied)) if arrived is not None else None,
        "not_arrived": len(missing) if arrived is not None else None, "tagged": sum(row.vlan is not None for row in copies),
        "pauses": pauses, "marks_of_copies": _marks(copies), "marks_of_arrivals": None if arrivals is None else _marks(arrivals),
        "copy_after_sending_ns": int(statistics.median(delays)) if delays else None,
    }  # fmt: skip
    return facts, figures


def _by_sequence(rows: Sequence[Seen]) -> dict[int, list[Seen]]:
    found: dict[int, list[Seen]] = defaultdict(list)
    for row in rows:
        found[row.sequence].append(row)
    return dict(found)


def _marks(rows: Sequence[Seen]) -> dict[str, dict[str, int]]:
    """Mark as sent -> mark as seen -> packets."""
    found: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        found[row.sent_dscp][row.dscp] += 1
    return {str(sent): {str(seen): count for seen, count in sorted(row.items())} for sent, row in sorted(found.items())}


def _rewrite(copied: Mapping[int, list[Seen]], arrived: Mapping[int, list[Seen]] | None) -> str:
    """A mark that was not changed for anybody says nothing; one that is changed in the copies was changed before them."""
    doubled = [rows for rows in copied.values() if len({row.dscp for row in rows}) > 1]
    if len(doubled) > len(copied) * FEW:
        return "both"
    votes = set()
    for mark in {rows[0].sent_dscp for rows in copied.values()}:
        copies = _changed(mark, copied.values())
        ends = None if arrived is None else _changed(mark, arrived.values())
        if copies is not None and copies >= MOST:
            votes.add("after")
        elif copies is not None and ends is not None and copies <= FEW and ends >= MOST:
            votes.add("before")
    return votes.pop() if len(votes) == 1 else "unknown"


def _changed(mark: int, groups: Collection[list[Seen]]) -> float | None:
    """Share of the packets of a mark that were seen with another; None when there are few."""
    rows = [row for group in groups for row in group if row.sent_dscp == mark]
    return sum(row.dscp != mark for row in rows) / len(rows) if len(rows) >= LEAST_LOST else None


def _egress_drop(copied: Collection[int], arrived: Collection[int], missing: Collection[int]) -> str:
    """Copies of what never arrived were made before it was dropped; none of it, though all that arrived was copied: after."""
    if len(missing) < LEAST_LOST:
        return "unknown"
    of_missing = sum(sequence in copied for sequence in missing) / len(missing)
    of_arrived = sum(sequence in copied for sequence in arrived) / len(arrived)
    if of_missing >= MOST:
        return "before"
    return "after" if of_missing <= FEW and of_arrived >= MOST else "unknown"


def _tags(copies: Sequence[Seen], tagged: bool) -> str:
    share = sum(row.vlan is not None for row in copies) / len(copies)
    if share >= MOST:
        return "kept"
    if share > FEW:
        return "some"
    return "stripped" if tagged else "none"


def run_of(rows: Sequence[Seen], wanted: str = "") -> Iterator[Seen]:
    """Those of one run: the wanted, else the one with most packets (the later of two)."""
    counts: dict[str, tuple[int, int]] = {}
    for row in rows:
        count, last = counts.get(row.run, (0, 0))
        counts[row.run] = (count + 1, max(last, row.sent_ns))
    run = wanted or max(counts, key=lambda each: counts[each], default="")
    return (row for row in rows if row.run == run)
