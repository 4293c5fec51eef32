"""How slow this machine is beside the one that the goals of rates were set on; the bare prototype published with them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.benchmarks.captures import ROOT

NAME = "prototype"
#: A flow table of 128 bytes a flow with prefetching and nothing else; it lies beside the corpus.
SOURCE = Path(os.environ.get("POLICYHUB_CORPUS") or ROOT.parent / "shared" / "data").parent / "tools/capbench/floor/src/main.rs"
#: CPU seconds (user + system) for a million packets of such a capture, there (capture_peers.md, section 2).
PUBLISHED = {
    "enterprise": {"argus": 0.940, "nfpcapd": 1.286, "suricata": 1.446, "softflowd": 1.400, NAME: 0.178},
    "many": {"argus": 10.037, "nfpcapd": 3.833, "suricata": 7.313, "softflowd": 6.413, NAME: 0.143},
    "roce": {"argus": 0.450, "nfpcapd": 0.495, "suricata": 0.585, "softflowd": 0.410, NAME: 0.190},
    "bulk": {"argus": 0.590, "nfpcapd": 0.610, "suricata": 0.780, "softflowd": 0.520, NAME: 0.320},
}


def built(folder: Path) -> str | None:
    """The prototype, built as it was for the published figures; None where its source is not at hand."""
    if not SOURCE.exists():
        return None
    program = folder / NAME
    flags = ["-Copt-level=3", "-Clto=fat", "-Ccodegen-units=1", "-Cpanic=abort", "--cap-lints=allow"]
    subprocess.run(["rustc", "--edition=2021", *flags, str(SOURCE), "-o", str(program)], check=True, timeout=600)
    return str(program)
