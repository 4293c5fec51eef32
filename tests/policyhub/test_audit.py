"""The audit chain holds, and shows where it was touched."""

import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import connection, transaction

from policyhub.actions import audit
from policyhub.management import audit_cli
from policyhub.models import AuditEntry
from policyhub.models.audit import AppendOnly

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)


def fill(count: int = 6) -> None:
    for number in range(count):
        audit.record(
            "change.push", actor="worker-1", at=AT + timedelta(seconds=number), change=number, lines=["a", "b"], share=0.5
        )


def raw(sql: str, *values: object) -> None:
    """As somebody with a database client would: around the model."""
    with connection.cursor() as cursor:
        cursor.execute(sql.replace("audit", AuditEntry._meta.db_table), values)


def test_chain_of_records_verifies_and_links_each_row_to_the_one_before():
    fill()
    report = audit.verify()
    rows = list(AuditEntry.objects.order_by("sequence"))
    assert report.broken is None and report.entries == 6 and report.head == rows[-1].hash
    assert [row.sequence for row in rows] == [1, 2, 3, 4, 5, 6]
    assert rows[0].previous_hash == audit.GENESIS and rows[3].previous_hash == rows[2].hash


@pytest.mark.parametrize(
    ("sql", "values", "sequence", "reason"),
    [
        ("UPDATE audit SET actor = %s WHERE sequence = 3", ["mallory"], 3, "content was changed"),
        ("UPDATE audit SET data = %s WHERE sequence = 2", ['{"change": 99}'], 2, "content was changed"),
        ("UPDATE audit SET at = %s WHERE sequence = 5", ["2026-11-30 07:00:00+00:00"], 5, "content was changed"),
        ("UPDATE audit SET hash = %s WHERE sequence = 4", ["f" * 64], 4, "content was changed"),
        ("DELETE FROM audit WHERE sequence = 4", [], 5, "row 4 is missing"),
        ("DELETE FROM audit WHERE sequence = 1", [], 2, "row 1 is missing"),
    ],
)
def test_tampering_is_found_at_the_first_touched_row(sql, values, sequence, reason):
    fill()
    raw(sql, *values)
    broken = audit.verify().broken
    assert broken is not None and broken.sequence == sequence and reason in broken.reason


def test_a_row_rehashed_by_a_forger_breaks_the_next_one():
    fill()
    row = AuditEntry.objects.get(sequence=3)
    forged = audit.entry_hash(row.previous_hash, sequence=3, at=row.at, actor="mallory", action=row.action, data=row.data)
    raw("UPDATE audit SET actor = %s, hash = %s WHERE sequence = 3", "mallory", forged)
    broken = audit.verify().broken
    assert broken is not None and broken.sequence == 4


def test_the_model_refuses_every_change_and_removal():
    fill(2)
    row = AuditEntry.objects.first()
    row.actor = "mallory"
    for attempt in (row.save, row.delete, AuditEntry.objects.all().delete, lambda: AuditEntry.objects.update(actor="x")):
        with pytest.raises(AppendOnly):
            attempt()
    with pytest.raises(AppendOnly):
        AuditEntry.objects.bulk_update([row], ["actor"])
    assert audit.verify().broken is None


def test_data_reads_back_as_it_was_hashed(django_user_model):
    user = django_user_model.objects.create_user("ops", password="a-long-password")
    zone = timezone(timedelta(hours=8))
    audit.record(
        "x", actor=user, at=datetime(2026, 11, 30, 16, tzinfo=zone), n=1e22, f=3.0, s="a\0b", when=AT, marks={46, 8}, user=user
    )
    row = AuditEntry.objects.get()
    assert row.actor == "ops" and row.data["s"] == "ab" and row.data["marks"] == [8, 46] and row.data["user"] == user.pk
    assert audit.verify().broken is None


def test_not_a_number_is_refused_instead_of_breaking_the_chain():
    with pytest.raises(ValueError, match="Out of range"):
        audit.record("x", actor="a", at=AT, share=float("nan"))
    assert audit.verify().entries == 0


def test_a_rolled_back_action_leaves_no_row_and_no_hole():
    fill(2)
    with transaction.atomic():
        audit.record("lost", actor="a", at=AT)
        transaction.set_rollback(True)
    audit.record("kept", actor="a", at=AT)
    assert audit.verify().broken is None and AuditEntry.objects.first().sequence == 3


def test_command_verify_says_sound_then_names_the_broken_row(capsys):
    import argparse

    parser = argparse.ArgumentParser()
    audit_cli.add_arguments(parser)
    fill(3)
    assert audit_cli.run(parser.parse_args(["verify"])) == 0
    assert capsys.readouterr().out.startswith("sound: 3 rows, head ")
    raw("UPDATE audit SET action = %s WHERE sequence = 2", "other")
    assert audit_cli.run(parser.parse_args(["verify"])) == 1
    assert "BROKEN at row 2" in capsys.readouterr().out


@pytest.mark.django_db(transaction=True)
def test_writers_at_once_make_one_chain():
    problems = []

    def write(name):
        try:
            for number in range(15):
                with transaction.atomic():
                    audit.record("race", actor=name, at=AT, number=number)
        except Exception as error:
            problems.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report = audit.verify()
    assert problems == [] and report.broken is None and report.entries == 60
