"""Devices come in through the console as through the command: first what would change, then, with the password, the change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from policyhub.actions import configs, preflights
from policyhub.console.onboarding_view import events
from policyhub.models import Device, Preflight, PreflightResult
from tests.console.conftest import person
from tests.support.sample_rows import PASSWORD, Sample

NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
TEXT = "name,platform,host,site\nnew-1,detect,192.0.2.8,campus\nbad-1,cisco_iso,192.0.2.9,campus\n"


@pytest.fixture(autouse=True)
def _no_failures_remembered() -> None:
    cache.clear()


def upload(client: Client, text: str = TEXT) -> Any:
    return client.post("/devices/import/", {"file": SimpleUploadedFile("all.csv", text.encode())})


def apply(client: Client, password: str, text: str = TEXT) -> Any:
    return client.post("/devices/import/", {"import": "1", "text": text, "name": "all.csv", "password": password}, follow=True)


def test_upload_shows_what_would_change_and_writes_nothing(admin: Client) -> None:
    text = upload(admin).content.decode()
    assert "new-1" in text and "192.0.2.8" in text and "cisco_iso" in text and "is not known" in text
    assert not Device.objects.filter(name="new-1").exists()
    assert upload(admin, "colour\nred\n").status_code == 422


def test_import_needs_the_password_and_leaves_bad_rows_out(admin: Client) -> None:
    assert "not your password" in apply(admin, "wrong").content.decode()
    assert not Device.objects.filter(name="new-1").exists()
    assert "1 devices written, 1 rows left out" in apply(admin, PASSWORD).content.decode()
    assert Device.objects.get(name="new-1").platform == "detect" and not Device.objects.filter(name="bad-1").exists()


@pytest.mark.once
def test_who_may_not_change_credentials_may_not_import(rows: Sample) -> None:
    assert person(rows.viewer).get("/devices/import/").status_code == 403
    assert apply(person(rows.viewer), PASSWORD).status_code == 403


def test_preflight_is_begun_shown_with_its_cure_and_cancelled(rows: Sample, admin: Client, dispatched: list[Any]) -> None:
    before = Preflight.objects.count()
    text = admin.post("/devices/preflights/start/", {"collect": "1"}, follow=True).content.decode()
    run = Preflight.objects.latest("pk")
    assert Preflight.objects.count() == before + 1 and run.collect and run.queued
    assert run.results.count() == Device.objects.filter(enabled=True).exclude(host="").count() > 0
    assert f"0 of {run.results.count()} done" in text and "data-events" in text
    address = f"/devices/preflights/{run.pk}/"
    first = events(str(run.pk), "")[0]
    assert events(str(run.pk), first.id) == ()
    result = run.results.first()
    assert result is not None
    preflights.run_one(result_id=result.pk, clock=lambda: NOW)
    assert events(str(run.pk), first.id) != ()
    admin.post(f"{address}cancel/")
    run.refresh_from_db()
    assert run.state == "cancelled" and not run.results.filter(state=PreflightResult.State.WAITING).exists()
    assert "not running" in admin.post(f"{address}cancel/", follow=True).content.decode()


@pytest.mark.once
def test_cures_are_read_in_the_readers_language(rows: Sample) -> None:
    text = person(rows.admin, "zh-hans").get(f"/devices/preflights/{rows.preflight.pk}/").content.decode()
    assert "检查地址、端口" in text and "可达: 失败" in text


def test_one_device_can_be_looked_at_by_itself(rows: Sample, admin: Client, dispatched: list[Any]) -> None:
    admin.post("/devices/preflights/start/", {"device": str(rows.device.pk)})
    assert [row.device_id for row in Preflight.objects.latest("pk").results.all()] == [rows.device.pk]
    before = Preflight.objects.count()
    for nobody in ("x", "0", "999999", "1\x00"):
        assert admin.post("/devices/preflights/start/", {"device": nobody}).status_code == 302
    assert Preflight.objects.count() == before, "a number that is none is not every device"


def test_what_changed_is_shown_with_who_and_when_and_masked(rows: Sample, admin: Client) -> None:
    device = Device.objects.create(name="d1", realm=rows.device.realm, group=rows.device.group, platform="cisco_ios")
    assert "no two different" in admin.get(f"/devices/{device.pk}/diff/").content.decode()
    before = "hostname a\nusername x password 0 Horse-12345\nntp server 192.0.2.1\n"
    for number, text in enumerate((before, before.replace("192.0.2.1", "192.0.2.2").replace("Horse", "Battery"))):
        configs.store(device=device, text=text, source="upload", actor=f"person{number}", now=NOW + timedelta(hours=number))
    text = admin.get(f"/devices/{device.pk}/diff/").content.decode()
    assert "ntp server 192.0.2.1" in text and "ntp server 192.0.2.2" in text and "person0" in text and "person1" in text
    assert "-12345" not in text
    assert admin.get(f"/devices/{device.pk}/diff/?older=x").status_code == 404
