"""`policyhub sensor probe send|judge`: marked probes, and what a mirror's copies of them say about the mirror."""

from __future__ import annotations

import argparse
import ipaddress
import json
import os
import secrets
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import native_capture
from flowguard.domain.point_facts import read_facts, with_point
from flowguard.domain.probe import LEAST_BYTES, LEAST_COPIES, MOST_BYTES, PORT, Seen, Sent, find, judge, run_of
from flowguard.sensor.flows_cli import BAD_INPUT, CLEAN, PARTIAL
from flowguard.sensor.frames import read_frames
from flowguard.sensor.probe_text import judged_as_text, sending_as_text
from flowguard.sensor.probing import MOST_PACKETS, MOST_PER_SECOND, Plan, send
from flowguard.sensor.words import error_line, reader_arguments, translator
from policyhub.domain.errors import BadInput, PolicyHubError
from policyhub.domain.message import gettext_noop
from policyhub.domain.qos import parse_dscp
from policyhub.domain.reading import read_text

SENT = "policyhub.probe/1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    acts = parser.add_subparsers(dest="probe_command", required=True, metavar="send|judge")
    act = acts.add_parser(
        "send", help="send marked UDP packets through a mirrored port; without --go it only says what it would send"
    )
    act.add_argument("--to", required=True, metavar="IP", help="a host behind the mirrored port; it need not answer")
    act.add_argument("--port", type=_number(1, 65_535), default=PORT, help=f"UDP port (default {PORT})")
    act.add_argument("--dscp", type=_marks, default=(0, 8, 26, 46), metavar="MARKS", help="e.g. EF,AF31,0 (default 0,8,26,46)")
    act.add_argument("--count", type=_number(1, 20_000), default=100, help="probes of each mark (default 100)")
    act.add_argument(
        "--rate", type=_number(1, MOST_PER_SECOND), default=50, help=f"a second, up to {MOST_PER_SECOND} (default 50)"
    )
    act.add_argument("--size", type=_number(LEAST_BYTES, MOST_BYTES), default=64, help="bytes of payload (default 64)")
    act.add_argument("--run", type=_run_id, metavar="HEX", help="16 hex digits that name the run (default: random)")
    act.add_argument("--from", dest="origin", default="", metavar="IP", help="this machine's address to send from")
    act.add_argument("--sent", type=Path, metavar="FILE", help="write there what was sent, for `judge --sent`")
    act.add_argument("--go", action="store_true", help="really send")
    reader_arguments(act)
    act = acts.add_parser("judge", help="say what a capture of the mirror shows of the probes")
    act.add_argument("capture", metavar="PCAP", help="of the mirror point, taken while the probes were sent")
    act.add_argument("--receiver", metavar="PCAP", help="capture where the probes went to, right behind the device")
    act.add_argument("--sent", metavar="FILE", help="what `send --sent` wrote: also tells of probes that nobody saw")
    act.add_argument("--run", type=_run_id, metavar="HEX", help="this run (default: that of --sent, else the largest)")
    act.add_argument("--tagged", action="store_true", help="the probes cross the mirrored port with a VLAN tag")
    act.add_argument("--point", default="", metavar="NAME", help="name of the point (default: the file's)")
    act.add_argument(
        "--into", type=Path, metavar="FILE", help="put the point into this file, for `policyhub flows --point-facts`"
    )
    reader_arguments(act)


def run(args: argparse.Namespace) -> int:
    """Exit code: 0 done, 2 bad input, 3 too few copies to tell anything (said)."""
    read = translator(args.lang)
    try:
        return {"send": _send, "judge": _judge}[args.probe_command](args, read)
    except (PolicyHubError, native_capture.CaptureError) as error:
        sys.stderr.write(f"policyhub sensor probe {args.probe_command}: {error_line(error, read)}\n")
    return BAD_INPUT


def _send(args: argparse.Namespace, read: Callable[[str], str]) -> int:
    plan = _plan(args)
    begun = time.time_ns()
    if args.go:
        with _open(plan, args.origin) as sender:
            try:
                send(plan, sender, clock_ns=time.time_ns, sleep=time.sleep)
            except OSError as error:
                said = gettext_noop("%(to)s cannot be sent to (%(error)s). Check address and route")
                raise BadInput.of(said, to=plan.to, error=error.strerror or str(error)) from None
    told = {
        "schema": SENT, "sent": args.go, "run": plan.run, "to": plan.to, "port": plan.port, "marks": list(plan.marks),
        "count": plan.count, "per_second": plan.per_second, "size": plan.size,
        "first_ns": begun if args.go else None, "last_ns": time.time_ns() if args.go else None,
    }  # fmt: skip
    if args.go and args.sent:
        _write(args.sent, told)
    sys.stdout.write(json.dumps(told) + "\n" if args.format == "json" else sending_as_text(plan, args.go, read))
    return CLEAN


