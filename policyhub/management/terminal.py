"""What the commands share: the clock, the way out, a device by its name."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from policyhub.domain.errors import BadInput

if TYPE_CHECKING:
    from policyhub.models import Device


def now() -> datetime:
    return datetime.now(UTC)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def plain(text: str) -> str:
    """Without control characters: names come from files, and a terminal obeys escapes."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def device(name: str) -> Device:
    """Raises BadInput."""
    from policyhub.models import Device

    row = Device.objects.select_related("group", "realm", "collect_credential", "push_credential").filter(name=name).first()
    if row is None:
        raise BadInput(f"there is no device {name!r}. `policyhub device list` names them")
    return row
