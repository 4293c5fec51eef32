"""Writes platforms.md beside this file from the registry and the golden cases: `python docs/generate_platforms.py`."""

from collections import Counter
from pathlib import Path

from policyhub.vendorkit.registry import BUILT_IN, REGISTRY
from policyhub.vendorkit.tiers import legend, table

PAGE = Path(__file__).with_name("platforms.md")
CASES = Path(__file__).parents[1] / "tests" / "vendors"


def _at_least(count: int) -> str:
    """Rounded down to tens, so that not every new case makes the page old."""
    return str(count) if count < 10 else f"{count // 10 * 10}+"


def page() -> str:
    counts = Counter(path.parents[1].name for path in CASES.glob("*/*/expected.json"))
    cases = {name: _at_least(count) for name, count in counts.items()}
    head = [
        "# Platforms",
        "",
        "Written from the registry by `python docs/generate_platforms.py`; `policyhub check --platforms` prints it.",
    ]
    meaning = ["", "What each platform can do, and what that was proven against. Nobody is told more than that.", legend()]
    note = "Golden cases: texts with the model that vendor documentation gives them; each platform's README names its sources."
    rows = table((REGISTRY.get(name) for name in sorted(BUILT_IN)), ("golden cases", cases))
    return "\n".join([*head, *meaning, note, "", rows, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
