"""Preflights: each step with its cure, bastions, old algorithms, cancelling, and what a lost worker leaves."""

from datetime import UTC, datetime, timedelta

import asyncssh
import pytest

from policyhub.actions import collect, inventory, preflights, wishes
from policyhub.domain.errors import WrongState
from policyhub.domain.message import Message
from policyhub.models import Device, Preflight, PreflightResult
from policyhub.queries.schedules import due_preflights
from tests.support.devices import ENABLE, PASSWORD, USER, simulated
from tests.support.fleet import Fleet, made

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)


def clock():
    return NOW


@pytest.fixture
def reader():
    from policyhub.actions import inventory

    made = {"username": USER, "purpose": "collect", "password": PASSWORD, "enable": ENABLE}
    return inventory.set_credential(name="reader", **made, actor="ops", now=NOW)


def rows_for(members, **more):
    """The members as devices with trusted keys; `more`: name -> further columns."""
    for member in members:
        wish = wishes.Wish(
            member.name, member.platform, "127.0.0.1", str(member.port), credential="reader", host_key=member.host_key,
            **more.get(member.name, {}),
        )  # fmt: skip
        wishes.save(wish, wishes.checked(wish), actor="ops", now=NOW)
    return list(Device.objects.order_by("name"))


def looked(devices, *, collecting=False):
    run = preflights.start(devices, collecting=collecting, queue=False, actor="ops", now=NOW)
    return {row.device.name: row for row in preflights.run(run, workers=4, clock=clock)}


def steps(row):
    return {step["name"]: step["state"] for step in row.steps}


def cure(row, name):
    return next(str(Message.of(step["cure"])) for step in row.steps if step["name"] == name)


def test_every_step_says_ok_failed_or_not_tried_and_the_cure_stands_at_the_one_that_failed(reader):
    members = [made("asa", "cisco_asa"), made("junos", "juniper_junos"), made("wrong", "h3c_comware"), made("new", "cisco_ios")]
    members[0].device.enable_secret = "quite-Another-1"
    members[1].device.refused = {"show configuration"}
    with Fleet(members):
        devices = rows_for(members, wrong={})
        Device.objects.filter(name="wrong").update(platform="juniper_junos")
        devices = list(Device.objects.order_by("name"))
        Device.objects.get(name="new").host_keys.all().delete()
        found = looked(devices, collecting=True)
    asa, junos, wrong, new = (steps(found[name]) for name in ("asa", "junos", "wrong", "new"))
    assert (asa["login"], asa["privilege"], asa["platform"], asa["show running-config"]) == (
        "ok",
        "failed",
        "not-tried",
        "not-tried",
    )
    assert "enable secret" in cure(found["asa"], "privilege")
    assert (junos["platform"], junos["version"], junos["show configuration"], junos["show firewall"]) == (
        "ok",
        "ok",
        "failed",
        "ok",
    )
    assert "device account juniper_junos" in cure(found["junos"], "show configuration")
    assert (wrong["login"], wrong["platform"]) == ("ok", "failed")
    assert (new["reachable"], new["host-key"], new["login"]) == ("ok", "failed", "not-tried")
    assert "trust" in cure(found["new"], "host-key")
    assert members[3].logins.attempts == [], "nobody logs in where no key is trusted"
    assert {row.state for row in found.values()} == {"failed"} and not any(row.collected for row in found.values())
    assert Device.objects.get(name="asa").quarantine_reason == "login refused"
    assert Device.objects.get(name="new").host_keys.get().state == "pending"


def test_device_without_address_or_credential_is_a_row_like_the_others(reader):
    wish = wishes.Wish("files", "cisco_asa")
    wishes.save(wish, wishes.checked(wish), actor="ops", now=NOW)
    row = looked([Device.objects.get()])["files"]
    assert row.state == "failed" and steps(row)["login"] == "failed" and steps(row)["reachable"] == "not-tried"
    assert "import-config" in cure(row, "login")
    assert Preflight.objects.get().state == "done"


def test_device_without_a_credential_says_so_and_how_it_gets_one():
    wish = wishes.Wish("bare", "cisco_asa", host="192.0.2.1")
    wishes.save(wish, wishes.checked(wish), actor="ops", now=NOW)
    row = looked([Device.objects.get()])["bare"]
    (failed,) = [step for step in row.steps if step["state"] == "failed"]
    assert failed["name"] == "login"
    assert "no credential to collect, nor has its site" in str(Message.of(failed["said"]))
    assert "policyhub device credential" in cure(row, "login") and "policyhub device login" in cure(row, "login")


def test_devices_behind_a_bastion_are_reached_through_it_and_its_failure_is_not_theirs(reader):
    bastion, inside = made("jump", "cisco_ios"), made("inside", "h3c_comware")
    bastion.logins.forwards = True
    with Fleet([bastion, inside]):
        rows_for([bastion, inside])
        Device.objects.filter(name="jump").update(role="bastion")
        wishes.save(wishes.Wish("inside", bastion="jump"), {}, actor="ops", now=NOW)
        row = looked([Device.objects.get(name="inside")], collecting=True)["inside"]
        assert row.state in ("ok", "partial") and row.collected
        assert set(bastion.logins.forwarded) == {("127.0.0.1", inside.port)}
        assert collect.collect(device_id=row.device_id, actor="ops", now=NOW).rules > 0
        assert not collect.can_collect(Device.objects.get(name="jump"))

        bastion.logins.passwords[USER] = "changed-since-1"
        row = looked([Device.objects.get(name="inside")])["inside"]
    assert steps(row)["reachable"] == "failed" and steps(row)["login"] == "not-tried"
    quarantined = {device.name: device.quarantine_reason for device in Device.objects.all()}
    assert quarantined == {"jump": "login refused", "inside": ""}


