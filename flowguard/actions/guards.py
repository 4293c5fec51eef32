"""Guards: prepared in a change window, approved by a person, attached once with an empty address set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from flowguard.actions import enforcement
from flowguard.domain.errors import FlowGuardError
from flowguard.models import Enforcement, Guard
from flowguard.queries.ground import OPEN
from policyhub.actions import audit, changes
from policyhub.actions.configs import latest_config
from policyhub.domain.change import OWN_PREFIX, ChangeKind, GuardSpec, canonical_member
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.qos import CS1, DF, PRIORITY_DSCP, DscpMap, served_no_better
from policyhub.models import Change, Device

ENDED_BADLY = (Change.State.FAILED, Change.State.REFUSED, Change.State.CANCELLED, Change.State.REVERTED)
NAMED = 5  # enforcements that an error names
CS1_UNKNOWN = gettext_noop("CS1 refused: the maps of %(hop)s are not known. Use DF (0), or collect its configuration")
CS1_BETTER = gettext_noop("CS1 refused: the map of %(hop)s serves CS1 better than best effort. Use DF (0), or correct the map")


class TargetClassRefused(FlowGuardError):
    """The class that remarked traffic would land in is not known to be served no better than best effort."""

    code = "FG-E010"


class GuardInUse(FlowGuardError):
    code = "FG-E011"


class GuardExists(FlowGuardError):
    code = "FG-E012"


def propose(
    *,
    device: Device,
    name: str,
    interfaces: Iterable[str],
    marks: Iterable[int] = PRIORITY_DSCP,
    target_dscp: int | None = None,
    rate_bps: int | None = None,
    first_member: str = "",
    reason: str | Message,
    requested_by: User,
    via: str = "",
    now: datetime,
) -> Guard:
    """Render an empty guard for approval. Nothing is attached until the change is approved.

    requested_by proposes, and cannot approve (neither the guard nor the first member). via: see `audit.who`.
    first_member: attach on demand, in the middle of an incident: once the approved guard is there, this address is proposed
    for it (never added without a second approval).
    Raises TargetClassRefused, GuardExists, ValueError (name or interfaces), and what `changes.plan` raises.
    """
    target = device.group.target_dscp if target_dscp is None else target_dscp
    own_name = name.upper() if name.upper().startswith(OWN_PREFIX) else OWN_PREFIX + name.upper()
    spec = GuardSpec(own_name, tuple(interfaces), frozenset(marks), target, rate_bps)
    require_target_class(device, target)
    who = audit.who(requested_by, via)
    with transaction.atomic():
        known = Guard.objects.select_for_update().filter(device=device, name=spec.name).first()
        if known and known.state != Guard.State.REMOVED and known.install_change_id is not None:
            said = gettext_noop("%(device)s has a guard %(guard)s already (%(state)s). Remove it first or choose another name")
            raise GuardExists.of(said, device=device.name, guard=spec.name, state=known.state)
        guard = known or Guard(device=device, name=spec.name)
        guard.spec, guard.state, guard.created_at = spec.as_json(), Guard.State.PROPOSED, now
        if first_member:
            guard.spec["first_member"] = canonical_member(first_member)
        guard.install_change = guard.remove_change = None
        guard.save()
        audit.record("guard.proposed", actor=who, at=now, guard=guard.pk, device=device.name, spec=guard.spec)
    try:
        guard.install_change = _plan(guard, ChangeKind.GUARD_INSTALL, reason, requested_by, via, now)
    except PolicyHubError as error:
        _forget(guard, is_new=known is None, actor=who, error=error, now=now)
        raise
    guard.save(update_fields=["install_change"])
    return guard


def _forget(guard: Guard, *, is_new: bool, actor: str, error: PolicyHubError, now: datetime) -> None:
    """The device could not be read: nothing was planned, and the name is free for the next try."""
    with transaction.atomic():
        if is_new:
            Guard.objects.filter(pk=guard.pk, install_change=None).delete()
        else:
            Guard.objects.filter(pk=guard.pk, install_change=None).update(state=Guard.State.REMOVED)
        audit.record("guard.not-planned", actor=actor, at=now, device=guard.device.name, name=guard.name, error=error.code)


def remove(*, guard: Guard, reason: str | Message, requested_by: User, via: str = "", now: datetime) -> Guard:
    """Render the removal for approval. Raises GuardInUse while members are in it, on their way, or proposed."""
    _require_empty(guard)
    guard.remove_change = _plan(guard, ChangeKind.GUARD_REMOVE, reason, requested_by, via, now)
    guard.save(update_fields=["remove_change"])
    return guard


def step(*, guard_id: int, clock: Callable[[], datetime]) -> None:
    """Follow the guard's changes; idempotent."""
    with transaction.atomic():
        guard = Guard.objects.select_for_update().get(pk=guard_id)
        state = _state(guard)
        if state != guard.state:
            guard.state = state
            guard.save(update_fields=["state"])
            audit.record(f"guard.{state}", actor="system", at=clock(), guard=guard.pk)
        else:
            return
    first = guard.spec.get("first_member", "")
    install = guard.install_change
    if state == Guard.State.INSTALLED and first and install is not None and install.requested_by is not None:
        who = install.requested_by
        enforcement.request(guard=guard, member=first, requested_by=who, via="guard install", reason=_why(install), now=clock())


