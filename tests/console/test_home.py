"""The sentence on top of Home: calm is only said when somebody looked."""

from __future__ import annotations

import html
import re
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.html import strip_tags

from flowguard.console.labels import VERDICTS
from flowguard.domain.guardrails import ACTIONABLE
from flowguard.models import Enforcement, Guard, Sensor, Verdict, VerdictBatch
from policyhub.console import units
from policyhub.models import Device, DeviceGroup, Realm
from tests.console.conftest import person
from tests.support import sample_rows
from tests.support.sample_incident import change as sample_change
from tests.support.sample_rows import PASSWORD

pytestmark = pytest.mark.django_db


def now() -> datetime:
    return datetime.now(tz=UTC)


@pytest.fixture
def client(db: None) -> Client:
    return person(User.objects.create_superuser("admin", password=PASSWORD))


@pytest.fixture
def sensor(db: None) -> Sensor:
    group = DeviceGroup.objects.create(name="campus")
    Realm.objects.get_or_create(name="")
    health = {"received": 1_000_000, "dropped": {"kernel": 0}}
    return Sensor.objects.create(name="core-1", group=group, last_seen_at=now(), judging=True, health=health)


def top(client: Client) -> tuple[str, str]:
    """Kind of the hero and its sentence."""
    text = client.get("/").content.decode()
    found = re.search(r'class="card hero (\w+)".*?<h1>(.*?)</h1>', text, re.S)
    assert found
    return found[1], re.sub(r"\s+", " ", strip_tags(found[2])).replace("\u00a0", " ")


def test_without_a_sensor_nobody_looks(client: Client) -> None:
    kind, sentence = top(client)
    assert kind == "blind" and "nobody looks at the traffic" in sentence


def test_sensor_without_a_bundle_is_not_calm(client: Client, sensor: Sensor) -> None:
    Sensor.objects.update(judging=False)
    assert top(client)[0] == "blind"


def test_sensor_that_fell_silent_is_not_calm(client: Client, sensor: Sensor) -> None:
    Sensor.objects.update(last_seen_at=now() - timedelta(minutes=10))
    assert top(client)[0] == "blind"


def test_one_of_two_sensors_silent_is_told_although_nothing_burns(client: Client, sensor: Sensor) -> None:
    Sensor.objects.create(name="branch-2")
    assert top(client) == ("watch", "Not heard: branch-2.")
    assert "No departures in the last 24 h." in client.get("/").content.decode()


def test_calm_says_what_was_checked(client: Client, sensor: Sensor) -> None:
    kind, sentence = top(client)
    assert (kind, sentence) == ("calm", "No departures in the last 24 h.")
    assert "1 / 1" in client.get("/").content.decode()


def test_calm_does_not_show_zero_drops_when_they_are_unknown(client: Client, sensor: Sensor) -> None:
    Sensor.objects.update(health={})
    text = client.get("/").content.decode()
    figure = re.search(r"<dt>Dropped by the capture</dt><dd>(.*?)</dd>", text)
    assert figure and "a sensor does not report it" in figure[1]


def test_departure_is_told_with_who_how_much_which_mark_and_since_when(client: Client, sensor: Sensor) -> None:
    for number in range(3):
        sample_rows.verdict(sensor, now(), number)
    kind, sentence = top(client)
    assert kind == "fire"
    assert sentence.startswith("3 hosts of algorithm test send 9.6 Gbit/s marked EF (46) since ")


def test_departure_that_ended_is_told_in_the_past(client: Client, sensor: Sensor) -> None:
    sample_rows.verdict(sensor, now() - timedelta(minutes=5), 0)
    kind, sentence = top(client)
    assert kind == "fire"
    assert re.match(r"1 host of algorithm test sent 3\.2 Gbit/s marked EF \(46\) from .+ until .+\. It may not use", sentence)
    Verdict.objects.update(name="unknown-identity-in-priority", business="", identity_name="")
    assert " sent " in top(client)[1] and " until " in top(client)[1]
    Verdict.objects.update(name="dscp-rewritten", standing="network")
    assert top(client)[1].startswith("The network took the mark EF (46) off packets of ")


