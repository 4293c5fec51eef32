"""The pages about the checks, and their words for the message catalogues, from their own docstrings."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Iterable

from policyhub.checks.registry import SECTIONS, Check

LINE = 130


def page(check: Check) -> str:
    """Markdown of one check."""
    lines = [
        f"# {check.code} {check.name}",
        "",
        check.title,
        "",
        f"Severity: {check.severity.value} (unless the finding says otherwise).",
    ]
    details = _details(check)
    if details:
        lines += ["", *details]
    for section, text in zip(SECTIONS, (check.why, check.example, check.fix), strict=True):
        lines += ["", f"## {section}", "", text]
    return "\n".join([*lines, ""])


def index(checks: Iterable[Check]) -> str:
    """Markdown table of all checks."""
    rows = [f"| [{c.code}]({c.code}.md) | {c.name} | {c.severity.value} | {c.title} |" for c in checks]
    head = ["# Checks", "", "Written from the checks' own docstrings by `python docs/checks/generate.py`.", ""]
    return "\n".join([*head, "| code | name | severity | what it says |", "|---|---|---|---|", *rows, ""])


def texts(check: Check) -> tuple[str, ...]:
    """What reports and pages show of the docstring: each is a msgid."""
    return (check.title, check.why, check.fix)


def words(checks: Iterable[Check]) -> str:
    """Python source that marks all texts, since makemessages reads no docstrings."""
    head = '"""Texts of the checks for the message catalogues. Written by `python docs/checks/generate.py`."""'
    rows = [row for check in checks for text in texts(check) for row in _marked(text)]
    lines = [head, "", "from policyhub.domain.message import gettext_noop", "", "TEXTS = (", *rows, ")"]
    return "\n".join([*lines, ""])


def _marked(text: str) -> list[str]:
    whole = f"    gettext_noop({_quoted(text)}),"
    if len(whole) <= LINE:
        return [whole]
    pieces = textwrap.wrap(text, LINE - 30, drop_whitespace=False, break_long_words=False, break_on_hyphens=False)
    if len(_quoted(text)) <= LINE - 8:
        pieces = [text]
    return ["    gettext_noop(", *(f"        {_quoted(piece)}" for piece in pieces), "    ),"]


def _quoted(text: str) -> str:
    """As the formatter writes it: double quotes, unless only they would need escapes."""
    return f"'{text}'" if '"' in text and "'" not in text else json.dumps(text, ensure_ascii=False)


def _details(check: Check) -> list[str]:
    """What the docstring says between its first line and the first section."""
    doc = inspect.getdoc(check.body) or ""
    between = doc.partition("\n")[2].partition(f"\n{SECTIONS[0]}: ")[0]
    return between.strip().splitlines()
