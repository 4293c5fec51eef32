"""A real router for push trials: one network namespace with nftables and sshd, and an `nft` that fails on request.

The namespace's sshd puts a wrapper before the real nft; it reads one fault from a file, uses it once, and else changes nothing.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from pathlib import Path

from flowguard.lab.net.topology import SSHD, NamespaceError, run

FOREIGN = """
table inet site {
  counter seen { }
  set admins { type ipv4_addr; flags interval; elements = { 203.0.113.0/28 } }
  chain forward { type filter hook forward priority filter; policy accept; counter name seen; ip saddr @admins accept; }
}
"""
WRAPPER = """#!/bin/sh
# fault file: <kind> <seconds> <number of calls to let pass>
if [ "$1" != "-s" ] && [ "$1" != "list" ] && [ -f {folder}/fault ]; then
  read kind seconds pass < {folder}/fault
  if [ "$pass" -gt 0 ]; then echo "$kind $seconds $((pass - 1))" > {folder}/fault
  else
    rm -f {folder}/fault
    case "$kind" in
      reject) echo "Error: Could not process rule: Device or resource busy" >&2; exit 1;;
      ignore) exit 0;;
      log) echo "[  42.0] eth0: link becomes ready" >&2;;
      slow) sleep "$seconds";;
      drop) kill -9 "$(ps -o ppid= -p $PPID)"; exit 1;;
      drop-after) {nft} "$@"; kill -9 "$(ps -o ppid= -p $PPID)"; exit 0;;
    esac
  fi
fi
exec {nft} "$@"
"""


class Router:
    """`with Router(folder) as router:`; host, port and key are how to log in as root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"phr{secrets.token_hex(3)}"
        block = secrets.randbelow(16384)
        self._net = f"198.{19 if block >= 8192 else 18}.{block // 32 % 256}.{block % 32 * 8}"
        base, last = self._net.rsplit(".", 1)
        self.outside, self.host = f"{base}.{int(last) + 1}", f"{base}.{int(last) + 2}"
        self.port = 2222
        self.key = ""

    def __enter__(self) -> Router:
        if os.geteuid() != 0:
            raise NamespaceError("needs root: run as root, or leave these tests out with ROOTLESS=1")
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def nft(self, *arguments: str, stdin: str | None = None) -> str:
        return run("ip", "netns", "exec", self.name, "nft", *arguments, stdin=stdin)

    def ruleset(self) -> str:
        """Stateless text of every table: equal bytes mean equal rules."""
        return self.nft("-s", "list", "ruleset")

    def fault(self, kind: str, *, seconds: float = 0, after: int = 0) -> None:
        """At the nft call after `after` more calls that edit: reject, ignore, log, slow, drop, drop-after."""
        (self.folder / "fault").write_text(f"{kind} {seconds} {after}\n")

    def swap_host_key(self) -> None:
        self._stop_sshd()
        for old in self.folder.glob("hostkey*"):
            old.unlink()
        self._sshd()

    def go_dark(self) -> None:
        run("ip", "link", "set", f"{self.name}h", "down")

    def come_back(self) -> None:
        run("ip", "link", "set", f"{self.name}h", "up")

    def forget_the_login(self) -> None:
        (self.folder / "authorized_keys").write_text("")

    def close(self) -> None:
        if self.name in run("ip", "netns", "list").split():
            for pid in run("ip", "netns", "pids", self.name).split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    continue
            run("ip", "netns", "del", self.name)
        subprocess.run(["ip", "link", "del", f"{self.name}h"], capture_output=True, check=False)

    def _build(self) -> None:
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", f"{self.name}h", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "addr", "add", f"{self.outside}/30", "dev", f"{self.name}h")
        run("ip", "link", "set", f"{self.name}h", "up")
        run("ip", "-n", self.name, "addr", "add", f"{self.host}/30", "dev", "eth0")
        for link in ("eth0", "lo"):
            run("ip", "-n", self.name, "link", "set", link, "up")
        self.nft("-f", "-", stdin=FOREIGN)
        tools = self.folder / "bin"
        tools.mkdir()
        real = next(path for path in ("/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft") if Path(path).exists())
        wrapper = tools / "nft"
        wrapper.write_text(WRAPPER.format(folder=self.folder, nft=real))
        wrapper.chmod(0o755)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / "id"))
        self.key = (self.folder / "id").read_text()
        (self.folder / "authorized_keys").write_text((self.folder / "id.pub").read_text())
        self._sshd()

    def _sshd(self) -> None:
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / "hostkey"))
        lines = (
            f"Port {self.port}",
            f"ListenAddress {self.host}",
            f"HostKey {self.folder / 'hostkey'}",
            f"PidFile {self.folder / 'sshd.pid'}",
            f"AuthorizedKeysFile {self.folder / 'authorized_keys'}",
            f"SetEnv PATH={self.folder / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password",
            "UsePAM no",
            "StrictModes no",
            "PrintMotd no",
            "PrintLastLog no",
            "MaxStartups 100",
        )
        config = self.folder / "sshd_config"
        config.write_text("\n".join(lines) + "\n")
        # `ip netns exec` gives the command a mount namespace of its own: watchdogs leave their marks in a /run of theirs
        start = f"mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec {SSHD} -f {config} -E {self.folder}/sshd.log"
        run("ip", "netns", "exec", self.name, "sh", "-c", start)
        until = time.monotonic() + 60
        while not (self.folder / "sshd.pid").exists() and time.monotonic() < until:
            time.sleep(0.02)

    def _stop_sshd(self) -> None:
        pid = self.folder / "sshd.pid"
        os.kill(int(pid.read_text()), signal.SIGTERM)
        until = time.monotonic() + 60
        while pid.exists() and time.monotonic() < until:
            time.sleep(0.02)
