"""Writes the pages of this folder from the checks: `python docs/checks/generate.py`."""

from pathlib import Path

from policyhub.checks.catalogue import index, page
from policyhub.checks.registry import all_checks

FOLDER = Path(__file__).parent


def pages() -> dict[str, str]:
    """File name -> text of every generated page."""
    checks = all_checks()
    return {"README.md": index(checks), **{f"{check.code}.md": page(check) for check in checks}}


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
