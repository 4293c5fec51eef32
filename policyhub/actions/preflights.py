"""Preflights: a run over devices, one row each, looked at beside each other; what is found stands in the row at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime

from django.db import transaction

from policyhub import dispatch
from policyhub.actions import audit, collect, sessions
from policyhub.actions.examine import DETECT, FAILED, HOST_KEY, LOGIN, OK, PLATFORM, Look, Step, Target, examine
from policyhub.domain.errors import BadInput, DeviceClosed, PolicyHubError, WrongState
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import Credential, Device, HostKey, Preflight, PreflightResult
from policyhub.transport import Address

TASK = "policyhub.preflight"
WORKERS = 8  # logins at once from a command; a service has as many as its workers
CLOSED = gettext_noop("give it what is missing, or release it when the cause was found; then try again")
CLOSED_CURES = {
    sessions.NO_LOGIN[Credential.Purpose.COLLECT]: gettext_noop(
        "keep a login (policyhub device credential), then give it to the device (policyhub device login, or its page) or "
        "to its site (policyhub device site)"
    ),
    sessions.NO_ADDRESS: gettext_noop(
        "give it an address, or keep its configuration from a file: policyhub device import-config"
    ),
    sessions.QUARANTINED: gettext_noop("when the cause was found, release it: policyhub device release, or its page"),
    sessions.DISABLED: gettext_noop("enable it, or leave it out"),
}
Clock = Callable[[], datetime]
State = PreflightResult.State


def start(devices: Sequence[Device], *, collecting: bool, queue: bool, actor: object, now: datetime) -> Preflight:
    """A run with a waiting row per device. queue: workers take them; else somebody calls `run`. Raises BadInput."""
    if not devices:
        raise BadInput.of(gettext_noop("there is no device to look at. Import some first"))
    with transaction.atomic():
        run = Preflight.objects.create(collect=collecting, queued=queue, started_at=now, started_by=str(actor)[:150])
        rows = PreflightResult.objects.bulk_create(PreflightResult(preflight=run, device=device) for device in devices)
        audit.record("preflight.started", actor=actor, at=now, preflight=run.pk, devices=len(rows), collect=collecting)
        if queue:
            for row in rows:
                dispatch.on_commit(TASK, row.pk)
    return run


def forget(devices: Sequence[Device], *, actor: object, now: datetime) -> None:
    """Their platform is not known any more: the next look finds it."""
    with transaction.atomic():
        for device in devices:
            audit.record("device.redetect", actor=actor, at=now, device=device.name, was=device.platform)
            device.platform = Device.DETECT
        Device.objects.filter(pk__in=[device.pk for device in devices]).update(platform=Device.DETECT)


def cancel(*, preflight_id: int, actor: object, now: datetime) -> None:
    """What waits is not begun; what runs ends at its next command. Raises WrongState when it has ended."""
    with transaction.atomic():
        rows = Preflight.objects.filter(pk=preflight_id, state=Preflight.State.RUNNING)
        if not rows.update(state=Preflight.State.CANCELLED, finished_at=now):
            raise WrongState.of(gettext_noop("preflight #%(number)s is not running"), number=preflight_id)
        PreflightResult.objects.filter(preflight=preflight_id, state=State.WAITING).update(state=State.CANCELLED, finished_at=now)
        audit.record("preflight.cancelled", actor=actor, at=now, preflight=preflight_id)


def run_one(*, result_id: int, clock: Clock) -> None:
    """A worker's share: one device. Doing it twice is harmless; a row that was done or cancelled stays as it is."""
    row = _take(result_id, clock())
    if row is not None:
        look = _looked(row, lambda: _is_cancelled(row.preflight_id))
        finish(row, look, now=clock())


def run(preflight: Preflight, *, workers: int, clock: Clock) -> Iterator[PreflightResult]:
    """All waiting rows beside each other, at most `workers` logins at a time; yields each row when it is done.

    Threads talk to devices only: every read and write of the database is made here.
    """
    waiting = list(preflight.results.filter(state=State.WAITING).values_list("pk", flat=True))
    stop = threading.Event()
    at_work: dict[Future[Look], PreflightResult] = {}
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="preflight") as pool:
        try:
            while waiting or at_work:
                if _is_cancelled(preflight.pk):
                    stop.set()
                while waiting and not stop.is_set() and len(at_work) < workers:
                    row = _take(waiting.pop(0), clock())
                    if row is not None:
                        target = _target(row.device)
                        at_work[pool.submit(_look_at, target, stop.is_set)] = row
                if stop.is_set():
                    waiting.clear()
                for done in wait(at_work, timeout=1.0, return_when=FIRST_COMPLETED).done:
                    row = at_work.pop(done)
                    finish(row, done.result(), now=clock())
                    yield row
        finally:
            stop.set()


