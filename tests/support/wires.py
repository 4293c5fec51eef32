"""Network namespaces of a test's own: a router between two wires. Needs root; leaves nothing behind."""

from __future__ import annotations

import ctypes
import os
import secrets
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNET = 0x40000000


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr.strip()} (needs root and network namespaces)"


def _enter(path: str | Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(path).open("rb") as handle:
        if libc.setns(handle.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """This thread, and threads it starts, live in the namespace; sockets keep it after the end."""
    home = f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net"
    with Path(home).open("rb") as before:
        _enter(f"/var/run/netns/{namespace}")
        try:
            yield
        finally:
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.setns(before.fileno(), CLONE_NEWNET) == 0


class Router:
    """Namespaces `hosts` (wires ha, hb) and `router` (in0, out0). What comes in at in0 leaves by out0, and back."""

    def __init__(self) -> None:
        mark = secrets.token_hex(3)
        self.hosts, self.router = f"ph-{mark}-h", f"ph-{mark}-r"

    def start(self) -> Router:
        for namespace in (self.hosts, self.router):
            ip("netns", "add", namespace)
            self._sysctl(namespace, "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
            self._sysctl(namespace, "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
        for host, port in (("ha", "in0"), ("hb", "out0")):
            ip("-n", self.hosts, "link", "add", host, "type", "veth", "peer", "name", port, "netns", self.router)
        self._sysctl(self.router, "net.ipv4.ip_forward=1", "net.ipv4.conf.all.send_redirects=0")
        for namespace, names in ((self.hosts, ("ha", "hb")), (self.router, ("in0", "out0"))):
            for name in names:
                ip("-n", namespace, "link", "set", name, "up")
        ip("-n", self.router, "address", "add", "192.0.2.1/24", "dev", "in0")
        ip("-n", self.router, "address", "add", "198.51.100.1/24", "dev", "out0")
        ip("-n", self.router, "neigh", "add", "198.51.100.2", "lladdr", self.mac("hb"), "dev", "out0")
        ip("-n", self.router, "route", "add", "default", "via", "198.51.100.2", "dev", "out0")
        return self

    def stop(self) -> None:
        for namespace in (self.hosts, self.router):
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True, timeout=120, check=False)

    def mac(self, interface: str) -> str:
        namespace = self.hosts if interface.startswith("h") else self.router
        words = ["ip", "-n", namespace, "-br", "link", "show", interface]
        return subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout.split()[2]

    def nft(self, text: str) -> None:
        words = ["ip", "netns", "exec", self.router, "nft", "-f", "-"]
        subprocess.run(words, input=text, capture_output=True, text=True, timeout=120, check=True)

    def sender(self, interface: str) -> socket.socket:
        """A socket that puts whole frames on a wire of the hosts."""
        with inside(self.hosts):
            wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            wire.bind((interface, 0))
        return wire

    @staticmethod
    def _sysctl(namespace: str, *settings: str) -> None:
        words = ["ip", "netns", "exec", namespace, "sysctl", "-q", "-w", *settings]
        subprocess.run(words, capture_output=True, timeout=120, check=True)
