"""Traffic, identities, sensors."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from flowguard.actions.identities import RemovesMuch, import_identities
from flowguard.console import pages_view, shape_view
from flowguard.console.forms import SINCE, IdentityFilterForm, IdentityUploadForm, VerdictFilterForm
from flowguard.models import Sensor
from flowguard.queries import identities_listing
from flowguard.queries import verdicts as verdict_queries
from flowguard.queries.verdicts import VerdictFilter
from policyhub.console.frame import realm_of
from policyhub.console.labels import error_said, said
from policyhub.console.views.base import page, paged
from policyhub.domain.errors import PolicyHubError


@page("flowguard.view_verdict")
def traffic(request: HttpRequest) -> HttpResponse:
    form = VerdictFilterForm(request.GET, names=verdict_queries.names())
    wish = form.wish()
    since = timezone.now() - SINCE[wish["since"]] if wish["since"] in SINCE else None
    rows = verdict_queries.verdicts(
        VerdictFilter(wish["severity"], wish["name"], wish["standing"], wish["q"], since, realm_of(request))
    )
    shown = paged(request, rows)
    pages_view.name_rewriters(list(shown.object_list))
    return render(request, "console/traffic.html", {"page": shown, "form": form})


@page("flowguard.view_verdict")
def verdict(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(verdict_queries.verdict(pk))
    return render(request, "console/verdict.html", pages_view.verdict(row))


@page("flowguard.view_identityentry")
def identities(request: HttpRequest) -> HttpResponse:
    form = IdentityFilterForm(request.GET)
    wish = form.wish()
    rows = identities_listing.entries(wish["q"], wish["core"], realm_of(request))
    return render(request, "console/identities.html", {"page": paged(request, rows), "form": form})


@page("flowguard.change_identityentry")
def upload(request: HttpRequest) -> HttpResponse:
    """First what would change, then the change; a file that cannot be read changes nothing."""
    form = IdentityUploadForm(request.POST or None, request.FILES or None)
    context: dict[str, object] = {"form": form}
    if request.method == "POST" and form.is_valid():
        text, name, sure = form.cleaned_data["text"], form.cleaned_data["name"], "import" in request.POST
        whole = "replace" in request.POST
        try:
            difference = import_identities(
                text=text, file=name, actor=request.user, now=timezone.now(), dry_run=not sure, replace=whole
            )
        except RemovesMuch as refused:  # the same page again; its banner says what has to be confirmed
            difference, sure = refused.difference, False
        except PolicyHubError as error:
            return render(request, "console/identities_upload.html", {**context, "error": error_said(error)}, status=422)
        if sure:
            messages.success(request, _("The ledger is as in %(file)s now.") % {"file": name})
            return redirect("console:identities")
        lines = [said(line.template, line.values) for line in difference.words()]
        context |= {
            "difference": difference,
            "lines": lines,
            "preview": IdentityUploadForm(initial={"text": text, "name": name}),
            "name": name,
        }
    return render(request, "console/identities_upload.html", context)


@page("flowguard.view_sensor")
def sensors(request: HttpRequest) -> HttpResponse:
    return render(request, "console/sensors.html", pages_view.sensors(timezone.now()))


@page("flowguard.view_sensor")
def sensor(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Sensor, pk=pk)
    return render(request, "console/sensor.html", shape_view.sensor(row))
