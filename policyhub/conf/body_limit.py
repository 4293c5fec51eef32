"""No request body beyond a limit, no more large ones at once than fit into memory, none that trickles in without end.

Django takes a body in full, for anybody, before a view can refuse it, and a view has it in memory several times.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]  # Django types its own more narrowly than ASGI does

MAX_BODY_BYTES = 16 * 1024 * 1024
LARGE_BYTES = 256 * 1024  # a batch of a busy sensor is below it
MOST_LARGE, MOST_LARGE_OF_ONE = 16, 4
IDLE_S, WHOLE_S = 30.0, 300.0  # until the next piece, and until all of it
# Closed under a sender that still writes, TCP resets the connection and throws our answer away before it is read. So the rest is
# taken and forgotten, within bounds ("lingering close").
LINGER_BYTES = 256 * 1024 * 1024
LINGER_S = 30.0
SLOW = b'{"code": "PH-E408", "message": "the body did not come in time. Send it again", "data": {}}'
BUSY = b'{"code": "PH-E503", "message": "too many large bodies at once. Send it again in a moment", "data": {}}'
TOO_LARGE = b'{"code": "PH-E413", "message": "the body is larger than %d bytes. Send less at once", "data": {}}'


class BodyLimit:
    """An ASGI application around another: 413 by the length that is announced, or as soon as more than the limit has come;
    503 for a large one while there are many, of all or of one address; 408 when nothing comes any more."""

    def __init__(self, inner: Application, limit: int = MAX_BODY_BYTES) -> None:
        self._inner, self._limit = inner, limit
        self._large: Counter[str] = Counter()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        body = _Body(self, str((scope.get("client") or [""])[0]), receive, send)
        try:
            if await body.admit(_announced(scope)):
                await self._inner(scope, body.receive, body.send)
        finally:
            body.leave()
        if body.refused:
            await _linger(receive, send, ended=body.ended)


class _Body:
    """Of one request: how much of it came, and whether it was refused."""

    def __init__(self, door: BodyLimit, source: str, receive: Receive, send: Send) -> None:
        self._door, self._source, self._receive, self._send = door, source, receive, send
        self.came, self.refused, self.ended, self._is_large = 0, False, False, False
        self._due = asyncio.get_running_loop().time() + WHOLE_S

    async def admit(self, size: int) -> bool:
        """Whether a body of so many bytes may go on; the refusal is sent."""
        if size > self._door._limit:
            await self._refuse(413, TOO_LARGE % self._door._limit)
        elif size > LARGE_BYTES and not self._is_large:
            large = self._door._large
            if large.total() >= MOST_LARGE or large[self._source] >= MOST_LARGE_OF_ONE:
                await self._refuse(503, BUSY)
            else:
                self._is_large = True
                large[self._source] += 1
        return not self.refused

    def leave(self) -> None:
        if self._is_large:
            self._door._large -= Counter({self._source: 1})

    async def receive(self) -> Message:
        if self.refused:
            return {"type": "http.disconnect"}
        if self.ended:  # from here on it tells only that the client is gone
            return await self._receive()
        try:
            async with asyncio.timeout(min(IDLE_S, self._due - asyncio.get_running_loop().time())):
                message = await self._receive()
        except TimeoutError:
            self.ended = True  # nothing is waited for any more
            await self._refuse(408, SLOW)
            return {"type": "http.disconnect"}
        self.came += len(message.get("body", b""))
        self.ended = not message.get("more_body")
        return message if await self.admit(self.came) else {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if not self.refused:
            await self._send(message)

    async def _refuse(self, status: int, body: bytes) -> None:
        self.refused = True
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
        if status == 503:
            headers.append((b"retry-after", b"1"))
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": True})  # all of it; the end is said by _linger


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
