"""Findings live over sweeps: new, still there, gone, back."""

import argparse
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from policyhub.actions import configs, sweeps
from policyhub.domain.errors import BadInput, UnknownPlatform, WrongState
from policyhub.management import finding_cli, sweep_cli
from policyhub.models import Device, DeviceGroup, Finding, Realm, Sweep
from policyhub.queries.home import standing
from policyhub.queries.schedules import MESSAGE_LATE, SWEEP_SILENT, due_sweeps
from policyhub.queries.words import word

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
SHADOWED = """hostname fw
ip access-list extended EDGE
 10 permit tcp 192.0.2.0 0.0.0.255 any eq 443
 20 deny tcp host 192.0.2.9 any eq 443
 30 deny ip any any log
interface GigabitEthernet0/1
 ip access-group EDGE in
end
"""
CLEAN = SHADOWED.replace(" 20 deny tcp host 192.0.2.9 any eq 443\n", "")
COUNTERS = """Extended IP access list EDGE
    10 permit tcp 192.0.2.0 0.0.0.255 any eq 443 (77 matches)
    20 deny tcp host 192.0.2.9 any eq 443
    30 deny ip any any log (5 matches)
"""


def device(name="fw", platform="cisco_ios"):
    realm, _ = Realm.objects.get_or_create(name="")
    group, _ = DeviceGroup.objects.get_or_create(name="all")
    return Device.objects.create(name=name, platform=platform, realm=realm, group=group)


def keep(row, text, at=NOW, counters=""):
    return configs.store(device=row, text=text, counters=counters, source="upload", actor="alice", now=at)


def sweep(at=NOW):
    row = sweeps.start(actor="alice", now=at)
    sweeps.run(sweep_id=row.pk, clock=lambda: at)
    row.refresh_from_db()
    return row


def shadowed():
    return Finding.objects.get(name="shadowed-rule")


def test_a_finding_is_new_then_resolved_then_back():
    fw = device()
    keep(fw, SHADOWED)
    assert sweep().state == Sweep.State.DONE
    assert (shadowed().status, shadowed().first_seen_at, shadowed().by) == ("new", NOW, ["EDGE 10"])
    keep(fw, CLEAN, NOW + timedelta(days=1))
    sweep(NOW + timedelta(days=1))
    assert shadowed().status == "resolved"
    keep(fw, SHADOWED, NOW + timedelta(days=2))
    sweep(NOW + timedelta(days=2))
    assert (shadowed().status, shadowed().first_seen_at) == ("regressed", NOW)


def test_a_second_sweep_of_the_same_adds_no_row_and_keeps_what_people_decided():
    keep(device(), SHADOWED)
    sweep()
    before = Finding.objects.count()
    Finding.objects.update(status="acknowledged")
    sweep(NOW + timedelta(hours=1))
    assert Finding.objects.count() == before
    assert set(Finding.objects.values_list("status", flat=True)) == {"acknowledged"}


def test_counters_of_two_readings_prove_a_zombie_only_over_the_window():
    fw = device()
    keep(fw, SHADOWED, NOW - timedelta(days=120), COUNTERS)
    keep(fw, SHADOWED, NOW - timedelta(days=100), COUNTERS)
    sweep()
    assert not Finding.objects.filter(name="zombie-rule").exists()
    keep(fw, SHADOWED, NOW - timedelta(days=1), COUNTERS)
    sweep()
    assert Finding.objects.get(name="zombie-rule").rule == "EDGE 20"


def test_a_device_that_cannot_be_checked_is_named_and_hides_nobody():
    keep(device(), SHADOWED)
    device("aged", platform="no_such_os")
    empty = device("empty")
    row = sweep()
    assert row.state == Sweep.State.PARTIAL
    assert {problem["device"] for problem in row.problems} == {"aged", empty.name}
    assert shadowed().device.name == "fw"
    with translation.override("zh-hans"):
        panel = render_to_string("console/parts/panel_findings.html", {"standing": standing()})
    assert "<b>empty</b>: 尚未读取配置" in panel


def test_a_cancelled_sweep_stops_and_says_so():
    keep(device(), SHADOWED)
    row = sweeps.start(actor="alice", now=NOW)
    sweeps.cancel(sweep_id=row.pk, actor="bob", now=NOW)
    sweeps.run(sweep_id=row.pk, clock=lambda: NOW)
    row.refresh_from_db()
    assert (row.state, Finding.objects.count()) == (Sweep.State.CANCELLED, 0)
    with pytest.raises(WrongState):
        sweeps.cancel(sweep_id=row.pk, actor="bob", now=NOW)


def test_there_is_one_sweep_at_a_time():
    assert sweeps.start(actor="alice", now=NOW).pk == sweeps.start(actor="bob", now=NOW).pk