def test_departure_in_chinese_is_a_chinese_sentence(client: Client, sensor: Sensor) -> None:
    sample_rows.verdict(sensor, now(), 0)
    client.cookies["django_language"] = "zh-hans"
    assert "algorithm test 的 1 台主机以 EF (46) 标记发送 3.2 Gbit/s" in top(client)[1]


def test_host_is_not_blamed_for_a_mark_the_network_changed(client: Client, sensor: Sensor) -> None:
    sample_rows.verdict(sensor, now(), 0, name="dscp-rewritten", standing="network")
    assert top(client)[1].startswith("The network takes the mark EF (46) off packets of algorithm test since ")
    assert "The hosts are not to blame" in top(client)[1]


@pytest.mark.parametrize("name", sorted(VERDICTS.keys() - ACTIONABLE - {"dscp-rewritten"}))
def test_what_is_no_matter_of_marks_is_never_told_as_one(client: Client, sensor: Sensor, name: str) -> None:
    sample_rows.verdict(sensor, now(), 0, name=name)
    title, meaning = VERDICTS[name]
    sentence = html.unescape(top(client)[1])
    assert sentence.startswith(f"{title}: algorithm test, since ") and sentence.endswith(str(meaning))
    assert "may not use this mark" not in sentence


def test_departure_that_was_corrected_is_under_control(client: Client, sensor: Sensor) -> None:
    seen = sample_rows.verdict(sensor, now(), 0)
    realm = Realm.objects.get(name="")
    device = Device.objects.create(name="sw", realm=realm, group=sensor.group, platform="linux_nftables")
    guard = Guard.objects.create(device=device, name="PHG-A", spec=sample_rows.SPEC, created_at=now())
    row = Enforcement.objects.create(
        guard=guard, verdict=seen, realm=realm, member=f"{seen.src}/32", state="active", mode="auto", profile="lab",
        idempotency_key="a", created_at=now(),
    )  # fmt: skip
    text = client.get("/").content.decode()
    assert "Under control" in strip_tags(text)
    assert top(client)[0] == "handled"
    assert "No departures" not in text and "Nothing else departs" in text
    row.state = "proposed"
    row.save()
    assert top(client)[0] == "fire"
    assert "Review the proposed enforcement" in client.get("/").content.decode()


def test_departure_of_yesterday_is_quiet_but_not_hidden(client: Client, sensor: Sensor) -> None:
    sample_rows.verdict(sensor, now() - timedelta(hours=3), 0)
    assert top(client)[1] == "Quiet now. 1 departure in the last 24 h."


def test_backlog_that_arrives_late_is_not_burning_now(client: Client, sensor: Sensor) -> None:
    sample_rows.verdict(sensor, now() - timedelta(hours=3), 0, received_at=now())
    assert top(client) == ("calm", "Quiet now. 1 departure in the last 24 h.")
    sample_rows.verdict(sensor, now() - timedelta(hours=30), 1, received_at=now(), business="older")
    assert top(client)[1] == "Quiet now. 1 departure in the last 24 h."


def test_departure_that_goes_on_for_hours_burns_though_it_was_first_told_long_ago(client: Client, sensor: Sensor) -> None:
    sample_rows.verdict(sensor, now(), 0, received_at=now() - timedelta(hours=30))
    assert top(client)[0] == "fire"


def test_clock_of_a_sensor_that_is_ahead_does_not_keep_a_departure_burning(client: Client, sensor: Sensor) -> None:
    batch = VerdictBatch.objects.create(
        sensor=sensor,
        stream=uuid.UUID(int=1),
        sequence=1,
        sha256="0" * 64,
        body=b"",
        received_at=now() - timedelta(minutes=20),
        state="ingested",
    )
    sample_rows.verdict(sensor, now() + timedelta(minutes=40), 0, batch=batch)
    assert top(client)[0] == "calm"


def test_traffic_of_the_last_hour_is_by_packet_time(client: Client, sensor: Sensor) -> None:
    sample_rows.verdict(sensor, now() - timedelta(hours=3), 0, received_at=now(), src="10.10.8.77")
    assert "10.10.8.77" not in client.get("/traffic/?since=1h").content.decode()
    assert "10.10.8.77" in client.get("/traffic/?since=24h").content.decode()


