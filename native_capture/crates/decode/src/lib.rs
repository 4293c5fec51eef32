//! decode: see docs/architecture.md
