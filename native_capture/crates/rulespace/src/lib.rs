//! rulespace: see docs/architecture.md