def test_sensor_that_gets_no_packets_is_not_calm(client: Client, sensor: Sensor) -> None:
    Sensor.objects.update(health={"received": 0, "dropped": {"kernel": 0}, "last_packet_ns": None})
    assert top(client)[0] == "blind"
    text = client.get("/").content.decode()
    assert "No recent packets: core-1." in text and "no recent packets" in text and ">judging<" not in text


def test_sensor_whose_packets_stopped_is_told_beside_one_that_sees_some(client: Client, sensor: Sensor) -> None:
    stopped = {"received": 9, "dropped": {"kernel": 0}, "last_packet_ns": int((now() - timedelta(minutes=5)).timestamp()) * 10**9}
    Sensor.objects.create(name="mirror-2", judging=True, last_seen_at=now(), health=stopped)
    assert top(client) == ("watch", "No recent packets: mirror-2.")
    page = client.get("/sensors/").content.decode()
    assert page.count("no recent packets</span>") == 1 and "5\u00a0min\u00a0" in page
    client.cookies["django_language"] = "zh-hans"
    assert "近期没有报文" in client.get("/sensors/").content.decode()


def test_sensor_that_is_behind_is_told_so_and_not_as_one_that_judges_nothing(client: Client, sensor: Sensor) -> None:
    old = {"received": 9, "dropped": {"kernel": 0}, "last_packet_ns": int((now() - timedelta(minutes=11)).timestamp()) * 10**9}
    Sensor.objects.update(health=old, spooled=2724, spooled_s=660.0)
    kind, sentence = top(client)
    assert kind == "blind" and re.match(
        r"Sensor core-1 is 11 min 0\d s behind: what passes now will be judged that much later.", sentence
    )
    text = client.get("/").content.decode()
    assert "No sensor judges" not in text and "No recent packets" not in text
    assert re.search(r'<span class="muted small">11\u00a0min\u00a0\d\d\u00a0s behind', text)
    page = strip_tags(client.get("/sensors/").content.decode())
    assert str(units.number(2724)) in page and "11\u00a0min" in page and "behind" in page
    Sensor.objects.create(name="mirror-2", judging=True, last_seen_at=now(), health={"received": 9}, spooled=0, spooled_s=0.0)
    assert top(client)[0] == "watch"
    client.cookies["django_language"] = "zh-hans"
    assert "core-1" in top(client)[1] and "behind" not in top(client)[1]


def test_change_that_was_taken_back_was_a_change(client: Client, sensor: Sensor) -> None:
    seen = sample_rows.verdict(sensor, now(), 0)
    realm = Realm.objects.get(name="")
    device = Device.objects.create(name="sw", realm=realm, group=sensor.group, platform="linux_nftables")
    guard = Guard.objects.create(device=device, name="PHG-A", spec=sample_rows.SPEC, created_at=now())
    change = sample_change(device, now(), "member-add", "confirmed", 1)
    told = {"guard": guard, "verdict": seen, "realm": realm, "member": f"{seen.src}/32", "mode": "auto", "profile": "lab"}
    refused = Enforcement.objects.create(**told, state="refused", idempotency_key="b", created_at=now())
    assert "Nothing was changed: the group observes" in client.get("/").content.decode()
    change.pushed_at = now() - timedelta(minutes=30)
    change.save()
    Enforcement.objects.create(
        **told, state="expired", idempotency_key="a", created_at=refused.created_at, add_change=change, ended_at=now()
    )
    text = strip_tags(client.get("/").content.decode())
    assert "Nothing was changed: the group observes" not in text
    assert re.search(
        r"The device was changed; that was taken back \d\d-\d\d \d\d:\d\d UTC. Since then nothing was changed.", text
    )


