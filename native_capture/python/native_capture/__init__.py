"""The packet engine of PolicyHub. The work is done in Rust; names, paths and JSON bytes cross the border, packets never do."""

from native_capture._engine import (
    CaptureError,
    Exports,
    Live,
    Replay,
    __version__,
    analyse,
    analyse_exports,
    audit_bundle,
    card_clock,
    drop_privileges,
    inspect,
    rulespace,
    system_clock,
)

__all__ = [
    "CaptureError", "Exports", "Live", "Replay", "__version__", "analyse", "analyse_exports", "audit_bundle",
    "card_clock", "drop_privileges", "inspect", "rulespace", "system_clock",
]  # fmt: skip
