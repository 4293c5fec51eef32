"""A small HTTP server that plays the service for the sensor: scripted answers, everything recorded."""

from __future__ import annotations

import gzip
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FakeService:
    """answer(method, path, body) -> (status, body, headers); by default batches are 201 and there is no bundle (404)."""

    def __init__(self, port: int = 0, context: ssl.SSLContext | None = None) -> None:
        self.batches: list[dict[str, Any]] = []
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.bundle: tuple[bytes, str] | None = None
        self.statuses: list[int] = []
        self.cut_answers = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = True
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, method: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, dict[str, str]]:
        if method == "GET":
            if self.bundle is None:
                return 404, b'{"message": "none"}', {}
            text, etag = self.bundle
            return (304, b"", {"ETag": etag}) if headers.get("If-None-Match") == etag else (200, text, {"ETag": etag})
        status = self.statuses.pop(0) if self.statuses else 201
        if status in (200, 201):
            self.batches.append(json.loads(gzip.decompress(body)))
        return status, b'{"code": "X", "message": "as the test wants it"}', {}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(service: FakeService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = dict(self.headers.items())
            service.seen.append((self.command, self.path, headers))
            status, text, more = service.answer(self.command, headers, body)
            if service.cut_answers:
                service.cut_answers -= 1
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = _serve

        def log_message(self, format: str, *args: Any) -> None:
            return

    return Handler


class FakeEngine:
    """Hands over what the test put into `ready`; judges once it has a bundle."""

    def __init__(self, more: Callable[[], dict[str, Any] | None] = lambda: None) -> None:
        self.ready: list[dict[str, Any]] = []
        self.more = more
        self.bundle: bytes | None = None
        self.closed = False

    def poll(self, timeout_ms: int, /) -> bytes:
        told = (self.ready.pop(0) if self.ready else self.more()) or {}
        rest = {
            "judging": self.bundle is not None, "bundle": None, "verdicts": [], "observations": [],
            "health": {"received": 0, "dropped": {"kernel": 0, "ring": 0, "spool": 0}, "decode_errors": 0},
        }  # fmt: skip
        return json.dumps({**rest, **told}).encode()

    def set_bundle(self, bundle: bytes, /) -> str:
        self.bundle = bundle
        return "v"

    def close(self) -> None:
        self.closed = True
