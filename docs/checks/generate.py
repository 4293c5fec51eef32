"""Writes the pages of this folder and the checks' words for the catalogues: `python docs/checks/generate.py`."""

from pathlib import Path

from policyhub.checks import catalogue
from policyhub.checks.catalogue import index, page
from policyhub.checks.registry import all_checks

FOLDER = Path(__file__).parent
WORDS = Path(catalogue.__file__).with_name("texts.py")


def pages() -> dict[str, str]:
    """File name -> text of every generated page."""
    checks = all_checks()
    return {"README.md": index(checks), **{f"{check.code}.md": page(check) for check in checks}}


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    WORDS.write_text(catalogue.words(all_checks()), encoding="utf-8")
