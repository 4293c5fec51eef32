//! detect: see docs/architecture.md