def _plan(args: argparse.Namespace) -> Plan:
    try:
        address = ipaddress.ip_address(args.to)
    except ValueError:
        raise BadInput.of(gettext_noop("--to %(to)r is no address. Write e.g. 10.0.1.9"), to=args.to) from None
    if address.is_multicast or address.is_unspecified or args.to == "255.255.255.255":
        raise BadInput.of(gettext_noop("--to %(to)s is no single host. Probes go to one"), to=args.to)
    if len(args.dscp) * args.count > MOST_PACKETS:
        raise BadInput.of(gettext_noop("more than %(most)d probes in all. Lower --count"), most=MOST_PACKETS)
    return Plan(args.run or secrets.token_hex(8), str(address), args.port, args.dscp, args.count, args.rate, args.size)


def _open(plan: Plan, origin: str) -> socket.socket:
    sender = socket.socket(plan.family, socket.SOCK_DGRAM)
    try:
        if origin:
            sender.bind((origin, 0))
    except OSError as error:
        sender.close()
        said = gettext_noop("--from %(origin)s: %(error)s. Name an address of this machine")
        raise BadInput.of(said, origin=origin, error=error.strerror or str(error)) from None
    return sender


def _judge(args: argparse.Namespace, read: Callable[[str], str]) -> int:
    sent = _sent(args.sent) if args.sent else None
    wanted = args.run or (sent.run if sent else "")
    copies = list(run_of(_probes(args.capture), wanted))
    arrivals = list(run_of(_probes(args.receiver), wanted or (copies[0].run if copies else ""))) if args.receiver else None
    looked = json.loads(native_capture.inspect([("copies", args.capture)]))["points"][0]
    facts, figures = judge(
        copies, arrivals=arrivals, sent=sent, tagged=args.tagged, pauses=looked["pause"],
        cut_to=looked["most_kept"] if looked["cut"] else None,
    )  # fmt: skip
    figures = {"run": copies[0].run if copies else wanted or None, "capture": args.capture, **figures}
    point = args.point or Path(args.capture).name.partition(".")[0]
    if args.into and figures["copied"] >= LEAST_COPIES:
        _put(args.into, lambda known: with_point(known, point, facts, figures))
    if args.format == "json":
        sys.stdout.write(json.dumps(with_point(None, point, facts, figures), ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(judged_as_text(point, facts, figures, read))
    return CLEAN if figures["copied"] >= LEAST_COPIES else PARTIAL


def _probes(path: str) -> list[Seen]:
    return [probe for frame in read_frames(path) if (probe := find(frame.kept, frame.ts_ns)) is not None]


def _sent(file: str) -> Sent:
    try:
        told = json.loads(read_text(file))
        if told["schema"] != SENT or not told["sent"]:
            raise KeyError
        return Sent(_run_id(told["run"]), tuple(map(int, told["marks"])) * int(told["count"]))
    except (ValueError, KeyError, TypeError, RecursionError, argparse.ArgumentTypeError):
        raise BadInput.at(
            file, None, "does not say what was sent", "Write it by `policyhub sensor probe send --go --sent FILE`"
        ) from None


def _put(path: Path, change: Callable[[dict[str, Any] | None], dict[str, Any]]) -> None:
    known = None
    if path.exists():
        text = read_text(path)
        read_facts(text, str(path))
        known = json.loads(text)
    _write(path, change(known))


def _write(path: Path, told: dict[str, Any]) -> None:
    """Whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(path)


def _number(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {low} to {high}")
        return int(text)

    return read


def _marks(text: str) -> tuple[int, ...]:
    try:
        found = tuple(dict.fromkeys(parse_dscp(each) for each in text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} holds something that is no mark. Write e.g. EF,AF31,0") from None
    return found


def _run_id(text: str) -> str:
    if len(text) != 16 or set(text) - set("0123456789abcdef"):
        raise argparse.ArgumentTypeError(f"{text!r} is not 16 hex digits")
    return text
