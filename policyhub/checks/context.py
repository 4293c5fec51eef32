"""What a check may look at besides its subject: the device, counters, seen traffic, and the thresholds of this run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar, cast

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.hits import HitEvent, HitSample, RuleUse
from policyhub.domain.identity import Identity
from policyhub.domain.rules import Policy
from policyhub.domain.rulespace import Coverage, coverage

DEFAULT_WINDOW_DAYS = 90
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Breadth:
    """When a permit counts as too wide; see `policyhub.checks.overbroad_rule` for the measure.

    any_service_addresses: with every service open, more destinations than this are too many (65,536 = a /16).
    max_bits: log2 of source addresses x destination addresses x services that is still acceptable.
    """

    any_service_addresses: int = 65_536
    max_bits: float = 52.0


@dataclass(slots=True)
class Context:
    """hits: samples of this device. counts_hits: the platform has counters at all.

    members: firewalls of a cluster that share these rules; each needs its own counters. window_days: how long a rule must be
    without hits. now: for expiry; None = unknown. seen: packets per (policy, rule) that captured traffic proves.
    identities: who is behind addresses, when given. events: what happened to counters. uses: what traffic logs show.
    """

    device: DeviceConfig
    hits: tuple[HitSample, ...] = ()
    counts_hits: bool = True
    members: int = 1
    window_days: int = DEFAULT_WINDOW_DAYS
    now: datetime | None = None
    breadth: Breadth = field(default_factory=Breadth)
    seen: Mapping[tuple[str, str], int] = field(default_factory=dict)
    identities: tuple[Identity, ...] = ()
    events: tuple[HitEvent, ...] = ()
    uses: tuple[RuleUse, ...] = ()
    _memory: dict[object, Any] = field(default_factory=dict)

    def coverage(self, policy: Policy) -> tuple[Coverage, ...]:
        """Computed once per policy, whichever checks ask."""
        return self.remember(("coverage", id(policy)), lambda: coverage(policy))

    def remember(self, key: object, make: Callable[[], Answer]) -> Answer:
        """What several checks of one run need is made once."""
        if key not in self._memory:
            self._memory[key] = make()
        return cast(Answer, self._memory[key])
