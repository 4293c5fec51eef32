"""docs/signatures.md is what its generator writes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

GENERATOR = Path(__file__).parents[2] / "docs" / "signatures.py"


def test_the_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("signature_page", GENERATOR)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert GENERATOR.with_suffix(".md").read_text(encoding="utf-8") == module.render(), "run docs/signatures.py"
