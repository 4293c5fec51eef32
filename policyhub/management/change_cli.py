"""Changes of devices: read plans, approve, take back; engage and release the kill switch."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message
from policyhub.management import terminal
from policyhub.management.people import VIA, add_as, named_user

if TYPE_CHECKING:
    from policyhub.models import Change

NEEDS_DJANGO = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `policyhub change`."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    listing = verbs.add_parser("list", help="newest first")
    listing.add_argument("--state", default="")
    listing.add_argument("--device", default="")
    listing.add_argument("--last", type=int, default=20, metavar="N")
    verbs.add_parser("show", help="plan, inverse, guard rails and timeline").add_argument("change", type=int)
    approve = verbs.add_parser("approve", help="approve exactly the plan that was read")
    approve.add_argument("change", type=int)
    add_as(approve, "approves; never the one who asked for the change")
    approve.add_argument("--plan", required=True, metavar="SHA256", help="as `policyhub change show` printed it")
    verbs.add_parser("cancel", help="before anything was sent").add_argument("change", type=int)
    revert = verbs.add_parser("revert", help="send the inverse and verify it")
    revert.add_argument("change", type=int)
    for verb, text in (("stop", "engage the kill switch: no line leaves any more"), ("resume", "release the kill switch")):
        switch = verbs.add_parser(verb, help=text)
        switch.add_argument("--group", default="", help="one device group only; none: everything")
        switch.add_argument("--reason", required=True)
    revert.add_argument("--reason", required=True)


def run(args: argparse.Namespace) -> int:
    return VERBS[args.verb](args)


def _change(pk: int) -> Change:
    from policyhub.models import Change

    row = Change.objects.select_related("device__group").filter(pk=pk).first()
    if row is None:
        raise BadInput(f"there is no change #{pk}. `policyhub change list` names them")
    return row


def _list(args: argparse.Namespace) -> int:
    from policyhub.models import Change

    rows = Change.objects.select_related("device")
    if args.state:
        if args.state not in Change.State.values:
            raise BadInput(f"state {args.state!r} is not one of {', '.join(Change.State.values)}")
        rows = rows.filter(state=args.state)
    if args.device:
        rows = rows.filter(device__name=args.device)
    for row in rows[: args.last]:
        outcome = f" ({row.push_outcome})" if row.push_outcome else ""
        terminal.say(f"#{row.pk:<6} {row.created_at:%Y-%m-%d %H:%M} {row.device.name:<20} {row.kind:<14} {row.state}{outcome}")
    return 0


def _show(args: argparse.Namespace) -> int:
    row = _change(args.change)
    terminal.say(f"change #{row.pk}: {row.kind} on {row.device} ({row.device.host}), {row.state}")
    terminal.say(f"asked by {row.actor}: {row.reason}")
    terminal.say(f"plan {row.plan_sha256}, profile {row.device.group.profile}, mode {row.device.group.mode}")
    for title, lines in (("lines", row.lines), ("inverse", row.inverse)):
        terminal.say(f"{title}:")
        for line in lines:
            terminal.say(f"    {line}")
    for rail in row.guardrails:
        terminal.say(f"guard rail {rail.get('name')}: {'passed' if rail.get('passed') else 'REFUSED'}: {_rail(rail)}")
    for event in row.events.all():
        terminal.say(f"{event.at:%Y-%m-%d %H:%M:%S} {event.state:<14} {event.message}")
    if row.error:
        terminal.say(f"error: {row.error}")
    return 0


def _rail(row: dict[str, Any]) -> str:
    """What a guard rail said, as it is stored with the plan."""
    return str(Message.of(row)) if "text" in row else "-"


def _approve(args: argparse.Namespace) -> int:
    from policyhub.actions import changes

    user = named_user(args.user, "policyhub.approve_change", "approve changes")
    changes.approve(change=_change(args.change), approver=user, plan_sha256=args.plan, via=VIA, now=terminal.now())
    terminal.say(f"change #{args.change} is approved by {user}")
    return 0


def _cancel(args: argparse.Namespace) -> int:
    from policyhub.actions import changes

    changes.cancel(change_id=_change(args.change).pk, actor=VIA, now=terminal.now())
    terminal.say(f"change #{args.change} is cancelled; nothing was sent")
    return 0


def _revert(args: argparse.Namespace) -> int:
    from policyhub.actions import changes

    changes.revert(change_id=_change(args.change).pk, actor=VIA, reason=args.reason, now=terminal.now())
    terminal.say(f"change #{args.change} is being taken back; `policyhub change show {args.change}` tells how far it is")
    return 0


def _switch(args: argparse.Namespace) -> int:
    from policyhub.actions import kill_switch

    act = kill_switch.engage if args.verb == "stop" else kill_switch.release
    act(scope=args.group, actor=VIA, reason=args.reason, now=terminal.now())
    what = f"group {args.group}" if args.group else "everything"
    terminal.say(f"pushes are {'stopped' if kill_switch.engaged(args.group) else 'possible again'} for {what}")
    return 0


VERBS = {
    "list": _list,
    "show": _show,
    "approve": _approve,
    "cancel": _cancel,
    "revert": _revert,
    "stop": _switch,
    "resume": _switch,
}
