"""What is wrong with a mirror, by the figures of `policyhub.inspect/1`: signs with evidence, meaning and cure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policyhub.domain.message import Message, gettext_noop

Row = Mapping[str, Any]
MILLI = 1_000_000
LEAST_KEPT = 96  # Ethernet with a tag, IPv4, TCP with most of its options


@dataclass(frozen=True, slots=True)
class MirrorSign:
    """One thing wrong with one point's captures. evidence: the figures; found, means, cure: for readers of any language."""

    code: str
    point: str
    evidence: Mapping[str, int | float]
    found: Message
    means: Message
    cure: Message


def examine_mirror(row: Row) -> list[MirrorSign]:
    """row: of `policyhub.inspect/1`. Nothing said means that nothing of this showed, not that the mirror is perfect."""
    return [sign for check in CHECKS for sign in check(row)]


def _sign(row: Row, code: str, evidence: dict[str, int | float], found: str, means: str, cure: str) -> MirrorSign:
    return MirrorSign(code, row["name"], evidence, Message(found, evidence), Message(means), Message(cure))


def _share(part: int, whole: int) -> float:
    return round(100 * part / whole, 3) if whole else 0.0


def _unidirectional(row: Row) -> Iterator[MirrorSign]:
    """A TCP sender that is acknowledged has a peer: half of the conversations without one, and four at least, are no chance."""
    streams = row["streams"]
    one_way, all_of = streams["one_way"], streams["conversations"]
    if one_way >= 4 and 2 * one_way >= all_of:
        yield _sign(
            row, "unidirectional", {"one_way": one_way, "conversations": all_of, "percent": _share(one_way, all_of)},
            gettext_noop("%(one_way)d of %(conversations)d TCP conversations show one direction only (%(percent)s %%)"),
            gettext_noop("One direction of the port is mirrored, or the answers take another way. Round trips, lost answers and"
                         " who retransmits cannot be judged."),
            gettext_noop("Mirror both directions (rx and tx) of the port; where the ways differ, mirror both ports."),
        )  # fmt: skip


def _duplicated(row: Row) -> Iterator[MirrorSign]:
    copies = row["copies"]
    if copies["copied"] >= 20 and 100 * copies["copied"] >= 2 * copies["looked_at"]:
        yield _sign(
            row, "duplicated",
            {"copied": copies["copied"], "looked_at": copies["looked_at"],
             "percent": _share(copies["copied"], copies["looked_at"]), "changed": copies["changed"],
             "most_apart_us": round(copies["most_apart_ns"] / 1e3, 1)},
            gettext_noop("%(copied)d of %(looked_at)d packets are there twice within 20 ms (%(percent)s %%); %(changed)d of them"
                         " with another TTL, mark or tag"),
            gettext_noop("The mirror copies packets where they come in and where they go out. Volumes count double and"
                         " retransmissions are invented."),
            gettext_noop("Mirror one side only: ingress of all ports or both directions of one port, not of ports that talk"
                         " to each other; a packet broker can remove copies."),
        )  # fmt: skip


def _untagged(row: Row) -> Iterator[MirrorSign]:
    mixed = row["streams"]["mixed_tags"]
    if mixed >= 4 and 4 * mixed >= row["streams"]["conversations"]:
        yield _sign(
            row, "untagged", {"mixed_tags": mixed, "conversations": row["streams"]["conversations"]},
            gettext_noop("%(mixed_tags)d of %(conversations)d conversations carry a VLAN tag in one direction only"),
            gettext_noop("The mirror strips the tag of one direction. VLAN and 802.1p priority of these packets cannot be"
                         " judged."),
            gettext_noop("Let the mirror keep tags (encapsulation replicate, or a tagged mirror port), and switch VLAN offload of"
                         " the capturing interface off (ethtool -K IF rxvlan off)."),
        )  # fmt: skip


def _truncated(row: Row) -> Iterator[MirrorSign]:
    if row["cut"] and row["most_kept"] < LEAST_KEPT:
        yield _sign(
            row, "truncated", {"cut": row["cut"], "frames": row["frames"], "most_kept": row["most_kept"]},
            gettext_noop("%(cut)d of %(frames)d frames are cut, to %(most_kept)d bytes at most"),
            gettext_noop("Headers behind options, tags and tunnels, names and payload signatures are not there."),
            gettext_noop("Capture with a snap length of 128 bytes or more (256 by default), and switch packet slicing of"
                         " the mirror or broker off."),
        )  # fmt: skip


