"""A device says that its configuration changed: it is read soon, once, and not too often. Managers own their devices."""

import contextlib
import dataclasses
import socket
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from policyhub.actions import collect, configs, noticing
from policyhub.domain import tally
from policyhub.domain.errors import BadInput, DeviceClosed
from policyhub.management import device_cli, syslog_listener
from policyhub.management.syslog_frames import BadFrame, Frames
from policyhub.models import Device
from policyhub.queries.schedules import READING_SILENT, due_collections
from policyhub.vendorkit.collecting import profiles, read_profile
from tests.policyhub.test_collect import run
from tests.support.devices import simulated

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
SAID = {
    "cisco_ios": "<189>29: sw1: *Nov 30 08:00:01.123: %SYS-5-CONFIG_I: Configured from console by admin on vty0 (192.0.2.9)",
    "huawei_vrp": "<188>Nov 30 2026 08:00:01 sw1 %%01CFM/4/CFM_CFG_CHANGE(l)[3]: The configuration was changed.",
    "cisco_asa": "<166>Nov 30 2026 08:00:01 sw1 : %ASA-5-111008: User 'admin' executed the 'access-list x' command.",
    "juniper_junos": "<190>1 2026-11-30T08:00:01Z sw1 mgd 4711 UI_COMMIT_COMPLETED [junos@2636.1] commit complete",
    "h3c_comware": "<189>Nov 30 08:00:01 2026 sw1 %%10CFGMAN/5/CFGMAN_CFGCHANGED: -EventIndex=1; Configuration is changed.",
}


@pytest.mark.parametrize("platform", sorted(SAID))
def test_change_message_makes_the_device_due_once_and_at_most_each_minute(platform):
    run(device_cli, "add", "sw1", "--platform", platform, "--host", "192.0.2.1")
    assert noticing.config_changed(text=SAID[platform], source="192.0.2.1", now=NOW).name == "sw1"
    first = Device.objects.get().collect_due_at
    assert first == NOW + noticing.SETTLE
    noticing.config_changed(text=SAID[platform], source="192.0.2.1", now=NOW + timedelta(seconds=5))
    assert Device.objects.get().collect_due_at == first
    assert list(due_collections(NOW)) == []
    assert [row[:2] for row in due_collections(first)] == [("policyhub.collect", Device.objects.get().pk)]
    assert noticing.config_changed(text=SAID[platform], source="198.51.100.1", now=NOW).name == "sw1", "behind a relay"


def test_reading_clears_the_wish_and_the_next_one_waits_a_minute():
    with simulated("cisco_ios") as bench:
        bench.row.name = "sw1"
        bench.row.save()
        noticing.config_changed(text=SAID["cisco_ios"], source="127.0.0.1", now=NOW)
        collect.collect(device_id=bench.row.pk, actor="syslog", now=NOW + noticing.SETTLE)
        assert Device.objects.get().collect_due_at is None
        noticing.config_changed(text=SAID["cisco_ios"], source="127.0.0.1", now=NOW + timedelta(seconds=15))
        assert Device.objects.get().collect_due_at == NOW + noticing.SETTLE + noticing.AT_MOST_EACH


def test_a_reading_whose_worker_is_killed_is_due_again_and_news_during_it_make_it_due_sooner(monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*args, **kwargs):
        raise Killed

    run(device_cli, "add", "sw1", "--platform", "cisco_ios", "--host", "192.0.2.1")
    pk = Device.objects.get().pk
    noticing.config_changed(text=SAID["cisco_ios"], source="192.0.2.1", now=NOW)
    began = NOW + noticing.SETTLE
    with monkeypatch.context() as patched:
        patched.setattr(collect, "_read", killed)
        with pytest.raises(Killed):
            collect.collect(device_id=pk, actor="syslog", now=began)
    assert list(due_collections(began + timedelta(minutes=5))) == [], "it may be at work"
    assert [row[:2] for row in due_collections(began + READING_SILENT)] == [("policyhub.collect", pk)]
    noticing.config_changed(text=SAID["cisco_ios"], source="192.0.2.1", now=began + timedelta(seconds=5))
    assert Device.objects.get().collect_due_at == began + timedelta(seconds=5) + noticing.SETTLE
    with pytest.raises(DeviceClosed):
        collect.collect(device_id=pk, actor="syslog", now=began + timedelta(minutes=1))
    assert Device.objects.get().collect_due_at is None, "what is wrong with it is known: it is not tried for ever"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<13>Nov 30 08:00:01 sw1 %LINK-3-UPDOWN: Interface up",
        SAID["juniper_junos"],
        SAID["cisco_ios"].replace("sw1", "sw2"),
        "\x00" * 9000,
    ],
)
def test_other_messages_and_other_devices_change_nothing(text):
    run(device_cli, "add", "sw1", "--platform", "cisco_ios", "--host", "192.0.2.1")
    run(device_cli, "add", "quiet", "--platform", "cisco_ios", "--host", "192.0.2.7")
    noticing.config_changed(text=text, source="198.51.100.1", now=NOW)
    assert not Device.objects.exclude(collect_due_at=None).exists()


