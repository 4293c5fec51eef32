"""What a sweep stored is read in the reader's language; where no sweep looked, the pages say so."""

from __future__ import annotations

import argparse
import html
import re
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client

from policyhub.actions import configs, sweeps
from policyhub.actions.sessions import KEY_CHANGED
from policyhub.console import labels
from policyhub.console.changes_view import section_lines
from policyhub.domain.change_outcome import GuardPicture
from policyhub.management import change_cli
from policyhub.models import Device, DeviceGroup, Finding, Realm
from tests.console.conftest import person
from tests.support.sample_rows import PASSWORD, Sample

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
CONFIG = """hostname fw
ip access-list extended EDGE
 10 permit tcp 192.0.2.0 0.0.0.255 any eq 443
 20 deny tcp host 192.0.2.9 any eq 443
 30 deny ip any any log
interface GigabitEthernet0/1
 ip access-group EDGE in
end
"""


@pytest.fixture
def user(db: None) -> User:
    return User.objects.create_superuser("admin", password=PASSWORD)


@pytest.fixture
def fw(db: None) -> Device:
    realm, group = Realm.objects.get_or_create(name="")[0], DeviceGroup.objects.create(name="campus")
    row = Device.objects.create(name="fw", platform="cisco_ios", realm=realm, group=group)
    configs.store(device=row, text=CONFIG, counters="", source="upload", actor="alice", now=NOW)
    return row


def sweep() -> None:
    sweeps.run(sweep_id=sweeps.start(actor="alice", now=NOW).pk, clock=lambda: NOW)


def words(client: Client, url: str) -> str:
    """The page's main part as plain text."""
    text = client.get(url).content.decode()
    main = re.search(r"<main.*?</main>", text, re.S)
    assert main
    plain = re.sub(r"<[^>]+>", " ", main[0])
    return re.sub(r"\s+", " ", html.unescape(plain))


def test_finding_of_a_sweep_is_read_in_both_languages(user: User, fw: Device) -> None:
    sweep()
    row = Finding.objects.get(name="shadowed-rule")
    assert row.message == "deny never acts: one earlier rule takes all its packets (EDGE 10)"
    url = f"/findings/{row.pk}/"
    english, chinese = words(person(user), url), words(person(user, "zh-hans"), url)
    assert row.message in english and "Decide which of the two was meant." in english
    assert "Covered by one rule" in english and "The rule as configured" in english
    assert "“拒绝”从不生效：前面的一条规则已匹配其全部报文（EDGE 10）" in chinese
    assert "先确定本意是哪一条" in chinese and "覆盖它的是 一条规则" in chinese
    left = set(re.findall(r"[A-Za-z]{3,}", chinese)) - set(re.findall(r"[A-Za-z]{3,}", CONFIG))
    assert left <= {"cisco", "ios", "shadowed", "rule", "UTC"}  # the platform, the check's name
    assert "从不生效" in words(person(user, "zh-hans"), "/findings/")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("从不生效", "shadowed-rule"),  # words of the sentence
        ("先确定本意是哪一条", "shadowed-rule"),  # of the advice
        ("被遮蔽", "shadowed-rule"),  # of the check's title
        ("never acts", "shadowed-rule"),  # the stored English
        ("EDGE", "shadowed-rule"),  # device text
    ],
)
def test_search_finds_a_finding_by_the_words_that_the_reader_sees(user: User, fw: Device, query: str, name: str) -> None:
    sweep()
    client = person(user, "zh-hans")
    assert name in {row.name for row in Finding.objects.all()}
    row = Finding.objects.get(name=name)
    for url in ("/search/", "/findings/"):
        page = client.get(url, {"q": query}).content.decode()
        assert f"/findings/{row.pk}/" in page, (url, query)


def test_search_in_chinese_finds_what_is_said_and_nothing_else(user: User, fw: Device) -> None:
    sweep()
    client = person(user, "zh-hans")
    shadowed = {row.pk for row in Finding.objects.filter(name="shadowed-rule")}
    page = client.get("/findings/", {"q": "从不生效"}).content.decode()
    assert {int(pk) for pk in re.findall(r"/findings/(\d+)/", page)} == shadowed
    assert "/findings/" not in client.get("/search/", {"q": "没有这样的句子"}).content.decode().partition("<main")[2]


