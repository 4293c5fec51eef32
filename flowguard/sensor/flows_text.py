"""The report of `policyhub flows` for people: points, marks, verdicts, queues, path, largest flows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from flowguard.sensor.behaviour_text import behaviour_text
from flowguard.sensor.carried_text import carried_text
from flowguard.sensor.neighbours_text import neighbours_text
from flowguard.sensor.path_text import path_notes
from flowguard.sensor.services_text import services_text
from flowguard.sensor.tables import byte_count, count, ns, share, table
from policyhub.domain.qos import dscp_name

BURSTS, FILLERS, RDMA_FLOWS, STREAMS = 20, 3, 20, 20
SUMS = (
    "conversations", "half_seen", "unanswered", "resets", "fast", "timeout", "spurious", "out_of_order", "duplicate_acks",
)  # fmt: skip


def as_text(report: dict[str, Any]) -> str:
    """Tables, one blank line between them; what was not looked at is said at the end."""
    sections = (
        _points, _marks, verdicts_part, _queues, _bursts, _paths, _rdma, neighbours_text, services_text, _health, _media,
        _flows, behaviour_text, carried_text, _notes,
    )  # fmt: skip
    parts = (section(report) for section in sections)
    return "\n\n".join(part for part in parts if part) + "\n"


def _points(report: dict[str, Any]) -> str:
    rows = [
        [
            point["name"], count(point["packets"]), byte_count(point["bytes"]), when(point["first_ns"]), _span(point),
            count(point["tcp"]["data_segments"]), share(point["tcp"]["retransmitted"], point["tcp"]["data_segments"]),
            count(point["tcp"]["zero_window"]), point["file"],
        ]
        for point in report["points"]
    ]  # fmt: skip
    head = ["point", "packets", "bytes", "first packet (UTC)", "length", "TCP data", "retransmitted", "zero window", "file"]
    return table("Points", head, rows, right=(1, 2, 4, 5, 6, 7))


def _marks(report: dict[str, Any]) -> str:
    rows = [
        [
            point["name"],
            mark_name(int(mark)),
            count(sums["packets"]),
            byte_count(sums["bytes"]),
            byte_count(sums["peak_1ms_bytes"]),
        ]
        for point in report["points"]
        for mark, sums in sorted(point["dscp"].items(), key=lambda item: -item[1]["bytes"])
    ]
    return table("Marks", ["point", "mark", "packets", "bytes", "peak in 1 ms"], rows, right=(2, 3, 4))


def verdicts_part(report: dict[str, Any]) -> str:
    rows = [
        [
            verdict["severity"], verdict["name"], _host(verdict, "src"), verdict["dst"],
            f"{verdict['proto']}/{verdict['server_port']}", _marks_of(verdict), count(verdict["packets"]),
            byte_count(verdict["bytes"]), when(verdict["first_ns"]), f"{verdict['persisted_ms'] / 1000:.1f} s", verdict["point"],
        ]
        for verdict in report["verdicts"]
    ]  # fmt: skip
    if not rows:
        return "Verdicts: none" if report["judging"] else "Verdicts: no identities given, marks were not judged"
    head = ["severity", "verdict", "source", "destination", "service", "mark", "packets", "bytes", "since (UTC)", "for", "point"]
    return table("Verdicts", head, rows, right=(6, 7, 9))


def _queues(report: dict[str, Any]) -> str:
    rows = [
        [
            row["port"], row["class"], row["basis"], _percent(row["max_fill_pct"]), _percent(row["p95_fill_pct"]),
            _percent(100 * row["share_over_90_pct"]), _drops(row["drops_measured"]), _drops(row["drops_estimated"]),
        ]
        for point in report["points"]
        for row in point["queues"]
    ]  # fmt: skip
    head = ["port", "class", "basis", "fullest", "95th pct", "time over 90 %", "drops measured", "drops estimated"]
    return table("Queues (fill of the buffer, per millisecond)", head, rows, right=(3, 4, 5, 6, 7))


def _bursts(report: dict[str, Any]) -> str:
    found = [
        (burst, kind)
        for point in report["points"]
        for kind, name in (("microburst", "microbursts"), ("saturated", "saturations"))
        for burst in point[name]
    ]
    found.sort(key=lambda pair: -pair[0]["bytes"])
    rows = [
        [
            kind, burst["port"], burst["class"], burst["basis"], when(burst["start_ns"]), f"{burst['length_ms']:.1f} ms",
            _percent(burst["peak_fill_pct"]), byte_count(burst["bytes"]), _fillers(burst),
        ]
        for burst, kind in found[:BURSTS]
    ]  # fmt: skip
    head = ["kind", "port", "class", "basis", "start (UTC)", "length", "fullest", "bytes", "filled by"]
    return table(f"Nearly full queues ({len(rows)} of {len(found)})", head, rows, right=(5, 6, 7))


def _fillers(burst: dict[str, Any]) -> str:
    """The senders of the largest flows, each once."""
    shares: dict[str, int] = {}
    for flow in burst["flows"]:
        shares[flow["src"]] = shares.get(flow["src"], 0) + flow["bytes"]
    top = sorted(shares.items(), key=lambda item: -item[1])[:FILLERS]
    return ", ".join(f"{src} {_percent(100 * size / burst['bytes'])}" for src, size in top) or "-"


def _paths(report: dict[str, Any]) -> str:
    hops = [report["path"]] if report["path"] else report["paths"]
    return "\n\n".join(filter(None, map(_path, hops)))


def _path(path: dict[str, Any]) -> str:
    rows = [
        [f"{way['from']} > {way['to']}", mark_name(int(mark)), *_class_cells(row)]
        for way in path["directions"]
        for mark, row in way["by_dscp"].items()
    ]
    head = ["direction", "mark", "matched", "lost", "share", "p50", "p99", "max"]
    text = table(f"Between {path['from']} and {path['to']}", head, rows, right=(2, 3, 4, 5, 6, 7))
    return "\n".join(filter(None, [text, *path_notes(path)]))


def _class_cells(row: dict[str, Any]) -> list[str]:
    delays = [ns(row["delay_ns"][key]) for key in ("p50", "p99", "max")]
    if row["lost"] is None:
        return [count(row["matched"]), "?", "?", *delays]
    return [count(row["matched"]), count(row["lost"]), share(row["lost"], row["lost"] + row["matched"]), *delays]


def _rdma(report: dict[str, Any]) -> str:
    flows = report["roce"]["flows"][:RDMA_FLOWS]
    rows = [
        [
            flow["src"], flow["dst"], str(flow["dest_qp"]), " ".join(dscp_name(int(mark)) for mark in flow["dscp"]),
            count(flow["packets"]), byte_count(flow["bytes"]), count(flow["requests"]["missing"] + flow["responses"]["missing"]),
            count(flow["requests"]["repeated"] + flow["responses"]["repeated"]), count(flow["refused"]["sequence_error"]),
            count(flow["refused"]["rnr"]), count(flow["cnp"]), share(flow["ecn"].get("ce", 0), flow["data_packets"]),
            flow["point"],
        ]
        for flow in flows
    ]  # fmt: skip
    head = ["source", "destination", "queue pair", "marks", "packets", "bytes", "numbers missing", "sent again", "NAK", "RNR",
            "CNP", "CE", "point"]  # fmt: skip
    title = f"RDMA flows ({len(rows)} of {report['roce']['flows_total']})"
    return table(title, head, rows, right=(4, 5, 6, 7, 8, 9, 10, 11))


def _flows(report: dict[str, Any]) -> str:
    rows = [
        [
            flow["proto"], f"{flow['src']}:{flow['sport']}", f"{flow['dst']}:{flow['dport']}",
            " ".join(dscp_name(int(mark)) for mark in flow["dscp"]), count(flow["packets"]), byte_count(flow["bytes"]),
            share(flow["tcp"]["retransmitted"], flow["tcp"]["data_segments"]), flow["identity"]["src"] or "-",
            _signatures(flow), flow["point"],
        ]
        for flow in report["flows"]
    ]  # fmt: skip
    head = ["proto", "source", "destination", "marks", "packets", "bytes", "retransmitted", "identity", "payload", "point"]
    title = f"Largest flows ({len(rows)} of {report['flows_total']})"
    return table(title, head, rows, right=(4, 5, 6))


def _health(report: dict[str, Any]) -> str:
    rows = [
        [point["name"], *(count(health[key]) for key in SUMS), ns(health["zero_window_ns"])]
        for point in report["points"]
        if (health := point["health"])["conversations"]
    ]
    head = ["point", *(key.replace("_", " ") for key in SUMS), "window closed"]
    return table("TCP health (sums of the conversations first seen at each point)", head, rows, right=range(1, len(head)))


def _media(report: dict[str, Any]) -> str:
    rows = [
        [
            f"{rtp['src']}:{rtp['sport']}", f"{rtp['dst']}:{rtp['dport']}", rtp["codec"] or f"type {rtp['payload_type']}",
            count(rtp["packets"]), *_lost(rtp), count(rtp["late"]),
            ns(rtp["jitter_ns"]), ns(rtp["max_jitter_ns"]), "-" if rtp["mos"] is None else f"{rtp['mos']:.2f}", rtp["point"],
        ]
        for rtp in report["media"][:STREAMS]
    ]  # fmt: skip
    head = ["source", "destination", "codec", "packets", "lost", "share", "late", "jitter", "max jitter", "MOS", "point"]
    return table(f"Media (RTP; {len(rows)} of {len(report['media'])})", head, rows, right=range(3, 10))


def _lost(rtp: dict[str, Any]) -> list[str]:
    return ["?", "?"] if rtp["lost"] is None else [count(rtp["lost"]), share(rtp["lost"], rtp["expected"])]


def _signatures(flow: dict[str, Any]) -> str:
    """A name that only words speak for has a question mark."""
    names = (found["name"] + ("" if found["strength"] == "payload" else "?") for found in flow["signatures"])
    return ", ".join(names) or "-"


def _notes(report: dict[str, Any]) -> str:
    return "\n".join(_note_lines(report))


def _note_lines(report: dict[str, Any]) -> Iterator[str]:
    for point in report["points"]:
        if point["error"]:
            yield f"PARTIAL {point['error']}"
        yield from _capture_notes(point["name"], point["capture"])
        mirror = point.get("mirror")
        if mirror and mirror["loss_share"] is not None and mirror["basis"] != "capture":
            yield (
                f"{point['name']}: its mirror copied {mirror['mirrored']:,} of {mirror['packets']:,} frames"
                f" (by {mirror['basis']}), {100 * mirror['loss_share']:.3f} % lost"
            )
        calibration = point.get("calibration")
        for limit in calibration["limits"] if calibration else ():
            yield f"{limit}."
        yield from _packet_notes(point)
    for what, packets in report["overflow"].items():
        if packets:
            yield f"{packets} packets were more than the table of {what} holds"
    if left_out := report["behaviour"]["left_out"]:
        yield f"{left_out} steps of bulk were more than are followed: rhythms end before the capture does"
    if report["not_visible"]:
        yield f"Packets are cut too short to show: {', '.join(report['not_visible'])}"
    if report["not_evaluated"]:
        yield f"Not looked at: {', '.join(report['not_evaluated'])}"


def _packet_notes(point: dict[str, Any]) -> Iterator[str]:
    """How many of the packets say less than the others, and why."""
    of_all, errors = f"of {count(point['packets'])} packets", point["headers"]["errors"]
    if point["non_ip"]:
        others = count(point["non_ip"])
        yield f"{point['name']}: not IP, or its header could not be read: {others} {of_all}; they stand under no mark"
    if point["decode_errors"]:
        why = ", ".join(f"{name} {count(packets)}" for name, packets in sorted(errors.items(), key=lambda row: -row[1]))
        yield f"{point['name']}: a header could not be read: {count(point['decode_errors'])} {of_all} ({why})"
    if point["cut_packets"]:
        cut = count(point["cut_packets"])
        yield f"{point['name']}: captured shorter than sent: {cut} {of_all}; bytes are as sent, what was cut off is not judged"


def _capture_notes(name: str, capture: dict[str, Any]) -> Iterator[str]:
    """What the capture itself lost, and lengths that were not believed."""
    if capture["dropped"]:
        whose = {"the interface": "dropped_by_interface", "the system": "dropped_by_system"}
        rows = [f"{count(capture[key])} by {who}" for who, key in whose.items() if capture[key]]
        by = f" ({', '.join(rows)})" if rows else ""
        yield f"{name}: the capture itself dropped {count(capture['dropped'])} packets{by}; the network did not lose them"
    for key, what in (
        ("below_captured", "shorter than what was captured of them"),
        ("beyond_links", "longer than any link carries"),
    ):
        if frames := capture[f"lengths_{key}"]:
            yield f"{name}: {count(frames)} frames are said to be {what}; only the captured bytes are counted"


def _host(verdict: dict[str, Any], end: str) -> str:
    return f"{verdict[end]} ({verdict['identity']['name']})" if verdict["identity"] else str(verdict[end])


def _marks_of(verdict: dict[str, Any]) -> str:
    changes = [fact["to_dscp"] for fact in verdict["evidence"] if fact["kind"] == "rewritten"]
    new = [mark_name(int(mark)) for change in changes for mark in change]
    return " > ".join([mark_name(verdict["dscp"]), *([" or ".join(new)] if new else [])])


def mark_name(value: int) -> str:
    name = dscp_name(value)
    return name if name == str(value) else f"{name} ({value})"


def _percent(value: float) -> str:
    return f"{value:.1f} %"


def _drops(value: int | None) -> str:
    return "-" if value is None else count(value)


def when(at_ns: int | None) -> str:
    if at_ns is None:
        return "-"
    return datetime.fromtimestamp(at_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S") + f".{at_ns % 10**9 // 10**6:03}"


def _span(point: dict[str, Any]) -> str:
    return "-" if point["first_ns"] is None else f"{(point['last_ns'] - point['first_ns']) / 1e9:.3f} s"
