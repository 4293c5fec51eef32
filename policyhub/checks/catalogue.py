"""The pages about the checks, from their own docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from policyhub.checks.registry import SECTIONS, Check


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


def _details(check: Check) -> list[str]:
    """What the docstring says between its first line and the first section."""
    doc = inspect.getdoc(check.body) or ""
    between = doc.partition("\n")[2].partition(f"\n{SECTIONS[0]}: ")[0]
    return between.strip().splitlines()
