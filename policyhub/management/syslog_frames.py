"""Syslog messages out of a TCP stream, in both framings of RFC 6587: a count of octets before, or a line feed (or NUL) behind."""

from __future__ import annotations

import re

MOST = 65_536  # octets of a message
COUNT = re.compile(rb"([1-9]\d{0,5}) ")
END = re.compile(rb"[\n\x00]")


class BadFrame(Exception):
    """The stream cannot be cut into messages any more; the connection has to go."""


class Frames:
    """Of one connection. A message begins with `<`; a digit in its place is a count (RFC 6587, 3.4.1)."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def take(self, data: bytes) -> list[bytes]:
        """The messages that are whole now. Raises BadFrame for a count that is none, and for more than 64 KiB."""
        self._rest += data
        found: list[bytes] = []
        at = 0
        while at < len(self._rest) and (cut := self._next(at)) is not None:
            begin, end, at = cut
            if end > begin:
                found.append(bytes(self._rest[begin:end]))
        del self._rest[:at]
        return found

    def end(self) -> list[bytes]:
        """What stood behind the last line feed when the sender closed; half of a counted message is nothing."""
        rest, self._rest = bytes(self._rest), bytearray()
        return [rest] if rest and not rest[:1].isdigit() else []

    def _next(self, at: int) -> tuple[int, int, int] | None:
        """Where the message at this place begins and ends, and where the next one begins; None until more came."""
        if not self._rest[at : at + 1].isdigit():
            found = END.search(self._rest, at)
            if (found.start() if found else len(self._rest)) - at > MOST:
                raise BadFrame(f"a line of more than {MOST} octets")
            return (at, found.start(), found.end()) if found else None
        count = COUNT.match(self._rest, at)
        if count is None:
            if len(self._rest) - at > 6 or not self._rest[at:].isdigit() or self._rest[at : at + 1] == b"0":
                raise BadFrame("a count of octets that is none")
            return None
        end = count.end() + int(count[1])
        if int(count[1]) > MOST:
            raise BadFrame(f"a message of {int(count[1])} octets, more than {MOST}")
        return (count.end(), end, end) if len(self._rest) >= end else None
