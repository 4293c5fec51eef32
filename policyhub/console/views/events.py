"""`/events`: what happened since, as server-sent events read from the database. `Last-Event-ID` resumes.

A stream ends after a while and the browser comes back with its last id, so nothing is held for ever and nothing is lost.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from policyhub.console import registry
from policyhub.console.registry import Event, Stream

POLL_S, HEARTBEAT_S, LIFETIME_S = 0.7, 15.0, 600.0
MOST_STREAMS = 300
_open = 0


async def events(request: HttpRequest) -> HttpResponseBase:
    """`?change=7`, `?enforcement=3` or `?home`. 401 without a user, 404 for an unknown stream, 503 when too many are open."""
    wanted = next(((stream, request.GET[stream.key]) for stream in registry.streams.all() if stream.key in request.GET), None)
    user = await request.auser()
    if not user.is_authenticated:
        return HttpResponse("log in first", status=401, content_type="text/plain")
    if wanted is None:
        return HttpResponse("no such stream", status=404, content_type="text/plain")
    stream, key = wanted
    if stream.permission and not await user.ahas_perm(stream.permission):
        return HttpResponse("not allowed", status=403, content_type="text/plain")
    if _open >= MOST_STREAMS:
        return HttpResponse("too many streams; the page polls instead", status=503, content_type="text/plain")
    after = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    answer = StreamingHttpResponse(_lines(stream, key, after), content_type="text/event-stream")
    answer["Cache-Control"], answer["X-Accel-Buffering"] = "no-store", "no"
    return answer


async def _lines(stream: Stream, key: str, after: str) -> AsyncIterator[bytes]:
    global _open
    _open += 1
    try:
        yield b"retry: 2000\n\n"
        loop = asyncio.get_running_loop()
        started = spoke = loop.time()
        while loop.time() - started < LIFETIME_S:
            for event in await _poll(stream, key, after):
                after, spoke = event.id, loop.time()
                yield _frame(event)
            if loop.time() - spoke > HEARTBEAT_S:
                spoke = loop.time()
                yield b": still here\n\n"
            await asyncio.sleep(POLL_S)
    finally:
        _open -= 1


@sync_to_async
def _poll(stream: Stream, key: str, after: str) -> Sequence[Event]:
    try:
        return stream.poll(key, after)
    finally:
        close_old_connections()


def _frame(event: Event) -> bytes:
    body = json.dumps(event.data, ensure_ascii=False)
    return f"id: {event.id}\nevent: {event.name}\ndata: {body}\n\n".encode()
