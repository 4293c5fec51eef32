"""The sample network of `policyhub up --demo`: `seed` fills the service, `processes` are what runs beside it.

Every device of it is in a group marked as sample, so that each page says so. Only the simulated switch's group acts by itself.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

from flowguard.lab.sample.rows import SWITCH, seed_rows
from flowguard.lab.sample.traffic import INTERFACE
from flowguard.lab.service import POLICYHUB, wait
from policyhub.domain.message import Message, gettext_noop

SAMPLE = files("flowguard.lab.sample")
GUARD_WITHIN_S = 90.0


def folder_of(data: Path) -> Path:
    """Everything of the sample network that is not in the database."""
    folder = data / "demo"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def processes(data: Path, base_url: str) -> list[tuple[str, list[str]]]:
    """(name, command line) of the simulated switch, the packets through it, and the sample sensor."""
    folder = folder_of(data)
    enter, leave = folder / "enter.pcap", folder / "leave.pcap"
    traffic = ["--running", str(folder / "running.cfg"), "--enter", str(enter), "--leave", str(leave)]
    traffic += ["--hits", str(folder / "hits.json")]
    return [
        ("demo-switch", simulator_argv(folder)),
        ("demo-traffic", [sys.executable, "-m", "flowguard.lab.sample.traffic", *traffic]),
        ("demo-sensor", [POLICYHUB, "sensor", "run", "--config", str(_sensor_file(folder, base_url))]),
    ]


def seed(base_url: str) -> None:
    """Rows, snapshots, findings, and the guard on the simulated switch; a second time changes nothing that is there."""
    data = Path(os.environ["POLICYHUB_DATA"])
    folder = folder_of(data)
    port = _prepare_switch(folder)
    _prepare_streams(folder)
    token = seed_rows(
        port=port, password=(folder / "password").read_text().strip(), host_key=_host_key(folder), now=datetime.now(UTC)
    )
    if token:
        _write_private(folder / "token", token)
    _install_guard(folder)


def simulator_argv(folder: Path) -> list[str]:
    options = {
        "--platform": "cisco_ios",
        "--port": (folder / "port").read_text().strip(),
        "--password-file": str(folder / "password"),
        "--config": str(SAMPLE / "configs" / f"{SWITCH}.cisco_ios.txt"),
        "--state-file": str(folder / "running.cfg"),
        "--hits-file": str(folder / "hits.json"),
        "--host-key-file": str(folder / "host_key"),
    }
    return [sys.executable, "-m", "flowguard.lab.simulators", *(word for option in options.items() for word in option)]


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text + "\n", encoding="utf-8")


def _prepare_switch(folder: Path) -> int:
    """A password of its own and a free port, kept from start to start."""
    if not (folder / "password").exists():
        _write_private(folder / "password", secrets.token_urlsafe(18))
    if not (folder / "port").exists():
        with socket.create_server(("127.0.0.1", 0)) as free:
            _write_private(folder / "port", str(free.getsockname()[1]))
    return int((folder / "port").read_text())


def _prepare_streams(folder: Path) -> None:
    for name in ("enter.pcap", "leave.pcap"):
        if not (folder / name).exists():
            os.mkfifo(folder / name, 0o600)


def _sensor_file(folder: Path, base_url: str) -> Path:
    path = folder / "sensor.toml"
    path.write_text(
        f'name = "sample"\nurl = "{base_url}"\ntoken_file = "token"\nbatch_interval_ms = 250\nbundle_interval_ms = 2000\n'
        '[[replay]]\npoint = "access"\nfile = "enter.pcap"\n[[replay]]\npoint = "uplink"\nfile = "leave.pcap"\n'
        '[spool]\ndir = "spool"\nmax_mb = 64\n',
        encoding="utf-8",
    )
    return path


def _host_key(folder: Path) -> str:
    """The simulated switch's public key in OpenSSH form; it is started once to make it."""
    with _running_switch(folder) as line:
        return str(line["host_key"])


class _running_switch:  # noqa: N801
    """The simulated switch for the time of a block, before the supervisor runs it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> dict[str, object]:
        self._process = subprocess.Popen(simulator_argv(self._folder), stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the simulated switch did not start; see the lines above")
        found: dict[str, object] = json.loads(line)
        return found

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(10)


def _install_guard(folder: Path) -> None:
    """What a change board would approve in a change window; here the sample stands for it, and the audit says so."""
    from django.contrib.auth.models import User

    from flowguard.actions import guards
    from flowguard.models import Guard
    from policyhub.actions import changes
    from policyhub.models import Device

    # Nobody can log in under this name: it stands for the person who would propose the guard.
    requester, _ = User.objects.get_or_create(username="sample-network", defaults={"is_active": False, "password": "!"})
    switch = Device.objects.select_related("group", "realm").get(name=SWITCH)
    if Guard.objects.filter(device=switch, state=Guard.State.INSTALLED).exists():
        return
    with _running_switch(folder):
        now = datetime.now(UTC)
        guard = Guard.objects.filter(device=switch, state=Guard.State.PROPOSED).first() or guards.propose(
            device=switch,
            name="SAMPLE",
            interfaces=[INTERFACE],
            reason=Message(gettext_noop("sample network: prepared guard")),
            requested_by=requester,
            now=now,
        )
        change = guard.install_change
        if change is None or change.state == "refused":
            raise RuntimeError(f"the guard of the sample network could not be planned: {change and change.error}")
        changes.approve_by_policy(change=change, policy="sample network", plan_sha256=change.plan_sha256, now=now + timedelta(0))
        wait(
            "the guard on the simulated switch",
            lambda: Guard.objects.filter(pk=guard.pk, state="installed").exists(),
            GUARD_WITHIN_S,
        )