class Killed(BaseException):
    """What no handler catches, as the kernel's SIGKILL."""


@pytest.fixture
def fleet():
    for name in ("a", "b", "c", "d"):
        keep(device(name), SHADOWED)
    device("bad", platform="no_such_os")


def run(row, at, **more):
    taken = sweeps.run(sweep_id=row.pk, clock=lambda: at, **more)
    row.refresh_from_db()
    return taken


def checking(monkeypatch, deadly):
    """The names of devices in the order of their checks; one of them ends the worker each time."""
    begun, whole = [], sweeps.check_device

    def check(row, *, now):
        begun.append(row.name)
        if row.name == deadly:
            raise Killed
        return whole(row, now=now)

    monkeypatch.setattr(sweeps, "check_device", check)
    return begun


def test_a_sweep_whose_worker_was_killed_goes_on_where_it_was_and_gives_up_a_device_that_kills(fleet, monkeypatch):
    begun = checking(monkeypatch, "b")
    row, at = sweeps.start(actor="alice", now=NOW), NOW
    assert [due[:2] for due in due_sweeps(NOW + MESSAGE_LATE)] == [("policyhub.sweep", row.pk)], "its message was lost"
    for _ in range(sweeps.MOST_TRIES):
        with pytest.raises(Killed):
            run(row, at)
        assert not run(row, at + SWEEP_SILENT - timedelta(seconds=1)), "somebody is at it"
        assert list(due_sweeps(at + SWEEP_SILENT - timedelta(seconds=1))) == []
        at += SWEEP_SILENT
        assert [due[:2] for due in due_sweeps(at)] == [("policyhub.sweep", row.pk)]
    assert run(row, at)
    assert begun == ["a", "b", "b", "b", "bad", "c", "d"]
    assert (row.state, row.devices_done, [problem["device"] for problem in row.problems]) == ("partial", 5, ["b", "bad"])
    assert "begun 3 times" in row.problems[0]["reason"]
    with translation.override("zh-hans"):
        assert "3 次" in word(row.problems[0]["said"])
    assert set(Finding.objects.filter(name="shadowed-rule").values_list("device__name", flat=True)) == {"a", "c", "d"}
    assert list(due_sweeps(at + timedelta(days=1))) == []


def test_a_sweep_that_takes_longer_than_a_task_may_is_queued_again_for_the_rest(
    fleet, monkeypatch, dispatched, django_capture_on_commit_callbacks
):
    begun = checking(monkeypatch, "")
    row = sweeps.start(actor="alice", now=NOW, queue=False)
    for turn in range(1, 6):
        ticks = iter(NOW + timedelta(minutes=30 * turn + minute) for minute in range(9))
        with django_capture_on_commit_callbacks(execute=True):
            assert sweeps.run(sweep_id=row.pk, clock=lambda ticks=ticks: next(ticks), turn=timedelta(minutes=2))
    row.refresh_from_db()
    assert begun == ["a", "b", "bad", "c", "d"]
    assert dispatched == [("policyhub.sweep", row.pk)] * 5
    assert run(row, NOW + timedelta(hours=4)) and row.state == "partial"


def test_the_command_does_not_do_again_what_a_worker_is_at(fleet):
    row = sweeps.start(actor="alice", now=NOW)
    Sweep.objects.filter(pk=row.pk).update(moved_at=datetime.now(UTC))
    with pytest.raises(BadInput, match="a worker is at sweep"):
        sweep_cli.run(argparse.Namespace(verb="run"))


def test_the_same_text_twice_is_one_snapshot_and_another_platform_is_refused():
    fw = device()
    assert keep(fw, CLEAN).pk == keep(fw, CLEAN, NOW + timedelta(hours=1)).pk
    assert "192.0.2" not in fw.snapshots.get().text_envelope
    with pytest.raises(UnknownPlatform):
        keep(device("odd", "no_such_os"), CLEAN)


def test_findings_are_listed_in_either_language(capsys):
    keep(device(), SHADOWED)
    sweep()
    parser = argparse.ArgumentParser()
    finding_cli.add_arguments(parser)
    english, chinese = [], []
    for lang, lines in (("en", english), ("zh", chinese)):
        assert finding_cli.run(parser.parse_args(["list", "--lang", lang])) == 1
        lines += capsys.readouterr().out.splitlines()
    row = next(number for number, line in enumerate(english) if "shadowed-rule" in line)
    assert not any(line for line in english if re.search("[\u4e00-\u9fff]", line)) and len(english) == len(chinese)
    assert "被遮蔽的规则" in chinese[row] and "shadowed-rule" not in chinese[row] and "新" in chinese[row]
