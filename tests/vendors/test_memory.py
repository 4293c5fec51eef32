"""Memory of a parse, as a multiple of the text: what Python allocates at the same time, the model that stays included.

A rule of a few words becomes addresses, services and names of its own, so short lines cost most.
"""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from policyhub.vendorkit.registry import REGISTRY
from tests.support.many_rules import ROWS, many_rules

RULES = 1_000
LIMIT = 20.0


@pytest.mark.parametrize("platform", sorted(ROWS))
def test_a_parse_takes_a_bounded_multiple_of_the_text(platform: str) -> None:
    parse, text = REGISTRY.get(platform).parse, many_rules(platform, RULES)
    parse(many_rules(platform, 50))  # tables of names and compiled patterns are of the process, not of the text
    gc.collect()
    tracemalloc.start()
    try:
        config = parse(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (config.rule_count, config.unparsed) == (RULES, ())
    assert peak / len(text.encode()) <= LIMIT
