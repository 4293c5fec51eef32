"""Whether this machine's clock is kept right, and by whom: what the sensor's times are worth."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator

import native_capture
from flowguard.domain.sensor_clock import SensorClock, read_clock
from flowguard.sensor.config import SensorConfig
from flowguard.sensor.sign import Sign

ASK_CHRONYD = ("chronyc", "-n", "-c", "tracking")
ASK_S = 3.0
# Columns of `chronyc -c tracking` (chronyc(1)): the source's address, or its name when it is no server; its stratum.
ADDRESS, STRATUM, COLUMNS = 1, 2, 14


def system_clock() -> SensorClock | None:
    """As the kernel says now; None when it does not."""
    return read_clock(json.loads(native_capture.system_clock()))


def examine_clock(config: SensorConfig, clock: Callable[[], SensorClock | None], keeper: Callable[[], str]) -> Iterator[Sign]:
    """A line for the clock, and one for each card whose time stamps are asked for."""
    found = clock()
    if found is None:
        yield Sign(True, "clock: the kernel does not say whether it is kept right", is_doubt=True)
    elif found.synchronised:
        yield Sign(True, f"{found}{keeper()}")
    else:
        cure = "Run chronyd (with `rtcsync` in chrony.conf) or an NTP client: else times of several sensors do not compare"
        yield Sign(True, f"{found}. {cure}", is_doubt=True)
    if config.card_stamps:
        yield from (_card(point.name, point.interface) for point in config.points)


def kept_by_chronyd() -> str:
    """`, kept by chronyd from SOURCE (stratum N)`; empty when there is none to ask."""
    try:
        answer = subprocess.run(  # noqa: S603 - words of our own
            ASK_CHRONYD, capture_output=True, text=True, timeout=ASK_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return source_of(answer)


def source_of(tracking: str) -> str:
    """tracking: the line of `chronyc -n -c tracking`. Empty for anything else."""
    columns = tracking.strip().split(",")
    if len(columns) != COLUMNS:
        return ""
    source = columns[ADDRESS] or "its own clock"
    return f", kept by chronyd from {source} (stratum {columns[STRATUM]})"


def _card(point: str, interface: str) -> Sign:
    card = json.loads(native_capture.card_clock(interface))
    if card["stamps_all"]:
        number = "" if card["clock"] is None else f" /dev/ptp{card['clock']}"
        return Sign(True, f"point {point}: the card of {interface} stamps every frame by its clock{number}")
    cure = f"Run hwstamp_ctl -i {interface} -r 1" if card["can_stamp"] else 'It cannot; leave timestamps = "system"'
    return Sign(False, f"point {point}: the card of {interface} does not stamp every frame. {cure}")
