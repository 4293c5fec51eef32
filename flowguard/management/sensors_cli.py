"""Lists sensors and their health, and says which group and devices they belong to."""

from __future__ import annotations

import argparse
import getpass
import sys
from typing import TYPE_CHECKING

from django.utils import timezone

from policyhub.domain.errors import BadInput

if TYPE_CHECKING:
    from flowguard.queries.sensors import SensorRow

NEEDS_DJANGO = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="sensors_command", required=True, metavar="list|assign|point|retry")
    commands.add_parser("list", help="last contact, judging, drops, gaps and batches that could not be read")
    assign = commands.add_parser("assign", help="put a sensor under a device group, whose profile it then gets")
    assign.add_argument("name")
    assign.add_argument("--group", required=True)
    point = commands.add_parser("point", help="say where a point copies traffic")
    point.add_argument("name", metavar="SENSOR/POINT")
    point.add_argument("--realm", default="")
    point.add_argument("--device", default="", help="the device at which the traffic is copied")
    point.add_argument("--stands-behind", default="", help="the device whose changes show at this point")
    point.add_argument("--interface", default="")
    again = commands.add_parser("retry", help="give a poisoned batch another three tries")
    again.add_argument("batch", type=int)


def run(args: argparse.Namespace) -> int:
    commands = {"list": _list, "assign": _assign, "point": _point, "retry": _retry}
    return commands[args.sensors_command](args)


def _list(args: argparse.Namespace) -> int:
    from flowguard.queries.sensors import sensor_rows

    for row in sensor_rows(now=timezone.now()):
        sys.stdout.write(f"{_line(row)}\n")
    return 0


def _line(row: SensorRow) -> str:
    seen = "never seen" if row.silent_s is None else f"seen {row.silent_s:.0f} s ago"
    judging = "silent" if row.is_silent and row.silent_s is not None else "judging" if row.judging else "not judging"
    lost = "drops unknown" if row.dropped is None else f"{row.dropped} dropped"
    trouble = f", {row.gaps} gaps" * bool(row.gaps) + f", {row.poisoned} batches unreadable" * bool(row.poisoned)
    clock = f", {row.clock}" if row.clock else ""
    strays = row.stamps.get("stray", 0)
    clock += f", {strays} frames stamped by a card that is not set to UTC" * bool(strays)
    spooled = "unknown" if row.spooled is None else row.spooled
    late = f", {row.behind_s:.0f} s behind" if row.is_behind else ""
    return f"{row.name}  {seen}, {judging}, {lost}, {row.waiting} batches waiting and {spooled} on its disk{late}{trouble}{clock}"


def _assign(args: argparse.Namespace) -> int:
    from flowguard.actions import sensors

    sensors.assign(name=args.name, group=args.group, actor=_actor(), now=timezone.now())
    sys.stdout.write(f"{args.name} is under {args.group}\n")
    return 0


def _point(args: argparse.Namespace) -> int:
    from flowguard.actions import sensors

    sensor, _, point = args.name.partition("/")
    if not sensor or not point:
        raise BadInput(f"{args.name!r}: write SENSOR/POINT, e.g. core-1/out0")
    sensors.place_point(
        sensor=sensor, point=point, realm=args.realm, device=args.device, stands_behind=args.stands_behind,
        interface=args.interface, actor=_actor(), now=timezone.now(),
    )  # fmt: skip
    sys.stdout.write(f"{args.name} placed\n")
    return 0


def _retry(args: argparse.Namespace) -> int:
    from flowguard.actions import ingest
    from flowguard.models import VerdictBatch

    if not VerdictBatch.objects.filter(pk=args.batch, state=VerdictBatch.State.POISONED).exists():
        raise BadInput(f"batch {args.batch} is not among the unreadable ones. See `policyhub sensors list`")
    ingest.retry(batch_id=args.batch, now=timezone.now())
    sys.stdout.write(f"batch {args.batch} is tried again\n")
    return 0


def _actor() -> str:
    return f"cli:{getpass.getuser()}"
