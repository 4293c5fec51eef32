"""What the queues and ports of one device counted."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from policyhub.actions.collect import can_collect
from policyhub.actions.counters import can_poll
from policyhub.console import counters_view
from policyhub.console.forms import CounterFilterForm
from policyhub.console.views.base import page
from policyhub.models import Device
from policyhub.queries import counters

PER_PAGE = 100


@page("policyhub.view_counterreading")
def index(request: HttpRequest, pk: int) -> HttpResponse:
    device = get_object_or_404(Device.objects.select_related("group"), pk=pk)
    form = CounterFilterForm(request.GET)
    wish = form.wish()
    seen = counters.counted(device)
    found = counters.fitting(seen.trends, text=wish["q"], only_trouble=wish["only"] == "trouble")
    kinds = counters_view.columns(found)
    shown = Paginator(counters_view.grouped(found), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "device": device,
        "form": form,
        "page": shown,
        "columns": [counters_view.TITLES[kind] for kind in kinds],
        "rows": [counters_view.row(trends, kinds) for trends in shown.object_list],
        "seen": seen,
        "troubled": sum(1 for trend in seen.trends if trend.is_trouble and trend.value),
        "reset_at": max((trend.reset_at for trend in seen.trends if trend.reset_at), default=None),
        "counts": can_poll(device),
        "reads": can_collect(device),
    }
    return render(request, "console/counters.html", context)
