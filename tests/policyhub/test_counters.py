"""Counters of queues: polled alone, kept as numbers, pruned, shown, never a negative rate, never 0 for unknown."""

from __future__ import annotations

import argparse
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from flowguard.actions.prune import prune
from policyhub import dispatch
from policyhub.actions import collect, counters, schedules
from policyhub.actions.secrets import unseal
from policyhub.domain.counter_series import CounterSeries
from policyhub.domain.errors import BadInput, DeviceClosed
from policyhub.management import device_cli
from policyhub.models import AuditEntry, CounterReading, Device
from policyhub.models.counters import pack
from policyhub.queries.counters import counted, fitting
from policyhub.transport.errors import LineRejected
from tests.console.conftest import person
from tests.support.devices import simulated
from tests.support.sample_rows import Sample, sample

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
SHOW = "show policy-map interface"
TEXT = """ GigabitEthernet0/1
  Service-policy output: WAN
    Class-map: VOICE (match-any)
      (queue depth/total drops/no-buffer drops) {depth}/{drops}/0
      (pkts output/bytes output) {sent}/{size}
      Widgets lost 4
"""


def text(drops: int = 0, sent: int = 100, depth: int = 0) -> str:
    return TEXT.format(drops=drops, sent=sent, size=80 * sent, depth=depth)


@pytest.fixture
def rows(db: None) -> Sample:
    """The sample network before anything counted its queues."""
    found = sample()
    CounterReading.objects.all().delete()
    return found


@pytest.fixture
def admin(rows: Sample) -> Client:
    return person(rows.admin)


@pytest.fixture(autouse=True)
def queued(monkeypatch):
    sent: list[tuple[str, int]] = []
    monkeypatch.setattr(dispatch, "on_commit", lambda task, *ids, **how: sent.append((task, *ids)))
    return sent


def test_a_poll_sends_the_commands_that_count_and_keeps_numbers_and_unread_lines():
    with simulated("cisco_ios") as bench:
        bench.device.count("VOICE", 42, 4200)
        reading = counters.poll(device_id=bench.row.pk, actor="cli:ops", clock=lambda: NOW)
        assert (reading.origin, reading.read_at, reading.count, reading.unread) == ("poll", NOW, 4, 0)
        found = [(trend.interface, trend.queue, trend.value, trend.unit) for trend in counted(bench.row).trends]
        assert found[:2] == [("GigabitEthernet1/0/2", "UPLINK input VOICE", 42, "packets"),
                             ("GigabitEthernet1/0/2", "UPLINK input VOICE", 4200, "bytes")]  # fmt: skip
        assert SHOW in bench.device.typed and not [line for line in bench.device.typed if "running-config" in line]
        assert bench.row.snapshots.count() == 0


def test_two_tasks_of_one_device_are_one_reading_but_a_person_reads_at_once():
    with simulated("cisco_ios") as bench:
        ask = {"device_id": bench.row.pk, "actor": counters.SCHEDULE}
        assert counters.poll(**ask, clock=lambda: NOW) is not None
        assert counters.poll(**ask, clock=lambda: NOW + timedelta(seconds=90)) is None
        assert counters.poll(device_id=bench.row.pk, actor="li.wei", clock=lambda: NOW + timedelta(seconds=95)) is not None
        assert counters.poll(**ask, clock=lambda: NOW + timedelta(minutes=15)) is not None
        assert CounterReading.objects.count() == 3


def test_collecting_reads_the_queues_as_well_and_an_unknown_command_leaves_them_out():
    with simulated("cisco_ios") as bench:
        bench.device.faults.reject, bench.device.faults.again = SHOW, True
        collect.collect(device_id=bench.row.pk, actor="ops", now=NOW)
        assert CounterReading.objects.count() == 0
        with pytest.raises(LineRejected, match="none of these commands"):
            counters.poll(device_id=bench.row.pk, actor="ops", clock=lambda: NOW)
        bench.device.faults.reject = None
        shot = collect.collect(device_id=bench.row.pk, actor="ops", now=NOW + timedelta(hours=1))
        assert CounterReading.objects.get().origin == "collect" and "Service-policy" not in unseal(shot.text_envelope)


