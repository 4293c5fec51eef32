"""What the pages of imports and preflights show, in the reader's language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from policyhub.actions.examine import STEPS
from policyhub.actions.wishes import Row
from policyhub.console.labels import Text, said
from policyhub.console.registry import Event
from policyhub.domain.message import Message
from policyhub.models import Preflight, PreflightResult

MOST_SHOWN = 500
WHAT: dict[str, Text] = {"add": _("new"), "change": _("changed"), "same": _("same"), "bad": _("left out")}
STEP_NAMES: dict[str, Text] = {
    "reachable": _("Reachable"),
    "host-key": _("Host key"),
    "login": _("Login"),
    "privilege": _("Privilege"),
    "platform": _("Platform"),
    "version": _("Version"),
}
STEP_STATES: dict[str, Text] = {"ok": _("ok"), "failed": _("failed"), "not-tried": _("not tried")}
TONES = {"add": "good", "change": "wait", "same": "plain", "bad": "bad", "ok": "good", "failed": "bad", "not-tried": "plain"}
FIELDS: dict[str, Text] = {
    "name": _("name"),
    "platform": _("platform"),
    "host": _("host"),
    "port": _("port"),
    "role": _("role"),
    "group": _("group"),
    "realm": _("realm"),
    "bastion": _("bastion"),
    "ssh_profile": _("SSH profile"),
    "host_key": _("host key"),
    "collect_credential": _("login for reading"),
    "push_credential": _("login for changes"),
}


def preview_rows(rows: Sequence[Row]) -> dict[str, Any]:
    """Bad ones first, so that nobody overlooks them; what is the same is counted only."""
    order = {"bad": 0, "change": 1, "add": 2}
    shown = sorted((row for row in rows if row.what in order), key=lambda row: (order[row.what], row.line))
    counts = {what: sum(row.what == what for row in rows) for what in WHAT}
    return {
        "rows": [_preview(row) for row in shown[:MOST_SHOWN]],
        "hidden": max(0, len(shown) - MOST_SHOWN),
        "counts": [(WHAT[what], count, TONES[what]) for what, count in counts.items()],
        "writes": counts["add"] + counts["change"],
        "previewed": True,
    }


def _preview(row: Row) -> dict[str, Any]:
    return {
        "line": row.line,
        "name": row.name,
        "what": WHAT[row.what],
        "tone": TONES[row.what],
        "changes": [(FIELDS.get(field, field), old, new) for field, old, new in row.changes],
        "problem": said(row.problem.template, row.problem.as_json()["values"]) if row.problem else "",  # type: ignore[arg-type]
        "notes": [said(note.template, dict(note.values)) for note in row.notes],
    }


def result_rows(rows: Iterable[PreflightResult]) -> list[dict[str, Any]]:
    """Each device with the marks of its steps, then of its commands, and its failures with their cures."""
    return [{"row": row, "steps": _marks(row), "commands": _commands(row), "failures": _failures(row)} for row in rows]


def _marks(row: PreflightResult) -> list[dict[str, Any]]:
    known = {step["name"]: step for step in row.steps}
    return [_mark(known.get(name, {"name": name, "state": "not-tried"})) for name in STEPS]


def _commands(row: PreflightResult) -> list[dict[str, Any]]:
    return [_mark(step) for step in row.steps if step["name"] not in STEPS]


def _mark(step: dict[str, Any]) -> dict[str, Any]:
    state = step["state"]
    told = step.get("said") or {"text": ""}
    return {
        "name": STEP_NAMES.get(step["name"], step["name"]),
        "state": STEP_STATES.get(state, state),
        "tone": TONES.get(state, "plain"),
        "said": said(told["text"], told.get("values")),
    }


def _failures(row: PreflightResult) -> list[tuple[Text, str, str]]:
    return [
        (
            STEP_NAMES.get(step["name"], step["name"]),
            Message.of(step["said"]).without_cure(gettext) if step["cure"]["text"] else Message.of(step["said"]).read(gettext),
            Message.of(step["cure"]).read(gettext),
        )
        for step in row.steps
        if step["state"] == "failed"
    ]


def progress(run: Preflight) -> dict[str, Any]:
    """done and total of the run's devices, and how many stand in each state."""
    counted = dict(run.results.order_by().values_list("state").annotate(n=Count("pk")))
    labels = PreflightResult.State
    total = sum(counted.values())
    done = total - counted.get(labels.WAITING, 0) - counted.get(labels.RUNNING, 0)
    counts = [(state.value, state.label, counted[state]) for state in labels if counted.get(state)]
    return {"done": done, "total": total, "states": counts, "stamp": f"{done}-{counted.get(labels.RUNNING, 0)}-{run.state}"}


def events(key: str, after: str) -> Sequence[Event]:
    """One event whenever a device of the run begins or ends."""
    run = Preflight.objects.filter(pk=int(key)).first() if key.isascii() and key.isdecimal() and len(key) < 18 else None
    if run is None:
        return ()
    stamp = progress(run)["stamp"]
    return () if stamp == after else (Event(stamp, "preflight"),)
