"""Devices, credentials and host keys: what people may do, and one clear line when it cannot be."""

from datetime import UTC, datetime

import pytest

from policyhub.actions import audit, inventory, preflights, secrets, wishes
from policyhub.domain.errors import BadInput, UnknownPlatform
from policyhub.models import AuditEntry, Credential, Device, HostKey
from tests.support.devices import simulated

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
HEADER = "name,platform,host,port,role,group,realm,credential\n"


def load(text, file="devices.csv"):
    rows = wishes.preview(text, file)
    wishes.apply(rows, file=file, actor="ops", now=NOW)
    return rows


def test_import_makes_devices_and_a_second_one_changes_only_what_it_names():
    first = load(HEADER + "sw1,cisco_ios,192.0.2.1,22,access,edge,site-a,\nfw1,cisco_asa,,,firewall,,,\n")
    assert [row.what for row in first] == ["add", "add"]
    (row,) = load("platform,name,host\ncisco_ios,sw1,192.0.2.9\n")
    assert (row.what, row.changes) == ("change", (("host", "192.0.2.1", "192.0.2.9"),))
    sw1 = Device.objects.get(name="sw1")
    assert (sw1.host, sw1.platform, sw1.realm.name, sw1.group.name) == ("192.0.2.9", "cisco_ios", "site-a", "edge")
    assert [row.what for row in load("name,host\nsw1,192.0.2.9\n")] == ["same"] and Device.objects.count() == 2
    assert audit.verify().broken is None and AuditEntry.objects.filter(action="device.imported").count() == 3


def test_the_same_inventory_again_keeps_the_platform_that_was_found_and_a_new_look_is_asked_for_by_name():
    text = "name,platform,host\nsw1,detect,192.0.2.1\n"
    (row,) = load(text)
    assert row.what == "add" and [note.template for note in row.notes] == ["its platform is found by the preflight"]
    Device.objects.update(platform="cisco_ios")
    assert [(row.what, row.changes, row.notes) for row in load(text)] == [("same", (), ())]
    netbox = '[{"name": "sw1", "primary_ip": {"address": "192.0.2.9/24"}, "platform": {"slug": "junk_os"}}]'
    assert [row.changes for row in load(netbox, "n.json")] == [(("host", "192.0.2.1", "192.0.2.9"),)]
    device = Device.objects.get()
    assert (device.host, device.platform) == ("192.0.2.9", "cisco_ios")
    preflights.forget([device], actor="ops", now=NOW)
    assert Device.objects.get().platform == "detect" == device.platform
    assert load("name,platform\nsw1,cisco_asa\n")[0].changes == (("platform", "detect", "cisco_asa"),)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("name,platform\nsw2,cisco_iso\n", 2, ["'cisco_iso'", "cisco_ios"]),
        ("name,port\nsw1,99999\n", 2, ["'99999'"]),
        ("name,host\nsw1,192.0.2.300\n", 2, ["'192.0.2.300'", "2001:db8::1"]),
        ("name,role\nsw1,spine\n", 2, ["'spine'", "access"]),
        ("name,credential\nsw1,nobody\n", 2, ["'nobody'"]),
        ("name,bastion\nsw1,nobody\n", 2, ["no bastion 'nobody'"]),
        ("name,bastion\nsw1,sw1\n", 2, ["own bastion"]),
        ("name,ssh_profile\nsw1,ancient\n", 2, ["'ancient'", "modern, old"]),
        ("name,host_key\nsw1,ssh-ed25519 nonsense\n", 2, ["ssh-ed25519 AAAA"]),
        ("name,platform\nsw1\n", 2, ["2 columns expected"]),
        ("name,platform\nsw1,cisco_ios,extra\n", 2, ["2 columns expected"]),
        ("name,platform\n,cisco_ios\n", 2, ["no name"]),
        ("name\ngood\ngood\n", 3, ["line 2"]),
        ('[edge]\nsw1 ansible_host="192.0.2.1\n', 2, ["quote is not closed"]),
        ("[edge]\nsw[01:50] ansible_host=192.0.2.1\n", 2, ["ansible-inventory --list"]),
        ("all:\n  hosts:\n    sw1:\n      ansible_host: '{{ address }}'\n", 3, ["host is a template"]),
        ('[{"name": null}]', 1, ["no name"]),
    ],
)
def test_bad_row_is_one_line_with_its_place_and_the_others_go_in(text, line, words):
    rows = load(text)
    (bad,) = [row for row in rows if row.what == "bad"]
    assert bad.line == line and all(word in str(bad.problem) for word in words) and "\n" not in str(bad.problem)
    assert Device.objects.count() == len(rows) - 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,plattform\nsw1,cisco_ios\n", ["devices.csv:1", "'plattform'", "Known: name"]),
        ("host,platform\n192.0.2.1,cisco_ios\n", ["devices.csv:1", "'name' is missing"]),
        ('name,platform\n"sw1,cisco_ios\n', ["devices.csv", "CSV"]),
        ("", ["devices.csv:1", "'name' is missing"]),
        ("{", ["devices.csv:1", "JSON"]),
        ("all:\n  hosts: [\n", ["YAML"]),
        ("all:\n  vars:\n    a: b\n", ["no hosts"]),
    ],
)
def test_file_that_is_no_inventory_is_one_line_and_changes_nothing(text, words):
    with pytest.raises(BadInput) as caught:
        load(text)
    assert all(word in str(caught.value) for word in words) and "\n" not in str(caught.value)
    assert Device.objects.count() == 0 and AuditEntry.objects.count() == 0


