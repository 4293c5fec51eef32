"""tshark, another reader of the same captures."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def tshark(path: Path, *arguments: str) -> str:
    assert shutil.which("tshark"), "tshark is missing: apt-get install tshark"
    done = subprocess.run(["tshark", "-n", "-r", str(path), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode != 1, done.stderr  # an argument that it does not know; 2: the capture is damaged
    return done.stdout


def rows(path: Path, *names: str, only: str = "", joined: str = "", more: tuple[str, ...] = ()) -> list[list[str]]:
    """The fields of each frame that `only` lets through, as text; of several values the first, or with `joined` all.

    more: options."""
    fields = [part for name in names for part in ("-e", name)]
    several = ["-E", "occurrence=a", "-E", f"aggregator={joined}"] if joined else ["-E", "occurrence=f"]
    text = tshark(path, *more, *(["-Y", only] if only else []), "-T", "fields", *several, "-E", "separator=|", *fields)
    return [line.split("|") for line in text.splitlines()]