def test_evidence_has_no_raw_keys_and_no_python(rows: Sample) -> None:
    for row in Finding.objects.all():
        for language in ("en", "zh-hans"):
            text = words(person(rows.admin, language), f"/findings/{row.pk}/")
            assert not re.search(r"\b[a-z]+_[a-z]+\b(?! )|\[\'|None|True|False", text.replace("OUTSIDE_IN", "")), text
    zombie = Finding.objects.get(name="zombie-rule")
    page = person(rows.admin).get(f"/findings/{zombie.pk}/").content.decode()
    assert 'datetime="2026-08-30T08:00:00.000Z"' in page and "Proved by" in page
    wide = Finding.objects.get(name="overbroad-rule")
    assert "2<sup>56</sup>" in person(rows.admin).get(f"/findings/{wide.pk}/").content.decode()


def test_finding_that_an_older_release_stored_is_shown_as_it_stands(user: User, fw: Device) -> None:
    sweep()
    Finding.objects.update(said={}, message="words of before", evidence={"later_key": {"a": [1]}, "hits": "many"})
    text = words(person(user, "zh-hans"), f"/findings/{Finding.objects.order_by('pk').first().pk}/")  # type: ignore[union-attr]
    assert "words of before" in text and "later_key a [1]" in text and "many" in text


def test_device_that_no_sweep_looked_at_is_not_called_clean(user: User, fw: Device) -> None:
    client = person(user)
    assert "No sweep has looked yet, so nothing is known about its rules." in words(client, f"/devices/{fw.pk}/")
    assert "No open findings." not in words(client, f"/devices/{fw.pk}/")
    assert "no sweep has looked yet" in words(client, "/devices/")
    assert "No sweep has looked at 1 device yet" in words(client, f"/findings/?device={fw.pk}")
    sweep()
    Finding.objects.update(status="resolved")
    assert "No open findings. Last checked" in words(client, f"/devices/{fw.pk}/")
    assert "no sweep has looked yet" not in words(client, "/devices/")
    assert "No sweep has looked" not in words(client, f"/findings/?device={fw.pk}")


def test_device_that_could_not_be_checked_stays_unknown(user: User, fw: Device) -> None:
    empty = Device.objects.create(name="empty", platform="cisco_ios", realm=fw.realm, group=fw.group)
    sweep()
    assert Device.objects.get(pk=empty.pk).checked_at is None
    assert "Unknown until the configuration was read." in words(person(user), f"/devices/{empty.pk}/")
    Finding.objects.update(status="resolved")
    assert "No open findings, but no sweep has looked at 1 device yet." in words(person(user), "/")


def test_quarantine_is_told_in_the_readers_language(user: User, fw: Device) -> None:
    Device.objects.filter(pk=fw.pk).update(quarantine_reason=KEY_CHANGED)
    for url in ("/", f"/devices/{fw.pk}/"):
        assert "主机密钥已变化" in words(person(user, "zh-hans"), url)
        assert "host key changed" in words(person(user), url)
    assert 'title="主机密钥已变化"' in person(user, "zh-hans").get("/devices/").content.decode()


def test_change_tells_why_and_what_was_read_in_the_readers_language(rows: Sample) -> None:
    url = f"/changes/{rows.confirmed.pk}/"
    chinese = words(person(rows.admin, "zh-hans"), url)
    assert "守卫已安装，与渲染结果完全一致" in chinese and "成员 10.10.8.103/32" in chinese
    assert "intact" not in chinese and "naming it" not in chinese
    assert "the guard is installed, exactly as rendered" in words(person(rows.admin), url)


def test_command_tells_what_each_guard_rail_said(rows: Sample, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    change_cli.add_arguments(parser)
    assert change_cli.run(parser.parse_args(["show", str(rows.confirmed.pk)])) == 0
    told = capsys.readouterr().out
    assert "guard rail mode: passed: the device group is in auto mode, profile lab\n" in told
    assert "guard rail capture-loss: REFUSED: the sensor does not report its drops\n" in told and "None" not in told


def test_section_that_is_no_picture_of_a_guard_is_shown_as_it_stands() -> None:
    assert section_lines("table inet x {\n}") == ["table inet x {", "}"]
    picture = GuardPicture(False, False, frozenset(), 0)
    assert section_lines(picture.text) == [labels.said(message.template, message.values) for message in picture.words]
    assert section_lines("") == []
