"""`policyhub device counters`: what the queues and ports of a device counted; of one port also as CSV."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from policyhub.domain.errors import BadInput
from policyhub.domain.mirroring import Copied
from policyhub.domain.port_traffic import port_named
from policyhub.domain.reading import read_text
from policyhub.management import terminal

if TYPE_CHECKING:
    from policyhub.domain.counter_trend import Trend
    from policyhub.models import Device

PARTIAL = 3
ACTOR = f"cli:{getpass.getuser()}"


def add_arguments(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    counters = verbs.add_parser("counters", help="what its queues and ports counted: last value, growth, age")
    counters.add_argument("name")
    way = counters.add_mutually_exclusive_group()
    way.add_argument("--poll", action="store_true", help="read them now")
    way.add_argument("--from", dest="file", type=Path, help="keep them from a file, for devices that are not read over SSH")
    counters.add_argument("--interface", default="", metavar="PORT", help="only this port")
    counters.add_argument(
        "--format",
        choices=("text", "csv"),
        default="text",
        help="csv: frames and octets of --interface at each reading, oldest first",
    )
    counters.add_argument(
        "--direction", choices=[each.value for each in Copied], default=Copied.BOTH.value, help="of csv: the mirrored direction"
    )
    counters.add_argument(
        "--trouble", action="store_true", help="only drops, pauses, marks of congestion and errors that are not 0"
    )


def _counters(args: argparse.Namespace) -> int:
    from policyhub.actions import counters
    from policyhub.queries.counters import counted, fitting

    device = terminal.device(args.name)
    if args.format == "csv" and not args.interface:
        raise BadInput("--format csv is of one port. Give --interface PORT")
    if args.poll:
        counters.poll(device_id=device.pk, actor=ACTOR, clock=terminal.now)
    elif args.file:
        now = terminal.now()
        counters.upload(device=device, text=read_text(args.file), actor=ACTOR, read_at=now, now=now)
    if not device.counter_readings.exists():
        way = "--poll" if device.host else "--from FILE"
        again = f"policyhub device counters {device.name} {way}"
        sys.stderr.write(f"{device.name}: never read, so nothing is known. Read it now: {again}\n")
        return PARTIAL
    if args.format == "csv":
        return _csv(device, args.interface, Copied(args.direction))
    seen = counted(device, at_most=2)
    latest = seen.readings[-1]
    terminal.say(f"{device.name}: read {latest.read_at:%Y-%m-%d %H:%M:%S} ({latest.origin}), {latest.count} numbers")
    if latest.unread:
        terminal.say(f"{latest.unread} lines with figures were not understood")
    port = port_named(args.interface, (trend.interface for trend in seen.trends)) if args.interface else ""
    for trend in fitting(seen.trends, only_trouble=args.trouble):
        if port in ("", trend.interface):
            terminal.say(_line(trend))
    return 0


def _csv(device: Device, interface: str, direction: Copied) -> int:
    """What `policyhub flows --counters` reads. 3 when there is no reading of the port's frames (said)."""
    from policyhub.queries.counters import traffic

    port, rows = traffic(device, interface, direction)
    terminal.say("time,packets,bytes")
    for row in rows:
        terminal.say(f"{row.at.isoformat()},{row.packets},{'' if row.octets is None else row.octets}")
    if not rows:
        what = {Copied.RX: "received", Copied.TX: "sent", Copied.BOTH: "both received and sent"}[direction]
        sys.stderr.write(f"{device.name}: no reading counts what {port or interface} {what}. See docs/mirrors.md, counters\n")
        return PARTIAL
    return 0


def _short(rate: float) -> str:
    return f"{rate:+,.0f}" if abs(rate) >= 100 else f"{rate:+.3g}"


def _line(trend: Trend) -> str:
    value = "unknown" if trend.value is None else f"{trend.value:.15g}"
    growth = "reset" if trend.reset_at else "" if trend.rate is None else f"{_short(trend.rate)}/s"
    return f"{trend.interface:<24} {trend.queue:<24} {trend.name:<36} {value:>20} {trend.unit:<12} {growth}".rstrip()


VERBS = {"counters": _counters}
