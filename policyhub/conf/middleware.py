"""What every answer carries: a request id, and a policy that lets the browser load nothing from elsewhere."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.decorators import sync_and_async_middleware

from policyhub.conf.logs import REQUEST_ID

Answer = HttpResponseBase
Handler = Callable[[HttpRequest], Answer] | Callable[[HttpRequest], Awaitable[Answer]]

CSP = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
# Swagger UI styles its elements inline; it is our own copy, shows no foreign data and gets no inline script.
CSP_DOCS = CSP + "; style-src 'self' 'unsafe-inline'"
_DOCS = "/api/docs"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._\-]{8,64}")


def _begin(request: HttpRequest) -> str:
    given = request.headers.get("X-Request-Id", "")
    request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
    request.request_id = request_id  # type: ignore[attr-defined]
    REQUEST_ID.set(request_id)
    return request_id


def _finish(request: HttpRequest, response: Answer, request_id: str) -> Answer:
    response.headers.setdefault("X-Request-Id", request_id)
    response.headers.setdefault("Content-Security-Policy", CSP_DOCS if request.path.startswith(_DOCS) else CSP)
    response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
    # WhiteNoise reads its files by a plain iterator. Django warns of one under ASGI, and then reads it in a thread as here.
    if isinstance(request, ASGIRequest) and isinstance(response, StreamingHttpResponse) and not response.is_async:
        response.streaming_content = _in_a_thread(response.streaming_content)  # type: ignore[arg-type]
    return response


async def _in_a_thread(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    whole: list[bytes] = await sync_to_async(lambda: list(parts), thread_sensitive=False)()
    for part in whole:
        yield part


@sync_and_async_middleware
def every_answer(get_response: Handler) -> Handler:
    """Django middleware, async where the next one is, so that a stream of events holds no thread."""
    if iscoroutinefunction(get_response):

        async def serve_async(request: HttpRequest) -> Answer:
            request_id = _begin(request)
            return _finish(request, await get_response(request), request_id)

        return serve_async

    def serve(request: HttpRequest) -> Answer:
        request_id = _begin(request)
        return _finish(request, get_response(request), request_id)  # type: ignore[arg-type]

    return serve
