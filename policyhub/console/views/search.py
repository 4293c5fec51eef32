"""Global search."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from policyhub.console import registry
from policyhub.console.frame import realm_of
from policyhub.console.views.base import page


@page()
def search(request: HttpRequest) -> HttpResponse:
    text = request.GET.get("q", "").replace("\0", "").strip()[:100]
    allowed = [g for g in registry.searches.all() if not g.permission or request.user.has_perm(g.permission)]
    found = [(group, group.find(text, realm_of(request))) for group in allowed] if len(text) > 1 or text.isdecimal() else []
    groups = [(group, hits) for group, hits in found if hits]
    return render(request, "console/search.html", {"text": text, "groups": groups})
