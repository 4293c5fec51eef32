"""Verbs of `policyhub device` that bring many devices in: import, site, preflight, diff, account, listen."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policyhub.domain.errors import BadInput
from policyhub.domain.reading import read_text
from policyhub.management import terminal

if TYPE_CHECKING:
    from policyhub.models import PreflightResult

ACTOR = f"cli:{getpass.getuser()}"
PARTIAL = 3
MOST_SHOWN = 60  # characters of a value in a table


def add_arguments(verbs: Any) -> None:
    """verbs: what `add_subparsers` of `policyhub device` gave."""
    load = verbs.add_parser(
        "import", help="CSV, NetBox export (JSON, CSV) or Ansible inventory (YAML, INI): shows what would change; --apply does it"
    )
    load.add_argument("file", type=Path)
    load.add_argument("--apply", action="store_true", help="write the good rows; bad ones are named and left out")
    site = verbs.add_parser("site", help="the credentials of a site (realm), for devices in it that have none of their own")
    site.add_argument("name", help='"" is the default realm')
    site.add_argument("--collect", default="", help="name of a credential")
    site.add_argument("--push", default="", help="name of a credential")
    look = verbs.add_parser("preflight", help="can each device be read? step by step, with the cure of what fails")
    look.add_argument("name", nargs="*", help="none: every enabled device with an address")
    look.add_argument("--collect", action="store_true", help="keep what is read on the way as the device's snapshot")
    look.add_argument("--detect", action="store_true", help="find the platform of the named devices again")
    look.add_argument("--workers", type=int, default=8, metavar="N", help="logins at once (default 8)")
    diff = verbs.add_parser("diff", help="what changed between two snapshots; without numbers: of the last two")
    diff.add_argument("name")
    diff.add_argument("older", nargs="?", type=int, help="number of a snapshot, as `policyhub device show` lists them")
    diff.add_argument("newer", nargs="?", type=int)
    account = verbs.add_parser("account", help="the commands that a read account and a push account of a platform need")
    account.add_argument("platform")
    listen = verbs.add_parser("listen", help="wait for syslog of changed configurations and read those devices")
    listen.add_argument("--host", default="0.0.0.0")  # noqa: S104 (devices send from everywhere)
    listen.add_argument("--port", type=int, default=5514)


def _import(args: argparse.Namespace) -> int:
    from policyhub.actions import wishes

    rows = wishes.preview(read_text(args.file), str(args.file))
    for row in rows:
        if row.what == "bad":
            sys.stderr.write(f"{args.file}:{row.line}: {terminal.plain(row.name) or '(no name)'}: {row.problem}\n")
            continue
        told = ", ".join(f"{field}: {old + ' -> ' if old else ''}{new[:MOST_SHOWN]}" for field, old, new in row.changes)
        terminal.say(f"{row.what:<7} {row.name:<24} {told}")
        for note in row.notes:
            terminal.say(f"{'':7} {'':24} note: {note}")
    counts = {what: sum(row.what == what for row in rows) for what in ("add", "change", "same", "bad")}
    terminal.say(", ".join(f"{count} {what}" for what, count in counts.items()))
    if args.apply:
        terminal.say(f"{wishes.apply(rows, file=str(args.file), actor=ACTOR, now=terminal.now())} devices written")
    else:
        terminal.say("Nothing was written. --apply writes it")
    return PARTIAL if counts["bad"] else 0


def _site(args: argparse.Namespace) -> int:
    from policyhub.actions import inventory
    from policyhub.models import Credential, Realm

    found = {}
    for purpose in ("collect", "push"):
        name = getattr(args, purpose)
        found[purpose] = Credential.objects.filter(name=name).first() if name else None
        if name and found[purpose] is None:
            raise BadInput(f"there is no credential {name!r}. Make it first: `policyhub device credential`")
    realm, _ = Realm.objects.get_or_create(name=args.name)
    inventory.set_site(realm, collect=found["collect"], push=found["push"], actor=ACTOR, now=terminal.now())
    realm.refresh_from_db()
    terminal.say(f"{realm}: read as {realm.collect_credential or '-'}, pushed as {realm.push_credential or '-'}")
    return 0


def _preflight(args: argparse.Namespace) -> int:
    from policyhub.actions import preflights
    from policyhub.actions.examine import STEPS
    from policyhub.models import PreflightResult
    from policyhub.queries import listings

    if not 1 <= args.workers <= 64:
        raise BadInput("--workers is a number from 1 to 64")
    if args.detect and not args.name:
        raise BadInput("--detect forgets platforms. Name the devices")
    devices = [terminal.device(name) for name in args.name] or list(listings.examinable())
    if args.detect:
        preflights.forget(devices, actor=ACTOR, now=terminal.now())
    run = preflights.start(devices, collecting=args.collect, queue=False, actor=ACTOR, now=terminal.now())
    terminal.say(f"Marks: {', '.join(STEPS)}, then each command; + ok, ! failed, . not tried")
    rows: list[PreflightResult] = []
    try:
        for row in preflights.run(run, workers=args.workers, clock=terminal.now):
            rows.append(row)
            terminal.say(f"[{len(rows)}/{len(devices)}] {_marks(row)}")
    except KeyboardInterrupt:
        preflights.cancel(preflight_id=run.pk, actor=ACTOR, now=terminal.now())
        raise
    bad = [row for row in rows if row.state == PreflightResult.State.FAILED]
    good = len(rows) - len(bad)
    _causes("Partly:", [row for row in rows if row.state == PreflightResult.State.PARTIAL])
    terminal.say(
        f"{good} ready, {len(bad)} failed" + (f", {sum(row.collected for row in rows)} collected" if args.collect else "")
    )
    _causes("Failed:", bad)
    return PARTIAL if bad else 0


def _marks(row: PreflightResult) -> str:
    """One row of the table. A device that was not reached is what the inventory says it is."""
    known = row.device.platform if row.device.platform != row.device.DETECT else "?"
    marks = "".join({"ok": "+", "failed": "!", "not-tried": "."}[step["state"]] for step in row.steps)
    return f"{row.device.name:<24} {row.state:<8} {row.platform or known:<16} {row.version or '?':<14} {marks}"


def _causes(heading: str, rows: list[PreflightResult]) -> None:
    """Each device with what failed and the cure of it."""
    if rows:
        terminal.say(f"\n{heading}")
    for row in rows:
        terminal.say(row.device.name)
        for step in row.steps:
            if step["state"] == "failed":
                terminal.say(f"    {step['name']}: {_told(step)}")


def _told(step: dict[str, Any]) -> str:
    from policyhub.domain.message import Message

    said, cure = Message.of(step["said"]), str(Message.of(step["cure"]))
    return f"{said.without_cure()}. Cure: {cure}" if cure else str(said)


def _diff(args: argparse.Namespace) -> int:
    from policyhub.actions import configs
    from policyhub.queries import snapshots

    older, newer = snapshots.pair(terminal.device(args.name), args.older, args.newer)
    for row in (older, newer):
        terminal.say(
            f"#{row.pk}  {row.taken_at:%Y-%m-%d %H:%M:%S}  {row.taken_by}  {row.source}  {row.lines} lines  {row.sha256[:16]}"
        )
    lines = snapshots.unified(configs.shown(older), configs.shown(newer))
    equal = "The configurations are equal." if older.sha256 == newer.sha256 else "They differ in masked secrets only."
    terminal.say("\n".join(lines) if lines else equal)
    return 1 if lines else 0


def _account(args: argparse.Namespace) -> int:
    from policyhub.vendorkit.accounts import account_text

    terminal.say(account_text(args.platform))
    return 0


def _listen(args: argparse.Namespace) -> int:
    from policyhub.management.syslog_listener import serve

    return serve(args.host, args.port)


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "import": _import,
    "site": _site,
    "preflight": _preflight,
    "diff": _diff,
    "account": _account,
    "listen": _listen,
}