@pytest.mark.filterwarnings("ignore:Diffie-Hellman over finite fields")  # of asyncssh, about what is tested here
def test_old_algorithms_are_used_only_where_somebody_allowed_them(reader):
    old = made("old", "h3c_comware")
    old.key = asyncssh.generate_private_key("ssh-rsa", key_size=2048)
    old.options = {
        "kex_algs": ["diffie-hellman-group14-sha1"],
        "encryption_algs": ["aes128-cbc"],
        "mac_algs": ["hmac-sha1"],
        "signature_algs": ["ssh-rsa"],
    }
    with Fleet([old]):
        rows_for([old])
        row = looked([Device.objects.get()])["old"]
        assert steps(row)["reachable"] == "failed" and "SSH profile 'old'" in cure(row, "reachable")
        Device.objects.get().host_keys.all().delete()
        row = looked([Device.objects.get()])["old"]
        assert steps(row)["reachable"] == "failed" and "SSH profile 'old'" in cure(row, "reachable")
        rows_for([old], old={"ssh_profile": "old"})
        row = looked([Device.objects.get()], collecting=True)["old"]
    assert row.collected, [(step["name"], step["state"], str(Message.of(step["said"]))) for step in row.steps]


def test_cancelled_run_begins_nothing_more_and_ends_once(reader):
    members = [made(f"sw{n}", "h3c_comware") for n in range(4)]
    with Fleet(members):
        devices = rows_for(members)
        run = preflights.start(devices, collecting=False, queue=False, actor="ops", now=NOW)
        rows = preflights.run(run, workers=1, clock=clock)
        next(rows)
        preflights.cancel(preflight_id=run.pk, actor="ops", now=NOW)
        list(rows)
    states = list(run.results.values_list("state", flat=True))
    assert states.count("cancelled") >= 2 and not {"waiting", "running"} & set(states)
    with pytest.raises(WrongState):
        preflights.cancel(preflight_id=run.pk, actor="ops", now=NOW)
    waiting = run.results.filter(state="cancelled").first()
    preflights.run_one(result_id=waiting.pk, clock=clock)
    waiting.refresh_from_db()
    assert waiting.state == "cancelled"


def test_queued_run_is_one_message_per_device_and_lost_ones_come_again(dispatched, django_capture_on_commit_callbacks):
    with simulated("cisco_ios") as bench, simulated("huawei_vrp") as other:
        with django_capture_on_commit_callbacks(execute=True):
            run = preflights.start([bench.row, other.row], collecting=True, queue=True, actor="ops", now=NOW)
        ids = list(run.results.values_list("pk", flat=True))
        assert dispatched == [("policyhub.preflight", pk) for pk in ids]
        assert list(due_preflights(NOW)) == []
        assert [row[:2] for row in due_preflights(NOW + timedelta(seconds=11))] == dispatched
        preflights.run_one(result_id=ids[0], clock=clock)
        run.refresh_from_db()
        assert run.state == "running"
        PreflightResult.objects.filter(pk=ids[1]).update(state="running", started_at=NOW)
        assert [row[:2] for row in due_preflights(NOW + timedelta(minutes=23))] == [dispatched[1]]
        preflights.run_one(result_id=ids[1], clock=clock)
        run.refresh_from_db()
    assert run.state == "done" and [row.collected for row in run.results.all()] == [True, True]


def test_what_a_killed_command_left_is_looked_at_by_workers():
    for name in ("one", "two"):  # without a login: their looks end at once
        inventory.add_device(inventory.Wish(name, platform="cisco_ios", host="192.0.2.1"), actor="ops", now=NOW)
    run = preflights.start(list(Device.objects.all()), collecting=False, queue=False, actor="ops", now=NOW)
    one, two = run.results.values_list("pk", flat=True)
    PreflightResult.objects.filter(pk=one).update(state="running", started_at=NOW + timedelta(minutes=5))
    assert list(due_preflights(NOW + timedelta(minutes=26))) == [], "the command may be at work"
    assert [row[1] for row in due_preflights(NOW + timedelta(minutes=27))] == [two, one]
    for row in (two, one):
        preflights.run_one(result_id=row, clock=clock)
    run.refresh_from_db()
    assert run.state == "done"


def test_a_defect_of_ours_with_one_device_hides_no_other(reader, monkeypatch):
    members = [made("one", "h3c_comware"), made("two", "h3c_comware")]
    whole = preflights.examine

    def broken(target, **more):
        if target.name == "one":
            raise RuntimeError("defect")
        return whole(target, **more)

    monkeypatch.setattr(preflights, "examine", broken)
    with Fleet(members):
        found = looked(rows_for(members))
    assert found["one"].state == "failed" and found["two"].state in ("ok", "partial")
