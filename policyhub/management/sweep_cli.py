"""Sweeps: run the checks over all devices now, see how the last ones went, cancel one."""

from __future__ import annotations

import argparse

from policyhub.domain.errors import BadInput
from policyhub.management import terminal

NEEDS_DJANGO = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `policyhub sweep`."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("run", help="check every device's latest configuration now, in this process")
    verbs.add_parser("start", help="queue a sweep for the service's workers")
    verbs.add_parser("status", help="the last ten sweeps")
    cancel = verbs.add_parser("cancel", help="stop a sweep after the device it is at")
    cancel.add_argument("sweep", type=int)


def run(args: argparse.Namespace) -> int:
    """0 all devices checked, 3 some could not be."""
    return {"run": _run, "start": _start, "status": _status, "cancel": _cancel}[args.verb](args)


def _run(args: argparse.Namespace) -> int:
    from policyhub.actions import sweeps

    sweep = sweeps.start(actor="cli", now=terminal.now(), queue=False)
    if not sweeps.run(sweep_id=sweep.pk, clock=terminal.now):
        raise BadInput(f"a worker is at sweep #{sweep.pk} already. `policyhub sweep status` shows how far it is")
    sweep.refresh_from_db()
    return _print(sweep)


def _start(args: argparse.Namespace) -> int:
    from policyhub.actions import sweeps

    return _print(sweeps.start(actor="cli", now=terminal.now()))


def _status(args: argparse.Namespace) -> int:
    from policyhub.models import Sweep

    for sweep in Sweep.objects.all()[:10]:
        _print(sweep)
    return 0


def _cancel(args: argparse.Namespace) -> int:
    from policyhub.actions import sweeps

    sweeps.cancel(sweep_id=args.sweep, actor="cli", now=terminal.now())
    return 0


def _print(sweep) -> int:
    done = f"{sweep.devices_done} of {sweep.devices_total} devices"
    print(f"sweep #{sweep.pk} {sweep.state}: {done}, started {sweep.started_at:%F %T}")
    for problem in sweep.problems:
        print(f"  {problem['device']}: {problem['reason']}")
    return 3 if sweep.state == "partial" else 0
