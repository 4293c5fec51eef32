"""Creates, lists and revokes API tokens."""

from __future__ import annotations

import argparse
import getpass
import sys

from django.utils import timezone

SCOPES = ("read", "ingest", "plan", "approve", "push", "admin")
NEEDS_DJANGO = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="token_command", required=True, metavar="create|list|revoke")
    create = commands.add_parser("create", help="make a token and print it once")
    create.add_argument("--sensor", default="", help="the sensor that may deliver with it (scope ingest)")
    create.add_argument("--scope", action="append", choices=SCOPES, help="what it may do; repeat for several")
    create.add_argument("--name", default="", help="what people call it")
    commands.add_parser("list", help="keys, scopes and last use; never a secret")
    revoke = commands.add_parser("revoke", help="end a token now")
    revoke.add_argument("key", help="the part between phb_ and the dot")


def run(args: argparse.Namespace) -> int:
    return {"create": _create, "list": _list, "revoke": _revoke}[args.token_command](args)


def _create(args: argparse.Namespace) -> int:
    from policyhub.actions import tokens

    scopes = args.scope or ["ingest" if args.sensor else "read"]
    name = args.name or args.sensor or f"by {getpass.getuser()}"
    _, text = tokens.create(name=name, scopes=scopes, sensor=args.sensor, actor=_actor(), now=timezone.now())
    sys.stdout.write(f"{text}\n")
    return 0


def _list(args: argparse.Namespace) -> int:
    from policyhub.models import ApiToken

    for token in ApiToken.objects.order_by("pk"):
        state = "revoked" if token.revoked else "live"
        used = f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never"
        sensor = f" sensor={token.sensor}" if token.sensor else ""
        sys.stdout.write(f"{token.key}  {state:8}{','.join(token.scopes)}{sensor}  last used {used}  {token.name}\n")
    return 0


def _revoke(args: argparse.Namespace) -> int:
    from policyhub.actions import tokens

    token = tokens.revoke(key=args.key, actor=_actor(), now=timezone.now())
    sys.stdout.write(f"{token.key} revoked\n")
    return 0


def _actor() -> str:
    return f"cli:{getpass.getuser()}"