def test_sensors_page_says_what_their_times_are_worth(client: Client, sensor: Sensor) -> None:
    def page(**more: Any) -> str:
        Sensor.objects.update(health={"received": 9, "dropped": {}, **more})
        return client.get("/sensors/").content.decode()

    kept = {"synchronised": True, "estimated_error_ns": 37_000, "max_error_ns": 2_140_000}
    stamps = {"hardware": 1_000, "system": 0, "stray": 7, "clock": 0}
    told = page(clock=kept, points=[{"stamps": stamps}, {"stamps": None}, {}])
    assert "off by about 37\u00a0µs, at most 2\u00a0ms" in told
    assert 'not set to UTC <strong class="warn">7<' in told
    assert "its error is not told" in page(clock={**kept, "max_error_ns": None})
    assert "Time stamps" not in page(clock=None)
    client.cookies["django_language"] = "zh-hans"
    assert "未同步" in page(clock={**kept, "synchronised": False})


def done(client: Client) -> list[tuple[str, str]]:
    """(state, text) of the lines in "Done in the last 24 h"."""
    text = client.get("/").content.decode()
    found = re.search(r"<h2>Done in the last 24 h</h2>.*?</section>", text, re.S)
    assert found
    return re.findall(r'<li><span class="pill[^"]*">(.*?)</span><a[^>]*>(.*?)</a>', found[0])


def test_only_what_came_to_an_end_is_done(client: Client, sensor: Sensor) -> None:
    realm = Realm.objects.get(name="")
    device = Device.objects.create(name="sw", realm=realm, group=sensor.group, platform="linux_nftables")
    guard = Guard.objects.create(device=device, name="PHG-A", spec=sample_rows.SPEC, created_at=now())
    row = Enforcement.objects.create(
        guard=guard, realm=realm, member="10.0.0.9/32", state="active", mode="auto", profile="lab",
        idempotency_key="a", created_at=now(),
    )  # fmt: skip
    for state in ("proposed", "applying", "needs-person"):
        row.events.create(at=now(), state=state, message="x")
    change = sample_change(device, now(), "guard-install", "approved", 1)
    for state in ("proposed", "approved", "armed", "pushing", "revert-failed"):
        change.events.create(at=now(), state=state, message="x")
    assert done(client) == []
    for _ in range(3):  # taken back: asked, unreadable device, asked again
        row.events.create(at=now(), state="active", message="x")
    change.events.create(at=now(), state="confirmed", message="x")
    assert done(client) == [("confirmed", "Install guard · sw"), ("active", "10.0.0.9/32 · sw")]


def test_old_departures_and_information_do_not_disturb_the_calm(client: Client, sensor: Sensor) -> None:
    sample_rows.verdict(sensor, now() - timedelta(hours=30), 0)
    sample_rows.verdict(sensor, now(), 1, severity="info")
    sample_rows.verdict(sensor, now(), 2, standing="duplicate")
    sample_rows.verdict(sensor, now(), 3, standing="own")
    assert top(client)[0] == "calm"


def test_stuck_enforcement_is_louder_than_any_departure(client: Client, sensor: Sensor) -> None:
    seen = sample_rows.verdict(sensor, now(), 0)
    Enforcement.objects.create(
        verdict=seen, realm=Realm.objects.get(name=""), member="10.0.0.9/32", state="needs-person", mode="auto", profile="lab",
        idempotency_key="b", created_at=now(),
    )  # fmt: skip
    assert "A person is needed" in top(client)[1]


def test_rate_of_packets_in_one_instant_is_unknown_not_zero(client: Client, sensor: Sensor) -> None:
    seen = sample_rows.verdict(sensor, now(), 0)
    Verdict.objects.update(first_ns=seen.last_ns)
    text = client.get("/").content.decode()
    figure = re.search(r"<dt>Rate</dt><dd>(.*?)</dd>", text)
    assert figure and "all packets fell into one instant" in figure[1]


def test_rate_does_not_add_what_ended_before(client: Client, sensor: Sensor) -> None:
    seen = sample_rows.verdict(sensor, now(), 0)
    before = sample_rows.verdict(sensor, now() - timedelta(minutes=5), 1)
    Verdict.objects.filter(pk=before.pk).update(src=seen.src)
    assert top(client)[1].startswith("1 host of algorithm test sends 3.2 Gbit/s marked EF (46) since ")
