"""The guard bundle: identities and profile as the sensor's engine needs them (docs/architecture.md, section 1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policyhub.domain.identity import Identity
from policyhub.domain.qos import PRIORITY_DSCP

SCHEMA = "flowguard.bundle/1"


@dataclass(frozen=True, slots=True)
class Profile:
    """How much must be seen before anything is planned. persistence_ms is packet time."""

    name: str
    persistence_ms: int
    min_signals: int
    mode: str


LAB = Profile("lab", 1_000, 1, "auto")
PRODUCTION = Profile("production", 60_000, 2, "propose")
PROFILES = {profile.name: profile for profile in (LAB, PRODUCTION)}


def compile_bundle(
    identities: Iterable[Identity],
    *,
    profile: Profile = PRODUCTION,
    points: Mapping[str, str] | None = None,
    service_rank: Mapping[int, int] | None = None,
    priority_dscp: Iterable[int] = PRIORITY_DSCP,
    match_window_ms: int = 1_000,
) -> bytes:
    """Canonical JSON, UTF-8; equal input gives equal bytes. points: point name -> realm."""
    body = {
        "schema": SCHEMA,
        "identities": [_row(i) for i in sorted(identities, key=lambda i: (i.realm, i.prefix))],
        "priority_dscp": sorted(priority_dscp),
        "service_rank": {str(k): v for k, v in sorted((service_rank or {}).items())},
        "points": {name: {"realm": realm} for name, realm in sorted((points or {}).items())},
        "profile": {"name": profile.name, "persistence_ms": profile.persistence_ms, "min_signals": profile.min_signals},
        "match_window_ms": match_window_ms,
    }
    version = hashlib.sha256(_canonical(body)).hexdigest()
    return _canonical({**body, "version": version})


def _canonical(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _row(identity: Identity) -> dict[str, object]:
    return {
        "realm": identity.realm,
        "prefix": identity.prefix,
        "name": identity.name,
        "business": identity.business,
        "owner": identity.owner,
        "class": "core" if identity.core else "non-core",
        "allowed_dscp": None if identity.allowed_dscp is None else sorted(identity.allowed_dscp),
        "active_window": identity.active_window,
        "peak_mbps": identity.peak_mbps,
    }