@pytest.mark.parametrize("port", [65536, 10**30, -1])
def test_a_number_that_is_no_port_is_refused_in_one_line(port):
    with pytest.raises(BadInput, match="Choose another with --port"):
        syslog_listener.bound("127.0.0.1", port)


def test_every_platform_with_a_network_operating_system_knows_its_change_message():
    shells = {profile.platform for profile in profiles() if profile.shell}
    assert {profile.platform for profile in profiles() if not profile.changed} == shells


@pytest.fixture
def listening(monkeypatch):
    """(UDP address, TCP address, messages so far, wait for so many)."""
    seen, done, arrived = [], threading.Event(), threading.Condition()

    def noted(*, text, source, now):
        with arrived:
            seen.append((text, source))
            arrived.notify_all()

    def wait(number):
        with arrived:
            assert arrived.wait_for(lambda: len(seen) >= number, 60), seen
        return [text for text, _ in seen]

    monkeypatch.setattr(noticing, "config_changed", noted)
    with (
        syslog_listener.bound("127.0.0.1", 0) as udp,
        syslog_listener.bound("127.0.0.1", 0, socket.SOCK_STREAM) as tcp,
    ):
        thread = threading.Thread(target=syslog_listener.listen, args=(udp, tcp), kwargs={"stopped": done.is_set})
        thread.start()
        try:
            yield udp.getsockname(), tcp.getsockname(), seen, wait
        finally:
            done.set()
            thread.join(60)
    assert not thread.is_alive()


def test_listener_takes_datagrams_and_a_port_in_use_is_one_line(listening):
    udp, tcp, seen, wait = listening
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"first", udp)
        sender.sendto(b"second \xff", udp)
    wait(2)
    assert seen == [("first", "127.0.0.1"), ("second \ufffd", "127.0.0.1")]
    for address, kind in ((udp, socket.SOCK_DGRAM), (tcp, socket.SOCK_STREAM)):
        with pytest.raises(BadInput, match="--port"):
            syslog_listener.bound("127.0.0.1", address[1], kind)


def test_listener_takes_both_framings_of_tcp_and_cuts_off_who_sends_neither(listening):
    _, tcp, seen, wait = listening
    with socket.create_connection(tcp) as counted, socket.create_connection(tcp) as lines, socket.create_connection(tcp) as odd:
        counted.sendall(b"8 <13>one\n13 <13>tw")
        assert wait(1) == ["<13>one\n"]
        counted.sendall(b"o\nlines")
        assert wait(2)[1] == "<13>two\nlines"
        lines.sendall(b"<13>three\n<13>fo")
        assert wait(3)[2] == "<13>three"
        lines.sendall(b"ur")
        lines.shutdown(socket.SHUT_WR)
        assert wait(4)[3] == "<13>four", "what stands behind the last line feed counts when the sender closes"
        odd.sendall(b"99999999 <13>never")
        odd.settimeout(60)
        assert odd.recv(1) == b"", "the connection is closed"
        counted.sendall(b"7 <13>end")
        assert wait(5)[4] == "<13>end" and len(seen) == 5


def test_a_flood_of_silent_connections_shuts_no_device_out(listening, monkeypatch, caplog):
    monkeypatch.setattr(syslog_listener, "MOST_CONNECTIONS", 12)
    monkeypatch.setattr(syslog_listener, "MOST_OF_ONE", 4)
    monkeypatch.setattr(tally, "EACH_S", 0)
    _, tcp, _, wait = listening
    with contextlib.ExitStack() as opened:

        def connect(source):
            connection = socket.create_connection(tcp, timeout=60, source_address=(source, 0))
            return opened.enter_context(connection)

        device = connect("127.0.0.9")
        device.sendall(b"<13>before\n")
        wait(1)
        flood = [connect(f"127.0.0.{number % 5 + 1}") for number in range(60)]
        assert all(silent.recv(1) == b"" for silent in flood[:48]), "the most silent ones are closed"
        connect("127.0.0.8").sendall(b"<13>newcomer\n")
        assert wait(2)[1] == "<13>newcomer"
        device.sendall(b"<13>after\n")
        assert wait(3)[2] == "<13>after"
    told = [int(record.args[0]) for record in caplog.records if "to make room" in record.msg]
    assert sum(told) >= 48, caplog.text


