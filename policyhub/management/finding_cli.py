"""Findings of the service's sweeps: list them, worst first."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from policyhub.domain.finding import Severity
from policyhub.domain.message import Message
from policyhub.domain.terminal import padded
from policyhub.management.check_words import CATALOGUES, Words

if TYPE_CHECKING:
    from policyhub.models import Finding

NEEDS_DJANGO = True
RANK = ("critical", "high", "medium", "low", "info")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `policyhub finding`."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    listing = verbs.add_parser("list", help="open findings, worst first")
    listing.add_argument("--device", default="")
    listing.add_argument("--name", default="", help="e.g. zombie-rule")
    listing.add_argument("--all", action="store_true", help="with resolved ones")
    listing.add_argument("--lang", choices=sorted(CATALOGUES), default="en")


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
    words = Words(args.lang)
    for row in found:
        print(_line(row, words))
    return 1 if found else 0


def _line(row: Finding, words: Words) -> str:
    """Columns, then what was found."""
    said = (row.said or {}).get("message")
    message = words.read(Message.of(said)) if said else row.message
    cells = (
        padded(words.severity(Severity(row.severity)), 8), padded(words.gettext(row.status), 12), row.code,
        padded(words.check(row.name), 18), padded(row.device.name, 16),
    )  # fmt: skip
    return f"{' '.join(cells)} {row.rule or row.policy}: {message}"
