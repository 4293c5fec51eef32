"""What people can do from the pages, and what holds them back."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.core.cache import cache
from django.test import Client

from flowguard.models import IdentityEntry
from policyhub.console import reauth
from policyhub.models import AuditEntry, Change, Device, Finding, HostKey, KillSwitch
from tests.console.conftest import person
from tests.support.sample_rows import PASSWORD, Sample

HEADER = "prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps\n"


@pytest.fixture(autouse=True)
def _no_failures_remembered() -> None:
    cache.clear()


def approve(client: Client, change: Change, **fields: str) -> str:
    body = {"plan_sha256": change.plan_sha256, "password": PASSWORD, **fields}
    return client.post(f"/changes/{change.pk}/approve/", body, follow=True).content.decode()


def state(change: Change) -> str:
    return str(Change.objects.values_list("state", flat=True).get(pk=change.pk))


def test_approving_with_the_password_hands_the_change_to_a_worker(rows: Sample, admin: Client, redis_server: object) -> None:
    assert "A worker takes it from here" in approve(admin, rows.proposed)
    assert state(rows.proposed) == "approved"
    assert AuditEntry.objects.filter(action="change.approved", actor="admin").exists()


def test_password_managers_are_told_whose_password_it_is(rows: Sample, admin: Client) -> None:
    text = admin.get(f"/changes/{rows.proposed.pk}/").content.decode()
    assert f'value="{rows.admin.get_username()}" autocomplete="username"' in text
    assert text.index('autocomplete="username"') < text.index('autocomplete="current-password"')
    assert 'id="approve-password"' in text


def test_wrong_password_approves_nothing(rows: Sample, admin: Client) -> None:
    assert "not your password" in approve(admin, rows.proposed, password="guess")
    assert state(rows.proposed) == "proposed"


def test_plan_that_changed_since_it_was_read_is_not_approved(rows: Sample, admin: Client) -> None:
    assert "PH-E" in approve(admin, rows.proposed, plan_sha256="0" * 64)
    assert state(rows.proposed) == "proposed"


def test_requester_sees_why_he_cannot_approve_and_cannot(rows: Sample, admin: Client) -> None:
    Change.objects.filter(pk=rows.proposed.pk).update(requested_by=rows.admin)
    text = admin.get(f"/changes/{rows.proposed.pk}/").content.decode()
    assert "somebody else has to approve it" in text and "Approve and push" not in text
    approve(admin, rows.proposed)
    assert state(rows.proposed) == "proposed"


def test_viewer_cannot_approve_by_sending_the_form_himself(rows: Sample) -> None:
    client = person(rows.viewer)
    body = {"plan_sha256": rows.proposed.plan_sha256, "password": PASSWORD}
    assert client.post(f"/changes/{rows.proposed.pk}/approve/", body).status_code == 403
    assert state(rows.proposed) == "proposed"


def test_guessing_passwords_is_stopped_even_for_the_right_one(rows: Sample, admin: Client) -> None:
    for _ in range(reauth.TRIES):
        approve(admin, rows.proposed, password="guess")
    approve(admin, rows.proposed)
    assert state(rows.proposed) == "proposed"


def test_form_without_its_token_is_refused(rows: Sample) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(rows.admin)
    assert client.post(f"/changes/{rows.proposed.pk}/cancel/").status_code == 403
    assert state(rows.proposed) == "proposed"


@pytest.mark.parametrize("path", ["approve", "revert", "cancel"])
def test_looking_at_the_address_of_an_act_does_nothing(rows: Sample, admin: Client, path: str) -> None:
    assert admin.get(f"/changes/{rows.proposed.pk}/{path}/").status_code == 405


def test_cancelling_needs_no_password_since_nothing_leaves(rows: Sample, admin: Client) -> None:
    admin.post(f"/changes/{rows.proposed.pk}/cancel/")
    assert state(rows.proposed) == "cancelled"


def test_taking_a_confirmed_change_back_needs_reason_and_password(rows: Sample, admin: Client, redis_server: object) -> None:
    url = f"/changes/{rows.confirmed.pk}/revert/"
    admin.post(url, {"password": PASSWORD})
    assert state(rows.confirmed) == "confirmed"
    admin.post(url, {"password": PASSWORD, "reason": "wrong host"})
    assert state(rows.confirmed) == "reverting"


def test_act_that_no_longer_fits_is_told_on_the_page(rows: Sample, admin: Client) -> None:
    url = f"/changes/{rows.proposed.pk}/revert/"
    text = admin.post(url, {"password": PASSWORD, "reason": "x"}, follow=True).content.decode()
    assert "there is nothing to take back" in text


def test_withdrawing_a_enforcement_asks_the_worker_to_take_it_back(rows: Sample, admin: Client, redis_server: object) -> None:
    admin.post(f"/enforcements/{rows.enforcement.pk}/withdraw/", {"password": PASSWORD, "reason": "agreed with the owner"})
    assert rows.enforcement.events.filter(data__reason="agreed with the owner").exists()
    page = f"/enforcements/{rows.enforcement.pk}/"
    assert "admin took it back at <time" in admin.get(page).content.decode()
    admin.cookies["django_language"] = "zh-hans"
    assert "admin 已于 <time" in admin.get(page).content.decode()


def test_kill_switch_is_thrown_with_reason_and_released_again(rows: Sample, admin: Client) -> None:
    admin.post("/kill-switch/throw/", {"engage": "true", "scope": "", "reason": "odd pushes", "password": "guess"})
    assert not KillSwitch.objects.filter(scope="", engaged=True).exists()
    admin.post("/kill-switch/throw/", {"engage": "true", "scope": "", "reason": "odd pushes", "password": PASSWORD})
    assert KillSwitch.objects.filter(scope="", engaged=True, reason="odd pushes", changed_by="admin").exists()
    assert "no line leaves for any device" in admin.get("/traffic/").content.decode()
    admin.post("/kill-switch/throw/", {"engage": "", "scope": "", "reason": "found it", "password": PASSWORD})
    assert not KillSwitch.objects.filter(scope="", engaged=True).exists()


def test_host_key_is_trusted_and_revoked_from_the_device_page(rows: Sample, admin: Client) -> None:
    admin.post(f"/devices/host-keys/{rows.key.pk}/trust/")
    assert HostKey.objects.get(pk=rows.key.pk).state == "trusted"
    admin.post(f"/devices/host-keys/{rows.key.pk}/revoke/")
    assert HostKey.objects.get(pk=rows.key.pk).state == "revoked"


def test_quarantine_is_lifted_from_the_device_page(rows: Sample, admin: Client) -> None:
    device = Device.objects.exclude(quarantine_reason="").get()
    assert "Nothing is sent to this device" in admin.get(f"/devices/{device.pk}/").content.decode()
    admin.post(f"/devices/{device.pk}/release/")
    assert Device.objects.get(pk=device.pk).quarantine_reason == ""


def test_configuration_is_shown_with_its_secrets_masked(rows: Sample, admin: Client) -> None:
    text = admin.get(f"/devices/snapshots/{rows.snapshot.pk}/").content.decode()
    assert "hostname core-sw1" in text
    assert "s3cretword" not in text and "abcdefghijk" not in text


def test_configuration_whose_key_is_lost_says_so(rows: Sample, admin: Client) -> None:
    rows.snapshot.text_envelope = "v1.deadbeef.xxx"
    rows.snapshot.save()
    assert "PH-E050" in admin.get(f"/devices/snapshots/{rows.snapshot.pk}/").content.decode()


def test_selected_findings_are_acknowledged_and_the_filter_is_kept(rows: Sample, admin: Client) -> None:
    answer = admin.post("/findings/acknowledge/", {"finding": [rows.finding.pk, "x", ""], "next": "/findings/?severity=critical"})
    assert answer.headers["Location"] == "/findings/?severity=critical"
    assert Finding.objects.get(pk=rows.finding.pk).status == "acknowledged"
    assert Finding.objects.filter(status="new").exists()


@pytest.mark.parametrize("place", ["https://evil.example/", "//evil.example", "javascript:alert(1)", ""])
def test_no_form_sends_the_reader_off_this_site(rows: Sample, admin: Client, place: str) -> None:
    assert admin.post("/preferences/theme/", {"theme": "dark", "next": place}).headers["Location"] == "/"


def test_theme_and_realm_are_remembered(rows: Sample, admin: Client) -> None:
    admin.post("/preferences/theme/", {"theme": "dark"})
    admin.post("/preferences/realm/", {"realm": "site-b"})
    text = admin.get("/devices/").content.decode()
    assert 'data-theme="dark"' in text
    assert "fw-branch" in text and "core-sw1" not in text
    admin.post("/preferences/realm/", {"realm": "-"})
    assert "fw-branch" not in admin.get("/devices/").content.decode()


def csv(tmp_path: Path, text: bytes, name: str = "who.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text)
    return path


def upload(client: Client, path: Path) -> str:
    with path.open("rb") as file:
        return client.post("/identities/upload/", {"file": file}).content.decode()


def test_upload_shows_every_difference_before_it_changes_anything(rows: Sample, admin: Client, tmp_path: Path) -> None:
    body = HEADER + "10.10.8.0/24,algo,algorithm test,li.wei,non-core,0,21:00-06:00,2000\n10.9.0.0/16,new,新业务,,core,46,,\n"
    text = upload(admin, csv(tmp_path, body.encode()))
    assert "The file lacks 2 of the 3 entries" in text and 'name="replace"' in text
    assert "active_window 22:00-06:00 UTC to 21:00-06:00 UTC" in text  # hours without a zone are UTC's, and every page says so
    assert "+ 10.9.0.0/16 new" in text and "~ 10.10.8.0/24" in text and "- 10.20.0.0/16" in text
    assert IdentityEntry.objects.count() == 3
    again = admin.post("/identities/upload/", {"text": body, "name": "who.csv", "import": "1"}).content.decode()
    assert "The file lacks 2 of the 3 entries" in again and 'name="replace"' in again
    assert IdentityEntry.objects.count() == 3
    admin.post("/identities/upload/", {"text": body, "name": "who.csv", "import": "1", "replace": "1"})
    assert set(IdentityEntry.objects.values_list("prefix", flat=True)) == {"10.10.8.0/24", "10.9.0.0/16"}
    assert "<code>21:00-06:00 UTC</code>" in admin.get("/identities/").content.decode()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"prefix,wrong\n", "who.csv:1: missing column"),
        (HEADER.encode() + b"10.10.8.1/24,a,,,core,46,,\n", "who.csv:2:"),
        (HEADER.encode(), "holds no identity"),
        (b"\xff\xfe\x00\xff\xff\x80", "GB18030"),
        (b"", "empty"),
    ],
)
def test_file_with_a_mistake_names_the_line_and_changes_nothing(
    rows: Sample, admin: Client, tmp_path: Path, body: bytes, words: str
) -> None:
    assert words in upload(admin, csv(tmp_path, body))
    assert IdentityEntry.objects.count() == 3


def test_file_from_a_chinese_spreadsheet_is_read(rows: Sample, admin: Client, tmp_path: Path) -> None:
    body = HEADER + "10.9.0.0/16,新,算法测试,李伟,core,46,,\n"
    assert "新" in upload(admin, csv(tmp_path, body.encode("gb18030")))


def test_login_names_no_reason_and_stops_guessing(rows: Sample) -> None:
    client = Client()
    text = client.post("/login/", {"username": "nobody", "password": "x"}).content.decode()
    assert "Please enter a correct username and password" in text
    for _ in range(reauth.TRIES):
        client.post("/login/", {"username": "admin", "password": "x"})
    assert "Too many tries" in client.post("/login/", {"username": "admin", "password": PASSWORD}).content.decode()


def test_login_leads_to_the_page_that_was_wanted(rows: Sample) -> None:
    client = Client()
    answer = client.post("/login/?next=/devices/", {"username": "admin", "password": PASSWORD, "next": "/devices/"})
    assert answer.headers["Location"] == "/devices/"


def test_roles_separate_working_from_approving(rows: Sample) -> None:
    def held(group: str) -> set[str]:
        return set(Permission.objects.filter(group__name=group).values_list("codename", flat=True))

    assert "approve_change" in held("Approvers") and "approve_change" not in held("Operators")
    assert "push_change" in held("Operators")
    assert not {name for name in held("Viewers") if not name.startswith("view_")}
    assert "view_verdict" in held("Viewers") and "view_auditentry" not in held("Viewers")
