"""Mirror truth: what a mirror or a capture lost is no loss of the network.

A mirrored copy is compared with the counters of the port that it copies, and with the sequence numbers of ERSPAN; a capture
(pcapng) may say itself what it dropped. Above a stated loss no loss and no delay is claimed from that point, nor from a packed
capture that fails its checksum: a packet that was read wrongly is found nowhere else.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message, gettext_noop

LIMIT = 0.001
CAPTURE = "capture"
FAILS = gettext_noop("the capture of %(point)s fails its checksum")
DOUBTFUL = "doubtful"
BETWEEN = "lost-between"
COLUMNS = ("time", "packets", "bytes")
FORM = 'Write CSV "time,packets,bytes" or a JSON list of such objects; time is ISO 8601 or seconds since 1970'


@dataclass(frozen=True, slots=True)
class Reading:
    """Counters of the source port at one time: frames and octets that crossed it in the mirrored direction(s), ever rising.

    octets as the device counts them (RFC 2863 ifInOctets and most vendors: with the 4 bytes of FCS); None when not read.
    """

    time_ns: int
    packets: int
    octets: int | None


@dataclass(frozen=True, slots=True)
class Interval:
    """Frames between two readings: at the source port, and in the capture. mirrored_octets as a device counts them, with FCS."""

    start_ns: int
    end_ns: int
    packets: int
    octets: int | None
    mirrored: int
    mirrored_octets: int

    @property
    def lost(self) -> int:
        """Frames that the mirror did not copy; negative when it copied more than there were."""
        return self.packets - self.mirrored


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known of one point's mirror. loss_share: 0..1, None when nothing tells.

    basis: counters, erspan, capture or None."""

    point: str
    basis: str | None
    packets: int | None
    mirrored: int
    loss_share: float | None
    intervals: tuple[Interval, ...] = ()
    resets: int = 0

    def as_json(self, limit: float) -> dict[str, Any]:
        rows = [
            {"start_ns": row.start_ns, "end_ns": row.end_ns, "packets": row.packets, "mirrored": row.mirrored,
             "lost": row.lost, "octets": row.octets, "mirrored_octets": row.mirrored_octets}
            for row in self.intervals
        ]  # fmt: skip
        return {
            "basis": self.basis, "packets": self.packets, "mirrored": self.mirrored, "loss_share": self.loss_share,
            "limit": limit, "trusted": self.is_trusted(limit), "resets": self.resets, "intervals": rows,
        }  # fmt: skip

    def is_trusted(self, limit: float) -> bool | None:
        """None when nothing is known of the mirror: a capture that lost little itself does not know what never came to it."""
        if self.loss_share is None or (self.basis == CAPTURE and self.loss_share <= limit):
            return None
        return self.loss_share <= limit


def read_counters(text: str, file: str) -> list[Reading]:
    """Readings in order of time. Raises BadInput naming file, line and cure."""
    rows = _json_rows(text, file) if text.lstrip()[:1] in "[{" else _csv_rows(text, file)
    readings = [_reading(row, file, line) for line, row in rows]
    if len(readings) < 2:
        raise BadInput.at(file, None, f"{len(readings)} readings", "Give two or more: what counts is the difference")
    times = [reading.time_ns for reading in readings]
    if times != sorted(set(times)):
        raise BadInput.at(file, None, "times do not rise", "Sort the readings by time, each time once")
    return readings


