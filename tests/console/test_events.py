"""Live streams: nothing missed after a break, nothing for strangers, an end to each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.contrib.auth.models import User
from django.test import AsyncClient

from policyhub.console.roles import make_roles
from policyhub.console.views import events
from tests.support import sample_rows
from tests.support.sample_rows import Sample

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rows(transactional_db: None) -> Sample:

    for label in ("policyhub", "flowguard"):
        make_roles(apps.get_app_config(label))
    return sample_rows.sample()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "POLL_S", 0.02)
    monkeypatch.setattr(events, "LIFETIME_S", 60.0)


def client_of(user: User | None) -> AsyncClient:
    client = AsyncClient()
    if user:
        client.force_login(user)
    return client


async def some(answer: Any, count: int) -> list[str]:
    """The first `count` events of the stream, without comments."""
    found: list[str] = []
    stream: AsyncIterator[bytes] = answer.streaming_content
    async with asyncio.timeout(60):
        async for chunk in stream:
            if chunk.startswith(b"id:"):
                found.append(chunk.decode())
            if len(found) == count:
                break
    await stream.aclose()  # type: ignore[attr-defined]
    return found


def run(awaitable: Any) -> Any:
    return asyncio.run(awaitable)


@pytest.mark.parametrize(
    ("who", "url", "status"),
    [
        (None, "/events?home", 401),
        ("viewer", "/events?nothing=1", 404),
        ("viewer", "/events", 404),
        ("viewer", "/events?home", 200),
        ("intern", "/events?change=1", 403),
        ("intern", "/events?enforcement=1", 403),
    ],
)
def test_stream_is_for_those_who_may_see_the_page(rows: Sample, who: str | None, url: str, status: int) -> None:
    user = {"viewer": rows.viewer, "intern": User.objects.create_user("intern"), None: None}[who]
    client = client_of(user)

    async def go() -> int:
        answer = await client.get(url)
        return answer.status_code

    assert run(go()) == status


def test_events_come_with_ids_and_resume_after_the_last_one(rows: Sample) -> None:
    url = f"/events?change={rows.confirmed.pk}"
    ids = list(rows.confirmed.events.values_list("pk", flat=True))
    client = client_of(rows.admin)
    resume = {"Last-Event-ID": str(ids[-2])}

    async def go() -> tuple[list[str], list[str]]:
        return await some(await client.get(url), len(ids)), await some(await client.get(url, headers=resume), 1)

    first, resumed = run(go())
    assert [int(event.split("\n")[0].removeprefix("id: ")) for event in first] == ids
    assert first[-1] == resumed[0]
    assert 'data: {"state": "confirmed"}' in resumed[0]


def test_event_that_happens_while_we_listen_arrives(rows: Sample) -> None:
    last = rows.enforcement.events.order_by("-pk").values_list("pk", flat=True)[0]
    client = client_of(rows.admin)

    def happens() -> None:
        rows.enforcement.events.create(at=rows.enforcement.created_at, state="expired", message="over")

    async def go() -> list[str]:
        answer = await client.get(f"/events?enforcement={rows.enforcement.pk}&after={last}.999999999")
        later = asyncio.create_task(_later(happens))
        found = await some(answer, 1)
        await later
        return found

    assert '"expired"' in run(go())[0]


def test_enforcement_hears_of_its_changes_too(rows: Sample) -> None:
    url = f"/events?enforcement={rows.enforcement.pk}"
    own = rows.enforcement.events.count()
    client = client_of(rows.admin)
    total = own + rows.confirmed.events.count()

    async def go() -> tuple[list[str], list[str]]:
        found = await some(await client.get(url), total)
        near_end = found[-2].split("\n")[0].removeprefix("id: ")
        return found, await some(await client.get(url, headers={"Last-Event-ID": near_end}), 1)

    found, resumed = run(go())
    assert len(found) == total and resumed == found[-1:]


async def _later(act: Any) -> None:
    await asyncio.sleep(0.2)
    await sync_to_async(act)()


def test_home_stream_speaks_only_when_home_would_look_different(rows: Sample) -> None:
    client = client_of(rows.admin)

    async def go() -> tuple[str, list[str]]:
        first = (await some(await client.get("/events?home"), 1))[0]
        known = first.split("\n")[0].removeprefix("id: ")
        answer = await client.get(f"/events?home&after={known}")
        later = asyncio.create_task(_later(lambda: sample_rows.verdict(rows.verdict.sensor, datetime.now(tz=UTC), 77)))
        found = await some(answer, 1)
        await later
        return known, found

    known, found = run(go())
    assert found and not found[0].startswith(f"id: {known}\n")


def test_stream_ends_by_itself_and_sends_heartbeats(rows: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LIFETIME_S", 1.0)
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.05)
    client = client_of(rows.admin)

    async def go() -> bytes:
        answer = await client.get("/events?change=999999")
        return b"".join([chunk async for chunk in answer.streaming_content])

    body = run(go())
    assert b": still here" in body and b"id:" not in body
    assert events._open == 0


def test_too_many_streams_are_turned_away_so_that_pages_poll(rows: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_STREAMS", 0)
    client = client_of(rows.admin)

    async def go() -> int:
        return (await client.get("/events?home")).status_code

    assert run(go()) == 503


@pytest.mark.parametrize("key", ["", "x", "1;2", "9" * 40, "-1"])
def test_odd_keys_give_a_silent_stream(rows: Sample, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setattr(events, "LIFETIME_S", 0.1)
    client = client_of(rows.admin)

    async def go() -> bytes:
        answer = await client.get("/events", {"change": key, "after": key})
        return b"".join([chunk async for chunk in answer.streaming_content])

    assert b"id:" not in run(go())
