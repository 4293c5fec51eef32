"""Devices: the list, one of them, its configuration with secrets masked, and its host keys."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from policyhub.actions import inventory
from policyhub.actions.secrets import redact, unseal
from policyhub.console import registry, rules_view
from policyhub.console.forms import DeviceFilterForm, DeviceLoginForm, told_errors
from policyhub.console.frame import realm_of
from policyhub.console.views.base import page, paged, told
from policyhub.models import ConfigSnapshot, Device, HostKey
from policyhub.queries import listings
from policyhub.queries.listings import DeviceFilter


@page("policyhub.view_device")
def index(request: HttpRequest) -> HttpResponse:
    form = DeviceFilterForm(request.GET)
    wish = form.wish()
    rows = listings.devices(DeviceFilter(wish["q"], wish["group"], wish["state"], realm_of(request)))
    return render(request, "console/devices.html", {"page": paged(request, rows), "form": form})


@page("policyhub.view_device")
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    device = get_object_or_404(listings.device(pk))
    may, acts = request.user.has_perm, registry.device_acts.all()
    context = {
        "device": device,
        "read_at": device.snapshots.aggregate(at=Max("taken_at"))["at"],
        "acts": [(act, reverse(act.url_name, args=[pk])) for act in acts if may(act.permission) and act.fits(device)],
        "login_form": DeviceLoginForm(request=request) if may("policyhub.change_credential") else None,
    }
    return render(request, "console/device.html", context)


@page("policyhub.view_configsnapshot")
def snapshot(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(ConfigSnapshot.objects.select_related("device"), pk=pk)
    lines: list[str] = []
    with told(request):
        lines = redact(unseal(row.text_envelope)).splitlines()
    return render(request, "console/snapshot.html", {"snapshot": row, "lines": lines})


@require_POST
@page("policyhub.change_hostkey")
def decide_key(request: HttpRequest, pk: int, decision: str) -> HttpResponse:
    key = get_object_or_404(HostKey.objects.select_related("device"), pk=pk)
    act = inventory.trust_host_key if decision == "trust" else inventory.revoke_host_key
    with told(request, _("Host key trusted.") if decision == "trust" else _("Host key revoked.")):
        act(host_key=key, actor=request.user, now=timezone.now())
    return redirect("console:devices-detail", key.device_id)


@require_POST
@page("policyhub.change_device")
def release(request: HttpRequest, pk: int) -> HttpResponse:
    device = get_object_or_404(Device, pk=pk)
    with told(request, _("The quarantine is lifted.")):
        inventory.release(device, actor=request.user, now=timezone.now())
    return redirect("console:devices-detail", pk)


@require_POST
@page("policyhub.change_credential")
def give_login(request: HttpRequest, pk: int) -> HttpResponse:
    device = get_object_or_404(Device, pk=pk)
    form = DeviceLoginForm(request.POST, request=request)
    if form.is_valid():
        with told(request, _("The login is set.")):
            inventory.give_credential(device, form.cleaned_data["credential"], actor=request.user, now=timezone.now())
    else:
        messages.error(request, told_errors(form))
    return redirect("console:devices-detail", pk)


@page("policyhub.view_configsnapshot")
def rules(request: HttpRequest, pk: int) -> HttpResponse:
    device = get_object_or_404(listings.device(pk))
    snapshot = device.snapshots.first()
    context: dict[str, object] = {"device": device, "snapshot": snapshot}
    with told(request):
        if snapshot is not None:
            config, rows = rules_view.rows(device, snapshot, listings.open_findings(device))
            context |= {"config": config, "page": Paginator(rows, 200).get_page(request.GET.get("page"))}
    return render(request, "console/rules.html", context)
