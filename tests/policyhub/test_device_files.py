"""`policyhub device counters --format csv` and `device queues`: files for `policyhub flows`, from what the service keeps."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import native_capture
from flowguard.domain.mirror import read_counters
from policyhub.actions import configs, counters
from policyhub.domain.errors import BadInput
from policyhub.management import device_cli
from policyhub.models import CounterReading, Device
from policyhub.queries import listings, snapshots
from tests.support.capture_files import write_capture
from tests.support.sample_rows import Sample, sample

pytestmark = [pytest.mark.django_db, pytest.mark.once]
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
PORTS = """Port            InOctets     InUcastPkts     InMcastPkts     InBcastPkts
Gi1/0/1       {octets}       {frames}         2               1

Port           OutOctets    OutUcastPkts    OutMcastPkts    OutBcastPkts
Gi1/0/1             2000              10               5               5
"""
CONFIG = """hostname core
class-map match-any VOICE
 match dscp ef
class-map match-any VIDEO
 match dscp af41
policy-map WAN
 class VOICE
  priority percent 10
 class VIDEO
  bandwidth percent 30
  queue-limit 64 packets
 class class-default
  bandwidth percent 60
interface GigabitEthernet1/0/1
 service-policy output WAN
"""


@pytest.fixture
def device(db: None) -> Device:
    found: Sample = sample()
    CounterReading.objects.all().delete()
    found.device.snapshots.all().delete()
    return found.device


def keep(device: Device, minutes: int, frames: int, octets: int = 5000) -> None:
    counters.keep(device, PORTS.format(frames=frames, octets=octets), origin="poll", read_at=NOW + timedelta(minutes=minutes))


def run(device: Device, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    device_cli.add_arguments(parser)
    verb, *rest = arguments
    return device_cli.run(parser.parse_args([verb, device.name, *rest]))


def test_readings_of_a_port_come_out_as_flows_reads_them(device: Device, capsys: pytest.CaptureFixture[str]) -> None:
    keep(device, 15, 300)
    keep(device, 0, 100, 1000)
    counters.keep(device, " Gi1/0/1\n  Service-policy output: WAN\n", origin="poll", read_at=NOW + timedelta(minutes=7))
    asked = ("counters", "--format", "csv", "--interface", "GigabitEthernet1/0/1")
    assert run(device, *asked, "--direction", "rx") == 0
    text = capsys.readouterr().out
    assert text == "time,packets,bytes\n2026-11-30T08:00:00+00:00,103,1000\n2026-11-30T08:15:00+00:00,303,5000\n"
    assert [(row.packets, row.octets) for row in read_counters(text, "x.csv")] == [(103, 1000), (303, 5000)]
    assert run(device, *asked) == 0
    assert [(row.packets, row.octets) for row in read_counters(capsys.readouterr().out, "x.csv")] == [(123, 3000), (323, 7000)]


def test_a_port_that_is_not_counted_and_one_whose_frames_are_not_are_told(
    device: Device, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("counters", "--format", "csv", "--interface")
    for never in ((*asked, "Gi1/0/1"), ("counters",)):
        assert run(device, *never) == 3
        said = capsys.readouterr()
        assert said.out == "" and "never read, so nothing is known. Read it now: policyhub device counters" in said.err
    keep(device, 0, 100)
    with pytest.raises(BadInput, match="There are those of: Gi1/0/1"):
        run(device, *asked, "Gi1/0/2")
    with pytest.raises(BadInput, match="Give --interface"):
        run(device, "counters", "--format", "csv")
    one_way = "Port            InOctets     InUcastPkts     InMcastPkts     InBcastPkts\nGi1/0/7   1  2  3  4\n"
    counters.keep(device, one_way, origin="poll", read_at=NOW + timedelta(hours=1))
    assert run(device, *asked, "Gi1/0/7", "--direction", "tx") == 3
    said = capsys.readouterr()
    assert said.out == "time,packets,bytes\n" and "no reading counts what Gi1/0/7 sent" in said.err


def test_one_port_of_the_text(device: Device, capsys: pytest.CaptureFixture[str]) -> None:
    keep(device, 0, 100)
    counters.keep(
        device, PORTS.format(frames=1, octets=2) + "Gi1/0/2  1  2  3  4\n", origin="poll", read_at=NOW + timedelta(minutes=1)
    )
    assert run(device, "counters", "--interface", "gi1/0/2") == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]} == {"Gi1/0/2"}


def test_queues_of_the_configuration_come_out_as_the_engine_takes_them(
    device: Device, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="no configuration was read yet"):
        run(device, "queues", "--port", "GigabitEthernet1/0/1")
    configs.store(device=device, text=CONFIG, counters="", source="upload", actor="ops", now=NOW)
    assert run(device, "queues", "--port", "gigabitethernet1/0/1", "--from", "Te1/1/1") == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert told["device"] == device.name and told["observation_points"] == {
        "ingress": "Te1/1/1",
        "egress": "GigabitEthernet1/0/1",
    }
    assert told["classes"] == {
        "VOICE": {"dscp": [46], "rate_mbps": 100.0, "ceil_mbps": 100.0, "strict": True},
        "VIDEO": {"dscp": [34], "rate_mbps": 300.0, "ceil_mbps": 1000.0, "queue_pkts": 64},
        "class-default": {"dscp": "rest", "rate_mbps": 600.0, "ceil_mbps": 1000.0},
    }  # fmt: skip
    assert said.err == f"{device.name}: VOICE, class-default: no buffer in the configuration, 1000 packets are assumed\n"
    path = write_capture(tmp_path / "x.pcap", [(10**18, bytes(60))])
    native_capture.analyse([("ingress", path), ("egress", path)], queues=said.out.encode())


@pytest.mark.parametrize("text", ["VOICE", "=46", "VOICE=99", "VOICE=x"])
def test_a_class_that_is_given_wrong_is_told(device: Device, text: str) -> None:
    configs.store(device=device, text=CONFIG, counters="", source="upload", actor="ops", now=NOW)
    with pytest.raises(BadInput, match="not of the form NAME=MARKS"):
        run(device, "queues", "--port", "GigabitEthernet1/0/1", "--class", text)


@pytest.mark.parametrize("speed", ["0G", "10", "x", "10T"])
def test_a_speed_that_is_none_is_a_usage_error(device: Device, speed: str) -> None:
    with pytest.raises(SystemExit):
        run(device, "queues", "--port", "x", "--link", speed)


def test_counters_read_again_are_kept_but_are_no_new_version_of_the_configuration(
    device: Device, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = (CONFIG, CONFIG, CONFIG.replace("30", "40"), CONFIG.replace("30", "40"), CONFIG, CONFIG)
    kept = [
        configs.store(
            device=device, text=text, counters=f"reading {n}", source="collect", actor="ops", now=NOW + timedelta(minutes=n)
        )
        for n, text in enumerate(texts)
    ]
    assert device.snapshots.count() == 6, "each has counters of its own"
    shown = [kept[4].pk, kept[2].pk, kept[0].pk]
    assert [row.pk for row in snapshots.versions(device.snapshots.all())] == shown
    assert [row.pk for row in listings.device(device.pk).get().recent_snapshots] == shown
    assert [row.pk for row in snapshots.pair(device)] == [kept[2].pk, kept[4].pk]
    assert run(device, "show") == 0
    told = capsys.readouterr().out
    assert "last read 2026-11-30 08:05 by ops" in told and told.count("snapshot #") == 3
