"""The engine as the sensor sees it."""

from __future__ import annotations

from typing import Protocol


class Engine(Protocol):
    """What native_capture.Live offers (docs/architecture.md, section 3)."""

    def poll(self, timeout_ms: int, /) -> bytes: ...

    def set_bundle(self, bundle: bytes, /) -> str: ...

    def close(self) -> None: ...
