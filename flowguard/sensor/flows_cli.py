"""Counts, matches and judges packet captures, without a service."""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import native_capture
from flowguard.domain.bundle import compile_bundle
from flowguard.sensor import ndpi
from flowguard.sensor.exports_text import exports_as_text
from flowguard.sensor.flows_text import as_text
from flowguard.sensor.mirrors import apply_facts, apply_mirrors, clock_errors, mirror_arguments, timestamps, unwraps
from flowguard.sensor.records import FORMS, format_of, record_file, refuse_target
from flowguard.sensor.tables import Read
from flowguard.sensor.words import error_line, no_such_point, reader_arguments, translator
from policyhub.domain.errors import BadInput
from policyhub.domain.finding import Severity
from policyhub.domain.identity import read_identities
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.qos import PRIORITY_DSCP
from policyhub.domain.reading import read_text, require_file

CLEAN, FINDINGS, BAD_INPUT, PARTIAL, INTERRUPTED = 0, 1, 2, 3, 130
TEXT_FLOWS = 20
EXPORT_PORTS = (2055, 2056, 4739, 6343, 9555, 9995, 9996)
STDIN = "-"
NOT_JSON, CORRECT_IT = gettext_noop("not JSON (%(error)s)"), gettext_noop("Correct the file")
TOO_DEEP = gettext_noop("nested too deep, or a number too long")
NO_OBJECT = gettext_noop("%(key)s is not there or no object")
POINTS_FORM, CLASSES_FORM = '{"observation_points": {"ingress": "eth0"}, ...}', '{"classes": {"EF": {"dscp": [46], ...}}}'
INTERRUPTED_WORDS = gettext_noop("interrupted, nothing was left behind")
PARTIAL_RESULT = gettext_noop("partial result: %(error)s")
SENT, PORTS = gettext_noop("Capture what the exporters send"), gettext_noop("Name the collectors' ports by --export-port")
NO_MESSAGE = gettext_noop("%(file)s: no message could be read in %(n)d packets. %(cure)s")
NO_PACKET = gettext_noop("%(file)s: none of %(n)d packets could be read (%(why)s). Capture Ethernet or IP, and 64 bytes or more")
#: By default no more threads than this, and one for captures that together are smaller: it is done before others have begun.
MOST_THREADS = 4
LARGE = 16 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "captures",
        nargs="*",
        metavar="PCAP",
        help="pcap or pcapng, also as gz or zst, - for standard input; each is a point named after the file",
    )
    parser.add_argument(
        "--point",
        action="append",
        default=[],
        metavar="NAME=PCAP",
        help="capture of an observation point; with --queues NAME is a key or a value of its observation_points",
    )
    parser.add_argument("--identities", metavar="CSV", help="who is behind which prefix and may use which marks")
    parser.add_argument("--realm", action="append", default=[], metavar="NAME=REALM", help="realm of a point's addresses")
    parser.add_argument("--queues", metavar="JSON", help="observation points, ports and classes of the device between")
    parser.add_argument(
        "--side",
        action="append",
        default=[],
        metavar="POINT=PREFIX,...",
        help="what lies behind a point: with a capture of that point alone, queues are estimated from what comes from there",
    )
    parser.add_argument("--queue-series", action="store_true", help="JSON also holds the queues' fill of every millisecond")
    parser.add_argument(
        "--clock",
        action="store_true",
        help="JSON also holds the bytes of each mark and priority in every millisecond, in tenths while a queue is nearly full",
    )
    parser.add_argument(
        "--signatures", metavar="FOLDER", help="signature files of your own, beside or instead of those of the engine"
    )
    parser.add_argument(
        "--labels",
        choices=("ndpi",),
        help="also show what nDPI calls each flow; needs its program ndpiReader (Debian: libndpi-bin) and decides nothing",
    )
    mirror_arguments(parser)
    parser.add_argument("--top", type=_count, metavar="N", help=f"only the N largest flows (text: {TEXT_FLOWS} by default)")
    reader_arguments(parser)
    parser.add_argument(
        "--threads",
        type=_threads,
        metavar="N",
        help=f"so many work at once, with the same result (default: one for each core, {MOST_THREADS} at most; 1 below 16 MiB)",
    )
    _add_records(parser)


def _add_records(parser: argparse.ArgumentParser) -> None:
    """Flow records: out to a file, in from exporters."""
    parser.add_argument(
        "--records",
        metavar="FILE",
        help="write every flow there, too, as .ndjson, .parquet or .ipfix; the report then has the largest only",
    )
    parser.add_argument(
        "--exports",
        action="append",
        default=[],
        metavar="FILE",
        help="instead of packets: a capture of NetFlow, IPFIX or sFlow datagrams, or a file of IPFIX messages; these know less",
    )
    parser.add_argument(
        "--export-port",
        action="append",
        default=[],
        type=_port,
        metavar="N",
        help=f"UDP ports of collectors in such captures (default {', '.join(map(str, EXPORT_PORTS))})",
    )
    parser.add_argument("--records-format", choices=tuple(FORMS), help="when the name of the file does not tell")


