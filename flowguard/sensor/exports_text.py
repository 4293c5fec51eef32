"""The report of export traffic for people: exporters first, then marks, verdicts and flows, and what nobody can know from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowguard.sensor.flows_text import mark_name, verdicts_part, when
from flowguard.sensor.tables import Read, byte_count, count, table
from policyhub.domain.message import gettext_noop
from policyhub.domain.qos import dscp_name

EXPORTERS, EXPORTER_HEAD = (
    gettext_noop("Exporters"),
    (
        gettext_noop("point"), gettext_noop("exporter"), gettext_noop("source"), gettext_noop("sampling"),
        gettext_noop("messages"), gettext_noop("records"), gettext_noop("lost"), gettext_noop("without template"),
        gettext_noop("unreadable"),
    ),
)  # fmt: skip
MARKS = gettext_noop("Marks (as counted, not multiplied by the sampling)")
MARK_HEAD = (gettext_noop("point"), gettext_noop("mark"), gettext_noop("packets"), gettext_noop("frame bytes"))
FLOWS = gettext_noop("Largest flows (%(shown)d of %(all)d)")
FLOW_HEAD = (
    gettext_noop("proto"), gettext_noop("source"), gettext_noop("destination"), gettext_noop("marks"), gettext_noop("packets"),
    gettext_noop("IP bytes"), gettext_noop("sampling"), gettext_noop("first (UTC)"), gettext_noop("identity"),
    gettext_noop("exporter"),
)  # fmt: skip
NOT_TOLD, ONE_IN = gettext_noop("not told"), gettext_noop("1 in %(n)s")
PARTIAL = gettext_noop("PARTIAL %(error)s")
UNREADABLE = gettext_noop("%(point)s: %(n)d messages could not be read; the first: %(first)s")
OTHERS = gettext_noop("%(point)s: %(n)d packets are no datagrams to a collector's port (--export-port)")
CANNOT_KNOW = gettext_noop("%(point)s: %(sources)s cannot know %(what)s")
TOO_MANY = gettext_noop("%(n)d records were of more flows than the table holds")
# What a kind of record cannot know, see nc_records::Source.
UNKNOWABLE = {
    "dscp-per-millisecond": gettext_noop("marks of each millisecond"), "microbursts": gettext_noop("microbursts"),
    "queues": gettext_noop("queues"), "path": gettext_noop("the way between points"),
    "tcp-health": gettext_noop("health of TCP"), "signatures": gettext_noop("signatures"), "payload": gettext_noop("payload"),
    "marks-that-changed-within-a-flow": gettext_noop("marks that changed within a flow"),
    "frame-bytes": gettext_noop("bytes of whole frames"), "vlan": gettext_noop("VLAN"), "ipv6": gettext_noop("IPv6"),
    "packets-not-sampled": gettext_noop("packets that were not sampled"),
    "first-and-last-packet": gettext_noop("first and last packet"), "retransmitted": gettext_noop("what was sent again"),
}  # fmt: skip


def exports_as_text(report: dict[str, Any], read: Read = gettext_noop) -> str:
    """Tables, one blank line between them; unknown is a dash."""
    sections = (_exporters, _marks, verdicts_part, _flows)
    parts = [*(section(report, read) for section in sections), "\n".join(_notes(report, read))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _number(value: int | None) -> str:
    return "-" if value is None else count(value)


def _size(value: int | None) -> str:
    return "-" if value is None else byte_count(value)


def _sampling(value: int | None, read: Read) -> str:
    return read(NOT_TOLD) if value is None else read(ONE_IN) % {"n": count(value)}


def _exporters(report: dict[str, Any], read: Read) -> str:
    rows = [
        [
            point["name"], row["exporter"], row["source"] or "-", _sampling(row["sampling"], read), count(row["messages"]),
            count(row["records"]), count(row["lost"]), count(row["waiting"] + row["given_up"]), count(row["unreadable"]),
        ]
        for point in report["points"]
        for row in point["exporters"]
    ]  # fmt: skip
    return table(read(EXPORTERS), [read(head) for head in EXPORTER_HEAD], rows, right=(4, 5, 6, 7, 8))


def _marks(report: dict[str, Any], read: Read) -> str:
    rows = [
        [point["name"], mark_name(int(mark)), _number(sums["packets"]), _size(sums["bytes"])]
        for point in report["points"]
        for mark, sums in sorted(point["dscp"].items(), key=lambda item: -item[1]["packets"])
    ]
    return table(read(MARKS), [read(head) for head in MARK_HEAD], rows, right=(2, 3))


def _flows(report: dict[str, Any], read: Read) -> str:
    rows = [
        [
            flow["proto"], f"{flow['src']}:{flow['sport']}", f"{flow['dst']}:{flow['dport']}",
            " ".join(dscp_name(int(mark)) for mark in flow["dscp"]) or "-", _number(flow["packets"]), _size(flow["ip_bytes"]),
            _sampling(flow["sampling"], read), when(flow["first_ns"]), flow["identity"]["src"] or "-", flow["exporter"],
        ]
        for flow in report["flows"]
    ]  # fmt: skip
    title = read(FLOWS) % {"shown": len(rows), "all": report["flows_total"]}
    return table(title, [read(head) for head in FLOW_HEAD], rows, right=(4, 5))


def _notes(report: dict[str, Any], read: Read) -> Iterator[str]:
    for point in report["points"]:
        name = {"point": point["name"]}
        if point["error"]:
            yield read(PARTIAL) % {"error": point["error"]}
        if point["first_unreadable"]:
            yield read(UNREADABLE) % {**name, "n": point["decode_errors"], "first": point["first_unreadable"]}
        if point["other_packets"]:
            yield read(OTHERS) % {**name, "n": point["other_packets"]}
        if point["cannot_know"]:
            what = ", ".join(read(UNKNOWABLE.get(one, one)) for one in point["cannot_know"])
            yield read(CANNOT_KNOW) % {**name, "sources": ", ".join(point["sources"]), "what": what}
    if report["overflow"]["flows"]:
        yield read(TOO_MANY) % {"n": report["overflow"]["flows"]}
