"""Open flow meters that are measured beside ours: how each reads a capture and writes its flow records."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.captures import ROOT

NFSTREAM = ROOT / "build" / "peers" / "nfstream" / "bin" / "python"
#: No dissection and no statistics beyond counts: the fastest way to use it.
STREAM = (
    "import sys; from nfstream import NFStreamer\n"
    "print(sum(1 for _ in NFStreamer(source=sys.argv[1], n_dissections=0, statistical_analysis=False, n_meters=1)))"
)
#: Only records of flows; memory for all of them; checksums are not in the captures.
SURICATA = """%YAML 1.1
---
outputs:
  - eve-log: {enabled: yes, filetype: regular, filename: eve.json, types: [flow]}
logging: {default-log-level: error, outputs: [{console: {enabled: yes}}]}
flow: {memcap: 8gb, hash-size: 1048576, prealloc: 10000, emergency-recovery: 30}
stream: {memcap: 4gb, checksum-validation: no, inline: no, reassembly: {memcap: 2gb, depth: 1mb}}
defrag: {memcap: 32mb, hash-size: 65536, trackers: 65535, max-frags: 65535, prealloc: yes, timeout: 60}
app-layer: {protocols: {}}
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """command: arguments for (capture, empty folder, port of a collector that throws away)."""

    name: str
    program: str
    cure: str
    command: Callable[[str, Path, int], list[str]]

    @property
    def path(self) -> str | None:
        """None where it is not installed."""
        found = shutil.which(self.program, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
        if found is None or self.name != "nfstream":
            return found
        works = subprocess.run([found, "-c", "import nfstream"], capture_output=True, timeout=120).returncode == 0
        return found if works else None


def _nfpcapd(capture: str, folder: Path, port: int) -> list[str]:
    return ["nfpcapd", "-r", capture, "-w", str(folder), "-e", "300,60", "-t", "300", "-B", "2000000"]


def _softflowd(capture: str, folder: Path, port: int) -> list[str]:
    files = ["-p", str(folder / "pid"), "-c", "none"]
    return ["softflowd", "-r", capture, "-n", f"127.0.0.1:{port}", "-v", "9", "-m", "4000000", "-d", *files]


def _argus(capture: str, folder: Path, port: int) -> list[str]:
    return ["argus", "-r", capture, "-w", str(folder / "argus.out")]


def _suricata(capture: str, folder: Path, port: int) -> list[str]:
    settings = folder.parent / "suricata.yaml"
    settings.write_text(SURICATA)
    return [
        "suricata",
        "-c",
        str(settings),
        "-S",
        "/dev/null",
        "-k",
        "none",
        "-r",
        capture,
        "--runmode",
        "single",
        "-l",
        str(folder),
    ]


def _nfstream(capture: str, folder: Path, port: int) -> list[str]:
    return [str(NFSTREAM), "-c", STREAM, capture]


PEERS = (
    Peer("nfpcapd", "nfpcapd", "Debian package nfdump", _nfpcapd),
    Peer("softflowd", "softflowd", "Debian package softflowd", _softflowd),
    Peer("argus", "argus", "Debian package argus-server", _argus),
    Peer("suricata", "suricata", "Debian package suricata, of bookworm-backports", _suricata),
    Peer("nfstream", str(NFSTREAM), "make bench installs it from PyPI", _nfstream),
)
