"""What policyhub itself puts into the console: navigation, panels, feeds, search, streams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from policyhub.console import labels, onboarding_view, registry
from policyhub.console.registry import (
    Alarm,
    Event,
    Feed,
    Headline,
    Hit,
    Line,
    NavEntry,
    Panel,
    Pulse,
    SearchGroup,
    Source,
    Stream,
)
from policyhub.models import ChangeEvent
from policyhub.queries import home, search

SYSTEM = "system"
NAVIGATION = (
    NavEntry("home", gettext_lazy("Home"), "console:home", "home", 10, shortcut="h"),
    NavEntry(
        "findings",
        gettext_lazy("Findings"),
        "console:findings",
        "findings",
        30,
        shortcut="f",
        permission="policyhub.view_finding",
    ),
    NavEntry(
        "changes", gettext_lazy("Changes"), "console:changes", "changes", 60, shortcut="c", permission="policyhub.view_change"
    ),
    NavEntry(
        "devices", gettext_lazy("Devices"), "console:devices", "devices", 70, shortcut="d", permission="policyhub.view_device"
    ),
    NavEntry("audit", gettext_lazy("Audit"), "console:audit", "audit", 20, SYSTEM, "a", "policyhub.view_auditentry"),
    NavEntry(
        "killswitch", gettext_lazy("Kill switch"), "console:killswitch", "stop", 30, SYSTEM, "k", "policyhub.view_killswitch"
    ),
    NavEntry("about", gettext_lazy("Help"), "console:about", "help", 40, SYSTEM),
)


def register() -> None:
    """Called once, when the console is first asked what it holds."""
    registry.navigation.register(*NAVIGATION)
    registry.panels.register(
        Panel("waiting", gettext_lazy("Waits for you"), "console/parts/panel_feed.html", _waiting_panel, 10),
        Panel("today", gettext_lazy("Done in the last 24 h"), "console/parts/panel_feed.html", _today_panel, 20),
        Panel(
            "findings",
            gettext_lazy("Open findings"),
            "console/parts/panel_findings.html",
            _findings,
            40,
            "policyhub.view_finding",
        ),
    )
    registry.feeds.register(Feed("changes", "today", _changes_today), Feed("policy", "waiting", _policy_waiting))
    registry.headlines.register(Source("stuck-changes", _stuck))
    registry.searches.register(
        SearchGroup("devices", gettext_lazy("Devices"), _find_devices, 10, "policyhub.view_device"),
        SearchGroup("findings", gettext_lazy("Findings"), _find_findings, 30, "policyhub.view_finding"),
        SearchGroup("changes", gettext_lazy("Changes"), _find_changes, 40, "policyhub.view_change"),
    )
    registry.streams.register(Stream("preflight", onboarding_view.events, "policyhub.view_device"))
    registry.streams.register(Stream("change", _change_events, "policyhub.view_change"), Stream("home", _home_events))
    registry.pulses.register(Pulse("policy", home.pulse))


def _feed(topic: str, now: datetime) -> list[Line]:
    lines = [line for feed in registry.feeds.all() if feed.topic == topic for line in feed.load(now)]
    newest_first = sorted(lines, key=lambda line: line.at or now, reverse=True)
    return sorted(newest_first, key=lambda line: labels.tone(line.state) != "bad") if topic == "waiting" else newest_first


def _waiting_panel(user: Any, now: datetime) -> dict[str, Any]:
    return {"lines": _feed("waiting", now)[:8], "empty": _("Nothing. Everything that could be decided is decided.")}


def _today_panel(user: Any, now: datetime) -> dict[str, Any]:
    return {"lines": _feed("today", now)[:8], "empty": _("Nothing was changed on any device.")}


def _findings(user: Any, now: datetime) -> dict[str, Any]:
    return {"standing": home.standing()}


def _changes_today(now: datetime) -> Iterable[Line]:
    for event in home.done_today(now):
        change = event.change
        label = _state_label(event)
        text = f"{labels.CHANGE_KIND.get(change.kind, change.kind)} · {change.device.name}"
        yield Line(event.at, text, reverse("console:changes-detail", args=[change.pk]), event.state, label)


def _state_label(event: ChangeEvent) -> str:
    return str(dict(type(event.change).State.choices).get(event.state, event.state))


def _policy_waiting(now: datetime) -> Iterable[Line]:
    rows = home.waiting()
    for change in (*rows.stuck, *rows.proposed):
        text = f"{labels.CHANGE_KIND.get(change.kind, change.kind)} · {change.device.name}"
        url = reverse("console:changes-detail", args=[change.pk])
        yield Line(change.created_at, text, url, change.state, change.get_state_display())
    for key in rows.keys:
        url = reverse("console:devices-detail", args=[key.device_id])
        yield Line(
            key.first_seen_at, _("Host key of %(device)s") % {"device": key.device.name}, url, "pending", _("to be checked")
        )
    for device in rows.quarantined:
        url = reverse("console:devices-detail", args=[device.pk])
        yield Line(None, f"{device.name}: {labels.quarantine(device.quarantine_reason)}", url, "broken", _("quarantined"))


def _stuck(now: datetime) -> Iterable[Headline]:
    for change in home.stuck():
        text = _("Change #%(number)d on %(device)s could not be taken back. A person is needed on the device.")
        url = reverse("console:changes-detail", args=[change.pk])
        values = {"number": change.pk, "device": change.device.name}
        yield Headline(
            Alarm.FIRE, text % values, url, _("Open the change"), note=labels.last_said(change.events.all()), weight=1e15
        )


def _find_devices(text: str, realm: str | None) -> list[Hit]:
    return [
        Hit(row.name, reverse("console:devices-detail", args=[row.pk]), f"{row.platform} {row.host}", "devices")
        for row in search.devices(text, realm)
    ]


def _find_findings(text: str, realm: str | None) -> list[Hit]:
    return [
        Hit(
            f"{labels.check_title(row.name)}: {row.policy} {row.rule}",
            reverse("console:findings-detail", args=[row.pk]),
            row.device.name,
            "findings",
        )
        for row in search.findings(text, realm, labels.checks_called(text))
    ]


def _find_changes(text: str, realm: str | None) -> list[Hit]:
    return [
        Hit(
            f"#{row.pk} {labels.CHANGE_KIND.get(row.kind, row.kind)} · {row.device.name}",
            reverse("console:changes-detail", args=[row.pk]),
            str(row.get_state_display()),
            "changes",
        )
        for row in search.changes(text, realm)
    ]


def _change_events(key: str, after: str) -> Sequence[Event]:
    if not (key.isdecimal() and len(key) < 18):
        return ()
    last = int(after) if after.isdecimal() and len(after) < 18 else 0
    rows = ChangeEvent.objects.filter(change_id=int(key), pk__gt=last).order_by("pk")[:100]
    return [Event(str(row.pk), "change", {"state": row.state}) for row in rows]


def _home_events(key: str, after: str) -> Sequence[Event]:
    now = "-".join(pulse.read() for pulse in registry.pulses.all())
    return [Event(now, "home")] if now != after else ()
