"""SonicWall: answers that the API gives for no device, told and never raised."""

from __future__ import annotations

import pytest

from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.corners import reasons

VENDOR = REGISTRY.get("sonicwall")


@pytest.mark.parametrize("collection", ["access_rules", "nat_policies", "route_policies"])
def test_nothing_but_addresses_and_groups_is_of_a_domain_name(collection: str) -> None:
    text = f'{{"{collection}": [{{"fqdn": {{"name": "n", "translated_source": {{"original": true}}}}}}]}}'
    assert reasons(VENDOR, text) == ["1 only an address or a group is of fqdn"]
