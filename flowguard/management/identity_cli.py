"""Imports, lists and looks up identities: who a prefix is and which marks it may use."""

from __future__ import annotations

import argparse
import getpass
import ipaddress
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from django.utils import timezone

from policyhub.domain.errors import BadInput
from policyhub.domain.identity import Identity, with_zone
from policyhub.domain.reading import read_text

if TYPE_CHECKING:
    from flowguard.actions.identities import Difference

NEEDS_DJANGO = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="identity_command", required=True, metavar="import|list|show")
    load = commands.add_parser("import", help="make the ledger equal to a CSV; prints what changes")
    load.add_argument("csv", type=Path, help="prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps[,realm]")
    load.add_argument("--dry-run", action="store_true", help="only print what would change")
    load.add_argument("--replace", action="store_true", help="also when more than a tenth of the ledger would be removed")
    commands.add_parser("list", help="every entry, one line each")
    show = commands.add_parser("show", help="who an address is")
    show.add_argument("address")
    show.add_argument("--realm", default="", help="site, VRF or VNI in which the address is meant")


def run(args: argparse.Namespace) -> int:
    return {"import": _import, "list": _list, "show": _show}[args.identity_command](args)


def _import(args: argparse.Namespace) -> int:
    from flowguard.actions.identities import RemovesMuch, import_identities

    actor = f"cli:{getpass.getuser()}"
    text = read_text(args.csv)
    try:
        told = import_identities(
            text=text, file=str(args.csv), actor=actor, now=timezone.now(), dry_run=args.dry_run, replace=args.replace
        )
    except RemovesMuch as refused:
        _print(refused.difference)
        raise
    _print(told)
    done = "would change" if args.dry_run else "imported"
    counts = f"{len(told.added)} added, {len(told.removed)} removed, {len(told.changed)} changed, {told.same} as before"
    sys.stdout.write(f"{done}: {counts}\n")
    if args.dry_run and told.removes_much:
        sys.stdout.write("more than a tenth would be removed: the import needs --replace\n")
    return 0


def _print(told: Difference) -> None:
    for line in told.lines():
        sys.stdout.write(f"{line}\n")


def _list(args: argparse.Namespace) -> int:
    from flowguard.queries.identities import identities

    for one in identities():
        sys.stdout.write(f"{_line(one)}\n")
    return 0


def _show(args: argparse.Namespace) -> int:
    from flowguard.queries.identities import identity_table

    try:
        ipaddress.ip_address(args.address)
    except ValueError:
        raise BadInput(f"{args.address!r} is not an IP address. Write e.g. 10.1.2.3") from None
    found = identity_table().find(args.address, args.realm)
    sys.stdout.write(f"{_line(found)}\n" if found else f"{args.address} has no identity in realm {args.realm or 'default'}\n")
    return 0 if found else 1


def _line(one: Identity) -> str:
    marks = "anything" if one.allowed_dscp is None else " ".join(str(mark) for mark in sorted(one.allowed_dscp))
    window = f" window {with_zone(one.active_window)}" if one.active_window else ""
    peak = f" peak {one.peak_mbps:g} Mbit/s" if one.peak_mbps else ""
    realm = one.realm or "default"
    kind = "core" if one.core else "non-core"
    return f"{realm}  {one.prefix}  {one.name}  {kind}  allowed {marks}{window}{peak}  {one.business} ({one.owner or 'no owner'})"
