"""Many people press "approve" at the same moment, on the plan they read or on one that changed since."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connection

from policyhub import dispatch
from policyhub.actions import changes, changes_record
from policyhub.domain.change import Commands
from policyhub.domain.errors import PlanChanged, PolicyHubError, SelfApproval
from policyhub.models import AuditEntry, Change, Device, DeviceGroup, Realm

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PEOPLE = 6


def make_change(**fields) -> Change:
    group = DeviceGroup.objects.create(name="edge")
    device = Device.objects.create(name="sw", realm=Realm.objects.create(name=""), group=group, platform="cisco_ios")
    spec = {"name": "PHG-A", "interfaces": ["Gi1"], "marks": [46], "target_dscp": 0, "rate_bps": None, "families": [4]}
    commands = Commands(("class-map A",), ("no class-map A",), ())
    return Change.objects.create(
        device=device, kind="guard-install", state="proposed", spec=spec, lines=list(commands.lines), reason="", actor="alice",
        inverse=list(commands.inverse), idempotency_key="k", created_at=NOW,
        plan_sha256=changes_record.plan_sha256(device, "guard-install", spec, commands), **fields,
    )  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_many_approvals_at_once_start_one_push(monkeypatch):
    monkeypatch.setattr(dispatch, "on_commit", lambda *_: None)
    change, start = make_change(), Barrier(PEOPLE)
    people = [User.objects.create(username=f"p{number % 3}{number}") for number in range(PEOPLE)]

    def press(person):
        start.wait(30)
        try:
            changes.approve(change=change, approver=person, plan_sha256=change.plan_sha256, now=NOW)
        except PolicyHubError as error:
            return type(error).__name__
        finally:
            connection.close()
        return "approved"

    with ThreadPoolExecutor(PEOPLE) as pool:
        told = list(pool.map(press, people))
    assert told.count("approved") == 1 and told.count("WrongState") == PEOPLE - 1
    assert change.events.filter(state="approved").count() == change.approvals.count() == 1
    assert AuditEntry.objects.filter(action="change.approved").count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("field", ["lines", "inverse", "reads"])
def test_a_plan_edited_in_the_database_cannot_be_approved_by_its_old_hash(field):
    change = make_change()
    Change.objects.filter(pk=change.pk).update(**{field: ["no router bgp 65000"]})
    with pytest.raises(PlanChanged):
        changes.approve(change=change, approver=User.objects.create(username="bob"), plan_sha256=change.plan_sha256, now=NOW)


@pytest.mark.django_db
def test_a_plan_for_a_device_that_moved_cannot_be_approved():
    change = make_change()
    Device.objects.update(host="198.51.100.66")
    with pytest.raises(PlanChanged):
        changes.approve(change=change, approver=User.objects.create(username="bob"), plan_sha256=change.plan_sha256, now=NOW)


@pytest.mark.django_db
def test_who_asked_cannot_approve():
    alice = User.objects.create(username="alice")
    change = make_change(requested_by=alice)
    with pytest.raises(SelfApproval):
        changes.approve(change=change, approver=alice, plan_sha256=change.plan_sha256, now=NOW)
    assert change.approvals.count() == 0
