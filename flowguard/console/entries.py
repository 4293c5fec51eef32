"""What the traffic side puts into the console."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from flowguard.console import labels
from flowguard.console.headlines import headlines
from flowguard.models import Enforcement, EnforcementEvent
from flowguard.queries import enforcement, home, verdicts
from flowguard.queries.identities_listing import search as find_identities
from flowguard.queries.sensors import sensor_rows
from policyhub.console import registry
from policyhub.console.registry import DeviceAct, Event, Feed, Hit, Line, NavEntry, Panel, Pulse, SearchGroup, Source, Stream
from policyhub.models import ChangeEvent, Device
from policyhub.vendorkit.registry import REGISTRY

NAVIGATION = (
    NavEntry(
        "traffic", gettext_lazy("Traffic"), "console:traffic", "traffic", 20, shortcut="t", permission="flowguard.view_verdict"
    ),
    NavEntry(
        "identities",
        gettext_lazy("Identities"),
        "console:identities",
        "identities",
        40,
        "work",
        "i",
        "flowguard.view_identityentry",
    ),
    NavEntry(
        "enforcements",
        gettext_lazy("Enforcements"),
        "console:enforcements",
        "enforcements",
        50,
        "work",
        "e",
        "flowguard.view_enforcement",
    ),
    NavEntry("guards", gettext_lazy("Guards"), "console:guards", "guards", 55, shortcut="g", permission="flowguard.view_guard"),
    NavEntry("sensors", gettext_lazy("Sensors"), "console:sensors", "sensors", 10, "system", "s", "flowguard.view_sensor"),
)


def register() -> None:
    """Called once, when the console is first asked what it holds."""
    registry.navigation.register(*NAVIGATION)
    registry.panels.register(
        Panel("sensors", gettext_lazy("Sensors"), "console/parts/panel_sensors.html", _sensors, 30, "flowguard.view_sensor")
    )
    registry.feeds.register(Feed("enforcements", "today", _today), Feed("proposals", "waiting", _waiting))
    registry.headlines.register(Source("traffic", headlines))
    registry.searches.register(
        SearchGroup("verdicts", gettext_lazy("Traffic"), _find_verdicts, 20, "flowguard.view_verdict"),
        SearchGroup("identities", gettext_lazy("Identities"), _find_identities, 25, "flowguard.view_identityentry"),
        SearchGroup("enforcements", gettext_lazy("Enforcements"), _find_enforcements, 35, "flowguard.view_enforcement"),
    )
    registry.streams.register(Stream("enforcement", _enforcement_events, "flowguard.view_enforcement"))
    registry.pulses.register(Pulse("traffic", home.pulse))
    label = gettext_lazy("Propose a guard")
    registry.device_acts.register(
        DeviceAct("guard", label, "console:guards-propose", "guards", "flowguard.add_guard", _can_hold_a_guard)
    )


def _can_hold_a_guard(device: Device) -> bool:
    return bool(device.host) and device.platform in REGISTRY.names() and REGISTRY.get(device.platform).render is not None


def _sensors(user: Any, now: datetime) -> dict[str, Any]:
    return {"sensors": sensor_rows(now=now)}


def _today(now: datetime) -> Iterable[Line]:
    names = dict(Enforcement.State.choices)
    for event in home.done_today(now):
        row = event.enforcement
        place = f" · {row.guard.device.name}" if row.guard else ""
        url = reverse("console:enforcements-detail", args=[row.pk])
        yield Line(event.at, f"{row.member}{place}", url, event.state, names.get(event.state, event.state))


def _waiting(now: datetime) -> Iterable[Line]:
    for row in (*home.needs_person(), *home.waiting()):
        url = reverse("console:enforcements-detail", args=[row.pk])
        yield Line(
            row.created_at, _("Enforcement of %(member)s") % {"member": row.member}, url, row.state, row.get_state_display()
        )


def _find_verdicts(text: str, realm: str | None) -> list[Hit]:
    return [
        Hit(
            f"{labels.verdict_title(row.name)}: {row.src} → {row.dst}",
            reverse("console:traffic-detail", args=[row.pk]),
            row.business or row.identity_name,
            "traffic",
        )
        for row in verdicts.search(text, realm)
    ]


def _find_identities(text: str, realm: str | None) -> list[Hit]:
    return [
        Hit(f"{row.name} {row.prefix}", f"{reverse('console:identities')}?q={row.prefix}", row.business, "identities")
        for row in find_identities(text, realm)
    ]


def _find_enforcements(text: str, realm: str | None) -> list[Hit]:
    return [
        Hit(
            f"#{row.pk} {row.member}",
            reverse("console:enforcements-detail", args=[row.pk]),
            str(row.get_state_display()),
            "enforcements",
        )
        for row in enforcement.search(text, realm)
    ]


def _enforcement_events(key: str, after: str) -> Sequence[Event]:
    """Ids are `<last event of the enforcement>.<last event of its changes>`: both timelines stand on one page."""
    if not (key.isdecimal() and len(key) < 18):
        return ()
    own, of_changes = _marks(after)
    found = []
    for event in EnforcementEvent.objects.filter(enforcement_id=int(key), pk__gt=own).order_by("pk")[:100]:
        own = event.pk
        found.append(Event(f"{own}.{of_changes}", "enforcement", {"state": event.state}))
    changes = Enforcement.objects.filter(pk=int(key)).values_list("add_change_id", "remove_change_id").first() or ()
    for step in ChangeEvent.objects.filter(change_id__in=[pk for pk in changes if pk], pk__gt=of_changes).order_by("pk")[:100]:
        of_changes = step.pk
        found.append(Event(f"{own}.{of_changes}", "enforcement", {"state": step.state, "change": step.change_id}))
    return found


def _marks(after: str) -> tuple[int, int]:
    parts = [int(part) if part.isdecimal() and len(part) < 18 else 0 for part in after.split(".")[:2]]
    return parts[0], parts[1] if len(parts) > 1 else 0
