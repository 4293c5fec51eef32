"""Sweeps: every check over every device's latest configuration; findings keep their life over sweeps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q

from policyhub import dispatch
from policyhub.actions import audit, configs
from policyhub.checks.context import Context
from policyhub.checks.registry import all_checks, run_checks
from policyhub.domain.errors import PolicyHubError, WrongState
from policyhub.domain.finding import Finding as Found
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import Device, Finding, Sweep
from policyhub.queries.schedules import SWEEP_SILENT
from policyhub.vendorkit.contract import Capability
from policyhub.vendorkit.registry import REGISTRY

log = logging.getLogger(__name__)
Clock = Callable[[], datetime]
Status = Finding.Status
LONGEST = 255
TASK = "policyhub.sweep"
MOST_TRIES = 3
LOST = gettext_noop("its check was begun %(tries)d times and never ended: the worker was lost each time (memory?)")


def start(*, actor: object, now: datetime, queue: bool = True) -> Sweep:
    """One sweep over all enabled devices; the running one is returned when there is one. queue: for the workers, at once."""
    with transaction.atomic():
        running = Sweep.objects.select_for_update().filter(state=Sweep.State.RUNNING).first()
        if running is not None:
            return running
        total = Device.objects.filter(enabled=True).count()
        sweep = Sweep.objects.create(started_at=now, started_by=str(actor)[:150], devices_total=total)
        audit.record("sweep.started", actor=actor, at=now, sweep=sweep.pk, devices=total)
        if queue:
            dispatch.on_commit(TASK, sweep.pk)
    return sweep


def cancel(*, sweep_id: int, actor: object, now: datetime) -> None:
    """Stop after the device that is being checked. Raises WrongState when it has ended."""
    with transaction.atomic():
        if not Sweep.objects.filter(pk=sweep_id, state=Sweep.State.RUNNING).update(state=Sweep.State.CANCELLED, finished_at=now):
            raise WrongState.of(gettext_noop("sweep #%(sweep)d is not running"), sweep=sweep_id)
        audit.record("sweep.cancelled", actor=actor, at=now, sweep=sweep_id)


def run(*, sweep_id: int, clock: Clock, turn: timedelta | None = None) -> bool:
    """Check device after device; one that fails is named and does not stop the others. False: it has ended, or others are at it.

    Where a worker was lost, the next goes on behind the devices that are done. turn: after so long the rest is queued again.
    """
    began = clock()
    sweep = _take(sweep_id, began)
    if sweep is None:
        return False
    devices = list(Device.objects.filter(enabled=True).order_by("name"))
    left = _left(sweep, devices) if sweep.devices_done or sweep.now_doing else devices
    for done, device in enumerate(left, start=len(devices) - len(left)):
        sweep.tries = sweep.tries + 1 if sweep.now_doing == device.name else 1
        sweep.now_doing, sweep.moved_at = device.name, clock()
        moved = {name: getattr(sweep, name) for name in ("now_doing", "moved_at", "tries", "problems")}
        working = Sweep.objects.filter(pk=sweep_id, state=Sweep.State.RUNNING)
        if not working.update(devices_done=done, devices_total=len(devices), **moved):
            return True
        problem = Message(LOST, {"tries": MOST_TRIES}) if sweep.tries > MOST_TRIES else _problem(sweep, device, clock)
        if problem:
            sweep.problems.append({"device": device.name, "reason": str(problem), "said": problem.as_json()})
        if turn is not None and clock() - began > turn:
            # As old as it is, so that whoever gets the message may take it at once.
            if working.update(devices_done=done + 1, now_doing="", tries=0, problems=sweep.problems, moved_at=sweep.started_at):
                dispatch.on_commit(TASK, sweep_id)
            return True
    state = Sweep.State.PARTIAL if sweep.problems else Sweep.State.DONE
    Sweep.objects.filter(pk=sweep_id, state=Sweep.State.RUNNING).update(
        state=state, finished_at=clock(), devices_done=F("devices_total"), now_doing="", problems=sweep.problems
    )
    return True


def _take(sweep_id: int, now: datetime) -> Sweep | None:
    """The sweep, if it runs and nobody is at it, or its worker was lost."""
    free = Q(moved_at=None) | Q(moved_at__lte=now - SWEEP_SILENT)
    if not Sweep.objects.filter(free, pk=sweep_id, state=Sweep.State.RUNNING).update(moved_at=now):
        return None
    return Sweep.objects.get(pk=sweep_id)


def _left(sweep: Sweep, devices: list[Device]) -> list[Device]:
    """What a worker that was lost, or whose turn was over, has not done."""
    told = {problem["device"] for problem in sweep.problems}
    return [
        row for row in devices if row.name not in told and not (row.checked_at is not None and row.checked_at >= sweep.started_at)
    ]


def _problem(sweep: Sweep, device: Device, clock: Clock) -> Message | None:
    """Why the device could not be checked; None when it was."""
    try:
        return check_device(device, now=clock())
    except PolicyHubError as error:
        return error.told
    except Exception as error:  # a defect of one check or parser must not hide the other devices' findings
        log.exception("sweep of a device failed", extra={"sweep": sweep.pk, "device": device.pk})
        return Message(
            gettext_noop("%(error)s; this is a defect, please report it"), {"error": f"{type(error).__name__}: {error}"}
        )


def check_device(device: Device, *, now: datetime) -> Message | None:
    """Run all checks on the latest snapshot and store what they found; a reason when it could not be checked, else None."""
    snapshot = device.snapshots.order_by("-taken_at", "-pk").first()
    if snapshot is None:
        return Message(gettext_noop("no configuration was read yet"))
    vendor = REGISTRY.get(device.platform)
    context = Context(
        configs.parsed(device, snapshot),
        hits=configs.hit_samples(device, now=now),
        counts_hits=Capability.HIT_COUNTS in vendor.capabilities,
        now=now,
    )
    _store(device, run_checks(context, all_checks()), snapshot.sha256, now)
    return None


def _store(device: Device, found: Iterable[Found], sha256: str, now: datetime) -> None:
    """New, still there, back again, or gone."""
    seen: list[str] = []
    with transaction.atomic():
        if Device.objects.select_for_update(of=("self",)).filter(pk=device.pk).first() is None:
            return  # removed meanwhile
        known = {row.fingerprint: row for row in Finding.objects.select_for_update().filter(device=device)}
        for one in found:
            fingerprint = _named(one, device.name).fingerprint
            seen.append(fingerprint)
            row = known.get(fingerprint) or Finding(device=device, fingerprint=fingerprint, first_seen_at=now, status=Status.NEW)
            if row.status == Status.RESOLVED:
                row.status = Status.REGRESSED
            _fill(row, one, sha256, now)
            known[fingerprint] = row
        Finding.objects.filter(device=device).exclude(fingerprint__in=seen).exclude(status=Status.RESOLVED).update(
            status=Status.RESOLVED
        )
        Device.objects.filter(pk=device.pk).update(checked_at=now)


def _named(found: Found, device: str) -> Found:
    return replace(found, device=device)


def _fill(row: Finding, found: Found, sha256: str, now: datetime) -> None:
    row.code, row.name, row.severity = found.code, found.name, found.severity.value
    row.policy, row.rule = found.policy[:LONGEST], found.rule[:LONGEST]
    row.lines, row.by, row.evidence = list(found.lines), list(found.by), dict(found.evidence)
    row.message, row.fix = found.message, found.fix
    row.said = {"message": found.said.as_json(), "fix": found.advice.as_json()}
    row.last_seen_at, row.snapshot_sha256 = now, sha256
    row.save()
