"""Everything a sensor needs, asked one by one: what is there, what is missing, the cure."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from flowguard.domain.sensor_clock import SensorClock
from flowguard.sensor.client import NETWORK_ERRORS, Answer, Client
from flowguard.sensor.clock import examine_clock, kept_by_chronyd, system_clock
from flowguard.sensor.config import SensorConfig, read_config
from flowguard.sensor.sign import Sign
from policyhub.domain.errors import PolicyHubError

CAP_NET_RAW = 13


def examine(
    path: Path,
    check_bundle: Callable[[bytes], str],
    clock: Callable[[], SensorClock | None] = system_clock,
    keeper: Callable[[], str] = kept_by_chronyd,
) -> Iterator[Sign]:
    """Stops at a configuration that cannot be read; everything else is asked whatever the rest says."""
    try:
        config = read_config(path)
    except PolicyHubError as error:
        yield Sign(False, str(error))
        return
    yield Sign(True, f"configuration {path}")
    yield from _points(config)
    if not config.is_replay:
        yield from examine_clock(config, clock, keeper)
    if config.queues_file:
        there = config.queues_file.is_file()
        yield Sign(there, f"queues {config.queues_file}" + ("" if there else " is missing. Name a queues file"))
    yield from _facts(config)
    yield _spool(config)
    yield from _service(config, check_bundle)


def _points(config: SensorConfig) -> Iterator[Sign]:
    here = {name for _, name in socket.if_nameindex()}
    for point in config.points:
        if point.file:
            there = point.file.exists()
            yield Sign(there, f"point {point.name}: file {point.file}" + ("" if there else " is missing. Name a capture"))
        else:
            there = point.interface in here
            cure = "" if there else f" does not exist. Here are: {', '.join(sorted(here))}"
            yield Sign(there, f"point {point.name}: interface {point.interface}{cure}")
    if config.points and not config.is_replay:
        may = _may_capture()
        cure = "" if may else " is missing. Run as root, or give it by systemd (AmbientCapabilities=CAP_NET_RAW)"
        yield Sign(may, f"capability CAP_NET_RAW{cure}")


def _may_capture() -> bool:
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    effective = next((line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) >> CAP_NET_RAW & 1)


def _facts(config: SensorConfig) -> Iterator[Sign]:
    try:
        known = config.facts()
    except PolicyHubError as error:
        yield Sign(False, str(error))
        return
    points = {point.name for point in config.points}
    for name in known:
        cure = "" if name in points else ": no such point here. Judge its capture with --point NAME"
        yield Sign(name in points, f"facts of point {name}{cure}")


def _spool(config: SensorConfig) -> Sign:
    folder = config.spool_dir
    while not folder.exists():
        folder = folder.parent
    may = os.access(folder, os.W_OK | os.X_OK)
    return Sign(may, f"spool {config.spool_dir}" + ("" if may else f": {folder} cannot be written. Name another folder"))


def _service(config: SensorConfig, check_bundle: Callable[[bytes], str]) -> Iterator[Sign]:
    try:
        config.token()
    except PolicyHubError as error:
        yield Sign(False, str(error))
        return
    yield Sign(True, f"token file {config.token_file}")
    client = Client(config, config.token)
    try:
        answer = client.get_bundle("")
    except NETWORK_ERRORS as error:
        yield Sign(
            False, f"service {config.url} cannot be reached ({error or type(error).__name__}). Check url, ca_file, network"
        )
        return
    finally:
        client.close()
    yield Sign(True, f"service {config.url} answers")
    yield from _welcome(config, answer, check_bundle)


def _welcome(config: SensorConfig, answer: Answer, check_bundle: Callable[[bytes], str]) -> Iterator[Sign]:
    if answer.status in (401, 403):
        cure = f"Run `policyhub token create --sensor {config.name}`"
        yield Sign(False, f"token refused ({answer.status} {answer.reason()}). {cure}")
        return
    yield Sign(answer.status == 200, f"token accepted for {config.name}" if answer.status == 200 else f"answer {answer.status}")
    if answer.status == 200:
        try:
            yield Sign(True, f"bundle {check_bundle(answer.body)}")
        except Exception as error:  # the engine's own words
            yield Sign(False, f"bundle cannot be used: {error}")
