"""No request body beyond a limit: Django writes it to disk in full, for anybody, before a view can refuse it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]  # Django types its own more narrowly than ASGI does

MAX_BODY_BYTES = 16 * 1024 * 1024
# Closed under a sender that still writes, TCP resets the connection and throws our answer away before it is read. So the rest is
# taken and forgotten, within bounds ("lingering close").
LINGER_BYTES = 256 * 1024 * 1024
LINGER_S = 30.0
TOO_LARGE = b'{"code": "PH-E413", "message": "the body is larger than %d bytes. Send less at once", "data": {}}'


class BodyLimit:
    """An ASGI application around another: 413 by the length that is announced, or as soon as more than the limit has come."""

    def __init__(self, inner: Application, limit: int = MAX_BODY_BYTES) -> None:
        self._inner, self._limit = inner, limit

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        if _announced(scope) > self._limit:
            await self._refuse(send)
            await _linger(receive, send)
            return
        came, refused, ended = 0, False, False

        async def counted() -> Message:
            nonlocal came, refused, ended
            if refused:
                return {"type": "http.disconnect"}
            message = await receive()
            came += len(message.get("body", b""))
            ended = not message.get("more_body")
            if came > self._limit:
                refused = True
                await self._refuse(send)
                return {"type": "http.disconnect"}
            return message

        async def guarded(message: Message) -> None:
            if not refused:
                await send(message)

        await self._inner(scope, counted, guarded)
        if refused:
            await _linger(receive, send, ended=ended)

    async def _refuse(self, send: Send) -> None:
        body = TOO_LARGE % self._limit
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": True})  # all of it; the end is said by _linger


async def _linger(receive: Receive, send: Send, *, ended: bool = False) -> None:
    """Swallow what still comes, if anything does, then end the answer, which closes the connection."""
    came = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while not ended and came <= LINGER_BYTES:
                message = await receive()
                came += len(message.get("body", b""))
                ended = not message.get("more_body")
    await send({"type": "http.response.body", "body": b""})


def _announced(scope: Message) -> int:
    lengths = [value for name, value in scope["headers"] if name.lower() == b"content-length"]
    return int(lengths[0]) if lengths and lengths[0].isdigit() else 0