ANSIBLE_YAML = """---
all:
  vars: {ansible_user: reader, site: campus}
  children:
    access:
      vars:
        ansible_network_os: cisco.ios.ios
      hosts:
        sw1:
          ansible_host: 192.0.2.1
        sw2.example.net: {ansible_port: 2222, ansible_password: !vault "x"}
    core:
      hosts:
        core1:
          ansible_host: 192.0.2.3
          ansible_network_os: community.network.ce
"""
ANSIBLE_INI = """[access]
sw1 ansible_host=192.0.2.1
sw2.example.net ansible_port=2222

[access:vars]
ansible_network_os=cisco.ios.ios

[core]
core1 ansible_host=192.0.2.3 ansible_network_os=community.network.ce

[net:children]
access
core

[net:vars]
ansible_user=reader
site=campus
"""
ANSIBLE_JSON = """{"_meta": {"hostvars": {
"sw1": {"ansible_host": "192.0.2.1", "ansible_network_os": "ios", "ansible_user": "reader", "site": "campus"},
"sw2.example.net": {"ansible_port": 2222, "ansible_network_os": "ios", "ansible_user": "reader", "site": "campus"},
"core1": {"ansible_host": "192.0.2.3", "ansible_network_os": "ce", "ansible_user": "reader", "site": "campus"}}}}"""


@pytest.mark.parametrize("text", [ANSIBLE_YAML, ANSIBLE_INI, ANSIBLE_JSON], ids=["yaml", "ini", "json"])
def test_ansible_inventory_is_read_with_the_variables_of_its_groups(text):
    inventory.set_credential(name="ro", username="reader", purpose="collect", password="x" * 9, actor="ops", now=NOW)
    rows = load(text, "hosts")
    assert sorted((row.name, row.what) for row in rows) == [("core1", "add"), ("sw1", "add"), ("sw2.example.net", "add")]
    found = {row.name: (row.host, row.port, row.platform, row.realm.name) for row in Device.objects.select_related("realm")}
    assert found == {
        "sw1": ("192.0.2.1", 22, "cisco_ios", "campus"),
        "sw2.example.net": ("sw2.example.net", 2222, "cisco_ios", "campus"),
        "core1": ("192.0.2.3", 22, "huawei_vrp", "campus"),
    }
    assert all(row.collect_credential.name == "ro" for row in Device.objects.all())


NETBOX_JSON = """{"count": 2, "results": [
{"name": "sw1", "primary_ip": {"address": "192.0.2.1/24"}, "platform": {"slug": "cisco-ios-xe"}, "site": {"slug": "campus"},
 "role": {"slug": "access-switch"}, "status": {"value": "active"}},
{"name": "fw1", "primary_ip": {"address": "2001:db8::1/64"}, "platform": {"slug": "home-made"}, "site": {"slug": "campus"},
 "device_role": {"slug": "firewall"}}]}"""
