"""Home: what is on fire, how bad, whose, what next."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from policyhub.console import registry
from policyhub.console.views.base import page


@page()
def home(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    told = [line for source in registry.headlines.all() for line in source.load(now)]
    told.sort(key=lambda line: (-line.alarm, -line.weight))
    allowed = [p for p in registry.panels.all() if not p.permission or request.user.has_perm(p.permission)]
    panels = [(panel, panel.load(request.user, now)) for panel in allowed]
    return render(
        request, "console/home.html", {"first": told[0] if told else None, "others": told[1:5], "panels": panels, "now": now}
    )
