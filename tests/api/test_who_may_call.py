"""Every endpoint against every kind of caller."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver

from flowguard.models import Sensor, SensorShape
from policyhub.actions import tokens
from policyhub.models import AuditEntry
from tests.support.sample_rows import Sample, sample

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)
LISTS = (
    "realms", "device-groups", "devices", "host-keys", "snapshots", "counter-readings", "findings", "sweeps", "changes", "audit",
    "kill-switch",
    "verdicts", "identities", "never-touch", "sensors", "observation-points", "stream-gaps", "guards", "enforcements",
)  # fmt: skip
SECRETIVE = {"snapshots", "audit"}


@pytest.fixture
def rows() -> Sample:
    return sample()


def bearer(*scopes: str, user: User | None = None, sensor: str = "") -> Client:
    _, text = tokens.create(name="t", scopes=list(scopes), user=user, sensor=sensor, actor="test", now=NOW)
    return Client(headers={"Authorization": f"Bearer {text}"})


def person(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_read_by_readers_and_by_nobody_else(rows: Sample, name: str) -> None:
    url = f"/api/v1/{name}"
    expected = {
        "anonymous": (Client(), 401),
        "read token": (bearer("read"), 200),
        "admin token": (bearer("admin"), 200),
        "ingest token": (bearer("ingest", sensor="core-1"), 403),
        "push token without read": (bearer("push"), 403),
        "superuser": (person(rows.admin), 200),
        "viewer": (person(rows.viewer), 403 if name in SECRETIVE else 200),
        "read token of a viewer": (bearer("read", user=rows.viewer), 403 if name in SECRETIVE else 200),
        "person without any group": (person(User.objects.create_user("nobody")), 403),
    }
    assert {who: client.get(url).status_code for who, (client, _) in expected.items()} == {
        who: code for who, (_, code) in expected.items()
    }


def test_the_shape_of_a_sensor_is_read_by_who_may_read_sensors(rows: Sample) -> None:
    url = f"/api/v1/sensors/{rows.verdict.sensor.pk}/shape"
    allowed = (bearer("read"), bearer("admin"), person(rows.admin), person(rows.viewer), bearer("read", user=rows.viewer))
    assert [client.get(url).status_code for client in allowed] == [200] * 5
    refused = (bearer("ingest", sensor="core-1"), bearer("push"), person(User.objects.create_user("nobody")))
    assert [client.get(url).status_code for client in refused] == [403] * 3 and Client().get(url).status_code == 401
    assert bearer("admin").post(url).status_code in (403, 405)
    told = bearer("read").get(url).json()
    assert set(told) == {"sensor", "stream", "sequence", "received_at", "at_ns", "from_ns", "to_ns", "points", "behaviour"}
    assert told["points"][0]["lldp"][0]["system_name"] == "leaf-1" and told["behaviour"]["groups"][0]["named"] == ["gloo"]
    for missing in (Sensor.objects.get(name="branch-2").pk, 10**6):
        answer = bearer("read").get(f"/api/v1/sensors/{missing}/shape")
        assert (answer.status_code, answer.json()["code"]) == (404, "PH-A404")
    SensorShape.objects.update(told={**SensorShape.objects.get().told, "behaviour": None, "from_ns": None, "to_ns": None})
    assert bearer("read").get(url).json()["behaviour"] is None


@pytest.mark.parametrize("name", LISTS)
def test_no_list_can_be_written(rows: Sample, name: str) -> None:
    if name == "kill-switch":
        return
    for method in ("post", "put", "patch", "delete"):
        assert getattr(bearer("admin"), method)(f"/api/v1/{name}").status_code in (403, 405), method


def act_urls(rows: Sample) -> dict[str, tuple[str, dict[str, object], str]]:
    return {
        "approve": (f"/api/v1/changes/{rows.proposed.pk}/approve", {"plan_sha256": rows.proposed.plan_sha256}, "approve"),
        "revert": (f"/api/v1/changes/{rows.confirmed.pk}/revert", {"reason": "test"}, "push"),
        "cancel": (f"/api/v1/changes/{rows.proposed.pk}/cancel", {}, "plan"),
        "withdraw": (f"/api/v1/enforcements/{rows.enforcement.pk}/withdraw", {"reason": "test"}, "push"),
        "kill-switch": ("/api/v1/kill-switch", {"engaged": True, "reason": "test"}, "push"),
    }


@pytest.mark.parametrize("name", ["approve", "revert", "cancel", "withdraw", "kill-switch"])
def test_an_act_needs_its_own_scope(rows: Sample, redis_server: object, name: str) -> None:
    url, body, scope = act_urls(rows)[name]
    refused = {
        "anonymous": (Client(), 401),
        "read token": (bearer("read"), 403),
        "ingest token": (bearer("ingest", sensor="core-1"), 403),
        "superuser's session": (person(rows.admin), 403),
        "right scope, viewer behind it": (bearer(scope, user=rows.viewer), 403),
    }
    for who, (client, code) in refused.items():
        assert client.post(url, body, content_type="application/json").status_code == code, who
    allowed = bearer(scope, user=rows.admin)
    assert allowed.post(url, body, content_type="application/json").status_code == 200


def test_a_token_without_a_person_cannot_approve(rows: Sample) -> None:
    url, body, _ = act_urls(rows)["approve"]
    assert bearer("approve").post(url, body, content_type="application/json").status_code == 403


def test_approving_another_plan_than_the_present_one_is_a_conflict(rows: Sample) -> None:
    url, _, _ = act_urls(rows)["approve"]
    answer = bearer("approve", user=rows.admin).post(url, {"plan_sha256": "0" * 64}, content_type="application/json")
    assert answer.status_code == 409
    assert set(answer.json()) == {"code", "message", "data"}
    assert answer.json()["code"].startswith("PH-E")


def test_engaging_the_kill_switch_is_audited_with_the_name_of_the_person(rows: Sample) -> None:
    url, body, _ = act_urls(rows)["kill-switch"]
    bearer("push", user=rows.approver).post(url, body, content_type="application/json")
    assert AuditEntry.objects.filter(action="kill-switch.engaged", actor=rows.approver.username).exists()


@pytest.mark.parametrize(
    ("url", "code"),
    [("/api/v1/devices/999999", 404), ("/api/v1/devices/abc", 404), ("/api/v1/changes/9999999999999999999999", 404)],
)
def test_what_is_not_there_is_one_plain_answer(rows: Sample, url: str, code: int) -> None:
    answer = bearer("read").get(url)
    assert (answer.status_code, set(answer.json())) == (code, {"code", "message", "data"})


def test_a_wrong_body_names_the_field(rows: Sample) -> None:
    url, _, _ = act_urls(rows)["revert"]
    answer = bearer("push").post(url, {}, content_type="application/json")
    assert answer.status_code == 400
    assert "reason" in answer.json()["data"]


def test_a_page_is_never_longer_than_the_cap(rows: Sample) -> None:
    answer = bearer("read").get("/api/v1/findings?limit=100000").json()
    assert len(answer["results"]) == answer["count"] <= 500
    assert len(bearer("read").get("/api/v1/findings?limit=2").json()["results"]) == 2


@pytest.mark.parametrize("name", LISTS)
def test_no_answer_holds_a_secret(rows: Sample, name: str) -> None:
    text = bearer("admin").get(f"/api/v1/{name}").content.decode()
    assert "envelope" not in text and "not-shown-anywhere" not in text and "s3cretword" not in text


@pytest.mark.parametrize("name", LISTS)
def test_filters_with_odd_values_do_not_break_a_list(rows: Sample, name: str) -> None:
    odd = "?q=%00'%22%3Cx%3E&severity=zz&status=zz&device=zz&realm=zz&state=zz&name=zz&standing=zz&core=zz&offset=-1&limit=x"
    assert bearer("read").get(f"/api/v1/{name}{odd}").status_code in (200, 403)


def test_schema_and_docs_are_for_callers_only_and_name_every_endpoint(rows: Sample) -> None:
    assert Client().get("/api/schema").status_code == 401
    schema = bearer("read").get("/api/schema").content.decode()
    for name in LISTS:
        assert f"/api/v1/{name}:" in schema
    page = person(rows.viewer).get("/api/docs")
    assert page.status_code == 200
    assert b"http://" not in page.content.replace(b"http://testserver", b"") and b"https://" not in page.content


def test_every_api_address_is_in_this_matrix() -> None:
    known = set(LISTS)
    found = {
        str(entry.pattern).lstrip("^").split("/")[0].split("$")[0].split("(")[0].rstrip("\\Z").split("\\")[0]
        for resolver in get_resolver().url_patterns
        if str(resolver.pattern) == "api/v1/"
        for entry in resolver.url_patterns
    }
    assert {name for name in found if name} <= known | {"sensors"}


def test_json_nested_too_deep_is_the_callers_mistake(rows: Sample) -> None:
    answer = bearer("push", user=rows.admin).post("/api/v1/kill-switch", "[" * 100_000, content_type="application/json")
    assert answer.status_code == 400 and "nested too deep" in answer.json()["message"]
