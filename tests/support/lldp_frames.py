"""LLDP frames (802.1AB) with DCBX in the dialect of IEEE (802.1Q, annex D), made by hand."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

TO, ETHERTYPE = bytes.fromhex("0180c200000e"), b"\x88\xcc"
IEEE = bytes.fromhex("0080c2")
DSCP, UDP_PORT, ROCE = 5, 3, 4791


def tlv(kind: int, value: bytes) -> bytes:
    return struct.pack("!H", kind << 9 | len(value)) + value


def dcbx(
    lossless: Iterable[int], *, willing: bool = False, percent: Mapping[int, int] | None = None, roce: int | None = None,
    marks: Mapping[int, int] | None = None,
) -> list[bytes]:  # fmt: skip
    """percent: by traffic class, of which priority n is in class n; roce: priority of UDP 4791; marks: priority by DSCP."""
    shares = bytes((percent or {}).get(number, 0) for number in range(8))
    ets = bytes([willing << 7 | 8]) + bytes.fromhex("01234567") + shares + bytes([2] * 8)
    rows = [(roce, UDP_PORT, ROCE)] if roce is not None else []
    rows += [(priority, DSCP, mark) for mark, priority in (marks or {}).items()]
    applications = b"".join(struct.pack("!BH", priority << 5 | selector, number) for priority, selector, number in rows)
    pfc = bytes([willing << 7 | 8, sum(1 << priority for priority in lossless)])
    return [tlv(127, IEEE + bytes([kind]) + body) for kind, body in ((9, ets), (11, pfc), (12, b"\0" + applications))]


def lldp(mac: str, system: str, port: str, said: Iterable[bytes] = (), *, ttl_s: int = 120, about: int = 0) -> bytes:
    """about: so many bytes describe the system at length, as switches do."""
    sender = bytes.fromhex(mac.replace(":", ""))
    head = [tlv(1, b"\x04" + sender), tlv(2, b"\x05" + port.encode()), tlv(3, struct.pack("!H", ttl_s)), tlv(5, system.encode())]
    told = [tlv(6, b"x" * about)] if about else []
    return TO + sender + ETHERTYPE + b"".join([*head, *told, *said, tlv(0, b"")])
