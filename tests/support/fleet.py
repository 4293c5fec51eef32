"""Many simulated devices of several platforms, each on a port of its own, all served by one thread."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import asyncssh

from flowguard.lab.simulators import PLATFORMS, READ_ONLY, Device, Logins, ReadOnlyDevice
from flowguard.lab.simulators.server import listen
from tests.support.devices import CONFIGS, ENABLE, PASSWORD, USER

FLEET_PLATFORMS = ("cisco_ios", "huawei_vrp", *READ_ONLY)


@dataclass
class Member:
    """One device of the fleet. host_key: as `ssh-keyscan` prints it without the host."""

    name: str
    platform: str
    device: Device
    logins: Logins = field(default_factory=lambda: Logins({USER: PASSWORD}))
    key: Any = field(default_factory=lambda: asyncssh.generate_private_key("ssh-ed25519"))
    port: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def host_key(self) -> str:
        return " ".join(self.key.export_public_key("openssh").decode().split()[:2])


def made(name: str, platform: str) -> Member:
    """A device with the sample configuration of its platform; those that know `enable` ask for it."""
    device: Device
    if platform in PLATFORMS:
        device = PLATFORMS[platform]()
        device.load(CONFIGS[platform])
    else:
        device = ReadOnlyDevice(platform=platform)
    device.hostname = name
    device.enable_secret = ENABLE if platform in ("cisco_ios", "cisco_asa") else ""
    return Member(name, platform, device)


class Fleet:
    """`with Fleet(members) as fleet:` every member listens on 127.0.0.1 and knows its port."""

    def __init__(self, members: list[Member]) -> None:
        self.members = members
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="fleet")
        self._acceptors: list[asyncssh.SSHAcceptor] = []

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(60)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _open(self) -> None:
        for member in self.members:
            acceptor = await listen(member.device, member.logins, member.key, "127.0.0.1", 0, **member.options)
            member.port = acceptor.get_port()
            self._acceptors.append(acceptor)

    async def _close(self) -> None:
        for acceptor in self._acceptors:
            acceptor.close()
        for member in self.members:
            for connection in list(member.logins.connections):
                connection.abort()
        await asyncio.gather(*(acceptor.wait_closed() for acceptor in self._acceptors))
        await asyncio.sleep(0.05)
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
