"""Guards: install (plan for approval), list, show, remove."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from policyhub.domain.message import Message, gettext_noop
from policyhub.management.people import VIA, add_as, named_user

NEEDS_DJANGO = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `policyhub guard`."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    install = verbs.add_parser("install", help="render an empty guard for approval in a change window")
    install.add_argument("device")
    install.add_argument("name", help="up to 12 letters or digits; PHG- is put before it")
    install.add_argument("--interface", action="append", required=True, help="where traffic enters; may be repeated")
    install.add_argument("--marks", default="", help="DSCPs taken from members, e.g. '46 CS5'; default: the priority marks")
    install.add_argument("--target", default=None, help="DSCP that members get; default: the device group's")
    install.add_argument("--rate-mbps", type=float, default=None, help="meter for all members together")
    install.add_argument("--reason", default=Message(gettext_noop("prepared guard")))
    install.add_argument("--with-member", default="", metavar="ADDRESS", help="propose this address once the guard is there")
    add_as(install, "proposes it, and so cannot approve it")
    member = verbs.add_parser("ask", help="propose one address for an installed guard; somebody else approves")
    member.add_argument("device")
    member.add_argument("name")
    member.add_argument("address")
    member.add_argument("--reason", required=True)
    add_as(member, "asks, and so cannot approve it")
    remove = verbs.add_parser("remove", help="render the removal of a guard for approval")
    remove.add_argument("device")
    remove.add_argument("name")
    remove.add_argument("--reason", default=Message(gettext_noop("guard no longer needed")))
    add_as(remove, "proposes it, and so cannot approve it")
    verbs.add_parser("list", help="all guards with state and members")
    show = verbs.add_parser("show", help="one guard and the lines of its change")
    show.add_argument("device")
    show.add_argument("name")


def run(args: argparse.Namespace) -> int:
    """Exit code 0, or an error of the tree."""
    return {"install": _install, "ask": _ask, "remove": _remove, "list": _list, "show": _show}[args.verb](args)


def _device(name: str):
    from policyhub.domain.errors import BadInput
    from policyhub.models import Device

    device = Device.objects.select_related("group", "realm").filter(name=name).first()
    if device is None:
        raise BadInput(f"device {name!r} is not in the inventory. See: policyhub device list")
    return device


def _guard(args: argparse.Namespace):
    from flowguard.models import Guard
    from policyhub.domain.change import OWN_PREFIX
    from policyhub.domain.errors import BadInput

    name = args.name.upper() if args.name.upper().startswith(OWN_PREFIX) else OWN_PREFIX + args.name.upper()
    guard = (
        Guard.objects.select_related("device__group", "device__realm", "install_change", "remove_change")
        .filter(device=_device(args.device), name=name)
        .first()
    )
    if guard is None:
        raise BadInput(f"{args.device} has no guard {name}. See: policyhub guard list")
    return guard


def _install(args: argparse.Namespace) -> int:
    from flowguard.actions import guards
    from policyhub.domain.errors import BadInput
    from policyhub.domain.qos import PRIORITY_DSCP, parse_dscp

    user = named_user(args.user, "flowguard.add_guard", "propose guards")
    try:
        marks = [parse_dscp(word) for word in args.marks.split()] or sorted(PRIORITY_DSCP)
        target = None if args.target is None else parse_dscp(args.target)
        guard = guards.propose(
            device=_device(args.device),
            name=args.name,
            interfaces=args.interface,
            marks=marks,
            target_dscp=target,
            rate_bps=None if args.rate_mbps is None else int(args.rate_mbps * 1_000_000),
            first_member=args.with_member,
            reason=args.reason,
            requested_by=user,
            via=VIA,
            now=datetime.now(UTC),
        )
    except ValueError as error:
        raise BadInput(str(error)) from None
    return _print_change(guard.install_change)


def _ask(args: argparse.Namespace) -> int:
    from flowguard.actions import enforcement

    user = named_user(args.user, "flowguard.change_enforcement", "ask for enforcements")
    row = enforcement.request(
        guard=_guard(args), member=args.address, requested_by=user, via=VIA, reason=args.reason, now=datetime.now(UTC)
    )
    print(f"enforcement #{row.pk} is proposed; its plan follows in the console and in: policyhub change list")
    return 0


def _remove(args: argparse.Namespace) -> int:
    from flowguard.actions import guards

    user = named_user(args.user, "flowguard.change_guard", "propose the removal of guards")
    guard = guards.remove(guard=_guard(args), reason=args.reason, requested_by=user, via=VIA, now=datetime.now(UTC))
    return _print_change(guard.remove_change)


def _list(args: argparse.Namespace) -> int:
    from flowguard.models import Enforcement, Guard

    for guard in Guard.objects.select_related("device__group").order_by("device__name", "name"):
        members = ", ".join(
            Enforcement.objects.filter(guard=guard, state=Enforcement.State.ACTIVE).values_list("member", flat=True)
        )
        group = guard.device.group
        print(
            f"{guard.device.name:20} {guard.name:14} {guard.state:10} {group.mode}/{group.profile:10} members: {members or '-'}"
        )
    return 0


def _show(args: argparse.Namespace) -> int:
    guard = _guard(args)
    print(f"{guard} {guard.state}: {guard.spec}")
    return _print_change(guard.remove_change or guard.install_change)


def _print_change(change) -> int:
    if change is None:
        return 0
    print(f"change #{change.pk} {change.state} plan {change.plan_sha256[:16]} {change.error}")
    print("\n".join(f"+ {line}" for line in change.lines))
    print("\n".join(f"- {line}" for line in change.inverse))
    if change.state == "proposed":
        print(f"approve as somebody else than {change.requested_by or change.actor}, with:")
        print(f"policyhub change approve {change.pk} --plan {change.plan_sha256} --as USER")
    return 0 if change.state != "refused" else 1