def test_a_reboot_is_a_reset_and_never_a_negative_rate(rows):
    for minutes, drops in ((0, 1000), (15, 1900), (30, 4)):
        counters.keep(rows.device, text(drops=drops), origin="poll", read_at=NOW + timedelta(minutes=minutes))
    drops = next(trend for trend in counted(rows.device).trends if trend.name == "total drops")
    assert drops.rates() == [1.0, None] and drops.reset_at == NOW + timedelta(minutes=30) and drops.value == 4


def test_upload_is_audited_and_a_text_without_counters_is_refused_and_not_kept(rows, tmp_path, capsys):
    bad, good = tmp_path / "bad", tmp_path / "good"
    bad.write_text("hostname a\n 17 of nothing\n")
    good.write_text(text(drops=12))
    parser = argparse.ArgumentParser()
    device_cli.add_arguments(parser)

    def run(*arguments: str) -> int:
        return device_cli.run(parser.parse_args(["counters", rows.device.name, *arguments]))

    with pytest.raises(BadInput, match="no counters of queues"):
        run("--from", str(bad))
    assert CounterReading.objects.count() == 0 and run() == 3 and run("--from", str(good)) == 0
    said, errors = capsys.readouterr()
    assert "never read, so nothing is known" in errors and "total drops" in said and "1 lines with figures" in said
    assert AuditEntry.objects.filter(action="counters.stored").count() == 1
    assert run("--trouble") == 0
    assert [line.split()[5:7] for line in capsys.readouterr().out.splitlines()[2:]] == [["drops", "12"]]


def test_a_table_whose_columns_were_squeezed_is_refused_with_its_line(rows):
    rows.device.platform = "sonic"
    header, dashes = "     Port    TxQ    Counter/pkts", "---------  -----  --------------"
    for lines, wrong in (
        (("x", header, dashes, "Ethernet0 UC1 1,060"), 4),
        ((" ".join(header.split()), dashes, "Ethernet0    UC1           1,060"), 1),
    ):
        with pytest.raises(
            BadInput, match=rf"line {wrong}: its columns do not stand under their headings\. Give the table as sonic"
        ):
            counters.upload(device=rows.device, text="\n".join(lines), actor="ops", read_at=NOW, now=NOW)
    with pytest.raises(BadInput, match=r"The first line with figures is line 2$"):
        counters.upload(device=rows.device, text="hello\n17 of nothing\n", actor="ops", read_at=NOW, now=NOW)


def test_platforms_whose_queues_nobody_counts_are_not_polled(rows, queued):
    Device.objects.exclude(pk=rows.device.pk).update(enabled=False)
    assert schedules.queue_polls() == 1 and queued == [("policyhub.poll_counters", rows.device.pk)]
    Device.objects.filter(pk=rows.device.pk).update(platform="fortinet_fortios")
    assert schedules.queue_polls() == 0
    with pytest.raises(DeviceClosed, match="nothing that counts queues is known"):
        counters.poll(device_id=rows.device.pk, actor="ops", clock=lambda: NOW)


def test_the_device_that_waited_longest_is_polled_first_and_what_no_worker_begins_is_thrown_away(rows, monkeypatch):
    asked = []
    monkeypatch.setattr(dispatch, "on_commit", lambda task, *ids, **how: asked.append((*ids, how["expires_s"])))
    first = rows.device
    second = Device.objects.exclude(pk=first.pk).exclude(host="").filter(platform="cisco_ios").first()
    for device, minutes in ((first, 5), (second, 20)):
        counters.keep(device, text(), origin="poll", read_at=NOW - timedelta(minutes=minutes))
    counters.keep(second, text(), origin="upload", read_at=NOW)
    schedules.queue_polls()
    places = [pk for pk, _ in asked]
    assert places.index(second.pk) < places.index(first.pk) and {seconds for _, seconds in asked} == {900}


def test_old_readings_are_pruned(rows):
    for days in (1, 8):
        counters.keep(rows.device, text(), origin="poll", read_at=NOW - timedelta(days=days))
    assert prune(now=NOW, keep_counters=timedelta(days=7))["readings"] == 1
    assert CounterReading.objects.get().read_at == NOW - timedelta(days=1)


def test_large_numbers_lose_no_bit_and_missing_ones_stay_missing(rows):
    kept = [CounterSeries("a", "b", "c", 2.0**60, "bytes", NOW, "s"), CounterSeries("a", "b", "d", None, "", NOW, "s")]
    row = CounterReading.objects.create(device=rows.device, read_at=NOW, origin="upload", packed=pack(kept), count=2)
    assert CounterReading.objects.get(pk=row.pk).rows() == kept


