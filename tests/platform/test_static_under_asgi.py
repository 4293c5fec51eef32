"""Files of the console under ASGI, where a plain iterator would be warned of at each of them."""

from __future__ import annotations

import asyncio

import pytest
from django.test import AsyncClient


@pytest.mark.once
def test_a_static_file_is_served_whole_and_without_a_warning(db) -> None:
    """Warnings are errors in these tests: `StreamingHttpResponse must consume synchronous iterators` would fail this one."""

    async def fetch() -> tuple[int, bytes]:
        response = await AsyncClient().get("/static/console/base.css")
        return response.status_code, b"".join([part async for part in response])

    status, body = asyncio.run(fetch())
    assert status == 200
    assert b"{" in body and len(body) > 1000
