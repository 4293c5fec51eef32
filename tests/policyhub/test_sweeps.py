"""Findings live over sweeps: new, still there, gone, back."""

from datetime import UTC, datetime, timedelta

import pytest

from policyhub.actions import configs, sweeps
from policyhub.domain.errors import UnknownPlatform, WrongState
from policyhub.models import Device, DeviceGroup, Finding, Realm, Sweep

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


def test_the_same_text_twice_is_one_snapshot_and_another_platform_is_refused():
    fw = device()
    assert keep(fw, CLEAN).pk == keep(fw, CLEAN, NOW + timedelta(hours=1)).pk
    assert "192.0.2" not in fw.snapshots.get().text_envelope
    with pytest.raises(UnknownPlatform):
        keep(device("odd", "no_such_os"), CLEAN)
