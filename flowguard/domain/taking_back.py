"""What a person said who ended an enforcement: automatic mode does not say the opposite before that has been slept on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from policyhub.domain.message import gettext_noop

ASKED_BACK = gettext_noop("%(actor)s asks to take it back: %(reason)s")
DECLINED = gettext_noop("declined by %(actor)s")
WITHDRAWN = gettext_noop("withdrawn by %(actor)s before anything was planned")
ENDED_BY = (ASKED_BACK, DECLINED, WITHDRAWN)
SYSTEM = "system"  # the actor where no person asked


@dataclass(frozen=True, slots=True)
class TakenBack:
    """who: the person. until: as long as an enforcement of that device group lives, nothing is added again without a person."""

    who: str
    at: datetime
    until: datetime
