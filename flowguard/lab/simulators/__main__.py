"""A simulated switch as a process: `python -m flowguard.lab.simulators --platform cisco_ios --password-file F --state-file F`.

Prints one JSON line {"port", "host_key"} when it listens. The state file is its running configuration, written at every change
and read again at the next start; other programs may follow it (the sample network's data plane does).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

import asyncssh

from flowguard.lab.simulators import PLATFORMS, Faults, Logins
from flowguard.lab.simulators.server import listen


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="flowguard.lab.simulators", description=__doc__)
    parser.add_argument("--platform", choices=sorted(PLATFORMS), required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--username", default="policyhub")
    parser.add_argument("--password-file", type=Path, required=True)
    parser.add_argument("--enable-file", type=Path, help="secret of the privileged mode; without it a login lands there")
    parser.add_argument("--config", type=Path, help="configuration at the first start")
    parser.add_argument("--state-file", type=Path, required=True, help="running configuration, written at every change")
    parser.add_argument("--hits-file", type=Path, help="counters of a data plane: JSON, class -> [packets, bytes]")
    parser.add_argument("--host-key-file", type=Path, help="kept between starts; made when missing")
    parser.add_argument("--faults", help="JSON of flowguard.lab.simulators.Faults")
    args = parser.parse_args(argv)
    try:
        return asyncio.run(_run(args))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"simulator: {error}\n")
        return 2


async def _run(args: argparse.Namespace) -> int:
    device = PLATFORMS[args.platform]()
    device.enable_secret = args.enable_file.read_text(encoding="utf-8").strip() if args.enable_file else ""
    device.faults = Faults(**json.loads(args.faults)) if args.faults else Faults()
    start = args.state_file if args.state_file.exists() else args.config
    if start is not None:
        device.load(start.read_text(encoding="utf-8"))
    device.state_file, device.hits_file = args.state_file, args.hits_file
    device.changed()
    logins = Logins({args.username: args.password_file.read_text(encoding="utf-8").strip()})
    key = _host_key(args.host_key_file)
    acceptor = await listen(device, logins, key, args.host, args.port)
    public = key.export_public_key("openssh").decode().strip()
    sys.stdout.write(json.dumps({"port": acceptor.get_port(), "host_key": public}) + "\n")
    sys.stdout.flush()
    await acceptor.wait_closed()
    return 0


def _host_key(path: Path | None) -> asyncssh.SSHKey:
    if path is not None and path.exists():
        return asyncssh.read_private_key(path)
    key = asyncssh.generate_private_key("ssh-ed25519")
    if path is not None:
        path.touch(mode=0o600)
        key.write_private_key(path)
    return key


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
