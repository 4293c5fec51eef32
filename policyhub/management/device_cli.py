"""Devices: add, import, trust host keys, collect configurations, release from quarantine."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policyhub.domain.errors import BadInput, PolicyHubError
from policyhub.domain.reading import read_text
from policyhub.management import counters_cli, onboarding_cli, queues_cli, terminal
from policyhub.management.inputs import text_of

if TYPE_CHECKING:
    from policyhub.models import Device

NEEDS_DJANGO = True
ACTOR = f"cli:{getpass.getuser()}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `policyhub device`."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    add = verbs.add_parser("add", help="one device")
    add.add_argument("name")
    add.add_argument("--platform", default="detect")
    for option in ("host", "port", "role", "group", "realm", "credential", "bastion"):
        add.add_argument(f"--{option}", default="")
    add.add_argument("--ssh-profile", default="", choices=["modern", "old"], help="old: SHA-1, CBC and MD5 are allowed for it")
    credential = verbs.add_parser("credential", help="create or replace a login; secrets are read from files")
    credential.add_argument("name")
    credential.add_argument("--username", required=True)
    credential.add_argument("--purpose", choices=["collect", "push"], default="push")
    for option in ("password", "private-key", "enable"):
        credential.add_argument(f"--{option}-file", type=Path)
    verbs.add_parser("list", help="every device, one line each")
    for verb, text in (
        ("show", "one device with its host keys and snapshots"),
        ("scan", "fetch the host key without logging in"),
        ("release", "end a quarantine after the cause was found"),
    ):
        verbs.add_parser(verb, help=text).add_argument("name")
    for verb, text in (("trust", "trust a host key that was compared"), ("revoke", "never accept this host key again")):
        decide = verbs.add_parser(verb, help=text)
        decide.add_argument("name")
        decide.add_argument("fingerprint", help="as `policyhub device scan` printed it: SHA256:...")
    login = verbs.add_parser("login", help="read it with, or push to it with, a credential that is kept already")
    login.add_argument("name")
    login.add_argument("credential")
    collect = verbs.add_parser("collect", help="read running configurations and counters now")
    collect.add_argument("name", nargs="*", help="none: every device that can be read")
    onboarding_cli.add_arguments(verbs)
    counters_cli.add_arguments(verbs)
    queues_cli.add_arguments(verbs)
    config = verbs.add_parser("import-config", help="keep a configuration from a file, for devices that are not read over SSH")
    config.add_argument("name")
    config.add_argument("file", type=Path)
    config.add_argument("--counters", type=Path, help="outputs of the counter commands, read at the same time")


def run(args: argparse.Namespace) -> int:
    """0 done, 2 bad input (raised), 3 some devices could not be read."""
    return VERBS[args.verb](args)


def _text(path: Path | None) -> str:
    return "" if path is None else read_text(path)


def _add(args: argparse.Namespace) -> int:
    from policyhub.actions import inventory

    columns = ("name", "platform", "host", "port", "role", "group", "realm", "credential", "ssh_profile", "bastion")
    wish = inventory.Wish(**{name: getattr(args, name) for name in columns})
    device = inventory.add_device(wish, actor=ACTOR, now=terminal.now())
    terminal.say(f"added {device.name}. Next: policyhub device scan {device.name}")
    return 0


def _credential(args: argparse.Namespace) -> int:
    from policyhub.actions import inventory

    inventory.set_credential(
        name=args.name,
        username=args.username,
        purpose=args.purpose,
        password=_text(args.password_file).rstrip("\r\n"),
        private_key=_text(args.private_key_file),
        enable=_text(args.enable_file).rstrip("\r\n"),
        actor=ACTOR,
        now=terminal.now(),
    )
    terminal.say(f"credential {args.name} is kept sealed")
    return 0


def _login(args: argparse.Namespace) -> int:
    from policyhub.actions import inventory
    from policyhub.models import Credential

    credential = Credential.objects.filter(name=args.credential).first()
    if credential is None:
        raise BadInput(f"there is no credential {args.credential!r}. Make it first: `policyhub device credential`")
    inventory.give_credential(terminal.device(args.name), credential, actor=ACTOR, now=terminal.now())
    terminal.say(f"{args.name}: {credential.name} is its login to {credential.purpose} now")
    return 0


def _list(args: argparse.Namespace) -> int:
    from policyhub.queries import listings

    rows: Any = listings.devices(listings.DeviceFilter())  # annotated rows
    for row in rows:
        state = "disabled" if not row.enabled else f"QUARANTINE: {row.quarantine_reason}" if row.quarantine_reason else "ok"
        key = "key trusted" if row.key_trusted else "key waits" if row.key_waits else "no key"
        read = f"read {row.taken_at:%Y-%m-%d %H:%M}" if row.taken_at else "never read"
        where = f"{row.host}:{row.port}" if row.host else "from files"
        state += ", OLD SSH" if row.ssh_profile == "old" else ""
        terminal.say(f"{row.name:<24} {row.platform:<16} {where:<22} {row.group.name:<16} {key:<12} {read:<22} {state}")
    return 0


def _show(args: argparse.Namespace) -> int:
    from policyhub.queries import snapshots

    device = terminal.device(args.name)
    terminal.say(f"{device.name}: {device.platform}, {device.host or 'no address'}:{device.port}, group {device.group.name}")
    terminal.say(f"mode {device.group.mode}, profile {device.group.profile}, role {device.role}, realm {device.realm}")
    if device.version or device.managed_by:
        terminal.say(
            f"version {device.version or 'unknown'}" + (f", managed by {device.managed_by}" if device.managed_by else "")
        )
    if device.bastion:
        terminal.say(f"behind {device.bastion}")
    if device.ssh_profile == "old":
        terminal.say("OLD SSH ALGORITHMS ALLOWED: a session can be read and changed on the way")
    if device.quarantine_reason:
        terminal.say(f"QUARANTINE: {device.quarantine_reason}")
    for key in device.host_keys.order_by("pk"):
        terminal.say(f"host key {key.state:<8} {key.algorithm} {key.fingerprint}")
    latest = device.snapshots.first()
    if latest:
        terminal.say(f"last read {latest.taken_at:%Y-%m-%d %H:%M} by {latest.taken_by}; versions of its configuration:")
    for shot in snapshots.versions(device.snapshots.all())[:5]:
        figures = f"{shot.lines} lines, {shot.rules} rules, {shot.unparsed} not understood"
        terminal.say(f"snapshot #{shot.pk} {shot.taken_at:%Y-%m-%d %H:%M} {shot.taken_by} {shot.source:<8} {figures}")
    return 0


def _scan(args: argparse.Namespace) -> int:
    from policyhub.actions import inventory

    key = inventory.scan_host_key(terminal.device(args.name), actor=ACTOR, now=terminal.now())
    terminal.say(f"{key.state}: {key.algorithm} {key.fingerprint}")
    if key.state == "pending":
        terminal.say(f"Compare it on the device, then: policyhub device trust {args.name} {key.fingerprint}")
    return 0


def _decide(args: argparse.Namespace) -> int:
    from policyhub.actions import inventory

    key = terminal.device(args.name).host_keys.filter(fingerprint=args.fingerprint).first()
    if key is None:
        raise BadInput(f"{args.name} never showed {args.fingerprint}. `policyhub device scan {args.name}` fetches its key")
    act = inventory.trust_host_key if args.verb == "trust" else inventory.revoke_host_key
    act(host_key=key, actor=ACTOR, now=terminal.now())
    terminal.say(f"{key.state}: {key.fingerprint}")
    return 0


def _release(args: argparse.Namespace) -> int:
    from policyhub.actions import inventory

    inventory.release(terminal.device(args.name), actor=ACTOR, now=terminal.now())
    terminal.say(f"{args.name} is released")
    return 0


def _collect(args: argparse.Namespace) -> int:
    from policyhub.actions import collect
    from policyhub.models import Device

    if args.name:
        devices = [terminal.device(name) for name in args.name]
    else:
        devices = [row for row in Device.objects.order_by("name") if collect.can_collect(row)]
    failed = [error for device in devices if (error := _collect_one(device))]
    if len(args.name) == 1 and failed:
        raise failed[0]
    for error in failed:
        sys.stderr.write(f"{error}\n")
    return 3 if failed else 0


def _collect_one(device: Device) -> PolicyHubError | None:
    from policyhub.actions import collect

    try:
        shot = collect.collect(device_id=device.pk, actor=ACTOR, now=terminal.now())
    except PolicyHubError as error:
        return error
    terminal.say(f"{device.name}: {shot.lines} lines, {shot.rules} rules, {shot.unparsed} not understood")
    return None


def _import_config(args: argparse.Namespace) -> int:
    from policyhub.actions import configs

    device, text = terminal.device(args.name), text_of(str(args.file))  # as `check` reads it: GBK and packed ones, too
    counters = text_of(str(args.counters)) if args.counters else ""
    shot = configs.store(device=device, text=text, counters=counters, source="upload", actor=ACTOR, now=terminal.now())
    terminal.say(f"{device.name}: {shot.lines} lines, {shot.rules} rules, {shot.unparsed} not understood")
    return 0


VERBS = {
    "add": _add,
    "credential": _credential,
    "login": _login,
    "list": _list,
    "show": _show,
    "scan": _scan,
    "trust": _decide,
    "revoke": _decide,
    "release": _release,
    "collect": _collect,
    "import-config": _import_config,
    **onboarding_cli.VERBS,
    **counters_cli.VERBS,
    **queues_cli.VERBS,
}
