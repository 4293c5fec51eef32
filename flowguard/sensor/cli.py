"""Runs a sensor on this machine, examines why one would not run, proposes the mirror it needs and tries it."""

from __future__ import annotations

import argparse
import functools
import logging
import random
import signal
import sys
import threading
import uuid
from pathlib import Path

import native_capture
from flowguard.sensor import probe_cli, span_cli
from flowguard.sensor.config import read_config
from flowguard.sensor.doctor import examine
from flowguard.sensor.engine import open_engine
from flowguard.sensor.mirror_doctor import capture_arguments, examine_captures
from flowguard.sensor.process import run as run_sensor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="sensor_command", required=True, metavar="run|doctor|span|probe")
    command = commands.add_parser("run", help="capture, judge and deliver until stopped")
    command.add_argument("--config", type=Path, required=True, help="TOML, see docs/sensor.md")
    command = commands.add_parser(
        "doctor", help="say what a sensor lacks, or what is wrong with the mirrors that captures come from"
    )
    command.add_argument("--config", type=Path, help="TOML, see docs/sensor.md")
    capture_arguments(command)
    span_cli.add_arguments(commands.add_parser("span", help="propose a mirror session of a device; nothing is sent to it"))
    probe_cli.add_arguments(commands.add_parser("probe", help="find out by marked packets what a mirror copies, and where"))


def run(args: argparse.Namespace) -> int:
    return {"run": _run, "doctor": _doctor, "span": span_cli.run, "probe": probe_cli.run}[args.sensor_command](args)


def _run(args: argparse.Namespace) -> int:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        run_sensor(
            read_config(args.config), open_engine=functools.partial(open_engine, drop_privileges=True),
            check_bundle=native_capture.audit_bundle, stream=uuid.uuid4(),
            stop=set_by_signals(signal.SIGTERM, signal.SIGINT), chance=random.Random(),  # noqa: S311
        )  # fmt: skip
    except native_capture.CaptureError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def set_by_signals(*numbers: signal.Signals) -> threading.Event:
    """A thread waits for them: a handler can interrupt the main thread where it holds the event's lock, and hang there."""
    stop = threading.Event()
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)

    def wait() -> None:
        native_capture.drop_privileges()
        signal.sigwait(numbers)
        stop.set()

    threading.Thread(target=wait, name="signals", daemon=True).start()
    return stop


def _doctor(args: argparse.Namespace) -> int:
    if args.config is None or args.captures:
        return examine_captures(args)
    well = True
    for sign in examine(args.config, native_capture.audit_bundle):
        sys.stdout.write(f"{sign}\n")
        well = well and sign.ok
    return 0 if well else 2
