"""What decisions look at beside the verdict: read once for many of them, and kept in step with what is decided meanwhile."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TypeVar, cast

from django.db.models import Max, QuerySet

from flowguard.domain.taking_back import ENDED_BY, SYSTEM, TakenBack
from flowguard.models import Enforcement, EnforcementEvent, Guard, NeverTouch, ObservationPoint, Verdict
from flowguard.queries.identities import table_for
from flowguard.queries.windows import verifying_points
from policyhub.domain.change import ChangeKind
from policyhub.domain.identity import Identity, IdentityTable
from policyhub.models import Change, Device, Realm

OPEN = (
    Enforcement.State.PROPOSED,
    Enforcement.State.APPLYING,
    Enforcement.State.ACTIVE,
    Enforcement.State.WITHDRAWING,
    Enforcement.State.NEEDS_PERSON,
)
PUSHED = ("pushed", "verified", "confirmed", "reverting", "reverted", "revert-failed")
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
Found = TypeVar("Found")
MemberKey = tuple[int, str]  # guard, or a realm with its sign turned; member


def member_of(verdict: Verdict) -> str:
    """The one address that an enforcement of this verdict names, as a prefix."""
    address = ipaddress.ip_address(verdict.src)
    return f"{address}/{address.max_prefixlen}"


class Ground:
    """One per transaction that holds the realm's lock: then nobody decides beside us, and what counts (members, pushes) is exact.

    What others may do meanwhile only makes room (a member leaves, a push ends); mode, kill switch and guard are looked at again
    before anything is planned, approved or sent. killed: whether the kill switch of a device group is engaged.
    """

    def __init__(self, now: datetime, killed: Callable[[str], bool]) -> None:
        self.now = now
        self._read_killed = killed
        self._known: dict[tuple[object, ...], object] = {}
        self._rows: dict[MemberKey, list[Enforcement]] = {}
        self._gathered: set[str] = set()
        self._sources: dict[str, IdentityTable] = {}

    def guard_for(self, verdict: Verdict) -> Guard | None:
        """A guard in the verdict's path: on the device of its point, else on one that a point of its sensor stands behind."""
        key = ("guard", verdict.sensor_id, verdict.realm, verdict.point, verdict.dscp)
        return self._once(key, lambda: self._best_guard(verdict))

    def realm_of(self, verdict: Verdict) -> Realm | None:
        """Where it is decided: the realm of the guard's device, else the verdict's own. None: nobody set that up."""
        guard, name = self.guard_for(verdict), verdict.realm
        return guard.device.realm if guard else self._once(("realm", name), lambda: Realm.objects.filter(name=name).first())

    def lock(self, members: Iterable[str]) -> None:
        """Read and lock every enforcement of these members at once. To be called before a row of the audit chain is written:
        whoever has an enforcement locks the chain next, never the other way round."""
        self._gather(members, Enforcement.objects.select_for_update(of=("self",)))

    def _gather(self, members: Iterable[str], rows: QuerySet[Enforcement]) -> None:
        wanted = sorted(set(members) - self._gathered)
        if not wanted:
            return
        for row in rows.filter(member__in=wanted).order_by("pk"):
            self._rows.setdefault(self._key(row.guard_id, row.realm_id, row.member), []).append(row)
        self._gathered.update(wanted)

    def enforcements(self, guard: Guard | None, realm: Realm, member: str) -> list[Enforcement]:
        """Those of one member in one guard, or seen in one realm without a guard; oldest first."""
        if member not in self._gathered:
            self._gather([member], Enforcement.objects.all())
        return self._rows.setdefault(self._key(guard.pk if guard else None, realm.pk, member), [])

    def decided(self, row: Enforcement) -> None:
        """Count in what was just decided on. Call it after the row was written."""
        rows = self._rows.setdefault(self._key(row.guard_id, row.realm_id, row.member), [])
        if row not in rows:
            rows.append(row)
        if row.guard_id is not None and row.state in OPEN:
            self.open_members(row.guard_id).add(row.pk)
        if row.guard is not None and row.state == Enforcement.State.APPLYING:
            self.on_their_way(row.realm_id)[row.pk] = row.guard.device_id

    def forget(self, member: str) -> None:
        """What was decided on it was rolled back: whatever was counted is read again."""
        self._known.clear()
        self._gathered.discard(member)
        for key in [key for key in self._rows if key[1] == member]:
            del self._rows[key]

    def killed(self, group: str) -> bool:
        return self._once(("killed", group), lambda: self._read_killed(group))

    def identity(self, verdict: Verdict) -> Identity | None:
        """Longest prefix inside the verdict's realm."""
        if verdict.src not in self._sources:
            self.know_sources([verdict.src])
        return self._sources[verdict.src].find(verdict.src, verdict.realm)

    def know_sources(self, addresses: Iterable[str]) -> None:
        """Read what the ledger says about these addresses at once."""
        wanted = set(addresses) - self._sources.keys()
        if wanted:
            self._sources.update(dict.fromkeys(wanted, table_for(wanted)))

    def never_touch(self, realm: str) -> tuple[tuple[str, str], ...]:
        def read() -> tuple[tuple[str, str], ...]:
            return tuple(NeverTouch.objects.filter(realm__name=realm).order_by("pk").values_list("prefix", "reason"))

        return self._once(("never-touch", realm), read)

    def has_verifying_point(self, device: Device) -> bool:
        return self._once(("verifying", device.pk), lambda: bool(verifying_points(device)))

    def open_members(self, guard_id: int) -> set[int]:
        """Enforcements of the guard that are active or on their way."""

        def read() -> set[int]:
            return set(Enforcement.objects.filter(guard=guard_id, state__in=OPEN).values_list("pk", flat=True))

        return self._once(("open", guard_id), read)

    def on_their_way(self, realm_id: int) -> dict[int, int]:
        """Decided, not pushed yet: enforcement -> device. They count as pushes, or a burst of decisions would pass every rate."""

        def read() -> dict[int, int]:
            rows = Enforcement.objects.filter(state=Enforcement.State.APPLYING, realm=realm_id, guard__isnull=False)
            return dict(rows.exclude(add_change__state__in=PUSHED).values_list("pk", "guard__device"))

        return self._once(("coming", realm_id), read)

    def pushes_last_hour(self, realm_id: int) -> int:
        return sum(at >= self.now - HOUR for at, _ in self._pushes(realm_id))

    def member_pushes_last_day(self, realm_id: int, member: str) -> int:
        return sum(pushed == member for _, pushed in self._pushes(realm_id))

    def last_push(self, device_id: int) -> datetime | None:
        """Of a member, to this device."""

        def read() -> datetime | None:
            return _additions().filter(device=device_id, pushed_at__lte=self.now).aggregate(at=Max("pushed_at"))["at"]

        return self._once(("last-push", device_id), read)

    def taken_back(self, guard: Guard, member: str, marks: frozenset[int]) -> TakenBack | None:
        """The last time that a person took this member out of a guard of the device for one of these marks, if it counts yet."""
        told = self._taken_back(guard.device)
        found = [taken for taken, whose, of_guard in told if whose == member and of_guard & marks and taken.until > self.now]
        return max(found, key=lambda taken: taken.at, default=None)

    def _taken_back(self, device: Device) -> list[tuple[TakenBack, str, frozenset[int]]]:
        holds = timedelta(seconds=device.group.enforcement_ttl_s)

        def read() -> list[tuple[TakenBack, str, frozenset[int]]]:
            rows = EnforcementEvent.objects.filter(message__in=ENDED_BY, at__gt=self.now - holds).exclude(data__actor=SYSTEM)
            rows = rows.filter(enforcement__guard__device=device, enforcement__state__in=(*OPEN, Enforcement.State.REVERTED))
            told = rows.values_list("at", "data", "enforcement__member", "enforcement__guard__spec")
            return [
                (TakenBack(str(data["actor"]), at, at + holds), member, frozenset(spec["marks"]))
                for at, data, member, spec in told
            ]

        return self._once(("taken-back", device.pk), read)

    def _pushes(self, realm_id: int) -> list[tuple[datetime, str]]:
        def read() -> list[tuple[datetime, str]]:
            rows = _additions().filter(device__realm=realm_id, pushed_at__gte=self.now - DAY)
            return [(at, member) for at, member in rows.values_list("pushed_at", "spec__member") if at is not None]

        return self._once(("pushes", realm_id), read)

    def _best_guard(self, verdict: Verdict) -> Guard | None:
        points = self._points(verdict.sensor_id, verdict.realm)
        here = [point.device_id for point in points if point.name == verdict.point and point.device_id]
        behind = [point.stands_behind_id for point in points if point.stands_behind_id]

        def rank(guard: Guard) -> tuple[bool, bool, bool]:
            return guard.state != Guard.State.INSTALLED, guard.device_id not in here, verdict.dscp not in guard.spec["marks"]

        return min(self._guards(frozenset((*here, *behind))), key=rank, default=None)

    def _points(self, sensor_id: int, realm: str) -> list[ObservationPoint]:
        def read() -> list[ObservationPoint]:
            return list(ObservationPoint.objects.filter(sensor=sensor_id, realm__name=realm).order_by("pk"))

        return self._once(("points", sensor_id, realm), read)

    def _guards(self, devices: frozenset[int]) -> list[Guard]:
        def read() -> list[Guard]:
            rows = Guard.objects.filter(device__in=devices, state__in=(Guard.State.INSTALLED, Guard.State.BROKEN))
            return list(rows.select_related("device__group", "device__realm").order_by("pk"))

        return self._once(("guards", devices), read)

    def _once(self, key: tuple[object, ...], read: Callable[[], Found]) -> Found:
        """Building a query costs as much as running it here: `read` does both, and only the first time."""
        if key not in self._known:
            self._known[key] = read()
        return cast(Found, self._known[key])

    @staticmethod
    def _key(guard_id: int | None, realm_id: int, member: str) -> MemberKey:
        """A guard's set is one, whatever the realm; without a guard the realm tells equal addresses apart."""
        return (guard_id if guard_id is not None else -realm_id, member)


def _additions() -> QuerySet[Change]:
    return Change.objects.filter(kind=ChangeKind.MEMBER_ADD, state__in=PUSHED)
