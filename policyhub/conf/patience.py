"""Uvicorn waits without end for a request that never becomes whole, and counts such connections among those it may have."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from policyhub.domain.tally import Tally

log = logging.getLogger(__name__)
HEAD_S = 20.0  # from the connection, or the first byte of a request, to the end of its headers


class Impatient(H11Protocol):
    """Closes who does not finish the head of a request in time, and who holds more connections than one address may.

    most_of_one: so that the idle connections of one address leave room for others'; None behind a proxy, which is one address.
    """

    most_of_one: int | None = None
    _refused = Tally(time.monotonic, told_at=0.0)  # of all connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_due: asyncio.TimerHandle | None = self.loop.call_later(HEAD_S, self._close, "no whole request in time")
        source = self.client[0] if self.client else ""
        if self.most_of_one is not None and sum(1 for each in self._others() if each == source) >= self.most_of_one:
            self._close("too many connections")

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._head_due is None:
            self._head_due = self.loop.call_later(HEAD_S, self._close, "no whole request in time")

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _others(self) -> list[str]:
        held: set[Any] = self.connections
        return [each.client[0] for each in held if each is not self and each.client and not each.transport.is_closing()]

    def _forget(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def _close(self, why: str) -> None:
        self._forget()
        self.transport.close()
        self._refused.add(f"{self.client[0] if self.client else '?'}: {why}")
        for reason, count in self._refused.due().most_common(10):
            log.warning("connections closed since the last such line: %d of %s", count, reason)


def protocol(most_of_one: int | None) -> type[Impatient]:
    return type("Impatient", (Impatient,), {"most_of_one": most_of_one})