def test_the_page_shows_value_growth_reset_and_why_something_is_not_known(rows, admin):
    place = f"/devices/{rows.device.pk}/counters/"
    assert "Not read yet" in admin.get(place).content.decode()
    for number, drops in enumerate((0, 900, 1800, 2700)):
        at = NOW + timedelta(minutes=15 * number)
        counters.keep(rows.device, text(drops=drops, depth=3 - number), origin="poll", read_at=at)
    page = admin.get(place).content.decode()
    assert "1.00\u00a0/s" in page and "<polyline" in page and "Drops, from 0 to 1.00\u00a0/s" in page
    assert "1 line with figures was not understood" in page and "reset" not in page
    counters.keep(rows.device, text(drops=5), origin="poll", read_at=NOW + timedelta(hours=2))
    page = admin.get(place, {"only": "trouble"}).content.decode()
    assert "the counter was reset between the last two readings" in page and "pkts output" not in page
    assert "没有读懂" in person(rows.admin, "zh-hans").get(place).content.decode()


def test_the_page_has_a_row_for_each_port_and_queue_and_only_the_columns_that_something_counts(rows, admin):
    head = "     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes"
    dashes = "---------  -----  --------------  ---------------  -----------  ------------"
    Device.objects.filter(pk=rows.device.pk).update(platform="sonic")
    rows.device.refresh_from_db()
    for minutes in (0, 1, 2):
        count = 1000 + 600 * minutes**2
        table = [
            f"Ethernet{port}    UC{queue}{count:>16}{count * 100:>17}{0:>13}{'N/A':>14}" for port in (0, 4) for queue in (0, 1)
        ]
        pauses = "  Port Rx    PFC0    PFC3\n---------  ------  ------\nEthernet0       0       7\n"
        printed = "\n".join((head, dashes, *table, "", pauses))
        counters.keep(rows.device, printed, origin="poll", read_at=NOW + timedelta(minutes=minutes))
    page = admin.get(f"/devices/{rows.device.pk}/counters/").content.decode()
    assert page.count("<tr data-row>") == 6, "four queues and two priorities"
    titles = re.findall(r'<th class="num">([^<]+)</th>', page)
    assert titles == ["Packets", "Bytes", "Drops", "Dropped bytes", "Pauses"]
    assert "+30\u00a0/s" in page and "+24.0\u00a0kbit/s" in page and "Bytes, from 0 to 24.0\u00a0kbit/s" in page
    assert page.count("the device printed no number") == 8, "each unknown on hover and for screen readers"


def test_the_page_asks_the_same_number_of_queries_however_much_was_read(rows, admin):
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert admin.get(f"/devices/{rows.device.pk}/counters/").status_code == 200
        return len(asked)

    counters.keep(rows.device, text(), origin="poll", read_at=NOW)
    queries()
    before = queries()
    for minutes in range(1, 30):
        counters.keep(rows.device, text(drops=minutes), origin="poll", read_at=NOW + timedelta(minutes=minutes))
    assert queries() == before


def test_the_api_gives_readings_and_their_numbers(rows, admin):
    counters.keep(rows.device, text(drops=9), origin="poll", read_at=NOW)
    listed = admin.get("/api/v1/counter-readings", {"device": rows.device.pk}).json()["results"]
    assert [(row["device"], row["count"], row["unread"]) for row in listed] == [(rows.device.name, 5, 1)]
    assert "counters" not in listed[0]
    one = admin.get(f"/api/v1/counter-readings/{listed[0]['id']}").json()
    assert {"interface": "GigabitEthernet0/1", "queue": "WAN output VOICE", "name": "total drops", "unit": "packets",
            "source": SHOW, "value": 9.0} in one["counters"]  # fmt: skip
    assert Client().get("/api/v1/counter-readings").status_code in (401, 403)


def test_the_filter_finds_text_and_trouble(rows):
    counters.keep(rows.device, text(drops=9), origin="poll", read_at=NOW)
    seen = counted(rows.device)
    assert [trend.name for trend in fitting(seen.trends, only_trouble=True)] == ["total drops"]
    assert {trend.queue for trend in fitting(seen.trends, text="voice")} == {"WAN output VOICE"}
    assert fitting(seen.trends, text="nobody") == []
