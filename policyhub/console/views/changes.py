"""Changes: the list, one of them like a pull request, and the three decisions a person can take."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from policyhub.actions import changes as actions
from policyhub.console import changes_view
from policyhub.console.forms import ApproveForm, ChangeFilterForm, ReasonForm, told_errors
from policyhub.console.frame import realm_of
from policyhub.console.views.base import page, paged, told
from policyhub.queries import listings
from policyhub.queries.listings import ChangeFilter


@page("policyhub.view_change")
def index(request: HttpRequest) -> HttpResponse:
    form = ChangeFilterForm(request.GET)
    wish = form.wish()
    rows = listings.changes(ChangeFilter(wish["state"], wish["device"] or None, realm_of(request)))
    return render(request, "console/changes.html", {"page": paged(request, rows), "form": form})


@page("policyhub.view_change")
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    change = get_object_or_404(listings.change(pk))
    return render(request, "console/change.html", changes_view.context(request, change))


@require_POST
@page("policyhub.approve_change")
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    change = get_object_or_404(listings.change(pk))
    form = ApproveForm(request.POST, request=request)
    if not form.is_valid():
        return _again(request, pk, form)
    with told(request, _("Approved. A worker takes it from here.")):
        actions.approve(
            change=change, approver=cast(User, request.user), plan_sha256=form.cleaned_data["plan_sha256"], now=timezone.now()
        )
    return redirect("console:changes-detail", pk)


@require_POST
@page("policyhub.push_change")
def revert(request: HttpRequest, pk: int) -> HttpResponse:
    get_object_or_404(listings.change(pk))
    form = ReasonForm(request.POST, request=request)
    if not form.is_valid():
        return _again(request, pk, form)
    with told(request, _("Taking it back.")):
        actions.revert(change_id=pk, actor=request.user.get_username(), reason=form.cleaned_data["reason"], now=timezone.now())
    return redirect("console:changes-detail", pk)


@require_POST
@page("policyhub.change_change")
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    get_object_or_404(listings.change(pk))
    with told(request, _("Cancelled. Nothing was sent.")):
        actions.cancel(change_id=pk, actor=request.user.get_username(), now=timezone.now())
    return redirect("console:changes-detail", pk)


def _again(request: HttpRequest, pk: int, form: ApproveForm | ReasonForm) -> HttpResponse:
    messages.error(request, told_errors(form))
    return redirect("console:changes-detail", pk)
