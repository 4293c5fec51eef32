"""The sensor batch `flowguard.batch/1` (docs/architecture.md, section 2): checked to the last field or refused in one line."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import math
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from flowguard.domain.errors import BadBatch
from flowguard.domain.link_ends import DCBX_NAMES
from policyhub.domain.finding import Severity

SCHEMA = "flowguard.batch/1"
# Headers of a sensor's requests: batches on its disk, the one on its way among them, and the age of the oldest in seconds.
WAITING, OLDEST = "X-Spool-Waiting", "X-Spool-Oldest-S"
MAX_INT64 = 2**63 - 1
MAX_INT32 = 2**31 - 1
MAX_SEQUENCE = 2**53
MAX_ROWS = 20_000
MAX_SOURCE_ROWS = 65_536
MAX_DEPTH = 24

Check = Callable[[object, str], None]


def canonical(value: object) -> bytes:
    """The one spelling of a JSON value: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def digest(value: object) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def read_backlog(headers: Mapping[str, str], *, delivered: int) -> tuple[int, float] | None:
    """What WAITING and OLDEST say, without the batches that came with the request; None = not told, or nothing one can read."""
    told = [re.fullmatch(r"\d{1,9}(\.\d{1,3})?", headers.get(name, "")) for name in (WAITING, OLDEST)]
    if None in told:
        return None
    waiting, oldest_s = (float(found[0]) for found in told if found)
    left = max(0, int(waiting) - delivered)
    return left, oldest_s if left else 0.0


def read_batch(body: bytes, *, sensor: str) -> dict[str, Any]:
    """The batch as plain JSON values. Raises BadBatch naming the field, what it holds and what it should hold."""
    batch: dict[str, Any] = _parse(body)
    _plain(batch, "", MAX_DEPTH)
    _BATCH(batch, "")
    if batch["sensor"] != sensor:
        _bad("sensor", batch["sensor"], f"the name in the address, {sensor!r}")
    return batch


def _parse(body: bytes) -> Any:
    def constant(name: str) -> NoReturn:
        raise BadBatch(f"body: {name} is not JSON. Send null for what is not known", field="")

    try:
        return json.loads(body.decode(), parse_constant=constant)
    except UnicodeDecodeError as error:
        raise BadBatch(f"body: byte {error.start} is not UTF-8. Send UTF-8", field="") from None
    except json.JSONDecodeError as error:
        raise BadBatch(f"body: not JSON at character {error.pos} ({error.msg}). Send one {SCHEMA} object", field="") from None
    except (RecursionError, ValueError):  # ValueError: an integer of more digits than Python converts
        raise BadBatch(f"body: nested too deep or a number too long. Send one {SCHEMA} object", field="") from None


