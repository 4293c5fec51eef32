"""No platform ignores a line in which something unseen stands inside a sensitive word."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyhub.vendorkit.registry import REGISTRY

HERE = Path(__file__).parent
HIDDEN = ("\x00", "\x0b", "\u00ad", "\u200b", "\ufeff", "\u0301")
MOST = 12  # lines of one platform; the guard is one function, this asks whether each platform uses it


def ignored_lines(platform: str) -> list[tuple[str, int]]:
    """(text, number of a line that its parser ignores) from the golden cases."""
    found: list[tuple[str, int]] = []
    for path in sorted((HERE / platform).glob("*/config.txt")):
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [(text, number) for number in REGISTRY.get(platform).parse(text).ignored[:2]]
        if len(found) >= MOST:
            break
    return found


@pytest.mark.parametrize("platform", REGISTRY.names())
def test_an_ignored_line_is_ignored_no_more_when_a_hidden_word_stands_in_it(platform: str) -> None:
    parse = REGISTRY.get(platform).parse
    for at, (text, number) in enumerate(ignored_lines(platform)):
        lines = text.split("\n")
        word = f"po{HIDDEN[at % len(HIDDEN)]}licy" if at % 3 else "ｐｏｌｉｃｙ"
        lines[number - 1] += f" {word}"
        assert number not in parse("\n".join(lines)).ignored, (lines[number - 1], at)
