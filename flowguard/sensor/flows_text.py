"""The report of `policyhub flows` for people: points, marks, verdicts, queues, path, largest flows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from flowguard.domain.verdict_names import TITLES
from flowguard.sensor import flows_words as words
from flowguard.sensor import ndpi
from flowguard.sensor.behaviour_text import behaviour_text
from flowguard.sensor.carried_text import carried_text
from flowguard.sensor.flows_notes import note_lines
from flowguard.sensor.neighbours_text import neighbours_text
from flowguard.sensor.path_text import path_notes
from flowguard.sensor.services_text import services_text
from flowguard.sensor.tables import Read, byte_count, count, ns, share, table
from policyhub.domain.message import gettext_noop
from policyhub.domain.qos import dscp_name

BURSTS, FILLERS, RDMA_FLOWS, STREAMS = 20, 3, 20, 20
SUMS = (
    "conversations", "half_seen", "unanswered", "resets", "fast", "timeout", "spurious", "out_of_order", "duplicate_acks",
)  # fmt: skip


def _heads(msgids: Sequence[str], read: Read) -> list[str]:
    return [read(msgid) for msgid in msgids]


def _of(title: str, shown: int, everything: int, read: Read) -> str:
    return read(title) % {"shown": shown, "all": everything}


def as_text(report: dict[str, Any], read: Read = gettext_noop) -> str:
    """Tables, one blank line between them; what was not looked at is said at the end."""
    sections = (
        _points, _marks, verdicts_part, _queues, _bursts, _paths, _rdma, neighbours_text, services_text, _health, _media,
        _flows, behaviour_text, carried_text, _notes,
    )  # fmt: skip
    parts = (section(report, read) for section in sections)
    return "\n\n".join(part for part in parts if part) + "\n"


def _points(report: dict[str, Any], read: Read) -> str:
    rows = [
        [
            point["name"], count(point["packets"]), byte_count(point["bytes"]), when(point["first_ns"]), _span(point),
            count(point["tcp"]["data_segments"]), share(point["tcp"]["retransmitted"], point["tcp"]["data_segments"]),
            count(point["tcp"]["zero_window"]), point["file"],
        ]
        for point in report["points"]
    ]  # fmt: skip
    return table(read(words.POINTS), _heads(words.POINT_HEAD, read), rows, right=(1, 2, 4, 5, 6, 7))


def _marks(report: dict[str, Any], read: Read) -> str:
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
    return table(read(words.MARKS), _heads(words.MARK_HEAD, read), rows, right=(2, 3, 4))


def verdicts_part(report: dict[str, Any], read: Read) -> str:
    rows = [
        [
            read(verdict["severity"]), verdict_word(verdict["name"], read), _host(verdict, "src"), verdict["dst"],
            f"{verdict['proto']}/{verdict['server_port']}", _marks_of(verdict, read), count(verdict["packets"]),
            byte_count(verdict["bytes"]), when(verdict["first_ns"]), f"{verdict['persisted_ms'] / 1000:.1f} s", verdict["point"],
        ]
        for verdict in report["verdicts"]
    ]  # fmt: skip
    if not rows:
        return read(words.NO_VERDICTS if report["judging"] else words.NOT_JUDGED)
    return table(read(words.VERDICTS), _heads(words.VERDICT_HEAD, read), rows, right=(6, 7, 9))


def verdict_word(name: str, read: Read) -> str:
    """The name itself in English, which is how the manual calls it, its title in other languages."""
    title = TITLES.get(name, name)
    return name if read(title) == title else read(title)


def _queues(report: dict[str, Any], read: Read) -> str:
    rows = [
        [
            row["port"], row["class"], read(row["basis"]), _percent(row["max_fill_pct"]), _percent(row["p95_fill_pct"]),
            _percent(100 * row["share_over_90_pct"]), _drops(row["drops_measured"]), _drops(row["drops_estimated"]),
        ]
        for point in report["points"]
        for row in point["queues"]
    ]  # fmt: skip
    return table(read(words.QUEUES), _heads(words.QUEUE_HEAD, read), rows, right=(3, 4, 5, 6, 7))


def _bursts(report: dict[str, Any], read: Read) -> str:
    found = [
        (burst, kind)
        for point in report["points"]
        for kind, name in (("microburst", "microbursts"), ("saturated", "saturations"))
        for burst in point[name]
    ]
    found.sort(key=lambda pair: -pair[0]["bytes"])
    rows = [
        [
            read(kind), burst["port"], burst["class"], read(burst["basis"]), when(burst["start_ns"]),
            f"{burst['length_ms']:.1f} ms", _percent(burst["peak_fill_pct"]), byte_count(burst["bytes"]), _fillers(burst),
        ]
        for burst, kind in found[:BURSTS]
    ]  # fmt: skip
    return table(_of(words.BURSTS, len(rows), len(found), read), _heads(words.BURST_HEAD, read), rows, right=(5, 6, 7))


def _fillers(burst: dict[str, Any]) -> str:
    """The senders of the largest flows, each once."""
    shares: dict[str, int] = {}
    for flow in burst["flows"]:
        shares[flow["src"]] = shares.get(flow["src"], 0) + flow["bytes"]
    top = sorted(shares.items(), key=lambda item: -item[1])[:FILLERS]
    return ", ".join(f"{src} {_percent(100 * size / burst['bytes'])}" for src, size in top) or "-"


def _paths(report: dict[str, Any], read: Read) -> str:
    hops = [report["path"]] if report["path"] else report["paths"]
    return "\n\n".join(filter(None, (_path(hop, read) for hop in hops)))


def _path(path: dict[str, Any], read: Read) -> str:
    rows = [
        [f"{way['from']} > {way['to']}", mark_name(int(mark)), *_class_cells(row)]
        for way in path["directions"]
        for mark, row in way["by_dscp"].items()
    ]
    title = read(words.BETWEEN) % {"from": path["from"], "to": path["to"]}
    text = table(title, _heads(words.PATH_HEAD, read), rows, right=(2, 3, 4, 5, 6, 7))
    return "\n".join(filter(None, [text, *path_notes(path, read)]))


def _class_cells(row: dict[str, Any]) -> list[str]:
    delays = [ns(row["delay_ns"][key]) for key in ("p50", "p99", "max")]
    if row["lost"] is None:
        return [count(row["matched"]), "?", "?", *delays]
    return [count(row["matched"]), count(row["lost"]), share(row["lost"], row["lost"] + row["matched"]), *delays]


def _rdma(report: dict[str, Any], read: Read) -> str:
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
    title = _of(words.RDMA, len(rows), report["roce"]["flows_total"], read)
    return table(title, _heads(words.RDMA_HEAD, read), rows, right=(4, 5, 6, 7, 8, 9, 10, 11))


def _flows(report: dict[str, Any], read: Read) -> str:
    rows = [
        [
            flow["proto"], f"{flow['src']}:{flow['sport']}", f"{flow['dst']}:{flow['dport']}",
            " ".join(dscp_name(int(mark)) for mark in flow["dscp"]), count(flow["packets"]), byte_count(flow["bytes"]),
            share(flow["tcp"]["retransmitted"], flow["tcp"]["data_segments"]), flow["identity"]["src"] or "-",
            _signatures(flow), *ndpi.of_flow(flow), flow["point"],
        ]
        for flow in report["flows"]
    ]  # fmt: skip
    title = _of(words.FLOWS, len(rows), report["flows_total"], read)
    head = [*words.FLOW_HEAD[:-1], *([words.NDPI] if report.get("labels") else []), words.FLOW_HEAD[-1]]
    return table(title, _heads(head, read), rows, right=(4, 5, 6))


def _health(report: dict[str, Any], read: Read) -> str:
    rows = [
        [point["name"], *(count(health[key]) for key in SUMS), ns(health["zero_window_ns"])]
        for point in report["points"]
        if (health := point["health"])["conversations"]
    ]
    head = _heads(words.HEALTH_HEAD, read)
    return table(read(words.HEALTH), head, rows, right=range(1, len(head)))


def _media(report: dict[str, Any], read: Read) -> str:
    rows = [
        [
            f"{rtp['src']}:{rtp['sport']}", f"{rtp['dst']}:{rtp['dport']}", _codec(rtp, read),
            count(rtp["packets"]), *_lost(rtp), count(rtp["late"]),
            ns(rtp["jitter_ns"]), ns(rtp["max_jitter_ns"]), "-" if rtp["mos"] is None else f"{rtp['mos']:.2f}", rtp["point"],
        ]
        for rtp in report["media"][:STREAMS]
    ]  # fmt: skip
    title = _of(words.MEDIA, len(rows), len(report["media"]), read)
    return table(title, _heads(words.MEDIA_HEAD, read), rows, right=range(3, 10))


def _codec(rtp: dict[str, Any], read: Read) -> str:
    return rtp["codec"] or read(words.TYPE) % {"number": rtp["payload_type"]}


def _lost(rtp: dict[str, Any]) -> list[str]:
    return ["?", "?"] if rtp["lost"] is None else [count(rtp["lost"]), share(rtp["lost"], rtp["expected"])]


def _signatures(flow: dict[str, Any]) -> str:
    """A name that only words speak for has a question mark."""
    names = (found["name"] + ("" if found["strength"] == "payload" else "?") for found in flow["signatures"])
    return ", ".join(names) or "-"


def _notes(report: dict[str, Any], read: Read) -> str:
    return "\n".join(note_lines(report, read))


def _host(verdict: dict[str, Any], end: str) -> str:
    return f"{verdict[end]} ({verdict['identity']['name']})" if verdict["identity"] else str(verdict[end])


def _marks_of(verdict: dict[str, Any], read: Read) -> str:
    changes = [fact["to_dscp"] for fact in verdict["evidence"] if fact["kind"] == "rewritten"]
    new = [mark_name(int(mark)) for change in changes for mark in change]
    return " > ".join([mark_name(verdict["dscp"]), *([read(words.OR).join(new)] if new else [])])


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
