"""The audit chain, the kill switch, help and the pages for errors."""

from __future__ import annotations

import sys

from django.contrib import messages
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_POST

from policyhub.actions import audit as audit_actions
from policyhub.actions import kill_switch as kill_actions
from policyhub.console.forms import AuditFilterForm, KillSwitchForm, told_errors
from policyhub.console.views.base import page, paged
from policyhub.domain.errors import is_full
from policyhub.models import DeviceGroup, KillSwitch
from policyhub.queries import listings

FOR_PROGRAMS = {
    "full": gettext_noop("The service's disk is full; nothing was stored. Free some space, then send it again."),
    "away": gettext_noop("The database cannot take it now; nothing was stored. Send it again."),
    "": gettext_noop("Something broke on our side. Look into the log of the web process."),
}


@page("policyhub.view_auditentry")
def audit(request: HttpRequest) -> HttpResponse:
    form = AuditFilterForm(request.GET)
    wish = form.wish()
    rows = listings.audit(wish["actor"], wish["action"])
    return render(request, "console/audit.html", {"page": paged(request, rows), "form": form})


@require_POST
@page("policyhub.view_auditentry")
def verify_audit(request: HttpRequest) -> HttpResponse:
    report = audit_actions.verify()
    if report.broken:
        values = {"row": report.broken.sequence, "reason": report.broken.said.read(_)}
        messages.error(request, _("The chain is broken at row %(row)d: %(reason)s.") % values)
    else:
        values = {"count": report.entries, "head": report.head[:16]}
        messages.success(request, _("The chain is whole: %(count)d rows, head %(head)s…") % values)
    return redirect("console:audit")


@page("policyhub.view_killswitch")
def kill_switch(request: HttpRequest) -> HttpResponse:
    known = {row.scope: row for row in KillSwitch.objects.all()}
    scopes = ["", *DeviceGroup.objects.order_by("name").values_list("name", flat=True)]
    rows = [(scope, known.get(scope)) for scope in scopes]
    context = {
        "rows": rows,
        "by_file": kill_actions.engaged() and not (known.get("") and known[""].engaged),
        "form": KillSwitchForm(request=request),
    }
    return render(request, "console/kill_switch.html", context)


@require_POST
@page("policyhub.change_killswitch")
def throw_kill_switch(request: HttpRequest) -> HttpResponse:
    form = KillSwitchForm(request.POST, request=request)
    if not form.is_valid():
        messages.error(request, told_errors(form))
        return redirect("console:killswitch")
    wish = form.cleaned_data
    act = kill_actions.engage if wish["engage"] else kill_actions.release
    act(scope=wish["scope"], actor=request.user, reason=wish["reason"], now=timezone.now())
    messages.success(request, _("Stopped: no line leaves.") if wish["engage"] else _("Released."))
    return redirect("console:killswitch")


@page()
def about(request: HttpRequest) -> HttpResponse:
    return render(request, "console/about.html")


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "console/error.html", {"status": 400}, status=400)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    missing = str(exception) if exception and "." in str(exception) and " " not in str(exception) else ""
    return render(request, "console/error.html", {"status": 403, "missing": missing}, status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "console/error.html", {"status": 404}, status=404)


def broken(request: HttpRequest) -> HttpResponse:
    """No database, no user, no frame: whatever failed may fail again. A disk or database that cannot now is 503: it may soon."""
    error = sys.exc_info()[1]
    full, away = is_full(error), isinstance(error, OperationalError | InterfaceError)
    status, why = (503, "full" if full else "away") if full or away else (500, "")
    if request.path.startswith("/api/"):
        response: HttpResponse = JsonResponse(
            {"code": f"PH-A{status}", "message": _(FOR_PROGRAMS[why]), "data": {}}, status=status
        )
    else:
        response = render(None, "console/500.html", {"status": status, "why": why}, status=status)
    if status == 503:
        response["Retry-After"] = "10"
    return response
