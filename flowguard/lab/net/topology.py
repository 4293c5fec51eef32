"""Hosts, a mirror, a router with nftables and sshd, a server: four namespaces that belong to one run.

    clients ──br-in── router ──br-out── servers
                 │               │
               point            point        (namespace `mirror` holds both bridges; the sensor listens there)

Addresses are random inside 198.18.0.0/15 (RFC 2544 benchmark range), so no run knows those of another.
"""

from __future__ import annotations

import ipaddress
import os
import random
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROLES = ("clients", "mirror", "router", "servers")
SSHD = "/usr/sbin/sshd"
FOREIGN_RULES = """
table inet site {
  counter forwarded { }
  set admins { type ipv4_addr; flags interval; elements = { 203.0.113.0/28 } }
  chain forward {
    type filter hook forward priority filter; policy accept;
    counter name forwarded
    ip saddr @admins tcp dport 22 accept comment "site owner's rule"
  }
}
"""


class NamespaceError(RuntimeError):
    """A command of the recipe failed; the message names it and what it printed."""


def run(*argv: str, stdin: str | None = None) -> str:
    """Output of a command. Raises NamespaceError."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        raise NamespaceError(f"{' '.join(argv)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


@dataclass
class Topology:
    """One run's network. Use as a context manager; leaving it ends every process in its namespaces and removes them."""

    folder: Path
    rng: random.Random
    tag: str = ""
    client_addresses: list[str] = field(default_factory=list)
    server_addresses: list[str] = field(default_factory=list)
    management_host: str = ""
    management_router: str = ""
    management_mirror: str = ""
    management_mirror_host: str = ""
    ssh_port: int = 0

    def __enter__(self) -> Topology:
        missing = [tool for tool in ("ip", "nft", SSHD, "ssh-keygen") if not shutil.which(tool)]
        if os.geteuid() != 0 or missing:
            raise NamespaceError(f"needs root and {', '.join(missing) or 'nothing else'}: run as root after `make deps`")
        self.tag = f"ph{self.rng.randrange(16**4):04x}"
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def namespace(self, role: str) -> str:
        return f"{self.tag}-{role}"

    def inside(self, role: str) -> list[str]:
        """Prefix of a command that shall run in a namespace."""
        return ["ip", "netns", "exec", self.namespace(role)]

    def nft(self, *arguments: str) -> str:
        return run(*self.inside("router"), "nft", *arguments)

    def ruleset(self) -> str:
        """Stateless text of everything on the router: equal bytes mean equal rules."""
        return self.nft("-s", "list", "ruleset")

    def close(self) -> None:
        existing = run("ip", "netns", "list").split()
        for role in ROLES:
            name = self.namespace(role)
            if self.tag and name in existing:
                for pid in run("ip", "netns", "pids", name).split():
                    try:
                        os.kill(int(pid), signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                run("ip", "netns", "del", name)
        for role in ("router", "mirror"):
            subprocess.run(["ip", "link", "del", f"{self.tag}{role[0]}"], capture_output=True, check=False)

    def _build(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for role in ROLES:
            run("ip", "netns", "add", self.namespace(role))
            run("ip", "-n", self.namespace(role), "link", "set", "lo", "up")
        block = self.rng.sample(range(512), 4)
        nets = [ipaddress.IPv4Network(f"198.{18 + b // 256}.{b % 256}.0/24") for b in block]
        self._bridge("br-in", ("clients", "eth0"), ("router", "in0"), "c", nets[0])
        self._bridge("br-out", ("servers", "eth0"), ("router", "out0"), "s", nets[1])
        self._addresses(nets[0], nets[1])
        self.management_host, self.management_router = self._management("router", "mgmt0", nets[2])
        self.management_mirror_host, self.management_mirror = self._management("mirror", "mgmt0", nets[3])
        run(*self.inside("router"), "sysctl", "-qw", "net.ipv4.ip_forward=1")
        run(*self.inside("router"), "nft", "-f", "-", stdin=FOREIGN_RULES)
        self._sshd()

    def _bridge(
        self, bridge: str, host: tuple[str, str], router: tuple[str, str], letter: str, net: ipaddress.IPv4Network
    ) -> None:
        """A bridge in the mirror namespace between a host's and a router's interface; offloads off, frames as on a wire."""
        mirror = self.namespace("mirror")
        run("ip", "-n", mirror, "link", "add", bridge, "type", "bridge", "stp_state", "0", "mcast_snooping", "0")
        run("ip", "-n", mirror, "link", "set", bridge, "up")
        for index, (role, interface) in enumerate((host, router)):
            port = f"{letter}{index}"
            run("ip", "-n", mirror, "link", "add", port, "type", "veth", "peer", "name", interface, "netns", self.namespace(role))
            run("ip", "-n", mirror, "link", "set", port, "master", bridge, "up")
            run("ip", "-n", self.namespace(role), "link", "set", interface, "up")
            if shutil.which("ethtool"):
                for where, name in ((mirror, port), (self.namespace(role), interface)):
                    run(
                        "ip", "netns", "exec", where, "ethtool", "-K", name, "tso", "off", "gso", "off", "gro", "off", "tx", "off"
                    )

    def _addresses(self, clients: ipaddress.IPv4Network, servers: ipaddress.IPv4Network) -> None:
        for role, net, interface, found in (
            ("clients", clients, "in0", self.client_addresses),
            ("servers", servers, "out0", self.server_addresses),
        ):
            gateway, *hosts = (str(net[n]) for n in self.rng.sample(range(1, 255), 5))
            run("ip", "-n", self.namespace("router"), "addr", "add", f"{gateway}/24", "dev", interface)
            for host in hosts:
                run("ip", "-n", self.namespace(role), "addr", "add", f"{host}/24", "dev", "eth0")
            run("ip", "-n", self.namespace(role), "route", "add", "default", "via", gateway)
            found.extend(hosts)

    def _management(self, role: str, interface: str, net: ipaddress.IPv4Network) -> tuple[str, str]:
        outside = f"{self.tag}{role[0]}"
        run("ip", "link", "add", outside, "type", "veth", "peer", "name", interface, "netns", self.namespace(role))
        here, there = str(net[1]), str(net[2])
        run("ip", "addr", "add", f"{here}/30", "dev", outside)
        run("ip", "link", "set", outside, "up")
        run("ip", "-n", self.namespace(role), "addr", "add", f"{there}/30", "dev", interface)
        run("ip", "-n", self.namespace(role), "link", "set", interface, "up")
        return here, there

    def _sshd(self) -> None:
        Path("/run/sshd").mkdir(exist_ok=True)
        self.ssh_port = self.rng.randrange(20_000, 60_000)
        for name in ("hostkey", "id"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name))
        keys = self.folder / "authorized_keys"
        keys.write_text((self.folder / "id.pub").read_text())
        keys.chmod(0o600)
        config = self.folder / "sshd_config"
        lines = (
            f"Port {self.ssh_port}",
            f"ListenAddress {self.management_router}",
            f"HostKey {self.folder / 'hostkey'}",
            f"PidFile {self.folder / 'sshd.pid'}",
            f"AuthorizedKeysFile {keys}",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password",
            "UsePAM no",
            "StrictModes no",
            "PrintMotd no",
            "PrintLastLog no",
        )
        config.write_text("\n".join(lines) + "\n")
        run(*self.inside("router"), SSHD, "-f", str(config), "-E", str(self.folder / "sshd.log"))
