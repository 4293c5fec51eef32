"""Log-in, theme and realm: what belongs to the reader, not to the network."""

from __future__ import annotations

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.views.decorators.http import require_POST

from policyhub.console.forms import LoginForm
from policyhub.console.frame import REALM_COOKIE, THEME_COOKIE, THEMES
from policyhub.console.views.base import page, way_back

YEAR_S = 365 * 86400

login = LoginView.as_view(template_name="console/login.html", authentication_form=LoginForm, redirect_authenticated_user=True)


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    wanted = request.POST.get("theme", "")
    return _remember(request, THEME_COOKIE, wanted if wanted in THEMES else "auto")


@require_POST
@page()
def realm(request: HttpRequest) -> HttpResponse:
    return _remember(request, REALM_COOKIE, request.POST.get("realm", "*")[:64])


def _remember(request: HttpRequest, cookie: str, value: str) -> HttpResponse:
    answer = HttpResponseRedirect(way_back(request, resolve_url("console:home")))
    answer.set_cookie(cookie, value, max_age=YEAR_S, samesite="Lax", secure=request.is_secure())
    return answer