NETBOX_CSV = """Name,Status,Site,Role,Manufacturer,IP Address,Platform,Primary IPv4
sw1,Active,campus,access-switch,Cisco,192.0.2.1/24,cisco-ios-xe,192.0.2.1/24
fw1,Active,campus,firewall,Some,2001:db8::1/64,home-made,
"""


@pytest.mark.parametrize("text", [NETBOX_JSON, NETBOX_CSV], ids=["json", "csv"])
def test_netbox_export_is_read_and_a_platform_nobody_knows_is_to_be_detected(text):
    rows = load(text, "devices")
    found = {row.name: (row.host, row.platform, row.realm.name, row.role) for row in Device.objects.select_related("realm")}
    assert found == {
        "sw1": ("192.0.2.1", "cisco_ios", "campus", "access"),
        "fw1": ("2001:db8::1", "detect", "campus", "firewall"),
    }
    assert ["preflight" in str(note) for row in rows if row.name == "fw1" for note in row.notes] == [True]


def test_old_algorithms_are_an_explicit_wish_that_is_warned_of_and_audited():
    rows = load("name,ssh_profile\nsw1,old\nsw2,\n")
    assert any("can be read" in str(note) for note in rows[0].notes) and not any("SSH" in str(note) for note in rows[1].notes)
    assert [row.ssh_profile for row in Device.objects.all()] == ["old", "modern"]
    assert AuditEntry.objects.filter(action="device.old-algorithms").count() == 1


def test_yaml_that_unfolds_without_end_is_refused():
    layers = ["a0: &a0 {hosts: {h: }}"]
    layers += [f"a{n}: &a{n} {{children: {{x: *a{n - 1}, y: *a{n - 1}, z: *a{n - 1}, w: *a{n - 1}}}}}" for n in range(1, 20)]
    with pytest.raises(BadInput, match="more than"):
        load("\n".join(layers) + "\n", "hosts.yml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('name,host\n"sw\n1",192.0.2.1\nsw2,192.0.2.2\n', "name 'sw\\n1' is longer than 128"),
        ("[all]\n\x1b[31mh1 ansible_host=192.0.2.1\nsw2 ansible_host=192.0.2.2\n", "cannot be printed"),
        (f"name,realm\nsw1,{'r' * 65}\nsw2,site\n", "realm 'rrr"),
        (f"name,group\nsw1,{'g' * 65}\nsw2,all\n", "group 'ggg"),
        ('[{"name": ["sw1"]}, {"name": "sw2"}]', "no name"),
        ("all:\n  hosts:\n    ? [a, b]\n    : {}\n    sw2: {ansible_host: 192.0.2.2}\n", "no name"),
    ],
)
def test_names_that_no_column_and_no_terminal_can_hold_are_bad_rows(text, told):
    bad, good = load(text)
    assert (bad.what, good.what) == ("bad", "add") and told in str(bad.problem)
    assert [row.name for row in Device.objects.all()] == ["sw2"]


@pytest.mark.parametrize("between", [";", "\t"])
def test_spreadsheets_with_other_separators_are_read(between):
    load(HEADER.replace(",", between) + between.join(["sw1", "cisco_ios", "192.0.2.1", "22", "access", "edge", "a,b", ""]) + "\n")
    assert Device.objects.get().realm.name == "a,b"


def test_hosts_that_are_no_object_are_refused():
    with pytest.raises(BadInput, match="hostvars"):
        load('{"_meta": {"hostvars": [1, 2]}}', "inventory.json")


def test_an_import_asks_the_database_no_more_per_row_than_it_writes(django_assert_max_num_queries):
    rows = wishes.preview("name,host,realm\n" + "".join(f"sw{n},192.0.2.{n},site-{n % 5}\n" for n in range(200)), "a.csv")
    with django_assert_max_num_queries(260):
        wishes.apply(rows, file="a.csv", actor="ops", now=NOW)
    assert Device.objects.count() == 200


def test_an_import_writes_only_the_columns_it_names():
    load(HEADER + "sw1,cisco_ios,192.0.2.1,22,access,edge,site-a,\n")
    known = wishes.Known()
    Device.objects.update(quarantine_reason="host key changed")
    wish = wishes.Wish("sw1", port="23")
    wishes.save(wish, wishes.checked(wish, known), actor="ops", now=NOW, known=known)
    assert Device.objects.values_list("port", "quarantine_reason").get() == (23, "host key changed")


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
