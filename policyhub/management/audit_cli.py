"""Check the audit chain, or print its newest rows."""

from __future__ import annotations

import argparse
import json

NEEDS_DJANGO = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    sub = parser.add_subparsers(dest="verb", required=True)
    verify = sub.add_parser("verify", help="walk the whole chain; exit code 1 and the first broken row when it does not hold")
    verify.add_argument("--format", choices=["text", "json"], default="text")
    show = sub.add_parser("list", help="print the newest rows")
    show.add_argument("--last", type=int, default=20, metavar="N")


def run(args: argparse.Namespace) -> int:
    return _verify(args.format) if args.verb == "verify" else _list(args.last)


def _verify(form: str) -> int:
    from policyhub.actions import audit

    report = audit.verify()
    broken = report.broken
    if form == "json":
        fault = {"sequence": broken.sequence, "reason": broken.reason} if broken else None
        print(json.dumps({"schema": "policyhub.audit/1", "entries": report.entries, "head": report.head, "broken": fault}))
    elif broken:
        print(f"BROKEN at row {broken.sequence}: {broken.reason}. Rows before it are sound; head {report.head}")
    else:
        print(f"sound: {report.entries} rows, head {report.head}")
    return 1 if broken else 0


def _list(last: int) -> int:
    from policyhub.queries import audit

    for row in audit.newest(last):
        print(f"{row.sequence:>6} {row.at:%Y-%m-%d %H:%M:%S} {row.actor:<20} {row.action:<28} {json.dumps(row.data)[:120]}")
    return 0
