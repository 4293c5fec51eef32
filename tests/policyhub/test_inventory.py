"""Devices, credentials and host keys: what people may do, and one clear line when it cannot be."""

from datetime import UTC, datetime

import pytest

from policyhub.actions import audit, inventory, secrets
from policyhub.domain.errors import BadInput, UnknownPlatform
from policyhub.models import AuditEntry, Credential, Device, HostKey
from tests.support.devices import simulated

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
HEADER = "name,platform,host,port,role,group,realm,credential\n"


def load(text):
    return inventory.import_devices(text, file="devices.csv", actor="ops", now=NOW)


def test_import_makes_devices_and_a_second_one_changes_them():
    assert load(HEADER + "sw1,cisco_ios,192.0.2.1,22,access,edge,site-a,\nfw1,cisco_asa,,,firewall,,,\n") == 2
    assert load("platform,name,host\ncisco_ios,sw1,192.0.2.9\n") == 1
    sw1 = Device.objects.get(name="sw1")
    assert (sw1.host, sw1.platform, Device.objects.count()) == ("192.0.2.9", "cisco_ios", 2)
    assert audit.verify().broken is None and AuditEntry.objects.filter(action="device.imported").count() == 2


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("name,plattform\nsw1,cisco_ios\n", BadInput, ["devices.csv:1", "'plattform'", "Known: name"]),
        ("name,host\nsw1,192.0.2.1\n", BadInput, ["devices.csv:1", "'platform' is missing"]),
        ("name,platform\nsw1,cisco_ios\nsw2,cisco_iso\n", UnknownPlatform, ["devices.csv:3", "'cisco_iso'", "cisco_ios"]),
        ("name,platform,port\nsw1,cisco_ios,99999\n", BadInput, ["devices.csv:2", "'99999'"]),
        ("name,platform,host\nsw1,cisco_ios,192.0.2.300\n", BadInput, ["devices.csv:2", "'192.0.2.300'", "2001:db8::1"]),
        ("name,platform,role\nsw1,cisco_ios,spine\n", BadInput, ["devices.csv:2", "'spine'", "access"]),
        ("name,platform,credential\nsw1,cisco_ios,nobody\n", BadInput, ["devices.csv:2", "'nobody'"]),
        ("name,platform\nsw1,cisco_ios\nsw1,cisco_ios\n", BadInput, ["devices.csv:3", "line 2"]),
        ("name,platform\nsw1\n", BadInput, ["devices.csv:2", "2 columns expected"]),
        ("name,platform\nsw1,cisco_ios,extra\n", BadInput, ["devices.csv:2", "2 columns expected"]),
        ('name,platform\n"sw1,cisco_ios\n', BadInput, ["devices.csv", "CSV"]),
        ("", BadInput, ["devices.csv:1", "'name' is missing"]),
    ],
)
def test_bad_csv_is_one_line_with_place_and_cure_and_changes_nothing(text, error, words):
    with pytest.raises(error) as caught:
        load(text)
    assert all(word in str(caught.value) for word in words) and "\n" not in str(caught.value)
    assert Device.objects.count() == 0 and AuditEntry.objects.count() == 0


def test_device_name_is_taken_once():
    inventory.add_device(inventory.Wish("sw1", "cisco_ios"), actor="ops", now=NOW)
    with pytest.raises(BadInput, match="already"):
        inventory.add_device(inventory.Wish("sw1", "cisco_ios"), actor="ops", now=NOW)
    with pytest.raises(UnknownPlatform, match="known"):
        inventory.add_device(inventory.Wish("sw2", "junk_os"), actor="ops", now=NOW)


def test_credential_is_sealed_and_a_secret_not_given_stays():
    first = {"name": "push", "username": "svc", "purpose": "push", "actor": "ops", "now": NOW}
    inventory.set_credential(**first, password="Correct-horse-9", enable="Battery-7")
    inventory.set_credential(**first, password="Staple-8")
    row = Credential.objects.get()
    assert secrets.unseal(row.password_envelope) == "Staple-8" and secrets.unseal(row.enable_envelope) == "Battery-7"
    everything = str([entry.data for entry in AuditEntry.objects.all()]) + str(row.__dict__)
    assert not any(word in everything for word in ("horse", "Battery", "Staple"))
    with pytest.raises(BadInput, match="purpose"):
        inventory.set_credential(**{**first, "purpose": "fun"})


def test_scanned_key_waits_for_a_person_and_trusting_another_revokes_the_first():
    with simulated("cisco_ios") as bench:
        first = bench.row.host_keys.get()
        assert inventory.scan_host_key(bench.row, actor="ops", now=NOW).pk == first.pk
        bench.sim.swap_host_key()
        second = inventory.scan_host_key(bench.row, actor="ops", now=NOW)
        assert second.state == HostKey.State.PENDING
        Device.objects.filter(pk=bench.row.pk).update(quarantine_reason="host key changed")
        inventory.trust_host_key(host_key=second, actor="ops", now=NOW)
        first.refresh_from_db()
        bench.row.refresh_from_db()
        assert (first.state, second.state, bench.row.quarantine_reason) == ("revoked", "trusted", "")
        assert bench.plan().state == "proposed"


def test_trusting_a_key_does_not_end_a_quarantine_for_another_reason():
    with simulated("huawei_vrp") as bench:
        Device.objects.filter(pk=bench.row.pk).update(quarantine_reason="login refused")
        inventory.trust_host_key(host_key=bench.row.host_keys.get(), actor="ops", now=NOW)
        bench.row.refresh_from_db()
        assert bench.row.quarantine_reason == "login refused"
        inventory.release(bench.row, actor="ops", now=NOW)
        assert Device.objects.get().quarantine_reason == ""
