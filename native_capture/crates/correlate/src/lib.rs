//! correlate: see docs/architecture.md
