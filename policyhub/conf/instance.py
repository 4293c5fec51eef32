"""What `policyhub up` needs before anything starts: the folder, the lock, the port. Each refusal is one line."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import socket
import time
from pathlib import Path

from policyhub.conf.environment import ConfigurationError
from policyhub.conf.places import private_folder, socket_path

MIN_FREE_BYTES = 200 * 1024 * 1024
FOLDERS = ("run", "secrets", "logs", "redis")


class AlreadyRunning(ConfigurationError):
    code = "PH-E101"


class PortInUse(ConfigurationError):
    code = "PH-E102"


class DiskFull(ConfigurationError):
    code = "PH-E103"


def prepare_folder(data: Path) -> None:
    """Make the data folder and its private parts; raises ConfigurationError or DiskFull."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{data}: {error.strerror}. Choose a folder you may write to with --data.") from error
    free = shutil.disk_usage(data).free
    if free < MIN_FREE_BYTES:
        raise DiskFull(
            f"{data}: {free // 2**20} MiB free, {MIN_FREE_BYTES // 2**20} MiB needed. Free some space or choose another --data."
        )
    if not os.access(data, os.W_OK | os.X_OK):
        raise ConfigurationError(f"{data}: Permission denied. Choose a folder you may write to with --data.")
    for name in FOLDERS:
        private_folder(data / name)
    private_folder(socket_path(data, "redis.sock").parent)


def lock(data: Path, patience_s: float = 20.0) -> int:
    """Descriptor of the held lock file. Raises AlreadyRunning when another service holds it.

    Children inherit the descriptor. A dead supervisor's children are given `patience_s` to end before it is called in use.
    """
    path = data / "lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}. Choose a folder you may write to with --data.") from error
    deadline = time.monotonic() + patience_s
    while not _try_lock(descriptor):
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        if _alive(holder) or time.monotonic() > deadline:
            os.close(descriptor)
            raise AlreadyRunning(
                f"{data}: in use by `policyhub up` (pid {holder or '?'}). Stop that one, or choose another --data."
            )
        time.sleep(0.2)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _alive(pid: str) -> bool:
    if not pid.isdecimal():
        return False
    with contextlib.suppress(ProcessLookupError):
        with contextlib.suppress(PermissionError):
            os.kill(int(pid), 0)
        return True
    return False


def listen(host: str, port: int) -> socket.socket:
    """The listening socket; it stays ours over restarts of the web process, so no client is refused meanwhile."""
    if not 0 <= port <= 65_535:  # the resolver would silently take it modulo 65536
        raise ConfigurationError(f"--port {port}: not a port. Use 1 to 65535, or 0 for any free one.")
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=512)
    except socket.gaierror as error:
        raise ConfigurationError(f"--host {host}: {error.strerror}. Give an address of this machine.") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(f"port {port} of {host} is in use. Choose another with --port, or 0 for any free one.") from error
        if error.errno == errno.EACCES:
            raise ConfigurationError(f"port {port}: Permission denied. Choose one above 1023 with --port.") from error
        raise ConfigurationError(f"{host}:{port}: {error.strerror}. Give an address of this machine with --host.") from error
