"""The report of export traffic for people: exporters first, then marks, verdicts and flows, and what nobody can know from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowguard.sensor.flows_text import mark_name, verdicts_part, when
from flowguard.sensor.tables import byte_count, count, table
from policyhub.domain.qos import dscp_name


def exports_as_text(report: dict[str, Any]) -> str:
    """Tables, one blank line between them; unknown is a dash."""
    parts = [_exporters(report), _marks(report), verdicts_part(report), _flows(report), "\n".join(_notes(report))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _number(value: int | None) -> str:
    return "-" if value is None else count(value)


def _size(value: int | None) -> str:
    return "-" if value is None else byte_count(value)


def _sampling(value: int | None) -> str:
    return "not told" if value is None else f"1 in {value:,}"


def _exporters(report: dict[str, Any]) -> str:
    rows = [
        [
            point["name"], row["exporter"], row["source"] or "-", _sampling(row["sampling"]), count(row["messages"]),
            count(row["records"]), count(row["lost"]), count(row["waiting"] + row["given_up"]), count(row["unreadable"]),
        ]
        for point in report["points"]
        for row in point["exporters"]
    ]  # fmt: skip
    head = ["point", "exporter", "source", "sampling", "messages", "records", "lost", "without template", "unreadable"]
    return table("Exporters", head, rows, right=(4, 5, 6, 7, 8))


def _marks(report: dict[str, Any]) -> str:
    rows = [
        [point["name"], mark_name(int(mark)), _number(sums["packets"]), _size(sums["bytes"])]
        for point in report["points"]
        for mark, sums in sorted(point["dscp"].items(), key=lambda item: -item[1]["packets"])
    ]
    return table(
        "Marks (as counted, not multiplied by the sampling)", ["point", "mark", "packets", "frame bytes"], rows, right=(2, 3)
    )


def _flows(report: dict[str, Any]) -> str:
    rows = [
        [
            flow["proto"], f"{flow['src']}:{flow['sport']}", f"{flow['dst']}:{flow['dport']}",
            " ".join(dscp_name(int(mark)) for mark in flow["dscp"]) or "-", _number(flow["packets"]), _size(flow["ip_bytes"]),
            _sampling(flow["sampling"]), when(flow["first_ns"]), flow["identity"]["src"] or "-", flow["exporter"],
        ]
        for flow in report["flows"]
    ]  # fmt: skip
    head = ["proto", "source", "destination", "marks", "packets", "IP bytes", "sampling", "first (UTC)", "identity", "exporter"]
    return table(f"Largest flows ({len(rows)} of {report['flows_total']})", head, rows, right=(4, 5))


def _notes(report: dict[str, Any]) -> Iterator[str]:
    for point in report["points"]:
        if point["error"]:
            yield f"PARTIAL {point['error']}"
        if point["first_unreadable"]:
            yield f"{point['name']}: {point['decode_errors']} messages could not be read; the first: {point['first_unreadable']}"
        if point["other_packets"]:
            yield f"{point['name']}: {point['other_packets']} packets are no datagrams to a collector's port (--export-port)"
        if point["cannot_know"]:
            yield f"{point['name']}: {', '.join(point['sources'])} cannot know {', '.join(point['cannot_know'])}"
    if report["overflow"]["flows"]:
        yield f"{report['overflow']['flows']} records were of more flows than the table holds"
