"""The bare prototype that was published with the goals of rates: how slow this machine is beside the one they were set on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.benchmarks.captures import ROOT

NAME = "prototype"
#: A flow table of 128 bytes a flow with prefetching and nothing else; it lies beside the corpus.
SOURCE = Path(os.environ.get("POLICYHUB_CORPUS") or ROOT.parent / "shared" / "data").parent / "tools/capbench/floor/src/main.rs"
#: User seconds for a packet there (capture_peers.md, notes of section 2). Not system time: it is first touch of memory, and luck.
PUBLISHED = {"enterprise": 0.57 / 5e6, "many": 0.30 / 3e6}


def built(folder: Path) -> str | None:
    """The prototype, built as it was for the published figures; None where its source is not at hand."""
    if not SOURCE.exists():
        return None
    program = folder / NAME
    flags = ["-Copt-level=3", "-Clto=fat", "-Ccodegen-units=1", "-Cpanic=abort", "--cap-lints=allow"]
    subprocess.run(["rustc", "--edition=2021", *flags, str(SOURCE), "-o", str(program)], check=True, timeout=600)
    return str(program)
