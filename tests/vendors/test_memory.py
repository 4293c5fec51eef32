"""Memory of a parse, as a multiple of the text: what Python allocates at the same time, the model that stays included.

A rule of a few words becomes addresses, services and names of its own, so short lines cost most; `OVER` holds the platforms that
take more than the limit for such lines, each with the most that it may take: lower it when a parser does.
"""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from policyhub.vendorkit.registry import REGISTRY
from tests.support.many_rules import ROWS, many_rules

RULES = 1_000
LIMIT = 20.0
OVER = {
    "arista_eos": 23.0,
    "aws": 27.0,
    "cisco_ios": 23.0,
    "cisco_iosxr": 21.5,
    "cisco_nxos": 25.0,
    "gcp": 23.0,
    "hillstone_stoneos": 25.0,
    "linux_iptables": 28.0,
    "linux_nftables": 63.0,
    "mikrotik": 25.5,
    "nvidia_cumulus": 46.0,
    "pf": 47.0,
    "sonic": 25.0,
    "vyos": 33.0,
}


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
    assert peak / len(text.encode()) <= OVER.get(platform, LIMIT)
