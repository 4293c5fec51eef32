"""The ledger is replaced as a whole, says what changes, and nothing happens on a mistake."""

import argparse

import pytest

from flowguard.actions.identities import RemovesMuch, import_identities
from flowguard.management import identity_cli
from flowguard.models import IdentityEntry
from flowguard.queries.identities import identities, identity_table
from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message
from policyhub.models import AuditEntry
from tests.support.ingesting import NOW

pytestmark = pytest.mark.django_db
HEADER = "prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps,realm\n"
ALGO = "10.10.8.0/24,algo,algorithm test,li.wei,non-core,0 8,22:00-06:00,2000,\n"
TRADE = "10.1.0.0/16,trading,trading system,wang,core,46,,,\n"
SITE_B = "10.10.8.0/24,printers,office,,non-core,,,,site-b\n"


def load(*rows, **more):
    return import_identities(text=HEADER + "".join(rows), file="ids.csv", actor="test", now=NOW, **more)


def run(*words):
    parser = argparse.ArgumentParser()
    identity_cli.add_arguments(parser)
    return identity_cli.run(parser.parse_args([str(word) for word in words]))


def test_an_import_makes_the_ledger_equal_to_the_file():
    load(ALGO, TRADE)
    told = load(ALGO.replace("0 8", "0"), SITE_B, replace=True)
    assert [line[0] for line in told.lines()] == ["-", "~", "+"]
    assert "allowed_dscp 0 8 to 0" in told.lines()[1]
    assert {(one.realm, one.prefix, one.allowed_dscp) for one in identities()} == {
        ("", "10.10.8.0/24", frozenset({0})),
        ("site-b", "10.10.8.0/24", None),
    }


def test_the_same_prefix_in_two_realms_is_two_identities():
    load(ALGO, SITE_B)
    assert identity_table().find("10.10.8.1", "").name == "algo"
    assert identity_table().find("10.10.8.1", "site-b").name == "printers"


def test_importing_the_same_file_again_changes_and_audits_nothing():
    load(ALGO, TRADE)
    before = AuditEntry.objects.count()
    assert load(TRADE, ALGO).is_empty
    assert AuditEntry.objects.count() == before


def test_an_import_is_audited_with_what_changed():
    load(ALGO)
    row = AuditEntry.objects.get()
    assert (row.action, row.actor, row.data["added"]) == ("identities.imported", "test", 1)
    assert "10.10.8.0/24" in str(Message.of(row.data["lines"][0]))


def test_a_dry_run_says_it_and_does_nothing():
    assert len(load(ALGO, TRADE, dry_run=True).added) == 2
    assert not IdentityEntry.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ((ALGO, "10.1.0.1/16,x,,,core,,,,\n"), "ids.csv:3"),
        ((ALGO, ALGO), "stands on line 2 already"),
        ((ALGO, "10.1.0.0/16,x,,,maybe,,,,\n"), "class 'maybe'"),
        ((ALGO, f"10.1.0.0/16,{'n' * 129},,,core,,,,\n"), "name is longer than 128"),
        ((), "holds no identity"),
    ],
)
def test_a_mistake_anywhere_changes_nothing(rows, told):
    load(TRADE)
    with pytest.raises(BadInput, match=told) as caught:
        load(*rows)
    assert "\n" not in str(caught.value)
    assert [one.name for one in identities()] == ["trading"]


def test_the_command_imports_lists_and_shows(tmp_path, capsys):
    file = tmp_path / "ids.csv"
    file.write_text("\ufeff" + HEADER + ALGO + TRADE, encoding="utf-8")
    assert run("import", file) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "imported: 2 added, 0 removed, 0 changed, 0 as before"
    assert run("list") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert run("show", "10.10.8.77") == 0
    assert "algo" in capsys.readouterr().out
    assert run("show", "192.0.2.1") == 1
    assert "has no identity" in capsys.readouterr().out


def many(count):
    return [f"10.{number}.0.0/16,net {number},,,core,46,,,\n" for number in range(count)]


@pytest.mark.parametrize(("kept", "goes"), [(20, True), (18, True), (17, False), (1, False)])
def test_a_file_that_lost_more_than_a_tenth_is_not_taken_for_the_ledger(kept, goes):
    load(*many(20))
    audited = AuditEntry.objects.count()
    if goes:
        assert len(load(*many(kept)).removed) == 20 - kept
        return
    with pytest.raises(RemovesMuch, match=f"would remove {20 - kept} of 20 entries.*--replace") as caught:
        load(*many(kept))
    assert "\n" not in str(caught.value)
    assert (IdentityEntry.objects.count(), AuditEntry.objects.count()) == (20, audited)
    assert len(load(*many(kept), dry_run=True).removed) == 20 - kept
    assert len(load(*many(kept), replace=True).removed) == 20 - kept


def test_other_entries_do_not_make_up_for_the_ones_that_are_lost():
    load(*many(20))
    with pytest.raises(RemovesMuch):
        load(*[row.replace("10.", "11.", 1) for row in many(20)])
    assert {one.prefix[:3] for one in identities()} == {"10."}


def test_the_command_prints_what_would_go_and_wants_to_hear_it_twice(tmp_path, capsys):
    load(*many(20))
    file = tmp_path / "ids.csv"
    file.write_text(HEADER + "".join(many(3)), encoding="utf-8")
    with pytest.raises(RemovesMuch):
        run("import", file)
    assert len([line for line in capsys.readouterr().out.splitlines() if line.startswith("- ")]) == 17
    assert run("import", file, "--dry-run") == 0
    assert "needs --replace" in capsys.readouterr().out.splitlines()[-1]
    assert IdentityEntry.objects.count() == 20
    assert run("import", file, "--replace") == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("imported: 0 added, 17 removed")


@pytest.mark.parametrize("name", ["missing.csv", "gbk.csv"])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path, name):
    (tmp_path / "gbk.csv").write_bytes("业务".encode("gbk"))
    with pytest.raises(BadInput) as caught:
        run("import", tmp_path / name)
    assert "\n" not in str(caught.value)


def test_an_address_that_is_none_is_one_line():
    with pytest.raises(BadInput, match="is not an IP address"):
        run("show", "host-a")