def _merged(row: Row) -> Iterator[MirrorSign]:
    big, joined = row["over_jumbo"], row["joined"]
    if big >= 3 or (joined >= 10 and 4 * joined >= row["over_mtu"]):
        yield _sign(
            row, "offload-merged",
            {"over_mtu": row["over_mtu"], "over_jumbo": big, "joined": joined, "largest_ip": row["largest_ip"]},
            gettext_noop("%(over_mtu)d packets are larger than 1500 bytes, %(joined)d of them whole segments joined, the largest"
                         " has %(largest_ip)d bytes"),
            gettext_noop("The capturing host joins segments (GRO, LRO) or captures before it splits them (TSO). Packet"
                         " counts, gaps and bursts are not those of the wire."),
            gettext_noop("Switch the offloads of the capturing interface off: ethtool -K IF gro off lro off tso off gso off."),
        )  # fmt: skip


def _oversubscribed(row: Row) -> Iterator[MirrorSign]:
    streams, mirrors = row["streams"], row["mirrors"]
    missing = mirrors["missing"] or 0
    if streams["unseen"] >= 5 and 1000 * streams["unseen"] >= streams["segments"]:
        yield _sign(
            row, "oversubscribed",
            {"unseen": streams["unseen"], "unseen_bytes": streams["unseen_bytes"], "segments": streams["segments"]},
            gettext_noop("%(unseen)d gaps (%(unseen_bytes)d bytes) in %(segments)d TCP data segments were acknowledged"
                         " although the data never passed here"),
            gettext_noop("The network delivered what the mirror lost: its destination or the capture is slower than what is"
                         " mirrored, or the flow's other packets take another way."),
            gettext_noop("Mirror fewer ports or one direction, filter by access list, or give the mirror a faster"
                         " destination; see the capture's own drop counters."),
        )  # fmt: skip
    if missing and 1000 * missing >= mirrors["frames"]:
        yield _sign(
            row, "oversubscribed", {"missing": missing, "frames": mirrors["frames"]},
            gettext_noop("%(missing)d ERSPAN sequence numbers never came, beside %(frames)d frames that did"),
            gettext_noop("Mirrored copies were lost on their way to the sensor; the original packets need not be."),
            gettext_noop("Give ERSPAN more room, in a class that does not drop first, or mirror less."),
        )  # fmt: skip


def _wrapped(row: Row) -> Iterator[MirrorSign]:
    frames = row["mirrors"]["frames"]
    if row.get("unwrap") or 2 * frames <= row["frames"]:
        return
    yield _sign(
        row, "wrapped", {"wrapped": frames, "frames": row["frames"], "percent": _share(frames, row["frames"])},
        gettext_noop("%(wrapped)d of %(frames)d frames are ERSPAN (%(percent)s %%)"),
        gettext_noop("Flows, marks, TCP health and delays of such a point are those of the mirror's own headers, not of the"
                     " traffic inside; the figures here were looked up inside."),
        gettext_noop("Unwrap the point: `policyhub flows --unwrap POINT=erspan`, and unwrap = \"erspan\""
                     " under [[points]] of a sensor."),
    )  # fmt: skip


def _clock(row: Row) -> Iterator[MirrorSign]:
    times, frames = row["times"], row["frames"]
    if times["backwards"] and times["most_back_ns"] >= MILLI:
        yield _sign(
            row, "clock-backwards", {"backwards": times["backwards"], "most_back_ms": round(times["most_back_ns"] / 1e6, 3)},
            gettext_noop("time goes backwards %(backwards)d times, by %(most_back_ms)s ms at most"),
            gettext_noop("The clock was set while capturing, or several queues were written unsorted. Delays and orders of"
                         " packets are unsure."),
            gettext_noop("Let chrony or PTP slew the clock instead of stepping it, and sort the capture by time (reordercap)."),
        )  # fmt: skip
    if times["longest_tie"] >= 32 and 4 * times["ties"] >= frames:
        yield _sign(
            row, "clock-batches", {"ties": times["ties"], "frames": frames, "longest_tie": times["longest_tie"]},
            gettext_noop("%(ties)d of %(frames)d frames have the time of the frame before, up to %(longest_tie)d in a row"),
            gettext_noop("Frames are stamped in batches when they are handed over, not when they come. Microbursts and delays"
                         " below a batch cannot be seen."),
            gettext_noop("Use hardware time stamps, or lower the interrupt moderation (ethtool -C IF rx-usecs 0)."),
        )  # fmt: skip
    if times["unit_ns"] >= MILLI and frames >= 100:
        yield _sign(
            row, "clock-coarse", {"frames": frames, "unit_ms": times["unit_ns"] // MILLI},
            gettext_noop("every one of %(frames)d time stamps is a whole multiple of %(unit_ms)d ms"),
            gettext_noop("The clock is too coarse for delays, bursts and queues."),
            gettext_noop("Capture with microseconds or nanoseconds."),
        )  # fmt: skip


CHECKS: tuple[Callable[[Row], Iterator[MirrorSign]], ...] = (
    _unidirectional, _duplicated, _untagged, _truncated, _merged, _oversubscribed, _wrapped, _clock,
)  # fmt: skip