def _plain(value: object, path: str, depth: int) -> None:
    """Refuse what a database cannot keep: NUL, lone surrogates, infinities, endless nesting."""
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise BadBatch(f"{path or 'body'}: holds a NUL or half a character. Send plain Unicode text", field=path)
    elif isinstance(value, int) and abs(value) > MAX_INT64:
        _bad(path, value, "a number of at most 64 bits")
    elif isinstance(value, float) and not math.isfinite(value):
        _bad(path, value, "a finite number")
    elif isinstance(value, list | dict) and not depth:
        raise BadBatch(f"{path}: nested deeper than {MAX_DEPTH}. Send it flat", field=path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _plain(item, f"{path}[{index}]", depth - 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _plain(key, path, depth)
            _plain(item, f"{path}.{key}" if path else str(key), depth - 1)


def _bad(path: str, value: object, wanted: str) -> NoReturn:
    text = json.dumps(value, ensure_ascii=False, default=str)
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    raise BadBatch(f"{path or 'body'}: {shown} is not {wanted}", field=path)


def _integer(low: int, high: int) -> Check:
    def check(value: object, path: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            _bad(path, value, f"a whole number from {low} to {high}")

    return check


def _text(longest: int, *, empty: bool = False) -> Check:
    def check(value: object, path: str) -> None:
        if not isinstance(value, str) or len(value) > longest or (not value and not empty):
            _bad(path, value, f"text of {0 if empty else 1} to {longest} characters")

    return check


def _matching(pattern: str, wanted: str) -> Check:
    compiled = re.compile(pattern)

    def check(value: object, path: str) -> None:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            _bad(path, value, wanted)

    return check


def _one_of(*values: object) -> Check:
    def check(value: object, path: str) -> None:
        if value not in values or isinstance(value, bool) != isinstance(values[0], bool):
            _bad(path, value, "one of " + ", ".join(json.dumps(v) for v in values))

    return check


def _or_null(inner: Check) -> Check:
    def check(value: object, path: str) -> None:
        if value is not None:
            inner(value, path)

    return check


def _array(inner: Check | None, most: int) -> Check:
    def check(value: object, path: str) -> None:
        if not isinstance(value, list) or len(value) > most:
            _bad(path, value, f"an array of at most {most}")
        if inner:
            for index, item in enumerate(value):
                inner(item, f"{path}[{index}]")

    return check


def _object(fields: Mapping[str, Check], optional: tuple[str, ...] = ()) -> Check:
    """Fields not named are kept: a newer engine may say more."""

    def check(value: object, path: str) -> None:
        if not isinstance(value, dict):
            _bad(path, value, "an object")
        for name, inner in fields.items():
            where = f"{path}.{name}" if path else name
            if name in value:
                inner(value[name], where)
            elif name not in optional:
                raise BadBatch(f"{where}: is missing. Send a {SCHEMA} object", field=where)

    return check


def _address(value: object, path: str) -> None:
    try:
        if not isinstance(value, str) or "%" in value:
            raise ValueError
        ipaddress.ip_address(value)
    except ValueError:
        _bad(path, value, "an IP address")


def _stream(value: object, path: str) -> None:
    try:
        if not isinstance(value, str) or len(value) != 36:
            raise ValueError
        uuid.UUID(value)
    except ValueError:
        _bad(path, value, "a UUID")


def _confidence(value: object, path: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        _bad(path, value, "a number from 0 to 1")


def _server_port(value: object, path: str) -> None:
    if value != "ephemeral":
        _integer(0, 65_535)(value, path)


def _ordered(inner: Check, low: str, high: str) -> Check:
    def check(value: object, path: str) -> None:
        inner(value, path)
        if isinstance(value, dict) and value[low] > value[high]:
            _bad(f"{path}.{high}", value[high], f"at or after {low}")

    return check


def _counts(value: object, path: str) -> None:
    if not isinstance(value, dict) or len(value) > 16:
        _bad(path, value, "an object of at most 16 counts")
    for name, count in value.items():
        _COUNT(count, f"{path}.{name}")


_COUNT = _integer(0, MAX_INT64)
_SEQUENCE = _integer(1, MAX_SEQUENCE)
_DSCP = _integer(0, 63)
_NAME = _text(64)
_REALM = _text(64, empty=True)
_VERDICT = _ordered(
    _object(
        {
            "id": _matching(r"[0-9a-f]{32}", "32 hex digits"), "revision": _integer(1, MAX_INT32), "name": _text(40),
            "realm": _REALM, "point": _NAME, "src": _address, "dst": _address, "proto": _text(16),
            "server_port": _server_port, "dscp": _DSCP, "packets": _COUNT, "bytes": _COUNT, "first_ns": _COUNT,
            "last_ns": _COUNT, "severity": _one_of(*(s.value for s in Severity)), "confidence": _confidence,
            "signals": _array(_text(64), 64), "evidence": _array(_object({}), 256),
        }
    ),
    "first_ns", "last_ns",
)  # fmt: skip
_OBSERVATION = _ordered(
    _object(
        {
            "point": _NAME, "realm": _REALM, "start_ns": _COUNT, "end_ns": _COUNT, "complete": _one_of(True, False),
            "sources": _array(
                _object({"src": _or_null(_address), "dscp": _DSCP, "packets": _COUNT, "bytes": _COUNT}), MAX_SOURCE_ROWS
            ),
            "tcp": _array(
                _object(
                    {"dscp": _DSCP, "data_segments": _COUNT, "retransmitted": _COUNT, "syn_retransmitted": _COUNT,
                     "zero_window": _COUNT},
                ), 64,
            ),
        }
    ),
    "start_ns", "end_ns",
)  # fmt: skip
_GAP = _ordered(
    _object(
        {"stream": _stream, "from_sequence": _SEQUENCE, "to_sequence": _SEQUENCE,
         "verdicts": _or_null(_integer(0, MAX_INT32)), "reason": _text(64)}
    ),
    "from_sequence", "to_sequence",
)  # fmt: skip
_CLOCK = _object({"synchronised": _one_of(True, False), "estimated_error_ns": _or_null(_COUNT), "max_error_ns": _or_null(_COUNT)})
_STAMPS = _object({"hardware": _COUNT, "system": _COUNT, "stray": _COUNT, "clock": _or_null(_COUNT)})
_HEALTH = _object(
    {"received": _or_null(_COUNT), "dropped": _counts, "decode_errors": _or_null(_COUNT), "clock": _or_null(_CLOCK),
     "points": _array(_object({"stamps": _or_null(_STAMPS)}, ("stamps",)), MAX_ROWS)},
    ("clock", "points"),
)  # fmt: skip
_WHEN = _or_null(_COUNT)
_LONG = _text(512, empty=True)
_PRIORITY = _integer(0, 7)
_PRIORITIES = _array(_PRIORITY, 8)
_AMOUNT = _object({"packets": _COUNT, "bytes": _COUNT})
_MARKS = frozenset(str(mark) for mark in range(64))
_SHARE = _array(_integer(0, 255), 8)
_DCBX = _object(
    {
        "dialect": _one_of(*DCBX_NAMES), "pfc": _or_null(_object({"enabled": _PRIORITIES, "willing": _one_of(True, False)})),
        "ets": _or_null(_object({"class_of": _SHARE, "percent": _SHARE})), "roce_priority": _or_null(_PRIORITY),
        "applications": _array(_object({"selector": _text(16), "protocol": _COUNT, "priorities": _PRIORITIES}), 512),
    }
)  # fmt: skip
_NEIGHBOUR = _object(
    {
        "chassis": _LONG, "port": _LONG, "system_name": _or_null(_LONG), "port_description": _or_null(_LONG), "last_ns": _COUNT,
        "ttl_s": _COUNT, "complete": _one_of(True, False), "dcbx": _array(_DCBX, 2),
    }
)  # fmt: skip


def _marks(value: object, path: str) -> None:
    """What was seen by DSCP, as JSON writes the keys."""
    if not isinstance(value, dict) or not value.keys() <= _MARKS:
        _bad(path, value, "an object by mark, 0 to 63")
    for mark, amount in value.items():
        _AMOUNT(amount, f"{path}.{mark}")


_CARRIED = _object(
    {
        "tunnel": _text(16), "tunnel_id": _or_null(_COUNT), "depth": _COUNT, "outer_src": _address, "outer_dst": _address,
        "src": _address, "dst": _address, "sport": _COUNT, "dport": _COUNT, "proto": _text(16), "packets": _COUNT,
        "bytes": _COUNT, "dscp": _marks,
    }
)  # fmt: skip
_BULK = _object(
    {
        "point": _NAME, "src": _address, "dst": _address, "identity": _or_null(_LONG), "proto": _text(16),
        "server_port": _server_port, "dscp": _or_null(_DSCP), "connections": _COUNT, "bytes": _COUNT, "filled": _confidence,
        "on_share": _confidence, "period_ns": _WHEN, "first_ns": _COUNT, "last_ns": _COUNT,
    }
)  # fmt: skip
_GROUP = _object(
    {
        "hosts": _array(_object({"address": _address, "identity": _or_null(_LONG)}), 1_024), "ways": _COUNT, "bytes": _COUNT,
        "together": _confidence, "balance": _confidence, "period_ns": _WHEN, "first_ns": _COUNT, "last_ns": _COUNT,
        "named": _array(_text(64), 64),
    }
)  # fmt: skip
_SHAPE_POINT = _object(
    {
        "point": _NAME, "lldp": _array(_NEIGHBOUR, 1_024), "lldp_total": _COUNT, "lldp_overflow": _COUNT,
        "carried": _or_null(_object({"rows": _array(_CARRIED, 256), "total": _COUNT, "overflow": _COUNT})),
    }
)  # fmt: skip
_BEHAVIOUR = _object(
    {"bulk": _array(_BULK, 256), "bulk_total": _COUNT, "groups": _array(_GROUP, 256), "left_out": _COUNT}
)  # fmt: skip
_SHAPE = _object(
    {"at_ns": _COUNT, "from_ns": _WHEN, "to_ns": _WHEN, "points": _array(_SHAPE_POINT, 64), "behaviour": _or_null(_BEHAVIOUR)}
)
_BATCH = _object(
    {
        "schema": _one_of(SCHEMA), "sensor": _NAME, "stream": _stream, "sequence": _SEQUENCE,
        "bundle": _or_null(_matching(r"[0-9a-f]{64}", "a bundle version (64 hex digits) or null")),
        "judging": _one_of(True, False), "verdicts": _array(_VERDICT, MAX_ROWS),
        "observations": _array(_OBSERVATION, MAX_ROWS), "gaps": _array(_GAP, MAX_ROWS), "health": _HEALTH,
        "shape": _or_null(_SHAPE),
    },
    ("shape",),
)  # fmt: skip
