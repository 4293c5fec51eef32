"""Whoever proposes a change is a named user of the service and never its approver; a policy proposes members only."""

from __future__ import annotations

import argparse
import getpass

import pytest
from django.contrib.auth.models import Permission, User

from flowguard.actions import enforcement, guards
from flowguard.management import guard_cli
from flowguard.models import Enforcement, Guard
from policyhub import dispatch
from policyhub.actions import changes
from policyhub.domain.change import ChangeKind
from policyhub.domain.errors import BadInput, SelfApproval
from policyhub.management import change_cli
from policyhub.models import AuditEntry, Change
from policyhub.transport.errors import TransportError
from tests.support.devices import simulated

pytestmark = pytest.mark.django_db
MEMBER = "192.0.2.200"
LOGIN = getpass.getuser()


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch):
    monkeypatch.setattr(dispatch, "on_commit", lambda task, *ids: None)


@pytest.fixture
def bench():
    with simulated("cisco_ios") as one:
        yield one


@pytest.fixture
def alice():
    return person("alice", "add_guard", "change_guard", "change_enforcement", "approve_change")


@pytest.fixture
def board():
    return person("board", "approve_change")


def person(name, *permissions):
    user = User.objects.create_user(name)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def run(module, *arguments):
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return module.run(parser.parse_args(arguments))


def install(bench, *more):
    return run(guard_cli, "install", bench.row.name, "one", "--interface", bench.spec.interfaces[0], *more)


def approve(change, name):
    return run(change_cli, "approve", str(change.pk), "--plan", change.plan_sha256, "--as", name)


def installed(bench, alice, board, *more):
    """The guard, there and approved by the board."""
    install(bench, "--as", "alice", *more)
    guard = Guard.objects.get()
    approve(guard.install_change, "board")
    bench.finish(guard.install_change)
    guards.step(guard_id=guard.pk, clock=bench.clock)
    return Guard.objects.get(state="installed")


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("install", ["sw1", "one", "--interface", "Gi1"]),
        ("ask", ["sw1", "one", MEMBER, "--reason", "x"]),
        ("remove", ["sw1", "one"]),
    ],
)
def test_nobody_is_nobody(verb, arguments, capsys):
    with pytest.raises(SystemExit):
        run(guard_cli, verb, *arguments)
    assert "--as" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "why"), [("ghost", "is not an active user"), ("left", "is not an active user"), ("intern", "flowguard.add_guard")]
)
def test_only_a_user_who_may_propose_does(bench, name, why):
    User.objects.create_user("left", is_active=False)
    User.objects.create_user("intern")
    with pytest.raises(BadInput, match=why):
        install(bench, "--as", name)
    assert (Guard.objects.count(), Change.objects.count()) == (0, 0)


def test_a_guard_proposed_at_the_command_line_is_not_approved_by_who_proposed_it(bench, alice, board, capsys):
    assert install(bench, "--as", "alice") == 0
    change = Change.objects.get()
    assert (change.requested_by, change.actor, change.state) == (alice, f"alice (cli:{LOGIN})", "proposed")
    assert "somebody else than alice" in capsys.readouterr().out
    with pytest.raises(SelfApproval):
        approve(change, "alice")
    assert approve(change, "board") == 0
    told = AuditEntry.objects.get(action="change.approved")
    assert told.actor == f"board (cli:{LOGIN})"
    assert AuditEntry.objects.get(action="guard.proposed").actor == f"alice (cli:{LOGIN})"


def test_an_address_asked_for_is_not_approved_by_who_asked(bench, alice, board):
    installed(bench, alice, board)
    assert run(guard_cli, "ask", bench.row.name, "one", MEMBER, "--reason", "incident", "--as", "alice") == 0
    row = Enforcement.objects.get()
    enforcement.step(enforcement_id=row.pk, clock=bench.clock)
    change = Change.objects.get(kind=ChangeKind.MEMBER_ADD)
    assert (row.requested_by, change.requested_by, change.actor) == (alice, alice, "alice")
    with pytest.raises(SelfApproval):
        approve(change, "alice")
    assert approve(change, "board") == 0


def test_a_first_member_is_asked_for_by_who_proposed_the_guard(bench, alice, board):
    installed(bench, alice, board, "--with-member", f"{MEMBER}/32")
    row = Enforcement.objects.get()
    assert (row.requested_by, row.state) == (alice, "proposed")
    assert row.events.get().data["actor"] == "alice (guard install)"


def test_a_removal_is_not_approved_by_who_proposed_it(bench, alice, board):
    installed(bench, alice, board)
    assert run(guard_cli, "remove", bench.row.name, "one", "--as", "alice") == 0
    change = Change.objects.get(kind=ChangeKind.GUARD_REMOVE)
    assert change.requested_by == alice
    with pytest.raises(SelfApproval):
        approve(change, "alice")
    assert approve(change, "board") == 0


@pytest.mark.parametrize("kind", [ChangeKind.GUARD_INSTALL, ChangeKind.GUARD_REMOVE])
def test_no_policy_proposes_a_guard(bench, kind):
    with pytest.raises(BadInput, match="nobody proposes it"):
        bench.plan(kind, requested_by=None)
    assert Change.objects.count() == 0


@pytest.mark.parametrize("mode", ["auto", "propose"])
def test_what_the_rails_decided_is_asked_for_by_the_policy(bench, alice, board, mode):
    guard = installed(bench, alice, board)
    row = Enforcement.objects.create(
        guard=guard, realm=bench.row.realm, member=f"{MEMBER}/32", state="proposed", mode=mode, profile="lab",
        idempotency_key="k", created_at=bench.clock(),
    )  # fmt: skip
    enforcement.step(enforcement_id=row.pk, clock=bench.clock)
    change = Change.objects.get(kind=ChangeKind.MEMBER_ADD)
    assert (change.requested_by, change.actor) == (None, f"policy {mode}:lab")
    changes.approve(change=change, approver=alice, plan_sha256=change.plan_sha256, now=bench.clock())


def test_a_device_that_could_not_be_read_leaves_no_guard_in_the_way_of_the_next_try(bench, alice):
    port, bench.row.port = bench.row.port, 1
    bench.row.save()
    with pytest.raises(TransportError):
        install(bench, "--as", "alice")
    assert Guard.objects.count() == 0
    assert AuditEntry.objects.filter(action="guard.not-planned", actor=f"alice (cli:{LOGIN})").exists()
    bench.row.port = port
    bench.row.save()
    assert install(bench, "--as", "alice") == 0
    assert Guard.objects.get().install_change.state == "proposed"
    with pytest.raises(guards.GuardExists):
        install(bench, "--as", "alice")