def _json_rows(text: str, file: str) -> Iterable[tuple[int | None, Mapping[str, Any]]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput.at(file, getattr(error, "lineno", None), f"not JSON ({error})", FORM) from None
    rows = found.get("readings") if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadInput.at(file, None, "no list of readings", FORM)
    return [(None, row) for row in rows]


def _csv_rows(text: str, file: str) -> Iterable[tuple[int | None, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text))
    missing = {"time", "packets"} - set(reader.fieldnames or ())
    if missing:
        raise BadInput.at(file, 1, f"no column {min(missing)}", FORM)
    return [(reader.line_num, row) for row in reader]


def _reading(row: Mapping[str, Any], file: str, line: int | None) -> Reading:
    try:
        packets, octets = int(row["packets"]), row.get("bytes")
        reading = Reading(_time_ns(row["time"]), packets, int(octets) if octets not in (None, "") else None)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise BadInput.at(file, line, f"no reading: {dict(row)}", FORM) from None
    if packets < 0 or (reading.octets or 0) < 0 or reading.time_ns < 0:
        raise BadInput.at(file, line, "a counter or time below zero", FORM)
    return reading


def _time_ns(value: Any) -> int:
    if isinstance(value, int) and value >= 10**17:
        return value
    try:
        return round(float(value) * 1e9)
    except ValueError:
        when = datetime.fromisoformat(str(value))
        if when.tzinfo is None:
            raise ValueError("no time zone") from None
        return round(when.timestamp() * 1e9)


def compare(point: Mapping[str, Any], readings: Sequence[Reading]) -> Truth:
    """point: a row of `policyhub.inspect/1` whose intervals were cut at the times of `readings`.

    A counter that falls was reset: that interval is left out. Counters go before ERSPAN numbers: they also see what the mirror
    never copied.
    """
    cut = {(row["start_ns"], row["end_ns"]): row for row in point["intervals"]}
    intervals, resets = [], 0
    for before, after in pairwise(readings):
        row = cut[before.time_ns, after.time_ns]
        if after.packets < before.packets:
            resets += 1
            continue
        known = before.octets is not None and after.octets is not None and after.octets >= before.octets
        octets = (after.octets or 0) - (before.octets or 0) if known else None
        copied = row["bytes"] + 4 * row["packets"]
        intervals.append(Interval(before.time_ns, after.time_ns, after.packets - before.packets, octets, row["packets"], copied))
    packets, mirrored = sum(row.packets for row in intervals), sum(row.mirrored for row in intervals)
    if packets:
        return Truth(point["name"], "counters", packets, mirrored, max(0, packets - mirrored) / packets, tuple(intervals), resets)
    return by_sequence(point, resets)


def by_sequence(point: Mapping[str, Any], resets: int = 0) -> Truth:
    """From the sequence numbers of ERSPAN II and III, where the point's capture holds them."""
    mirror = point["mirrors"]
    if mirror["missing"] is None:
        return Truth(point["name"], None, None, point["frames"], None, (), resets)
    sent = mirror["frames"] + mirror["missing"]
    return Truth(point["name"], "erspan", sent, mirror["frames"], mirror["missing"] / sent, (), resets)


def own_drops(point: Mapping[str, Any]) -> Truth | None:
    """point: of `policyhub.flows/1`. What its capture says that it dropped; None when it does not say, or dropped nothing.

    Of a file that is part of a capture its statistics speak of the whole: what was received says so.
    """
    dropped = point["capture"]["dropped"]
    if not dropped:
        return None
    whole = max(point["packets"] + dropped, point["capture"]["received"] or 0)
    return Truth(point["name"], CAPTURE, whole, point["packets"], dropped / whole)


def is_doubtful(point: Mapping[str, Any]) -> bool:
    """point: of `policyhub.flows/1`. Whether what was read of its capture may be wrong."""
    return bool(point["damage"] == DOUBTFUL)


def worse(known: Truth | None, own: Truth | None) -> Truth | None:
    """What is known of a mirror and of its capture together: counters and numbers show the capture's drops, too, unless they end
    before it does."""
    if known is None or own is None or (known.loss_share or 0) >= (own.loss_share or 0):
        return known or own
    return replace(own, intervals=known.intervals, resets=known.resets)


def withhold(report: dict[str, Any], truths: Sequence[Truth], limit: float = LIMIT) -> None:
    """Write what is known of each mirror into `policyhub.flows/1`; no claims of points whose mirror lost more than `limit`."""
    told = {truth.point: truth for truth in truths}
    known = {row["name"]: truth for row in report["points"] if (truth := worse(told.get(row["name"]), own_drops(row)))}
    for point in report["points"]:
        truth = known.get(point["name"])
        point["mirror"] = truth.as_json(limit) if truth else None
    lossy = {name: _reason(truth, limit) for name, truth in known.items() if truth.is_trusted(limit) is False}
    lossy |= {row["name"]: Message(FAILS, {"point": row["name"]}) for row in report["points"] if is_doubtful(row)}
    for path in [report["path"], *report["paths"]]:
        if path is None:
            continue
        bad = [lossy[name] for name in (path["from"], path["to"]) if name in lossy]
        path["withheld"] = bad
        if bad:
            blank(path)
            for queue in (queue for point in report["points"] for queue in point["queues"]):
                queue["drops_measured"] = None
    _blank_media(report, lossy)
    _unlocate(report["verdicts"], lossy)


def _blank_media(report: Mapping[str, Any], lossy: Container[str]) -> None:
    """Numbers of RTP that never came were perhaps only not copied."""
    of_flows = (flow["rtp"] for flow in report["flows"] if flow.get("rtp") and flow["point"] in lossy)
    of_points = (row for row in report["media"] if row["point"] in lossy)
    for row in (*of_flows, *of_points):
        row.update(lost=None, mos=None, mos_assumes=None)


def _unlocate(verdicts: Iterable[dict[str, Any]], lossy: Container[str]) -> None:
    """That a point did not show a packet does not say where it was lost."""
    for verdict in verdicts:
        facts = [fact for fact in verdict["evidence"] if fact.get("kind") == BETWEEN]
        if any(name in lossy for fact in facts for name in (fact["point"], *fact["not_seen_at"])):
            verdict["evidence"] = [fact for fact in verdict["evidence"] if fact.get("kind") != BETWEEN]
            verdict["signals"] = [signal for signal in verdict["signals"] if signal != f"{BETWEEN}-points"]


def _reason(truth: Truth, limit: float) -> Message:
    values = {"point": truth.point, "share": 100 * (truth.loss_share or 0), "limit": 100 * limit}
    if truth.basis == CAPTURE:
        return Message(gettext_noop("the capture of %(point)s lost %(share).2f %% itself (limit %(limit)g %%)"), values)
    said = gettext_noop("the mirror of %(point)s lost %(share).2f %% (limit %(limit)g %%, by %(basis)s)")
    return Message(said, {**values, "basis": Message(truth.basis or "")})


def blank(path: dict[str, Any]) -> None:
    """Losses and delays become null; what was matched and changed stays: copies that are there are true."""
    path["fault"], path["other_faults"] = None, []
    rows = [path, *path["by_dscp"].values()]
    for way in path["directions"]:
        rows += [way, *way["by_dscp"].values(), *way["by_pcp"].values(), *way["by_queue"]]
    for row in rows:
        row["lost"] = None
        if "delay_ns" in row:
            row["delay_ns"] = dict.fromkeys(("p50", "p99", "max"))
