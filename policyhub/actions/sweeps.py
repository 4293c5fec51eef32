"""Sweeps: every check over every device's latest configuration; findings keep their life over sweeps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import F

from policyhub import dispatch
from policyhub.actions import audit, configs
from policyhub.checks.context import Context
from policyhub.checks.registry import all_checks, run_checks
from policyhub.domain.errors import PolicyHubError, WrongState
from policyhub.domain.finding import Finding as Found
from policyhub.domain.message import gettext_noop
from policyhub.models import Device, Finding, Sweep
from policyhub.vendorkit.contract import Capability
from policyhub.vendorkit.registry import REGISTRY

log = logging.getLogger(__name__)
Clock = Callable[[], datetime]
Status = Finding.Status
LONGEST = 255


def start(*, actor: object, now: datetime) -> Sweep:
    """Queue one sweep over all enabled devices; the running one is returned when there is one."""
    with transaction.atomic():
        running = Sweep.objects.select_for_update().filter(state=Sweep.State.RUNNING).first()
        if running is not None:
            return running
        total = Device.objects.filter(enabled=True).count()
        sweep = Sweep.objects.create(started_at=now, started_by=str(actor)[:150], devices_total=total)
        audit.record("sweep.started", actor=actor, at=now, sweep=sweep.pk, devices=total)
        dispatch.on_commit("policyhub.sweep", sweep.pk)
    return sweep


def cancel(*, sweep_id: int, actor: object, now: datetime) -> None:
    """Stop after the device that is being checked. Raises WrongState when it has ended."""
    with transaction.atomic():
        if not Sweep.objects.filter(pk=sweep_id, state=Sweep.State.RUNNING).update(state=Sweep.State.CANCELLED, finished_at=now):
            raise WrongState.of(gettext_noop("sweep #%(sweep)d is not running"), sweep=sweep_id)
        audit.record("sweep.cancelled", actor=actor, at=now, sweep=sweep_id)


def run(*, sweep_id: int, clock: Clock) -> None:
    """Check device after device; one that fails is named and does not stop the others. A sweep run twice finds the same."""
    problems: list[dict[str, str]] = []
    devices = list(Device.objects.filter(enabled=True).order_by("name"))
    for done, device in enumerate(devices):
        working = Sweep.objects.filter(pk=sweep_id, state=Sweep.State.RUNNING)
        if not working.update(devices_done=done, devices_total=len(devices), now_doing=device.name, problems=problems):
            return
        try:
            problem = check_device(device, now=clock())
        except PolicyHubError as error:
            problem = str(error)
        except Exception as error:  # a defect of one check or parser must not hide the other devices' findings
            log.exception("sweep of a device failed", extra={"sweep": sweep_id, "device": device.pk})
            problem = f"{type(error).__name__}: {error}; this is a defect, please report it"
        if problem:
            problems.append({"device": device.name, "reason": problem})
    state = Sweep.State.PARTIAL if problems else Sweep.State.DONE
    Sweep.objects.filter(pk=sweep_id, state=Sweep.State.RUNNING).update(
        state=state, finished_at=clock(), devices_done=F("devices_total"), now_doing="", problems=problems
    )


def check_device(device: Device, *, now: datetime) -> str:
    """Run all checks on the latest snapshot and store what they found; a reason when it could not be checked, else ""."""
    snapshot = device.snapshots.order_by("-taken_at", "-pk").first()
    if snapshot is None:
        return "no configuration was collected yet"
    vendor = REGISTRY.get(device.platform)
    context = Context(
        configs.parsed(device, snapshot),
        hits=configs.hit_samples(device, now=now),
        counts_hits=Capability.HIT_COUNTS in vendor.capabilities,
        now=now,
    )
    _store(device, run_checks(context, all_checks()), snapshot.sha256, now)
    return ""


def _store(device: Device, found: Iterable[Found], sha256: str, now: datetime) -> None:
    """New, still there, back again, or gone."""
    seen: list[str] = []
    with transaction.atomic():
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
