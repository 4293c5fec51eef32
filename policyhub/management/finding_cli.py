"""Findings of the service's sweeps: list them, worst first."""

from __future__ import annotations

import argparse

NEEDS_DJANGO = True
RANK = ("critical", "high", "medium", "low", "info")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `policyhub finding`."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    listing = verbs.add_parser("list", help="open findings, worst first")
    listing.add_argument("--device", default="")
    listing.add_argument("--name", default="", help="e.g. zombie-rule")
    listing.add_argument("--all", action="store_true", help="with resolved ones")


def run(args: argparse.Namespace) -> int:
    """0 nothing listed, 1 findings."""
    from policyhub.models import Finding

    rows = Finding.objects.select_related("device")
    if args.device:
        rows = rows.filter(device__name=args.device)
    if args.name:
        rows = rows.filter(name=args.name)
    if not args.all:
        rows = rows.exclude(status=Finding.Status.RESOLVED)
    found = sorted(rows, key=lambda row: (RANK.index(row.severity), row.device.name, row.code))
    for row in found:
        print(f"{row.severity:8} {row.status:12} {row.code} {row.name:18} {row.device.name:16} {row.rule}: {row.message}")
    return 1 if found else 0
