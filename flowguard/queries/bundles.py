"""The guard bundle of one sensor, compiled from the ledger, its group's profile and the marks' ranks on its devices."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flowguard.domain.bundle import PRODUCTION, PROFILES, Profile, compile_bundle
from flowguard.models import ObservationPoint, Sensor
from flowguard.queries.identities import identities
from policyhub.domain.identity import Identity
from policyhub.domain.qos import DscpMap


@dataclass(frozen=True, slots=True)
class Bundle:
    """body: canonical JSON, UTF-8. version: its ETag."""

    version: str
    body: bytes


def bundle_for(sensor: Sensor, *, maps: Iterable[DscpMap] = ()) -> Bundle:
    """maps: the DSCP maps of the devices behind the sensor's points; without them the rank of a mark is not known."""
    points = ObservationPoint.objects.filter(sensor=sensor).order_by("name").values_list("name", "realm__name")
    profile = PROFILES[sensor.group.profile] if sensor.group else PRODUCTION
    return _compiled(identities(), profile, tuple(points), tuple(service_rank(maps).items()))


def service_rank(maps: Iterable[DscpMap]) -> dict[int, int]:
    """Marks that every map serves alike. One that two hops rank differently has no one rank, so it is left out."""
    levels = [dict(known.level) for known in maps]
    if not levels:
        return {}
    alike = set(levels[0]).intersection(*levels)
    return {mark: levels[0][mark] for mark in sorted(alike) if len({level[mark] for level in levels}) == 1}


@lru_cache(maxsize=32)
def _compiled(
    ledger: tuple[Identity, ...], profile: Profile, points: tuple[tuple[str, str], ...], ranks: tuple[tuple[int, int], ...]
) -> Bundle:
    body = compile_bundle(ledger, profile=profile, points=dict(points), service_rank=dict(ranks))
    parsed: dict[str, Any] = json.loads(body)
    return Bundle(str(parsed["version"]), body)
