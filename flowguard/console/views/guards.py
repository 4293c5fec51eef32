"""Guards (guards): the list, one of them, and proposing one for a device."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from flowguard.actions import guards as actions
from flowguard.console import pages_view
from flowguard.console.forms import GuardForm
from flowguard.models import Guard
from flowguard.queries import guards as queries
from policyhub.actions.configs import latest_config
from policyhub.console.frame import realm_of
from policyhub.console.views.base import page, paged, told
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.qos import PRIORITY_DSCP
from policyhub.models import Device


@page("flowguard.view_guard")
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "console/guards.html", {"page": paged(request, queries.guards(realm_of(request)))})


@page("flowguard.view_guard")
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    return render(request, "console/guard.html", pages_view.guard(get_object_or_404(queries.guard(pk))))


@page("flowguard.add_guard")
def propose(request: HttpRequest, pk: int) -> HttpResponse:
    """The form; then the device is read and the plan stands on the page of its change, for somebody else to approve."""
    device = get_object_or_404(Device.objects.select_related("group", "realm"), pk=pk)
    start = {"marks": [str(mark) for mark in sorted(PRIORITY_DSCP)], "target": device.group.target_dscp}
    known: Any = ()
    with told(request):
        config = latest_config(device)
        known = config.interfaces if config else ()
    form = GuardForm(request.POST or None, initial=start, known=known)
    context: dict[str, object] = {"device": device, "form": form}
    if request.method == "POST" and form.is_valid():
        try:
            guard = _propose(device, form.cleaned_data, cast(User, request.user))
        except (PolicyHubError, ValueError) as error:
            return render(request, "console/guard_propose.html", {**context, "error": str(error)}, status=422)
        return redirect("console:changes-detail", guard.install_change_id)
    return render(request, "console/guard_propose.html", context)


def _propose(device: Device, wish: dict[str, Any], user: User) -> Guard:
    rate = wish["rate_mbps"]
    return actions.propose(
        device=device,
        name=wish["name"],
        interfaces=wish["interfaces"],
        marks=[int(mark) for mark in wish["marks"]],
        target_dscp=wish["target"],
        rate_bps=None if rate is None else int(rate * 1_000_000),
        reason=wish["reason"],
        requested_by=user,
        now=timezone.now(),
    )
