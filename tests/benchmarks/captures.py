"""Captures for measurements and the small programs that the crates bring for them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "native_capture" / "Cargo.toml"
EXAMPLES = {"write_capture": "nc-source", "send_frames": "nc-source", "dscp_clock": "nc-flow", "measure": "nc-engine"}
#: Packets and flows of the whole measurement; a share of them shows that it runs.
SHARE = float(os.environ.get("POLICYHUB_BENCH_SHARE", "1"))
SIZES = {"enterprise": (5_000_000, 300_000), "many": (3_000_000, 1_500_000), "roce": (2_000_000, 256), "bulk": (2_000_000, 200)}


@dataclass(frozen=True, slots=True)
class Capture:
    path: Path
    packets: int
    flows: int
    size: int


def build() -> dict[str, str]:
    """Path of each program, built as the engine is."""
    for example, crate in EXAMPLES.items():
        command = ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", str(MANIFEST), "-p", crate]
        subprocess.run([*command, "--example", example], check=True, timeout=1800)
    return {name: str(MANIFEST.parent / "target" / "release" / "examples" / name) for name in EXAMPLES}


def write(writer: str, folder: Path, kind: str, packets: int, flows: int) -> Capture:
    path = folder / f"{kind}-{packets}.pcap"
    done = subprocess.run([writer, kind, str(path), str(packets), str(flows)], check=True, capture_output=True, timeout=600)
    told = json.loads(done.stdout)
    return Capture(path, told["packets"], told["flows"], told["bytes"])


def whole(writer: str, folder: Path, kind: str) -> Capture:
    packets, flows = SIZES[kind]
    return write(writer, folder, kind, max(1000, int(packets * SHARE)), max(100, int(flows * SHARE)) if flows > 1000 else flows)