def test_closed_connections_are_told_once_a_minute_and_not_for_thousands_of_sources(caplog):
    now = [0.0]
    room = syslog_listener.Room(clock=lambda: now[0])
    keys = [SimpleNamespace(data=syslog_listener.Connection(f"10.0.0.{n}", room.turn())) for n in range(500)]
    for number in range(80):
        source = f"192.0.2.{max(0, number - 40)}"
        keys.remove(room.victim(keys, source))
        keys.append(SimpleNamespace(data=syslog_listener.Connection(source, room.turn())))
    held = Counter(key.data.source for key in keys)
    assert len(keys) == 500 and held["192.0.2.0"] <= 2, "who is many makes room first"
    room.tell()
    assert caplog.records == []
    now[0] = 61.0
    room.tell()
    room.tell()
    assert len(caplog.records) == 11 and caplog.records[0].args == (40, "192.0.2.0") and "others" in caplog.text


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_frames_do_not_depend_on_how_the_stream_is_cut(size):
    stream = b"3 <1>" + b"<2>a\n\n" + b"5 <3>\nb" + b"<4>c\x00" + b"<5>rest"
    frames, found = Frames(), []
    for at in range(0, len(stream), size):
        found += frames.take(stream[at : at + size])
    assert [*found, *frames.end()] == [b"<1>", b"<2>a", b"<3>\nb", b"<4>c", b"<5>rest"]
    assert frames.end() == []


@pytest.mark.parametrize("stream", [b"0 x", b"12345678", b"12x", b"70000 <1>", b"<1>" + b"a" * 70_000])
def test_streams_without_frames_are_refused_before_they_fill_the_memory(stream):
    with pytest.raises(BadFrame):
        Frames().take(stream)


def test_half_of_a_counted_message_is_nothing():
    frames = Frames()
    assert frames.take(b"20 <13>half") == [] and frames.end() == []


def test_plans_of_a_managed_device_are_refused_before_anybody_logs_in_and_taking_back_is_not():
    from policyhub.domain.change import ChangeKind

    with simulated("cisco_ios") as bench:
        Device.objects.filter(pk=bench.row.pk).update(managed_by="Panorama")
        bench.row.refresh_from_db()
        change = bench.plan()
        assert change.state == "refused" and "leaves through Panorama" in change.error
        assert bench.sim.logins.attempts == []
        assert "leaves through Panorama" in change.events.get().message
        assert bench.plan(ChangeKind.MEMBER_REMOVE, "10.1.2.3/32").state != "refused"


def test_manager_and_version_are_those_of_the_last_configuration():
    with simulated("cisco_ios") as bench:
        config = configs.REGISTRY.get("cisco_ios").parse(bench.device.running())
        vendor = configs.REGISTRY.get("cisco_ios")
        managed = dataclasses.replace(vendor, parse=lambda text: dataclasses.replace(config, managed_by="FMC", version="7.4"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(configs.REGISTRY._loaded, "cisco_ios", managed)
            configs.store(device=bench.row, text="hostname a\n", source="upload", actor="ops", now=NOW)
        device = Device.objects.get()
        assert (device.managed_by, device.version, device.snapshots.get().version) == ("FMC", "7.4", "7.4")
        collect.collect(device_id=device.pk, actor="ops", now=NOW + timedelta(hours=1))
        device.refresh_from_db()
        assert device.managed_by == "" and device.version == "17.09.04a"


def test_diff_says_who_and_when_and_masks_secrets(capsys):
    with simulated("cisco_ios") as bench:
        with pytest.raises(BadInput, match="no two different"):
            run(device_cli, "diff", bench.row.name)
        before = "hostname a\nusername x password 0 Horse-12345\nip access-list extended A\n 10 permit ip any any\n"
        first = configs.store(device=bench.row, text=before, source="upload", actor="li.wei", now=NOW)
        after = before.replace("permit ip any any", "deny ip any any").replace("Horse", "Battery")
        configs.store(device=bench.row, text=after, source="upload", actor="wang.fang", now=NOW + timedelta(hours=1))
        assert run(device_cli, "diff", bench.row.name) == 1
        told = capsys.readouterr().out
        assert "- 10 permit ip any any" in told and "+ 10 deny ip any any" in told
        assert "li.wei" in told and "wang.fang" in told and "2026-11-30 09:00" in told and "-12345" not in told
        assert run(device_cli, "diff", bench.row.name, str(first.pk), str(first.pk)) == 0
        assert "equal" in capsys.readouterr().out
        with pytest.raises(BadInput, match="#999"):
            run(device_cli, "diff", bench.row.name, "999")
    assert read_profile("cisco_ios").configuration == "show running-config"
