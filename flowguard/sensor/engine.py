"""How the engine is opened: on interfaces, or on captures that are played back."""

from __future__ import annotations

import time

import native_capture
from flowguard.sensor.config import SensorConfig
from flowguard.sensor.contract import Engine
from flowguard.sensor.replay import ShiftedReplay


def open_engine(config: SensorConfig, bundle: bytes | None) -> Engine:
    """Raises native_capture.CaptureError: no such interface, no permission, unreadable file; BadInput: no queues file."""
    queues = config.queues()
    if config.is_replay:
        files = [(point.name, str(point.file)) for point in config.points]
        return ShiftedReplay(native_capture.Replay(files, bundle=bundle, queues=queues), time.time_ns)
    interfaces = [(point.name, point.interface) for point in config.points]
    return native_capture.Live(interfaces, bundle=bundle, queues=queues, snaplen=config.snaplen, ring_mb=config.ring_mb)
