"""The API says sentences in the language of the request, and English to whoever asks for none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client

from policyhub.actions import tokens
from policyhub.models import Device, Finding
from tests.support.sample_rows import Sample, sample

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)
CHINESE = {"Accept-Language": "zh-hans"}


@pytest.fixture
def rows() -> Sample:
    return sample()


@pytest.fixture
def client(rows: Sample) -> Client:
    _, text = tokens.create(name="t", scopes=["read", "plan"], user=None, sensor="", actor="test", now=NOW)
    return Client(headers={"Authorization": f"Bearer {text}"})


def test_finding_is_a_plain_string_in_both_languages(client: Client) -> None:
    row = Finding.objects.get(name="shadowed-rule")
    url = f"/api/v1/findings/{row.pk}"
    english, chinese = client.get(url).json(), client.get(url, headers=CHINESE).json()
    assert (english["message"], english["fix"]) == (row.message, row.fix)
    assert chinese["message"].startswith("“放行”从不生效：前面的 2 条规则") and chinese["fix"].startswith("先确定本意")
    assert english["evidence"] == chinese["evidence"] == row.evidence


def test_finding_without_a_stored_message_is_said_as_it_stands(client: Client) -> None:
    row = Finding.objects.get(name="shadowed-rule")
    Finding.objects.filter(pk=row.pk).update(message="100% of before", said={"message": {"text": "%(a)s", "values": {"b": 1}}})
    assert client.get(f"/api/v1/findings/{row.pk}", headers=CHINESE).json()["message"] == "%(a)s"  # unfit values: the template
    Finding.objects.filter(pk=row.pk).update(said={})
    assert client.get(f"/api/v1/findings/{row.pk}", headers=CHINESE).json()["message"] == "100% of before"


def test_timelines_reasons_and_quarantines_are_said_in_the_language(client: Client, rows: Sample) -> None:
    change = client.get(f"/api/v1/changes/{rows.confirmed.pk}", headers=CHINESE).json()
    assert (
        change["reason"] == "纠正 #3，人工请求模式，实验档位：由人提出"
        and change["events"][0]["message"] == "计划已生成：共 1 行，逆操作已备好"
    )
    enforcement = client.get(f"/api/v1/enforcements/{rows.enforcement.pk}", headers=CHINESE).json()
    assert enforcement["events"][0]["message"] == f"所有护栏均允许：{rows.enforcement.member} 加入 {rows.guard.name}"
    told = client.get(f"/api/v1/enforcements/{rows.enforcement.pk}").json()["events"][0]
    assert told["message"] == f"every guard rail allows it: {rows.enforcement.member} goes into {rows.guard.name}"
    closed = Device.objects.exclude(quarantine_reason="").get()
    for headers, said in (({}, "login refused"), (CHINESE, "登录被拒绝")):
        assert client.get(f"/api/v1/devices/{closed.pk}", headers=headers).json()["quarantine_reason"] == said


def test_refusals_are_said_in_the_language(client: Client, rows: Sample) -> None:
    url = f"/api/v1/changes/{rows.confirmed.pk}/cancel"
    english, chinese = client.post(url), client.post(url, headers=CHINESE)
    assert (english.status_code, chinese.status_code) == (409, 409)
    assert english.json()["message"] == f"change #{rows.confirmed.pk} is confirmed; it can no longer be cancelled"
    assert chinese.json()["message"].startswith(f"变更 #{rows.confirmed.pk} 的状态为") and chinese.json()["code"] == "PH-E032"
    assert client.get("/api/v1/changes/999999", headers=CHINESE).json()["message"] == "这里没有该对象。"
