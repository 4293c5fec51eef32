"""What `policyhub flows` says below its tables: what a capture lost, what was not read, what was not looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowguard.sensor.tables import Read, count
from policyhub.domain.message import gettext_noop

PARTIAL = gettext_noop("PARTIAL %(error)s")
MIRRORED = gettext_noop("%(point)s: its mirror copied %(mirrored)s of %(packets)s frames (by %(basis)s), %(percent).3f %% lost")
BASES = (gettext_noop("counters"), gettext_noop("erspan"))
OVERFLOW = gettext_noop("%(n)d packets were more than the table of %(table)s holds")
TABLES = {
    "flows": gettext_noop("flows"), "in_flight": gettext_noop("packets under way"), "verdicts": gettext_noop("verdicts"),
    "tcp": gettext_noop("TCP connections"), "late": gettext_noop("milliseconds"), "rewrites": gettext_noop("changes"),
    "signatures": gettext_noop("signatures"), "health": gettext_noop("TCP health"), "names": gettext_noop("names"),
    "neighbours": gettext_noop("neighbours"), "carried": gettext_noop("carried flows"),
}  # fmt: skip
STEPS = gettext_noop("%(n)d steps of bulk were more than are followed: rhythms end before the capture does")
CUT_SHORT = gettext_noop("Packets are cut too short to show: %(names)s")
NOT_LOOKED_AT = gettext_noop("Not looked at: %(names)s")
PARTS = {"queues": gettext_noop("queues"), "microbursts": gettext_noop("microbursts")}
NOT_IP = gettext_noop("%(point)s: not IP, or its header could not be read: %(n)s of %(all)s packets; they stand under no mark")
UNREADABLE = gettext_noop("%(point)s: a header could not be read: %(n)s of %(all)s packets (%(why)s)")
CUT = gettext_noop(
    "%(point)s: captured shorter than sent: %(n)s of %(all)s packets; bytes are as sent, what was cut off is not judged"
)
WRAPPED = gettext_noop(
    "%(point)s: %(n)s of %(all)s packets are ERSPAN and were counted by the mirror's own headers. Use --unwrap"
    " %(point)s=erspan to measure what is inside"
)
LEFT_OUT = gettext_noop("%(point)s: %(n)s packets that are not wrapped (%(what)s) were left out, %(all)s were unwrapped")
CUT_INSIDE = gettext_noop(
    "%(point)s: the mirror cut %(n)s of %(all)s packets before it wrapped them; lengths are those of their IP headers"
)
STAMPED = gettext_noop(
    "%(point)s: times are those that %(by)s put into %(n)s frames; the capture saw them %(least)s to %(most)s us later"
)
ANCHORED = gettext_noop(
    "%(point)s: times are those that %(by)s put into %(n)s frames, set to the capture's clock by the quickest of them; error"
    " %(error)s us, the capture saw them up to %(most)s us later"
)
UNSTAMPED = gettext_noop("%(point)s: %(n)s packets without such a time keep the capture's (%(why)s)")
DROPPED = gettext_noop("%(point)s: the capture itself dropped %(n)s packets%(by)s; the network did not lose them")
DROPPERS = {
    "dropped_by_interface": gettext_noop("%(n)s by the interface"),
    "dropped_by_system": gettext_noop("%(n)s by the system"),
}
LENGTHS = {
    "lengths_below_captured": gettext_noop(
        "%(point)s: %(n)s frames are said to be shorter than what was captured of them; only the captured bytes are counted"
    ),
    "lengths_beyond_links": gettext_noop(
        "%(point)s: %(n)s frames are said to be longer than any link carries; only the captured bytes are counted"
    ),
}


def note_lines(report: dict[str, Any], read: Read) -> Iterator[str]:
    for point in report["points"]:
        yield from _point(point, read)
    for what, packets in report["overflow"].items():
        if packets:
            yield read(OVERFLOW) % {"n": packets, "table": read(TABLES[what]) if what in TABLES else what}
    if left_out := report["behaviour"]["left_out"]:
        yield read(STEPS) % {"n": left_out}
    if report["not_visible"]:
        yield read(CUT_SHORT) % {"names": ", ".join(report["not_visible"])}
    if report["not_evaluated"]:
        yield read(NOT_LOOKED_AT) % {"names": ", ".join(read(PARTS.get(name, name)) for name in report["not_evaluated"])}


def _point(point: dict[str, Any], read: Read) -> Iterator[str]:
    if point["error"]:
        yield read(PARTIAL) % {"error": point["error"]}
    yield from _capture(point["name"], point["capture"], read)
    yield from _wrapping(point, read)
    yield from _times(point, read)
    mirror = point.get("mirror")
    if mirror and mirror["loss_share"] is not None and mirror["basis"] != "capture":
        yield read(MIRRORED) % {
            "point": point["name"], "mirrored": count(mirror["mirrored"]), "packets": count(mirror["packets"]),
            "basis": read(mirror["basis"]), "percent": 100 * mirror["loss_share"],
        }  # fmt: skip
    calibration = point.get("calibration")
    for limit in calibration["limits"] if calibration else ():
        yield f"{limit.read(read)}."
    yield from _packets(point, read)


def _wrapping(point: dict[str, Any], read: Read) -> Iterator[str]:
    """What came of wrapped frames; or that they should be unwrapped."""
    told = {"point": point["name"], "all": count(point["packets"])}
    if found := point.get("unwrap"):
        names = ", ".join(f"{name} {count(n)}" for name, n in sorted(found["not_wrapped"].items(), key=lambda row: -row[1]))
        if names:
            yield read(LEFT_OUT) % {**told, "n": count(sum(found["not_wrapped"].values())), "what": names}
        if found["cut"]:
            yield read(CUT_INSIDE) % {**told, "n": count(found["cut"])}
        return
    erspan = sum(n for name, n in point["headers"]["tunnels"].items() if name.startswith("erspan-"))
    if 2 * erspan > point["packets"]:
        yield read(WRAPPED) % {**told, "n": count(erspan)}


def _times(point: dict[str, Any], read: Read) -> Iterator[str]:
    """Whose times stand here."""
    times = point.get("times")
    if not times or not times["frames"]:
        return
    told = {"point": point["name"], "by": times["by"], "n": count(times["frames"])}
    us = {key: f"{times[f'{key}_ns'] / 1e3:,.1f}" for key in ("least", "most", "error") if f"{key}_ns" in times}
    yield read(ANCHORED if "error" in us else STAMPED) % {**told, **us}
    if times["without"]:
        why = ", ".join(f"{name} {count(n)}" for name, n in sorted(times["without"].items()))
        yield read(UNSTAMPED) % {**told, "n": count(sum(times["without"].values())), "why": why}


def _packets(point: dict[str, Any], read: Read) -> Iterator[str]:
    """How many of the packets say less than the others, and why."""
    told = {"point": point["name"], "all": count(point["packets"])}
    errors = sorted(point["headers"]["errors"].items(), key=lambda row: -row[1])
    why = ", ".join(f"{name} {count(packets)}" for name, packets in errors)
    for key, text in (("non_ip", NOT_IP), ("decode_errors", UNREADABLE), ("cut_packets", CUT)):
        if point[key]:
            yield read(text) % {**told, "n": count(point[key]), "why": why}


def _capture(name: str, capture: dict[str, Any], read: Read) -> Iterator[str]:
    """What the capture itself lost, and lengths that were not believed."""
    if capture["dropped"]:
        rows = [read(text) % {"n": count(capture[key])} for key, text in DROPPERS.items() if capture[key]]
        by = f" ({', '.join(rows)})" if rows else ""
        yield read(DROPPED) % {"point": name, "n": count(capture["dropped"]), "by": by}
    for key, text in LENGTHS.items():
        if capture[key]:
            yield read(text) % {"point": name, "n": count(capture[key])}
