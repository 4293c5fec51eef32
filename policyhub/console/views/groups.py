"""Device groups (devices-groups): how far the service may go by itself on their devices."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from policyhub.actions import inventory
from policyhub.console.forms import GroupModeForm, told_errors
from policyhub.console.views.base import page, told
from policyhub.models import DeviceGroup
from policyhub.queries import listings


@page("policyhub.view_devicegroup")
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "console/groups.html", {"groups": listings.groups(), "modes": DeviceGroup.Mode.choices})


@require_POST
@page("policyhub.change_devicegroup")
def set_mode(request: HttpRequest, pk: int) -> HttpResponse:
    group = get_object_or_404(DeviceGroup, pk=pk)
    form = GroupModeForm(request.POST, request=request, group=group)
    if form.is_valid():
        wish = form.cleaned_data
        said = _("%(group)s: the mode is %(mode)s now.")
        values = {"group": group.name, "mode": DeviceGroup.Mode(wish["mode"]).label}
        with told(request, said % values):
            inventory.set_mode(group, wish["mode"], reason=wish["reason"], actor=request.user, now=timezone.now())
    else:
        messages.error(request, told_errors(form))
    return redirect("console:devices-groups")
