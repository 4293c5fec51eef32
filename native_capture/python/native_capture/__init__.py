"""The packet engine of PolicyHub. The work is done in Rust; names, paths and JSON bytes cross the border, packets never do."""

from native_capture._engine import CaptureError, Live, Replay, __version__, analyse, audit_bundle, rulespace

__all__ = ["CaptureError", "Live", "Replay", "__version__", "analyse", "audit_bundle", "rulespace"]
