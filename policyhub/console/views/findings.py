"""Findings: the list, one of them, and saying that it was seen."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from policyhub.actions import findings as actions
from policyhub.console.forms import FindingFilterForm
from policyhub.console.frame import realm_of
from policyhub.console.labels import check_title, checks_called
from policyhub.console.views.base import page, paged, way_back
from policyhub.queries import findings as queries
from policyhub.queries.findings import FindingFilter
from policyhub.queries.listings import latest_sweep


@page("policyhub.view_finding")
def index(request: HttpRequest) -> HttpResponse:
    form = FindingFilterForm(request.GET, names=[(name, check_title(name)) for name in queries.names()])
    wish = form.wish()
    device, realm = wish["device"] or None, realm_of(request)
    rows = queries.findings(
        FindingFilter(wish["severity"], wish["name"], device, wish["status"], wish["q"], realm, checks_called(wish["q"]))
    )
    context = {
        "page": paged(request, rows),
        "form": form,
        "by_severity": queries.open_by_severity(),
        "unchecked": queries.unchecked(device, realm),
        "swept": latest_sweep() is not None,
    }
    return render(request, "console/findings.html", context)


@page("policyhub.view_finding")
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    return render(request, "console/finding.html", {"finding": get_object_or_404(queries.one(pk)), "now": timezone.now()})


@require_POST
@page("policyhub.change_finding")
def acknowledge(request: HttpRequest) -> HttpResponse:
    chosen = [int(pk) for pk in request.POST.getlist("finding") if pk.isdecimal() and len(pk) < 18]
    count = actions.acknowledge(finding_ids=chosen, actor=request.user, now=timezone.now())
    messages.success(request, _("Acknowledged: %(count)d") % {"count": count})
    return redirect(way_back(request, "console:findings"))
