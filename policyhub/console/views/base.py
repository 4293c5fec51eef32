"""What all pages share: who may see them, paging, and how an action's refusal is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.http import url_has_allowed_host_and_scheme

from policyhub.console.labels import error_said
from policyhub.domain.errors import PolicyHubError

PER_PAGE = 50
View = Callable[..., HttpResponse]
Row = TypeVar("Row", bound=Model)


def page(permission: str = "") -> Callable[[View], View]:
    """For people who are logged in and, where a permission is named, hold it; others get the log-in page or the 403 page."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if permission and not request.user.has_perm(permission):
                raise PermissionDenied(permission)
            return view(request, *args, **kwargs)

        return login_required(guarded)

    return decorate


def paged(request: HttpRequest, rows: QuerySet[Row], per_page: int = PER_PAGE) -> Page[Row]:
    """The page asked for; a number that makes no sense gives the nearest page."""
    return Paginator(rows, per_page).get_page(request.GET.get("page"))


@contextmanager
def told(request: HttpRequest, success: Any = "") -> Iterator[None]:
    """Turns an action's refusal into a message on the next page instead of an error page."""
    try:
        yield
    except PolicyHubError as error:
        messages.error(request, error_said(error))
    else:
        if success:
            messages.success(request, success)


def way_back(request: HttpRequest, default: str) -> str:
    """Where `next` of the form points, if it is a place of this site."""
    wanted = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    return wanted if safe and urlsplit(wanted).path else default
