"""The sensor's side of HTTP: batches out, the bundle in. Knows no retry; the callers do."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from flowguard.domain.batch import OLDEST, WAITING
from flowguard.sensor.config import SensorConfig

TIMEOUT_S = 10.0
MAX_ANSWER_BYTES = 256 * 1024 * 1024
NETWORK_ERRORS = (OSError, http.client.HTTPException)  # ssl.SSLError and timeouts are OSErrors


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    etag: str

    def reason(self) -> str:
        """The service's own line where it sent one."""
        try:
            told = json.loads(self.body)
            return str(told.get("message") or told.get("detail") or "")[:200]
        except (ValueError, AttributeError):
            return ""


class Client:
    """One kept connection. Use one client per thread. Every call raises one of NETWORK_ERRORS when the service is away."""

    def __init__(
        self, config: SensorConfig, token: Callable[[], str], backlog: Callable[[], tuple[int, float]] | None = None
    ) -> None:
        """backlog: batches that wait on the disk and the age of the oldest, told with every request as it is then.

        A batch cannot say it: it may itself have waited for hours, and its bytes never change.
        """
        self._parts, self._backlog = urlsplit(config.url), backlog
        self._base = f"{self._parts.path.rstrip('/')}/api/v1/sensors/{config.name}"
        self._token = token
        self._context = _context(config) if self._parts.scheme == "https" else None
        self._connection: http.client.HTTPConnection | None = None

    def post_batch(self, payload: bytes) -> Answer:
        """payload: gzipped JSON."""
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        return self._send("POST", "/batches", payload, headers)

    def get_bundle(self, etag: str) -> Answer:
        """etag: of the bundle that is known, or empty."""
        return self._send("GET", "/bundle", None, {"If-None-Match": etag} if etag else {})

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        kept = self._connection is not None
        try:
            return self._try(method, path, body, headers)
        except NETWORK_ERRORS:
            self.close()
            if not kept:
                raise
        # A server may close an idle connection at any time. Both requests are safe to repeat.
        try:
            return self._try(method, path, body, headers)
        except NETWORK_ERRORS:
            self.close()
            raise

    def _try(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        connection = self._connection = self._connection or self._connect()
        own = {"Authorization": f"Bearer {self._token()}"}
        if self._backlog:
            waiting, oldest_s = self._backlog()
            own |= {WAITING: str(waiting), OLDEST: f"{oldest_s:.1f}"}
        connection.request(method, self._base + path, body, {**own, **headers})
        response = connection.getresponse()
        text = response.read(MAX_ANSWER_BYTES + 1)
        if len(text) > MAX_ANSWER_BYTES:
            raise http.client.HTTPException("the answer is too long")
        return Answer(response.status, text, response.headers.get("ETag", ""))

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._context:
            return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=self._context)
        return http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)


def _context(config: SensorConfig) -> ssl.SSLContext:
    """Verifies the service's certificate and name, against ca_file where one is given."""
    context = ssl.create_default_context(cafile=str(config.ca_file) if config.ca_file else None)
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
