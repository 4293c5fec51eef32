"""What every page must say about the whole installation: kill switch, automatic groups, sample network, realms."""

from __future__ import annotations

from dataclasses import dataclass

from policyhub.models import DeviceGroup, KillSwitch, Realm


@dataclass(frozen=True, slots=True)
class Situation:
    stopped: tuple[KillSwitch, ...]
    automatic: tuple[DeviceGroup, ...]
    sample: tuple[DeviceGroup, ...]
    realms: tuple[str, ...]


def situation() -> Situation:
    """Three queries, however many rows there are."""
    groups = list(DeviceGroup.objects.order_by("name"))
    return Situation(
        stopped=tuple(KillSwitch.objects.filter(engaged=True).order_by("scope")),
        automatic=tuple(group for group in groups if group.mode == DeviceGroup.Mode.AUTO),
        sample=tuple(group for group in groups if group.is_sample),
        realms=tuple(Realm.objects.order_by("name").values_list("name", flat=True)),
    )