def _require_empty(guard: Guard) -> None:
    """Naming the enforcements and what to do about them: only what is in the guard, or may be, can be taken back."""
    rows = list(Enforcement.objects.filter(guard=guard, state__in=OPEN).order_by("pk"))
    proposed = [row for row in rows if row.state == Enforcement.State.PROPOSED]
    inside = [row for row in rows if row.state != Enforcement.State.PROPOSED]
    if inside:
        said = gettext_noop("%(guard)s holds members, or is about to: %(members)s. Take these enforcements back first")
        raise GuardInUse.of(said, guard=str(guard), members=_listed(inside))
    if proposed:
        said = gettext_noop("%(guard)s: enforcements are proposed for it: %(members)s. Decline them first, or wait for their end")
        raise GuardInUse.of(said, guard=str(guard), members=_listed(proposed))


def _listed(rows: Sequence[Enforcement]) -> str:
    return ", ".join([f"#{row.pk} {row.member}" for row in rows[:NAMED]] + ["…"] * (len(rows) > NAMED))


def require_target_class(device: Device, target: int) -> None:
    """DF is always allowed. CS1 only when the parsed maps of every known hop serve it no better than DF.

    Common default maps put CS1 above best effort, so an unknown map is a refusal. Raises TargetClassRefused.
    """
    if target == DF:
        return
    if target != CS1:
        raise TargetClassRefused.of(gettext_noop("target DSCP %(target)d is not DF (0) or CS1 (8). Use 0"), target=target)
    for hop in Device.objects.filter(realm=device.realm, enabled=True).order_by("name"):
        config = latest_config(hop)
        maps: tuple[DscpMap, ...] = config.dscp_maps if config else ()
        if served_no_better(maps, CS1, DF) is not True:
            raise TargetClassRefused.of(CS1_BETTER if maps else CS1_UNKNOWN, hop=hop.name)


def _state(guard: Guard) -> str:
    removal, install = guard.remove_change, guard.install_change
    if removal and removal.state == Change.State.CONFIRMED:
        return Guard.State.REMOVED
    if any(change and change.state == Change.State.REVERT_FAILED for change in (removal, install)):
        return Guard.State.BROKEN
    if install and install.state == Change.State.CONFIRMED:
        return Guard.State.INSTALLED
    if install and install.state in ENDED_BADLY:
        return Guard.State.REMOVED
    return guard.state


def _why(install: Change) -> str | Message:
    return Message.of(install.reason_said) if install.reason_said else install.reason


def _plan(guard: Guard, kind: ChangeKind, reason: str | Message, requested_by: User, via: str, now: datetime) -> Change:
    group = guard.device.group
    said = gettext_noop("%(reason)s (mode %(mode)s, profile %(profile)s)")
    return changes.plan(
        device=guard.device,
        kind=kind,
        spec=GuardSpec.of_json(guard.spec),
        reason=Message(said, {"reason": reason, "mode": group.mode, "profile": group.profile}),
        actor=audit.who(requested_by, via),
        requested_by=requested_by,
        idempotency_key=changes.key("guard", guard.pk, kind, now.isoformat()),
        guardrails=[],
        notify_task="flowguard.step_guard",
        notify_id=guard.pk,
        now=now,
    )
