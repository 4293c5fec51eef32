"""What holds for every page alike."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver

from policyhub.conf import cli
from policyhub.models import DeviceGroup
from tests.console.conftest import person
from tests.support import sample_rows
from tests.support.pages import NOT_PAGES, pages
from tests.support.sample_rows import PASSWORD, Sample

NAMES = tuple(sorted(pages(sample_rows.Sample(*[type("Row", (), {"pk": 1, "sensor_id": 1})()] * 13))))  # type: ignore[arg-type]
INLINE = re.compile(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", re.IGNORECASE)
BUDGET = 28


def test_every_address_of_the_console_is_known_here() -> None:
    console = next(entry for entry in get_resolver().url_patterns if getattr(entry, "namespace", "") == "console")
    assert {entry.name for entry in console.url_patterns} == set(NAMES) | NOT_PAGES  # type: ignore[union-attr]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["en", pytest.param("zh-hans", marks=pytest.mark.once)])
def test_page_answers_in_both_languages_and_obeys_the_content_policy(rows: Sample, name: str, language: str) -> None:
    answer = person(rows.admin, language).get(pages(rows)[name])
    text = answer.content.decode()
    assert answer.status_code == 200
    assert f'lang="{language}"' in text
    assert not INLINE.search(text), INLINE.search(text)
    assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text
    assert ("首页" in text) == (language == "zh-hans")


@pytest.mark.once
@pytest.mark.parametrize("name", NAMES)
def test_page_sends_strangers_to_the_log_in_page(rows: Sample, name: str) -> None:
    answer = Client().get(pages(rows)[name])
    assert (answer.status_code, answer.headers["Location"].split("?")[0]) == (302, "/login/")


@pytest.mark.once
@pytest.mark.parametrize("name", sorted(set(NAMES) - {"home", "search", "about"}))
def test_page_says_which_permission_is_missing(rows: Sample, name: str) -> None:
    answer = person(User.objects.create_user("intern")).get(pages(rows)[name])
    assert answer.status_code == 403
    assert re.search(r"<code>(policyhub|flowguard)\.\w+_\w+</code>", answer.content.decode())


@pytest.mark.once
@pytest.mark.parametrize("name", NAMES)
def test_page_of_a_viewer_offers_no_act(rows: Sample, name: str) -> None:
    answer = person(rows.viewer).get(pages(rows)[name])
    forms = re.findall(
        r'<form[^>]*action="([^"]+)"[^>]*method="post"|<form[^>]*method="post"[^>]*action="([^"]+)"', answer.content.decode()
    )
    places = {one or two for one, two in forms}
    assert answer.status_code == 403 or places <= {
        "/language/",
        "/preferences/theme/",
        "/preferences/realm/",
        "/logout/",
        "/findings/acknowledge/",
    }


@pytest.mark.once
@pytest.mark.parametrize("name", NAMES)
def test_automatic_group_is_labelled_on_every_page(rows: Sample, admin: Client, name: str) -> None:
    assert "Automatic mode" in admin.get(pages(rows)[name]).content.decode()
    DeviceGroup.objects.update(mode="observe", is_sample=False)
    assert "Automatic mode" not in admin.get(pages(rows)[name]).content.decode()


def test_sample_network_that_only_observes_is_labelled_too(rows: Sample, admin: Client) -> None:
    DeviceGroup.objects.filter(is_sample=True).update(mode="observe")
    assert "sample network" in admin.get("/devices/").content.decode()


def queries(client: Client, url: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


def more(rows: Sample, numbers: range) -> None:
    now = rows.confirmed.created_at
    sensor = rows.verdict.sensor
    if numbers[-1] > 1:
        sample_rows.findings(rows.device, now, 50)
    for number in numbers:
        sample_rows.more_of_everything(rows, sensor, now, number)


@pytest.mark.once
def test_number_of_queries_does_not_grow_with_the_rows(rows: Sample, admin: Client) -> None:
    more(rows, range(1))  # two of each: what is compared needs both
    for url in pages(rows).values():
        admin.get(url)  # content types and the like are cached after the first
    few = {name: queries(admin, url) for name, url in pages(rows).items()}
    more(rows, range(1, 50))
    many = {name: queries(admin, url) for name, url in pages(rows).items()}
    assert {name: (count, many[name]) for name, count in few.items() if not many[name] <= count <= BUDGET} == {}


@pytest.mark.parametrize("url", ["/nothing", "/findings/999999/", "/traffic/999999/", "/changes/0/", "/devices/snapshots/7777/"])
def test_what_is_not_there_gets_the_designed_page(admin: Client, url: str) -> None:
    answer = admin.get(url)
    assert answer.status_code == 404
    assert "Nothing is here" in answer.content.decode()


def test_a_broken_page_says_what_is_safe(rows: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> None:
        raise RuntimeError("the inside")

    monkeypatch.setattr("policyhub.queries.findings.names", broken)
    client = person(rows.admin)
    client.raise_request_exception = False
    answer = client.get("/findings/")
    text = answer.content.decode()
    assert answer.status_code == 500
    assert "Devices are not touched" in text and "the inside" not in text


def write_to_a_full_disk(*args: object, **kwargs: object) -> None:
    with connection.wrap_database_errors, contextlib.closing(sqlite3.connect(":memory:")) as full:
        full.execute("PRAGMA max_page_count = 1")
        full.execute("CREATE TABLE t (x)")


@pytest.mark.once  # SQLite's own error; PostgreSQL's words are in the test below
def test_a_full_disk_is_named_to_people_and_programs_and_is_over_when_there_is_space(
    rows: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = person(rows.admin)
    client.raise_request_exception = False
    with monkeypatch.context() as patched:
        patched.setattr("policyhub.queries.findings.names", write_to_a_full_disk)
        patched.setattr("policyhub.api.views.FindingView.list", write_to_a_full_disk)
        page, program = client.get("/findings/"), client.get("/api/v1/findings")
    assert (page.status_code, page.headers["Retry-After"]) == (503, "10")
    assert "The disk is full" in page.content.decode() and "磁盘已满" in page.content.decode()
    assert (program.status_code, program.json()["code"]) == (503, "PH-A503") and "disk is full" in program.json()["message"]
    assert client.get("/findings/").status_code == 200


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OperationalError("database or disk is full"), "the disk is full (database or disk is full). Free some space"),
        (OperationalError('could not extend file "base/1": No space left on device\nHINT: x'), "the disk is full (could not"),
        (OSError(28, "No space left on device", "/x/y"), "the disk is full"),
        (OperationalError("no such table: x"), "database: no such table: x. Is the service set up"),
    ],
)
def test_commands_name_a_full_disk(error: Exception, line: str) -> None:
    code, told = cli._explain(error)
    assert code == 2 and told.startswith(line) and "\n" not in told


@pytest.mark.parametrize(
    "name", ["findings", "devices", "changes", "audit", "traffic", "identities", "guards", "enforcements", "sensors"]
)
def test_empty_list_says_what_to_do_and_never_shows_a_table(db: None, name: str) -> None:
    client = person(User.objects.create_superuser("first", password=PASSWORD))
    url = "/enforcements/" if name == "enforcements" else f"/{name}/"
    text = client.get(url).content.decode()
    assert 'class="empty"' in text and "<table" not in text


@pytest.mark.parametrize("name", ["findings", "devices", "traffic", "identities", "enforcements"])
def test_filter_that_fits_nothing_offers_to_clear_it(rows: Sample, admin: Client, name: str) -> None:
    url = "/enforcements/" if name == "enforcements" else f"/{name}/"
    text = admin.get(url, {"q": "no-such-thing"}).content.decode()
    assert "Clear the filter" in text
    assert 'value="no-such-thing"' in text


@pytest.mark.parametrize(
    "odd", ["severity=zz&status=zz&device=zz", "page=-3", "page=zz", "q=%00", "state=%22%3E%3Cscript%3E", "since=1000y"]
)
@pytest.mark.parametrize("name", ["findings", "devices", "changes", "audit", "traffic", "identities", "enforcements", "search"])
def test_odd_parameters_are_ignored(admin: Client, name: str, odd: str) -> None:
    url = "/enforcements/" if name == "enforcements" else f"/{name}/"
    answer = admin.get(f"{url}?{odd}")
    assert answer.status_code == 200
    assert "<script>" not in answer.content.decode()


def test_device_text_is_never_markup(rows: Sample, admin: Client) -> None:
    rows.finding.message = "<script>alert(1)</script>"
    rows.finding.rule = "<img src=x onerror=alert(1)>"
    rows.finding.save()
    rows.verdict.evidence = [{"text": "<b>bold</b>", "<i>": "</dl><b>bold"}]
    rows.verdict.business = "<b>algorithm</b>"
    rows.verdict.save()
    for name in ("findings", "findings-detail", "traffic", "traffic-detail", "home", "search"):
        text = admin.get(pages(rows)[name]).content.decode()
        assert "<script>" not in text and "<img" not in text and "<b>bold" not in text and "<b>algo" not in text, name
