"""Enforcements (enforcements): the list, one from first packet to expiry, and taking it back."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from flowguard.actions import enforcement as actions
from flowguard.console import pages_view
from flowguard.console.forms import EnforcementFilterForm
from flowguard.models import Enforcement
from flowguard.queries import enforcement as queries
from flowguard.queries.enforcement import EnforcementFilter
from policyhub.console.forms import ReasonForm, told_errors
from policyhub.console.frame import realm_of
from policyhub.console.views.base import page, paged, told


@page("flowguard.view_enforcement")
def index(request: HttpRequest) -> HttpResponse:
    form = EnforcementFilterForm(request.GET)
    wish = form.wish()
    rows = queries.enforcements(EnforcementFilter(wish["state"], wish["q"], realm_of(request)))
    return render(request, "console/enforcements.html", {"page": paged(request, rows), "form": form})


@page("flowguard.view_enforcement")
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(queries.enforcement(pk))
    return render(request, "console/enforcement.html", pages_view.enforcement(request, row))


@require_POST
@page("flowguard.change_enforcement")
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    get_object_or_404(Enforcement, pk=pk)
    form = ReasonForm(request.POST, request=request)
    if form.is_valid():
        with told(request, _("Taking it back.")):
            actions.withdraw(
                enforcement_id=pk, actor=request.user.get_username(), reason=form.cleaned_data["reason"], now=timezone.now()
            )
    else:
        messages.error(request, told_errors(form))
    return redirect("console:enforcements-detail", pk)
