"""Every door of the service, tried by somebody who may do nothing and by somebody who may only look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver

from tests.console.conftest import person
from tests.support.sample_rows import Sample

# For everybody who is logged in, or for everybody.
OPEN = {"", "events", "login/", "logout/", "search/", "about/", "language/", "preferences/theme/", "preferences/realm/",
        "healthz", "readyz", "api/schema", "api/docs", "admin/login/", "admin/logout/", "admin/jsi18n/"}  # fmt: skip
WRITES = re.compile(r'(?:INSERT INTO|UPDATE|DELETE FROM) "(?!django_session)(\w+)"')
VALUES = {
    "pk": "1",
    "object_id": "1",
    "sensor": "core-1",
    "decision": "trust",
    "app_label": "policyhub",
    "content_type_id": "1",
    "url": "x",
}


def doors(patterns: list[Any], before: str = "") -> Iterator[tuple[str, str]]:
    """The pattern of every address, and the address with rows that exist."""
    for entry in patterns:
        here = before + re.sub(r"\(\?P<(\w+)>[^)]*\)+", r"<\1>", str(entry.pattern)).replace("^", "").replace("$", "")
        here = re.sub(r"\\(.)", r"\1", here).removesuffix("\\Z")
        if isinstance(entry, URLResolver):
            yield from doors(entry.url_patterns, here)
        elif isinstance(entry, URLPattern) and "<format>" not in here and "<path:" not in here and "<url>" not in here:
            yield here, "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: VALUES.get(found[1], "1"), here)


def tried(*methods: str) -> Iterator[tuple[str, str]]:
    """(method, address) of every door that is not open; the API's and no others know the rarer methods."""
    for door, url in doors(get_resolver().url_patterns):
        rarer = ("put", "delete") if door.startswith("api/") else ()
        for method in (*methods, *rarer) if door not in OPEN else ():
            yield method, url


def writes(client: Any, method: str, url: str) -> tuple[int, list[str]]:
    """Status, and the tables that were written to."""
    with CaptureQueriesContext(connection) as captured:
        status = getattr(client, method)(url).status_code
    return status, [found[1] for query in captured if (found := WRITES.match(query["sql"]))]


@pytest.mark.once
def test_who_holds_no_permission_gets_nothing_and_changes_nothing(rows: Sample) -> None:
    client = person(User.objects.create_user("intern"))
    client.raise_request_exception = False
    seen = 0
    for method, url in tried("get", "post"):
        status, written = writes(client, method, url)
        assert (status == 302 or 401 <= status <= 405) and not written, (method, url, status, written)
        seen += 1
    assert seen > 250, "the walk finds the doors"


@pytest.mark.once
def test_who_may_look_changes_nothing(rows: Sample) -> None:
    client = person(rows.viewer)
    client.raise_request_exception = False
    for method, url in tried("post"):
        status, written = writes(client, method, url)
        assert status < 500 and not written, (method, url, status, written)