def finish(row: PreflightResult, look: Look, *, now: datetime) -> None:
    """Write down what was seen, and what follows from it: keys, quarantine, platform, snapshot. The last row ends the run."""
    device = row.device
    _learn(row, look, now)
    state = State.OK if look.is_whole else State.PARTIAL if look.can_read else State.FAILED
    if state == State.FAILED and not any(step.state == FAILED for step in look.steps):
        state = State.CANCELLED
    if look.can_read and row.preflight.collect and look.profile is not None:
        try:
            collect.keep(device, look.profile, look.texts, actor=row.preflight.started_by, now=now)
            row.collected = True
        except PolicyHubError as error:
            look.steps.append(
                Step(look.profile.configuration, FAILED, error.said, Message("" if error.said.has_cure else CLOSED))
            )
            state = State.FAILED
    row.state, row.finished_at = state, now
    row.steps = [as_json(step) for step in look.steps]
    row.platform, row.version = look.profile.platform if look.profile else "", look.version
    row.save()
    left = PreflightResult.objects.filter(preflight=row.preflight_id, state__in=(State.WAITING, State.RUNNING)).exists()
    if not left:
        running = Preflight.objects.filter(pk=row.preflight_id, state=Preflight.State.RUNNING)
        running.update(state=Preflight.State.DONE, finished_at=now)


def as_json(step: Step) -> dict[str, object]:
    return {"name": step.name, "state": step.state, "said": step.said.as_json(), "cure": step.cure.as_json()}


def _learn(row: PreflightResult, look: Look, now: datetime) -> None:
    device = row.device
    if look.offered is not None:
        key = sessions.remember_key(device, look.offered, now=now)
        if key.state == HostKey.State.REVOKED:
            look.steps = [step for step in look.steps if step.name != HOST_KEY]
            said = Message(gettext_noop("offers a key that was revoked: %(fingerprint)s"), {"fingerprint": key.fingerprint})
            look.failed(HOST_KEY, said, Message(CLOSED))
    if look.error is not None:
        sessions.blame(device, look.error, now=now)
    found = look.profile.platform if look.profile else ""
    if found and device.platform == Device.DETECT and any(step.name == PLATFORM and step.state == OK for step in look.steps):
        Device.objects.filter(pk=device.pk, platform=Device.DETECT).update(platform=found)
        device.platform = found
        audit.record("device.detected", actor="policyhub", at=now, device=device.name, platform=found)
    if look.version:
        Device.objects.filter(pk=device.pk).update(version=look.version)
        device.version = look.version


def _take(result_id: int, now: datetime) -> PreflightResult | None:
    """The row, if it waits or its worker was lost."""
    rows = PreflightResult.objects.filter(pk=result_id, state__in=(State.WAITING, State.RUNNING))
    if not rows.filter(preflight__state=Preflight.State.RUNNING).update(state=State.RUNNING, started_at=now):
        return None
    related = [f"device__{name}" for name in sessions.RELATED]
    return PreflightResult.objects.select_related("preflight", "device", *related).get(pk=result_id)


def _looked(row: PreflightResult, cancelled: Callable[[], bool]) -> Look:
    return _look_at(_target(row.device), cancelled)


def _look_at(target: Target | Look, cancelled: Callable[[], bool]) -> Look:
    """A defect of ours with one device must not hide the others."""
    if isinstance(target, Look):
        return target
    try:
        return examine(target, cancelled=cancelled)
    except Exception as error:
        look = Look(profile=target.profile)
        said = Message(
            gettext_noop("%(error)s; this is a defect, please report it"), {"error": f"{type(error).__name__}: {error}"}
        )
        look.failed("reachable", said, Message(CLOSED))
        look.rest(target.profile)
        return look


def _target(device: Device) -> Target | Look:
    """What a look needs; a look that ended at once when the inventory itself does not allow one."""
    try:
        profile = None if device.platform == DETECT else sessions.reading_of(device)
        return Target(
            device.name,
            Address(device.host, device.port),
            sessions.login_for(device, Credential.Purpose.COLLECT),
            tuple(sessions.trusted_keys(device)),
            sessions.way_to(device),
            profile,
        )
    except (DeviceClosed, BadInput) as error:
        look = Look()
        general = "" if error.said.has_cure else CLOSED
        look.failed(LOGIN, error.said, Message(CLOSED_CURES.get(error.said.template, general)))
        look.rest(None)
        return look


def _is_cancelled(preflight_id: int) -> bool:
    return not Preflight.objects.filter(pk=preflight_id, state=Preflight.State.RUNNING).exists()
