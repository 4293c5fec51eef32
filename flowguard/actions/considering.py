"""From due verdicts to decisions: newest evidence first, a few in one transaction, one realm at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q

from flowguard.actions import decisions, enforcement
from flowguard.domain.across import HOST_VERDICTS
from flowguard.domain.taking_back import SYSTEM
from flowguard.models import Enforcement, Verdict
from flowguard.queries.due import newest_due
from flowguard.queries.ground import OPEN, Ground, member_of
from policyhub.actions import kill_switch
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import Realm

Clock = Callable[[], datetime]
# Decided in one transaction: what they share is read once. On SQLite nobody else writes meanwhile, so it must stay a blink.
TOGETHER = 25
AFTER_AN_ERROR = timedelta(minutes=1)
REWRITTEN = gettext_noop("the network rewrote the mark")

log = logging.getLogger(__name__)


def decide(*, at_most: int, clock: Clock) -> int:
    """Decide on due verdicts until none is left or `at_most` were taken; how many were.

    A verdict that is gone, or was considered in its present revision, is not due. One that our own code cannot decide on is put
    off for a minute; when the database is away everything stays due, and the scheduler comes again.
    """
    taken = 0
    while taken < at_most:
        due = newest_due(clock(), at_most - taken)
        if not due:
            break
        for start in range(0, len(due), TOGETHER):
            _consider(due[start : start + TOGETHER], clock())
        taken += len(due)
    return taken


def _consider(keys: Sequence[int], now: datetime) -> None:
    """Sort by what is called for: a decision in one realm or another, taking back, or nothing."""
    ground = Ground(now, kill_switch.engaged)
    places: dict[int, tuple[Realm, list[int]]] = {}
    idle: list[Verdict] = []
    for row in _due(keys, now):
        try:
            realm = ground.realm_of(row) if decisions.calls_for_one(row) else None
            if row.standing == Verdict.Standing.NETWORK:
                _take_back(row, now)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            _put_off(row, now)
            continue
        if realm is None:
            idle.append(row)
        else:
            places.setdefault(realm.pk, (realm, []))[1].append(row.pk)
    with transaction.atomic():
        _considered(idle)
    for realm, group in places.values():
        _decide_in(realm, group, now)


def _decide_in(realm: Realm, keys: Sequence[int], now: datetime) -> None:
    """What was found to be decided here is read again under the realm's lock; what belongs elsewhere by now stays due."""
    with transaction.atomic():
        decisions.lock_realm(realm)
        ground = Ground(now, kill_switch.engaged)
        rows = [row for row in _due(keys, now) if decisions.calls_for_one(row) and ground.realm_of(row) == realm]
        ground.lock(map(member_of, rows))
        ground.know_sources(row.src for row in rows)
        _considered([row for row in rows if _decided(row, realm, ground)])


def _decided(row: Verdict, realm: Realm, ground: Ground) -> bool:
    """One in a savepoint of its own: what fails must not undo the others, nor stand before them for ever."""
    try:
        with transaction.atomic():
            decisions.decide(row, realm, ground)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        ground.forget(member_of(row))
        _put_off(row, ground.now)
        return False
    return True


def _put_off(row: Verdict, now: datetime) -> None:
    """Call it while the error is being handled."""
    log.exception("verdict %s: no decision", row.pk)
    Verdict.objects.filter(pk=row.pk).update(next_step_at=now + AFTER_AN_ERROR)


def _due(keys: Iterable[int], now: datetime) -> list[Verdict]:
    """Those that are due still, newest evidence first."""
    rows = Verdict.objects.filter(pk__in=keys, next_step_at__lte=now).select_related("sensor__group")
    return list(rows.order_by("-last_ns", "-pk"))


def _considered(rows: Iterable[Verdict]) -> None:
    """No longer due, unless a newer revision came or the verdict stands differently since it was read. Inside a transaction.

    A row that is being revised right now is left due and not waited for: ingest locks several rows too, in its own order.
    """
    same = Q(pk__in=())
    for row in rows:
        same |= Q(pk=row.pk, revision=row.revision, standing=row.standing)
    free = Verdict.objects.select_for_update(skip_locked=True, no_key=True).filter(same).values_list("pk", flat=True)
    Verdict.objects.filter(pk__in=list(free)).update(next_step_at=None)


def _take_back(row: Verdict, now: datetime) -> None:
    """The host was blamed too early: its enforcement ends, unless another verdict of the same source still stands."""
    same_source = Verdict.objects.filter(realm=row.realm, src=row.src, name__in=HOST_VERDICTS, last_ns__gte=row.first_ns)
    if same_source.filter(standing=Verdict.Standing.STANDS).exists():
        return
    for key in Enforcement.objects.filter(verdict=row, state__in=OPEN).values_list("pk", flat=True):
        enforcement.withdraw(enforcement_id=key, actor=SYSTEM, reason=Message(REWRITTEN), now=now)
