"""A simulated device behind real SSH (asyncssh): own echo, own line ends, and the faults that only a connection can have."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import asyncssh

from flowguard.lab.simulators.shell import Device


@dataclass
class Logins:
    """user -> password. attempts: (user, accepted) of every try, to be counted. forwards: it is a bastion, too."""

    passwords: dict[str, str]
    attempts: list[tuple[str, bool]] = field(default_factory=list)
    connections: set[Any] = field(default_factory=set)
    forwards: bool = False
    forwarded: list[tuple[str, int]] = field(default_factory=list)

    def check(self, user: str, password: str) -> bool:
        accepted = self.passwords.get(user) == password
        self.attempts.append((user, accepted))
        return accepted


class _Server(asyncssh.SSHServer):
    def __init__(self, logins: Logins) -> None:
        self._logins = logins

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._logins.connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self._logins.connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        if self._logins.forwards:
            self._logins.forwarded.append((dest_host, dest_port))
        return self._logins.forwards

    def validate_password(self, username: str, password: str) -> bool:
        return self._logins.check(username, password)


async def listen(
    device: Device, logins: Logins, key: asyncssh.SSHKey, host: str, port: int, **options: Any
) -> asyncssh.SSHAcceptor:
    """options: of asyncssh, such as the algorithms of an old device."""
    return await asyncssh.listen(
        host,
        port,
        server_host_keys=[key],
        server_factory=lambda: _Server(logins),
        process_factory=lambda process: _serve(device, process),
        line_editor=False,
        encoding="utf-8",
        **options,
    )


async def _serve(device: Device, process: Any) -> None:
    """One terminal: characters in, echo and answers out, until the session or the connection ends."""
    session = device.session()
    out = process.stdout.write
    out("\r\n" + session.prompt)
    buffer = ""
    with contextlib.suppress(asyncssh.Error, BrokenPipeError, ConnectionError, OSError):
        while not session.closed:
            piece = await process.stdin.read(1024)
            if not piece:
                break
            for character in piece:
                if character in "\r\n":
                    line, buffer = buffer, ""
                    out("\r\n")
                    await _answer(device, session, line, process)
                    if session.closed:
                        break
                elif character in "\x08\x7f":
                    buffer = buffer[:-1]
                elif character >= " ":
                    buffer += character
                    if not session.hidden:
                        out(character)
    process.exit(0)


async def _answer(device: Device, session: Any, line: str, process: Any) -> None:
    faults, out = device.faults, process.stdout.write
    if faults.take("drop", line):
        if faults.drop_applied:
            session.type(line)
        process.channel.get_connection().abort()
        session.closed = True
        return
    if faults.take("slow", line):
        await asyncio.shield(asyncio.ensure_future(_later(session, line, faults.slow_s, process)))
        return
    text = session.type(line)
    if faults.take("mute", line):
        return
    _print(out, text, session)
    if faults.take("log", line):
        out("\r\n" + faults.log_text + "\r\n")


async def _later(session: Any, line: str, seconds: float, process: Any) -> None:
    """A busy device: the line takes effect in the end, whether or not anybody still listens."""
    await asyncio.sleep(seconds)
    text = session.type(line)
    with contextlib.suppress(asyncssh.Error, BrokenPipeError, ConnectionError, OSError):
        _print(process.stdout.write, text, session)


def _print(out: Any, text: str, session: Any) -> None:
    if text:
        out(text.replace("\n", "\r\n") + ("" if session.answer_to is not None else "\r\n"))
    if session.answer_to is None and not session.closed:
        out(session.prompt)


async def _end_sessions(logins: Logins) -> None:
    for connection in list(logins.connections):
        connection.abort()
    await asyncio.sleep(0.05)  # lets transports tell their protocols
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0)


class Simulator:
    """A device served from a thread of its own: `with Simulator(device, logins) as sim: ... sim.port`."""

    def __init__(
        self, device: Device, logins: Logins, *, host: str = "127.0.0.1", port: int = 0, key: asyncssh.SSHKey | None = None
    ) -> None:
        self.device, self.logins, self.host, self.port = device, logins, host, port
        self.key = key or asyncssh.generate_private_key("ssh-ed25519")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name=f"sim-{device.hostname}")
        self._acceptor: asyncssh.SSHAcceptor | None = None

    def start(self) -> Self:
        self._thread.start()
        self._open()
        return self

    def stop(self) -> None:
        self._close()
        asyncio.run_coroutine_threadsafe(_end_sessions(self.logins), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def swap_host_key(self) -> None:
        """As after a replaced supervisor, or somebody in between."""
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        self._close()
        self._open()

    def go_dark(self) -> None:
        """Nobody can reach the device any more; sessions that are open stay."""
        self._close()

    def come_back(self) -> None:
        self._open()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _open(self) -> None:
        made = listen(self.device, self.logins, self.key, self.host, self.port)
        self._acceptor = asyncio.run_coroutine_threadsafe(made, self._loop).result(10)
        self.port = self._acceptor.get_port()

    def _close(self) -> None:
        if self._acceptor is not None:
            self._loop.call_soon_threadsafe(self._acceptor.close)
            asyncio.run_coroutine_threadsafe(self._acceptor.wait_closed(), self._loop).result(10)
            self._acceptor = None
