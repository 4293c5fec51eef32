"""Numbers in an address that are no numbers, or too large for a database, give a page or a 404."""

from __future__ import annotations

from urllib.parse import quote

import pytest

ODD = ["²", "٣", "99999999999999999999999", "-1", "0", "1e9", "NaN", "\0", "x" * 3000]
PLACES = [
    "/search/?q={}",
    "/findings/?device={}", "/changes/?device={}", "/traffic/?page={}", "/api/v1/changes?device={}",
    "/api/v1/findings?device={}",
    "/api/v1/changes/{}", "/events?change={}", "/events?enforcement={}", "/api/v1/verdicts?limit={}",
]  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("place", PLACES)
def test_an_odd_number_in_the_address_is_no_error(admin_client, place, odd):
    assert admin_client.get(place.format(quote(odd, safe=""))).status_code in (200, 400, 404)
