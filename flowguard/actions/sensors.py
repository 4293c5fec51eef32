"""Enrolling sensors and saying where their points are."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from flowguard.models import ObservationPoint, Sensor
from policyhub.actions import audit
from policyhub.domain.errors import BadInput
from policyhub.models import Device, DeviceGroup, Realm


def enrol(name: str) -> Sensor:
    """The sensor of that name; made at its first contact, for a token that names it was given by a person."""
    return Sensor.objects.select_related("group").get_or_create(name=name)[0]


def heard(sensor: Sensor, *, backlog: tuple[int, float] | None, now: datetime, **more: object) -> None:
    """Note a contact. backlog: batches left on its disk and the age of the oldest in seconds; None = it did not say."""
    spooled, spooled_s = backlog or (None, None)
    Sensor.objects.filter(pk=sensor.pk).update(last_seen_at=now, spooled=spooled, spooled_s=spooled_s, **more)


def assign(*, name: str, group: str, actor: object, now: datetime) -> Sensor:
    """Put a sensor under a group, whose profile its bundle then carries. Raises BadInput for an unknown group."""
    found = DeviceGroup.objects.filter(name=group).first()
    if found is None:
        raise BadInput(f"no device group is called {group!r}. Groups: {_names(DeviceGroup)}")
    with transaction.atomic():
        sensor = enrol(name)
        sensor.group = found
        sensor.save(update_fields=["group"])
        audit.record("sensor.assigned", actor=actor, at=now, sensor=name, group=group)
    return sensor


def place_point(
    *, sensor: str, point: str, actor: object, now: datetime, realm: str = "", device: str = "", stands_behind: str = "",
    interface: str = "",
) -> ObservationPoint:  # fmt: skip
    """Say where a point copies traffic and which device's changes show there. Raises BadInput for unknown names."""
    if not 0 < len(point) <= 64:
        raise BadInput(f"point {point!r}: a name has 1 to 64 characters")
    where = _known(Realm, realm) if realm else Realm.objects.get_or_create(name="")[0]
    fields = {
        "realm": where,
        "device": _known(Device, device) if device else None,
        "stands_behind": _known(Device, stands_behind) if stands_behind else None,
        "interface": interface,
    }
    with transaction.atomic():
        placed, _ = ObservationPoint.objects.update_or_create(sensor=enrol(sensor), name=point, defaults=fields)
        said = {"realm": realm, "device": device, "stands_behind": stands_behind, "interface": interface}
        audit.record("point.placed", actor=actor, at=now, sensor=sensor, point=point, **said)
    return placed


def _known(model: type[Realm] | type[Device], name: str) -> Realm | Device:
    found = model._default_manager.filter(name=name).first()
    if found is None:
        raise BadInput(f"no {model._meta.verbose_name} is called {name!r}. There are: {_names(model)}")
    return found


def _names(model: type[Realm] | type[Device] | type[DeviceGroup]) -> str:
    names = list(model._default_manager.exclude(name="").order_by("name").values_list("name", flat=True)[:10])
    return ", ".join(names) or "none yet"
