"""The engine as the sensor sees it, and how one is opened."""

from __future__ import annotations

from typing import Protocol

import native_capture
from flowguard.sensor.config import SensorConfig


class Engine(Protocol):
    """What native_capture.Live offers (docs/architecture.md, section 3)."""

    def poll(self, timeout_ms: int, /) -> bytes: ...

    def set_bundle(self, bundle: bytes, /) -> str: ...

    def close(self) -> None: ...


def open_engine(config: SensorConfig, bundle: bytes | None) -> Engine:
    """Raises native_capture.CaptureError: no such interface, no permission, unreadable file."""
    if config.is_replay:
        files = [(point.name, str(point.file)) for point in config.points]
        return native_capture.Replay(files, bundle=bundle)
    interfaces = [(point.name, point.interface) for point in config.points]
    return native_capture.Live(interfaces, bundle=bundle, snaplen=config.snaplen, ring_mb=config.ring_mb)
