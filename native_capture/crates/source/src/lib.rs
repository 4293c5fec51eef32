//! source: see docs/architecture.md
