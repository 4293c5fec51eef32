"""Proposing a guard from the console: the form, the plan with what it is expected to change, and who may not approve it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.test import Client

from flowguard.models import Guard
from policyhub import dispatch
from policyhub.actions import collect
from policyhub.console.diff import expected
from policyhub.models import AuditEntry, Change, Device
from tests.console.conftest import person
from tests.support.devices import Bench, simulated
from tests.support.sample_rows import PASSWORD, Sample

PORT = "GigabitEthernet1/0/1"


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(dispatch, "on_commit", lambda task, *ids: None)


@pytest.fixture
def bench(db: None) -> Iterator[Bench]:
    with simulated("cisco_ios") as one:
        yield one


def member_of(group: str, name: str) -> User:
    user = User.objects.create_user(name, password=PASSWORD)
    user.groups.add(Group.objects.get(name="Viewers"), Group.objects.get(name=group))
    return user


@pytest.fixture
def operator(db: None) -> User:
    return member_of("Operators", "olga")


def wish(**changed: object) -> dict[str, object]:
    return {"name": "edge", "others": PORT, "marks": ["40", "46"], "target": "0", "reason": "window 12", **changed}


def send(client: Client, bench: Bench, **changed: object) -> object:
    return client.post(f"/devices/{bench.row.pk}/guard/", wish(**changed))


def test_plan_stands_on_the_page_of_its_change_and_waits_for_somebody_else(bench: Bench, operator: User) -> None:
    client = person(operator)
    answer = send(client, bench)
    change = Change.objects.get()
    assert answer.headers["Location"] == f"/changes/{change.pk}/"  # type: ignore[attr-defined]
    assert (change.state, change.requested_by, change.actor) == ("proposed", operator, "olga")
    guard = Guard.objects.get()
    assert (guard.name, guard.spec["interfaces"], guard.spec["marks"], guard.state) == ("PHG-EDGE", [PORT], [40, 46], "proposed")
    text = client.get(f"/changes/{change.pk}/").content.decode()
    assert "Expected on the device: before and after" in text and "service-policy input PHG-EDGE" in text
    assert "somebody else has to approve it" in text and "Approve and push" not in text
    assert AuditEntry.objects.filter(action="guard.proposed", actor="olga").exists()


def test_another_person_approves_it_and_the_proposer_cannot(bench: Bench, operator: User) -> None:
    operator.groups.add(Group.objects.get(name="Approvers"))
    send(person(operator), bench)
    change = Change.objects.get()
    body = {"plan_sha256": change.plan_sha256, "password": PASSWORD}
    refused = person(operator).post(f"/changes/{change.pk}/approve/", body, follow=True).content.decode()
    assert "PH-E031" in refused
    person(member_of("Approvers", "wang")).post(f"/changes/{change.pk}/approve/", body)
    change.refresh_from_db()
    assert change.state == "approved"


def test_interfaces_that_were_read_can_be_ticked(bench: Bench, operator: User) -> None:
    client = person(operator)
    assert "No configuration was read yet" in client.get(f"/devices/{bench.row.pk}/guard/").content.decode()
    collect.collect(device_id=bench.row.pk, actor="test", now=bench.clock())
    text = client.get(f"/devices/{bench.row.pk}/guard/").content.decode()
    assert f'value="{PORT}"' in text and "desks" in text
    send(client, bench, others="", interfaces=[PORT])
    assert Guard.objects.get().spec["interfaces"] == [PORT]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "no blanks"}, "PHG- is put before them"),
        ({"name": "x" * 13}, "PHG- is put before them"),
        ({"others": " , "}, "Choose at least one interface"),
        ({"interfaces": ["Gi9/9"]}, "Select a valid choice"),
        ({"marks": []}, "This field is required"),
        ({"marks": ["7"]}, "Select a valid choice"),
        ({"target": "46"}, "Select a valid choice"),
        ({"rate_mbps": "-1"}, "greater than or equal"),
        ({"reason": ""}, "This field is required"),
    ],
)
def test_what_cannot_be_meant_is_said_beside_the_field(
    bench: Bench, operator: User, changed: dict[str, object], words: str
) -> None:
    text = send(person(operator), bench, **changed).content.decode()  # type: ignore[attr-defined]
    assert words in text
    assert (Guard.objects.count(), Change.objects.count()) == (0, 0)


def test_plan_that_the_platform_refuses_is_shown_as_refused(bench: Bench, operator: User) -> None:
    answer = person(operator).post(f"/devices/{bench.row.pk}/guard/", wish(others="GigabitEthernet1/0/2"), follow=True)
    assert Change.objects.get().state == "refused"
    assert "UPLINK" in answer.content.decode()


def test_device_that_cannot_be_read_leaves_nothing_behind(bench: Bench, operator: User) -> None:
    Device.objects.filter(pk=bench.row.pk).update(port=1)
    answer = send(person(operator), bench)
    assert answer.status_code == 422  # type: ignore[attr-defined]
    text = answer.content.decode()  # type: ignore[attr-defined]
    assert "No plan was made" in text and "PH-E02" in text and 'value="edge"' in text
    assert (Guard.objects.count(), Change.objects.count()) == (0, 0)


def test_name_that_is_taken_is_refused_in_one_line(bench: Bench, operator: User) -> None:
    client = person(operator)
    send(client, bench)
    answer = send(client, bench)
    assert answer.status_code == 422 and "FG-E012" in answer.content.decode()  # type: ignore[attr-defined]
    assert Change.objects.count() == 1


def test_button_is_there_where_it_can_be_used(rows: Sample, admin: Client) -> None:
    address = f"/devices/{rows.device.pk}/guard/"
    assert address in admin.get(f"/devices/{rows.device.pk}/").content.decode()
    assert address not in person(rows.viewer).get(f"/devices/{rows.device.pk}/").content.decode()
    assert person(rows.viewer).post(address, wish()).status_code == 403
    firewall = Device.objects.get(platform="cisco_asa")
    assert f"/devices/{firewall.pk}/guard/" not in admin.get(f"/devices/{firewall.pk}/").content.decode()


INSTALL = ["policy-map PHG-X", " class PHG-X", "interface Gi1", " service-policy input PHG-X"]
REMOVE = ["interface Gi1", " no service-policy input PHG-X", "no policy-map PHG-X"]


@pytest.mark.parametrize(
    ("lines", "inverse", "kinds"),
    [
        (INSTALL, REMOVE, ["added", "added", "same", "added"]),
        (REMOVE, INSTALL, ["removed", "removed", "same", "removed"]),
        (["acl name PHG-X", " rule 7 permit", "quit"], ["acl name PHG-X", " undo rule 7", "quit"], ["same", "added"]),
        (
            ["nft add element inet phg_x m4 { 1.2.3.4 }"], ["nft delete element inet phg_x m4 { 1.2.3.4 }"],
            ["added"],
        ),
        (["nft add table inet phg_x"], ['nft "add table inet phg_x; delete table inet phg_x"'], ["added"]),
        ([], [], []),
    ],
    ids=["install", "remove", "vrp-member", "nft-member", "nft-install", "nothing"],
)  # fmt: skip
def test_expected_difference_holds_what_is_added_and_taken(lines: list[str], inverse: list[str], kinds: list[str]) -> None:
    assert [row.kind for row in expected(lines, inverse)] == kinds
