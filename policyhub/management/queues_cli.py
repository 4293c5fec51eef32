"""`policyhub device queues`: the queues file of a port, from the configuration that was read last."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence

from policyhub.domain.errors import BadInput
from policyhub.domain.qos import parse_dscp
from policyhub.domain.queue_file import queue_file
from policyhub.management import terminal

RATE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([MG])")
SCALE = {"M": 1e6, "G": 1e9}


def add_arguments(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    queues = verbs.add_parser("queues", help="queues file of a port, for `policyhub flows --queues` and a sensor")
    queues.add_argument("name")
    queues.add_argument("--port", required=True, help="port whose way out has the queues, as the configuration names it")
    queues.add_argument(
        "--from", dest="arrivals", default="ingress", metavar="PORT", help="port or point where the packets come in"
    )
    queues.add_argument(
        "--link", type=_rate, metavar="RATE", help="speed of the port, e.g. 10G, where the configuration has none"
    )
    queues.add_argument(
        "--class", dest="classes", action="append", default=[], metavar="NAME=MARKS",
        help="marks that a class takes, e.g. 'q4=AF31,26' or 'q4=' for none, where the configuration does not say it by marks",
    )  # fmt: skip


def _queues(args: argparse.Namespace) -> int:
    from policyhub.actions.configs import latest_config

    device = terminal.device(args.name)
    config = latest_config(device)
    if config is None:
        raise BadInput(f"{device.name}: no configuration was read yet. `policyhub device collect {device.name}` reads it")
    made = queue_file(
        config, args.port, arrivals=args.arrivals, device=device.name, link_bps=args.link, marks=_marks(args.classes)
    )
    terminal.say(json.dumps(made.content, indent=1, ensure_ascii=False))
    for note in made.notes:
        sys.stderr.write(f"{device.name}: {note}\n")
    return 0


def _marks(texts: Sequence[str]) -> dict[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for text in texts:
        name, equals, marks = text.rpartition("=")
        try:
            found[name] = frozenset(parse_dscp(mark) for mark in marks.split(",") if marks)
        except ValueError:
            name = ""
        if not name or not equals:
            raise BadInput(f"--class {text!r}: not of the form NAME=MARKS. Write e.g. --class 'q4=AF31,26'")
    return found


def _rate(text: str) -> float:
    found = RATE.fullmatch(text)
    if found is None or not float(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no speed. Write e.g. 10G or 100M")
    return float(found[1]) * SCALE[found[2]]


VERBS = {"queues": _queues}
