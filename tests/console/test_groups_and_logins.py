"""How far the service may go on its own, and with which login: set by people who may, with their password, audited."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.core.cache import cache
from django.test import Client

from policyhub.models import AuditEntry, Credential, Device, DeviceGroup
from tests.console.conftest import person
from tests.support.sample_rows import PASSWORD, Sample


@pytest.fixture(autouse=True)
def _no_failures_remembered() -> None:
    cache.clear()


def group(name: str = "campus") -> DeviceGroup:
    return DeviceGroup.objects.get(name=name)


def set_mode(client: Client, mode: str, **fields: str) -> str:
    body = {"mode": mode, "reason": "change 4711", "password": PASSWORD, **fields}
    answer = client.post(f"/devices/groups/{group().pk}/mode/", body, follow=True)
    return str(answer.status_code) if answer.status_code != 200 else answer.content.decode()


class TestMode:
    @pytest.mark.parametrize("mode", ["propose", "observe"])
    def test_is_set_with_a_reason_and_audited(self, rows: Sample, admin: Client, mode: str) -> None:
        DeviceGroup.objects.filter(name="campus").update(mode="auto")
        assert "the mode is" in set_mode(admin, mode)
        assert group().mode == mode
        entry = AuditEntry.objects.get(action="group.mode")
        told = {key: entry.data[key] for key in ("group", "was", "mode", "profile", "reason")}
        assert (entry.actor, told) == (
            "admin",
            {"group": "campus", "was": "auto", "mode": mode, "profile": "production", "reason": "change 4711"},
        )

    @pytest.mark.parametrize("confirm", ["", "camp", "sample", "CAMPUS"])
    def test_automatic_needs_the_name_of_the_group(self, rows: Sample, admin: Client, confirm: str) -> None:
        assert "Type the name of the group" in set_mode(admin, "auto", confirm=confirm)
        assert group().mode == "observe"
        assert not AuditEntry.objects.filter(action="group.mode").exists()

    def test_automatic_with_its_name_is_set_and_said_on_every_page(self, rows: Sample, admin: Client) -> None:
        text = set_mode(admin, "auto", confirm=" campus ")
        assert group().mode == "auto"
        assert "devices of the group <strong>campus</strong> are changed without asking" in text

    @pytest.mark.parametrize(
        ("fields", "words"),
        [({"password": "guess"}, "not your password"), ({"reason": ""}, "required"), ({"mode": "always"}, "valid choice")],
    )
    def test_nothing_is_set_without_password_reason_and_a_mode_that_exists(
        self, rows: Sample, admin: Client, fields: dict[str, str], words: str
    ) -> None:
        assert words in set_mode(admin, **{"mode": "propose", **fields})
        assert group().mode == "observe"

    def test_who_approves_may_set_it_and_who_looks_may_not(self, rows: Sample) -> None:
        assert set_mode(person(rows.viewer), "propose") == "403"
        assert "Change the mode" not in person(rows.viewer).get("/devices/groups/").content.decode()
        assert "the mode is" in set_mode(person(rows.approver), "propose")
        assert set(Permission.objects.filter(group__name="Operators", codename="change_devicegroup")) == set()

    def test_page_shows_each_group_with_its_devices_and_warns_of_the_lab_profile(self, rows: Sample, admin: Client) -> None:
        DeviceGroup.objects.filter(name="campus").update(profile="lab")
        text = admin.get("/devices/groups/").content.decode()
        assert text.count("one second and one signal") == 1  # the sample network is what the profile is for
        assert "/devices/?group=campus" in text
        assert (
            f'href="/devices/groups/#group-{rows.device.group_id}"' in admin.get(f"/devices/{rows.device.pk}/").content.decode()
        )


class TestLogin:
    def give(self, client: Client, device: Device, login: Credential, **fields: object) -> str:
        body = {"credential": login.pk, "password": PASSWORD, **fields}
        answer = client.post(f"/devices/{device.pk}/login/", body, follow=True)
        return str(answer.status_code) if answer.status_code != 200 else answer.content.decode()

    def test_purpose_says_which_of_the_two_it_becomes(self, rows: Sample, admin: Client) -> None:
        reader = Credential.objects.create(name="reads", username="ro", purpose="collect")
        assert "The login is set" in self.give(admin, rows.device, reader)
        device = Device.objects.get(pk=rows.device.pk)
        assert (device.collect_credential, device.push_credential) == (reader, rows.device.push_credential)
        entry = AuditEntry.objects.get(action="device.credential")
        assert (entry.actor, entry.data["credential"]) == ("admin", "reads")

    @pytest.mark.parametrize(
        ("fields", "words"), [({"password": "guess"}, "not your password"), ({"credential": 4711}, "Select a valid choice")]
    )
    def test_nothing_is_set_by_a_wrong_password_or_for_a_login_that_is_not_there(
        self, rows: Sample, admin: Client, fields: dict[str, object], words: str
    ) -> None:
        other = Credential.objects.create(name="other", username="x", purpose="push")
        assert words in self.give(admin, rows.device, other, **fields)
        assert Device.objects.get(pk=rows.device.pk).push_credential == rows.device.push_credential

    def test_who_may_not_touch_logins_sees_no_list_of_them(self, rows: Sample) -> None:
        other = Credential.objects.create(name="only-for-admins", username="x", purpose="push")
        assert self.give(person(rows.viewer), rows.device, other) == "403"
        assert "only-for-admins" not in person(rows.viewer).get(f"/devices/{rows.device.pk}/").content.decode()
