"""Audits firewall and QoS configurations from files, without a database."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TextIO

from policyhub.checks.context import DEFAULT_WINDOW_DAYS
from policyhub.checks.registry import select
from policyhub.checks.seen_flows import read_flows
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.finding import Severity
from policyhub.domain.identity import read_identities
from policyhub.management.check_audit import Options, Report, audit
from policyhub.management.check_html import as_html
from policyhub.management.check_reports import as_csv, as_json, as_text
from policyhub.management.check_sarif import as_sarif, notices
from policyhub.management.check_words import CATALOGUES, Words
from policyhub.management.inputs import gather, text_of
from policyhub.management.terminal import plain
from policyhub.vendorkit.registry import REGISTRY
from policyhub.vendorkit.tiers import legend, table
from policyhub.vendorkit.uncollected import uncollected

NEEDS_DJANGO = False
FORMATS = {"text": as_text, "json": as_json, "sarif": as_sarif, "csv": as_csv, "html": as_html}
CLEAN, FINDINGS, BAD_INPUT, PARTIAL = 0, 1, 2, 3


class _Platforms(argparse.Action):
    """Prints the table and ends, as --help does."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        _print(f"{table(REGISTRY.all())}\n\n{legend()}\n", sys.stdout)
        parser.exit()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="configuration file, folder, zip or tar")
    parser.add_argument("--platforms", action=_Platforms, help="what each platform can do, and what that was proven against")
    parser.add_argument("--platform", default="", help="platform id, e.g. cisco_asa; default: told by content")
    parser.add_argument(
        "--hits",
        action="append",
        default=[],
        metavar="PATH[@TIME]",
        help="hit counters as the device shows them, a file per reading; TIME, e.g. 2026-11-01T08:00, if they hold no clock",
    )
    parser.add_argument("--flows", action="append", default=[], metavar="PATH", help="output of `policyhub flows --format json`")
    parser.add_argument("--identities", default="", metavar="CSV", help="who is behind which prefix")
    parser.add_argument("--format", choices=sorted(FORMATS), default="text")
    parser.add_argument(
        "--lang",
        choices=sorted(CATALOGUES),
        default="en",
        help="language of text, html and sarif; json and csv are always English",
    )
    parser.add_argument(
        "--fail-on",
        choices=[severity.value for severity in Severity],
        default=Severity.LOW.value,
        metavar="LEVEL",
        help="exit with 1 from this severity on: critical, high, medium, low (default) or info",
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME,...", help="only these checks, by name or code")
    parser.add_argument(
        "--window",
        type=_days,
        default=DEFAULT_WINDOW_DAYS,
        metavar="DAYS",
        help=f"days without a hit that make a zombie (default {DEFAULT_WINDOW_DAYS})",
    )


def run(args: argparse.Namespace) -> int:
    """Exit code: 0 nothing at or above --fail-on, 1 findings, 2 bad input, 3 something was skipped (said in the report)."""
    words = Words(args.lang)
    try:
        with uncollected():
            report = _audit(args)
    except PolicyHubError as error:
        _print(f"policyhub check: {plain(words.read(error.told))}\n", sys.stderr)
        return BAD_INPUT
    _print(FORMATS[args.format](report, words), sys.stdout)
    for said in notices(report, words) if args.format != "text" else ():
        _print(f"policyhub check: {said}\n", sys.stderr)
    if report.skipped:
        return PARTIAL
    worst = max((finding.severity.rank for _, finding in report.findings), default=-1)
    return FINDINGS if worst >= Severity(args.fail_on).rank else CLEAN


def _audit(args: argparse.Namespace) -> Report:
    only = [name.strip() for names in args.only for name in names.split(",") if name.strip()]
    options = Options(
        checks=select(only or None),
        now=datetime.now(UTC),
        platform=args.platform,
        window_days=args.window,
        flows=tuple(flow for file in args.flows for flow in read_flows(text_of(file), file)),
        identities=read_identities(text_of(args.identities), args.identities) if args.identities else (),
    )
    return audit(gather(args.paths), args.hits, options)


def _days(text: str) -> int:
    days = int(text) if text.isdecimal() else 0
    if not 1 <= days <= 3660:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days from 1 to 3660")
    return days


def _print(text: str, stream: TextIO) -> None:
    """Whatever the terminal's encoding is; a reader that left early (`| head`) is no error."""
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
