"""Bringing devices in: an inventory with its preview, preflights with steps and cures, what changed between readings."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from policyhub.actions import configs, preflights, wishes
from policyhub.console.diff import side_by_side
from policyhub.console.forms import InventoryApplyForm, InventoryUploadForm, PreflightForm, told_errors
from policyhub.console.onboarding_view import preview_rows, progress, result_rows
from policyhub.console.views.base import page, paged, told
from policyhub.domain.errors import BadInput, PolicyHubError
from policyhub.models import Device, Preflight, PreflightResult
from policyhub.queries import listings, snapshots

IMPORTED = "console/devices_import.html"


@page("policyhub.change_credential")
def upload(request: HttpRequest) -> HttpResponse:
    """First what would change, then the change. Devices get credentials by it, so who may do it may change those."""
    if "import" in request.POST:
        return _import(request)
    form = InventoryUploadForm(request.POST or None, request.FILES or None)
    if request.method != "POST" or not form.is_valid():
        return render(request, IMPORTED, {"form": form})
    return _preview(request, form.cleaned_data["text"], form.cleaned_data["name"])


def _preview(request: HttpRequest, text: str, name: str, wrong: InventoryApplyForm | None = None) -> HttpResponse:
    context: dict[str, object] = {"form": InventoryUploadForm(), "name": name}
    try:
        rows = wishes.preview(text, name)
    except PolicyHubError as error:
        return render(request, IMPORTED, {**context, "error": error}, status=422)
    given = InventoryApplyForm(initial={"text": text, "name": name}, request=request)
    context |= {**preview_rows(rows), "apply": given, "wrong": told_errors(wrong) if wrong else ""}
    return render(request, IMPORTED, context)


def _import(request: HttpRequest) -> HttpResponse:
    form = InventoryApplyForm(request.POST, request=request)
    text, name = request.POST.get("text", ""), request.POST.get("name", "")[:200]
    if not form.is_valid():
        return _preview(request, text, name, form)
    with told(request):
        rows = wishes.preview(text, name)
        count = wishes.apply(rows, file=name, actor=request.user, now=timezone.now())
        bad = sum(row.what == "bad" for row in rows)
        messages.success(request, _("%(count)d devices written, %(bad)d rows left out.") % {"count": count, "bad": bad})
    return redirect("console:devices-preflights")


@page("policyhub.view_device")
def index(request: HttpRequest) -> HttpResponse:
    rows = listings.preflights()
    return render(request, "console/preflights.html", {"page": paged(request, rows), "form": PreflightForm()})


@require_POST
@page("policyhub.change_device")
def start(request: HttpRequest) -> HttpResponse:
    form = PreflightForm(request.POST)
    if not form.is_valid():  # a number that is none must not mean every device
        messages.error(request, told_errors(form))
        return redirect("console:devices-preflights")
    try:
        devices = list(listings.examinable(only=form.cleaned_data["device"]))
        collecting = form.cleaned_data["collect"]
        run = preflights.start(devices, collecting=collecting, queue=True, actor=request.user, now=timezone.now())
    except PolicyHubError as error:
        messages.error(request, str(error))
        return redirect("console:devices-preflights")
    return redirect("console:devices-preflights-detail", run.pk)


@page("policyhub.view_device")
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Preflight, pk=pk)
    found = paged(request, PreflightResult.objects.filter(preflight=run).select_related("device").order_by("device__name"))
    context = {"run": run, "page": found, "rows": result_rows(found.object_list), **progress(run)}
    return render(request, "console/preflight.html", context)


@require_POST
@page("policyhub.change_device")
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    with told(request, _("Cancelled. What runs ends at its next command.")):
        preflights.cancel(preflight_id=pk, actor=request.user, now=timezone.now())
    return redirect("console:devices-preflights-detail", pk)


@page("policyhub.view_configsnapshot")
def diff(request: HttpRequest, pk: int) -> HttpResponse:
    """`?older=12&newer=15`; without them the last two different readings."""
    device = get_object_or_404(Device, pk=pk)
    context: dict[str, object] = {"device": device, "snapshots": list(snapshots.versions(device.snapshots.all())[:50])}
    asked = _number(request, "older"), _number(request, "newer")
    with told(request):
        try:
            older, newer = snapshots.pair(device, *asked)
        except BadInput:
            if any(asked):
                raise
            return render(request, "console/device_diff.html", context | {"alone": True})
        context |= {"older": older, "newer": newer, "diff": side_by_side(configs.shown(older), configs.shown(newer))}
    return render(request, "console/device_diff.html", context)


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    if text and not (text.isascii() and text.isdecimal() and len(text) < 18):
        raise Http404
    return int(text) if text else None
