"""The audit chain in words: what was done and its details, in both languages, and never as a program prints them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from django.utils import translation

from policyhub.actions import audit
from policyhub.console import audit_words
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import AuditEntry
from policyhub.queries import words
from tests.console.conftest import person
from tests.support.sample_rows import Sample

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
CHINESE = re.compile(r"[\u4e00-\u9fff]")
OWN = {"actor", "at"}  # columns of their own


def records() -> Iterator[ast.Call]:
    for app in ("policyhub", "flowguard"):
        for path in (ROOT / app).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if "audit" in text:
                for node in ast.walk(ast.parse(text)):
                    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("audit.record", "self._record"):
                        yield node


def test_every_key_and_action_of_the_source_has_words() -> None:
    calls = list(records())
    keys = {word.arg for call in calls for word in call.keywords if word.arg} - OWN
    assert len(keys) > 40
    assert keys <= set(audit_words.KEYS)
    actions = {call.args[0].value for call in calls if call.args and isinstance(call.args[0], ast.Constant)}
    assert len(actions) > 25
    for action in actions:
        subject, _, verb = str(action).partition(".")
        assert subject in audit_words.SUBJECTS and verb in {*audit_words.VERBS, *words.WORDS}, action


@pytest.mark.parametrize(
    "action", ["change.approved", "change.revert-failed", "enforcement.active", "guard.broken", "admin.device.added"]
)
def test_states_of_changes_and_guards_have_words_too(action: str) -> None:
    with translation.override("zh-hans"):
        assert CHINESE.search(audit_words.done(action).partition("：")[2])
    assert action.rpartition(".")[2] not in ("revert-failed",) or "revert failed" in audit_words.done(action)


def test_details_are_read_in_the_readers_language(db: None) -> None:
    said = Message(gettext_noop("refused: %(error)s"), {"error": Message(gettext_noop("its content was changed"))})
    entry = audit.record(
        "change.refused", actor="ops", at=NOW, kind="member-add", collect=True, devices=None, scopes=["read", "write"],
        spec={"member": "10.1.1.1", "mode": "auto"}, said=said.as_json(), unheard="x",
    )  # fmt: skip
    entry = AuditEntry.objects.get(pk=entry.pk)
    with translation.override("en"):
        told = {each.key: (each.label, each.text) for each in audit_words.details(entry)}
    assert told["said"] == ("what happened", "refused: its content was changed")
    assert told["collect"] == ("reading", "yes")
    assert told["scopes"] == ("scopes", "read, write")
    assert set(told["spec"][1].split(", ")) == {"member 10.1.1.1", "mode automatic"}
    assert told["kind"] == ("kind", "Add member")
    assert told["unheard"] == ("unheard", "x")
    assert "devices" not in told
    with translation.override("zh-hans"):
        chinese = {each.key: each for each in audit_words.details(entry)}
    assert chinese["said"].text == "已拒绝：其内容被改动"
    assert chinese["collect"].text == "是"
    assert all(CHINESE.search(each.label) for key, each in chinese.items() if key != "unheard")


def test_the_page_shows_no_text_of_a_program(rows: Sample) -> None:
    audit.record("host-key.trusted", actor="ops", at=NOW, device="fw-1", fingerprint="SHA256:abc", by="import")
    audit.record("realm.credentials", actor="ops", at=NOW, realm="campus", collect="reader", push=None)
    audit.record("credential.set", actor="ops", at=NOW, name="reader", username="ro", purpose="collect", replaced=False)
    page = person(rows.admin, "zh-hans").get("/audit/").content.decode()
    table = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert "主机密钥" in table and "替换" in table and "SHA256:abc" in table
    assert not re.search(r"\{&#x27;|\[&#x27;|>True|>False|None|fingerprint|replaced", table)


def test_a_broken_chain_says_why_in_the_readers_language(db: None) -> None:
    entry = audit.record("sweep.started", actor="ops", at=NOW, sweep=1)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {AuditEntry._meta.db_table} SET actor = 'somebody else' WHERE id = %s", [entry.pk])
    broken = audit.verify().broken
    assert broken is not None and broken.reason == "its content was changed"
    with translation.override("zh-hans"):
        assert broken.said.read(translation.gettext) == "其内容被改动"