def run(args: argparse.Namespace) -> int:
    """Exit code: 0 nothing found, 1 verdicts above info, 2 bad input, 3 a capture was damaged (said in the report)."""
    read = translator(args.lang)
    try:
        body = _analyse(args)
        report: dict[str, Any] = json.loads(body)
        if args.labels:
            ndpi.apply_labels(report)
        if apply_mirrors(report, args) | apply_facts(report, args.point_facts) | bool(args.labels):
            body = json.dumps(report, ensure_ascii=False, default=str).encode()
    except (native_capture.CaptureError, BadInput) as error:
        sys.stderr.write(f"policyhub flows: {error_line(error, read)}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write(f"policyhub flows: {read(INTERRUPTED_WORDS)}\n")
        return INTERRUPTED
    as_words = exports_as_text if args.exports else as_text
    _print(body.decode() + "\n" if args.format == "json" else as_words(report, read))
    damaged = [line for point in report["points"] if (line := point["error"] or nothing_read(point, read))]
    for line in damaged:
        sys.stderr.write(f"policyhub flows: {read(PARTIAL_RESULT) % {'error': line}}\n")
    if damaged:
        return PARTIAL
    found = any(Severity(verdict["severity"]).rank > Severity.INFO.rank for verdict in report["verdicts"])
    return FINDINGS if found else CLEAN


def nothing_read(point: dict[str, Any], read: Read) -> str | None:
    """Why a capture says nothing although it has packets: none of them could be decoded. None for every other."""
    if point.get("export_packets") and not point["packets"] and all(row["unreadable"] for row in point["exporters"]):
        cure = read(SENT) if point["exporters"] else read(PORTS)
        return read(NO_MESSAGE) % {"file": point["file"], "n": point["export_packets"], "cure": cure}
    if not point.get("packets") or point.get("decode_errors") != point["packets"]:
        return None
    why = ", ".join(sorted(point["headers"]["errors"]))
    return read(NO_PACKET) % {"file": point["file"], "n": point["packets"], "why": why}


def _analyse(args: argparse.Namespace) -> bytes:
    request = read_request(args)
    if args.labels:
        ndpi.refuse_unreadable(path for _, path in request.points)
    keeps_all = args.format == "json" and not args.records
    top = args.top if args.top is not None or keeps_all else TEXT_FLOWS
    analyse = functools.partial(
        native_capture.analyse, request.points, bundle=request.bundle, queues=request.queues, series=args.queue_series,
        clock=args.clock, top=top,
        signatures=args.signatures, clock_errors=clock_errors(args, request.points),
        unwrap=unwraps(args, request.points), timestamps=timestamps(args, request.points),
        threads=args.threads or threads_for([path for _, path in request.points]),
    )  # fmt: skip
    if args.exports:
        ports = args.export_port or EXPORT_PORTS
        analyse = functools.partial(native_capture.analyse_exports, request.points, ports=ports, bundle=request.bundle, top=top)
    if not args.records:
        return analyse()
    kind = format_of(args.records, args.records_format)
    named = [args.identities, args.queues, args.point_facts, *(text.partition("=")[2] for text in args.counters)]
    refuse_target(args.records, [*(path for _, path in request.points), *filter(None, named)])
    with record_file(args.records, kind) as write:
        return analyse(records=FORMS[kind], write=write, progress=_progress if sys.stderr.isatty() else None)


def threads_for(paths: Iterable[str]) -> int:
    """As many threads as pay: one for each core that this process may use, for captures that are worth it."""
    size = sum(os.path.getsize(path) for path in paths if path != STDIN and os.path.isfile(path))
    return min(len(os.sched_getaffinity(0)), MOST_THREADS) if size >= LARGE else 1


def _progress(packets: int, records: int) -> None:
    sys.stderr.write(f"\r{packets:,} packets, {records:,} flows written ")
    sys.stderr.flush()


@dataclass(frozen=True, slots=True)
class Request:
    """points: (name, file). bundle, queues: JSON as the engine takes it, None when not given."""

    points: Sequence[tuple[str, str]]
    bundle: bytes | None
    queues: bytes | None


def read_request(args: argparse.Namespace) -> Request:
    """What the arguments ask for. Raises BadInput naming the argument or file and the cure."""
    queues = read_queues(args.queues) if args.queues else None
    points = [(name, path) for name, path in map(_named_point, args.point)]
    if args.exports:
        refuse_beside_exports(args)
    points += name_by_file(args.exports or args.captures, taken=[name for name, _ in points])
    if not points:
        raise BadInput.of(gettext_noop("no capture given. Name a file, or NAME=FILE with --point"))
    for _, path in points:
        if path != STDIN:
            require_file(path, Message(gettext_noop("Name a pcap or pcapng file")))
    if [path for _, path in points].count(STDIN) > 1:
        raise BadInput.of(gettext_noop("standard input can be one capture only. Give the others as files"))
    if queues is not None:
        check_names(args.queues, queues, [name for name, _ in map(_named_point, args.point)])
    if args.side:
        queues = with_sides(queues, args.side)
    realms = dict(_pair(text, "--realm", "NAME=REALM") for text in args.realm)
    unknown = set(realms) - {name for name, _ in points}
    if unknown:
        raise no_such_point("--realm", min(unknown), [name for name, _ in points])
    bundle = None
    if args.identities:
        identities = read_identities(read_text(args.identities), args.identities)
        bundle = compile_bundle(identities, points=realms, priority_dscp=PRIORITY_DSCP | declared_priority(queues or {}))
    return Request(points, bundle, json.dumps(queues).encode() if queues is not None else None)


def refuse_beside_exports(args: argparse.Namespace) -> None:
    """Raises BadInput for what needs packets."""
    given = {"captures": args.captures, "--point": args.point, "--queues": args.queues, "--side": args.side,
             "--queue-series": args.queue_series, "--clock": args.clock, "--signatures": args.signatures,
             "--labels": args.labels, "--threads": args.threads, "--unwrap": args.unwrap,
             "--timestamps": args.timestamps}  # fmt: skip
    beside = next((name for name, value in given.items() if value), None)
    if beside:
        said = gettext_noop(
            "%(option)s beside --exports: records of exporters have no packets. Examine captures in a run of their own"
        )
        raise BadInput.of(said, option=beside)


def read_queues(file: str) -> dict[str, Any]:
    """The queues file of the contract. Raises BadInput naming file, line and the cure."""
    try:
        queues = json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise BadInput.at(file, error.lineno, Message(NOT_JSON, {"error": error.msg}), Message(CORRECT_IT)) from None
    except (RecursionError, ValueError):
        raise BadInput.at(file, None, Message(TOO_DEEP), Message(CORRECT_IT)) from None
    if not isinstance(queues, dict) or not isinstance(queues.get("observation_points"), dict):
        raise BadInput.at(file, None, Message(NO_OBJECT, {"key": "observation_points"}), written_as(POINTS_FORM))
    if not isinstance(queues.get("classes", {}), dict):
        raise BadInput.at(file, None, Message(NO_OBJECT, {"key": "classes"}), written_as(CLASSES_FORM))
    return queues


def check_names(file: str, queues: Mapping[str, Any], names: Iterable[str]) -> None:
    """Every name is a key or a value of observation_points, and no two mean the same point. Raises BadInput."""
    meant: dict[str, str] = {}
    known = {str(key): str(value) for key, value in queues["observation_points"].items()}
    by_value = {value: key for key, value in known.items()}
    for name in names:
        key = name if name in known else by_value.get(name)
        if key is None:
            listed = ", ".join(f"{key} = {value}" for key, value in known.items())
            said = gettext_noop("--point %(name)s: not in observation_points of %(file)s. Use one of: %(names)s")
            raise BadInput.of(said, name=name, file=file, names=listed)
        if key in meant:
            said = gettext_noop("--point %(name)s: the same point as %(other)s. Give each point once")
            raise BadInput.of(said, name=name, other=meant[key])
        meant[key] = name


def with_sides(queues: dict[str, Any] | None, sides: Sequence[str]) -> dict[str, Any]:
    """The queues file with the prefixes behind each point added. Raises BadInput."""
    if queues is None:
        raise BadInput.of(gettext_noop("--side says what feeds a queue: give --queues as well"))
    known = {str(name) for pair in queues["observation_points"].items() for name in pair}
    found = dict(_pair(text, "--side", "POINT=PREFIX,...") for text in sides)
    unknown = set(found) - known
    if unknown:
        raise no_such_point("--side", min(unknown), sorted(known))
    return {**queues, "sides": {name: prefixes.split(",") for name, prefixes in found.items()}}


def written_as(form: str) -> Message:
    return Message(gettext_noop("Write %(form)s"), {"form": form})


def declared_priority(queues: Mapping[str, Any]) -> frozenset[int]:
    """Marks of classes that the queues file declares to be priority (`"priority": true`)."""
    classes = queues.get("classes", {}).values()
    marks = [c["dscp"] for c in classes if isinstance(c, dict) and c.get("priority") is True and isinstance(c.get("dscp"), list)]
    return frozenset(mark for group in marks for mark in group if isinstance(mark, int) and 0 <= mark <= 63)


def name_by_file(paths: Iterable[str], taken: Iterable[str]) -> list[tuple[str, str]]:
    """Points named after their files; a second one of the same name gets a number."""
    names = set(taken)
    points = []
    for path in paths:
        stem = name = "stdin" if path == STDIN else Path(path).stem or path
        number = 1
        while name in names:
            number += 1
            name = f"{stem}-{number}"
        names.add(name)
        points.append((name, path))
    return points


def _named_point(text: str) -> tuple[str, str]:
    return _pair(text, "--point", "NAME=PCAP")


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        said = gettext_noop("%(option)s %(given)r: not of the form %(form)s. Write e.g. %(option)s %(example)s")
        raise BadInput.of(said, option=option, given=text, form=form, example=f"in0={'a.pcap' if 'PCAP' in form else 'site-b'}")
    return name, value


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of flows")
    return int(text)


def _threads(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 256:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of threads from 1 to 256")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


def _print(text: str) -> None:
    """A reader that left early (`| head`) is no error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
