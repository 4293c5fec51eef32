"""The sensor's configuration file (TOML). Every mistake is one line naming the file, the key and the cure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from flowguard.domain.point_facts import read_facts
from flowguard.domain.probe import PointFacts
from policyhub.domain.errors import BadInput
from policyhub.domain.reading import read_text

T = TypeVar("T")
LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")
UNWRAP = re.compile(r"(erspan|vxlan|geneve|gre)(:\d{1,9})?")
FRAME_TIMES = ("erspan", "metamako", "vss", "ixia", "arista")
NAME = re.compile(r"[-A-Za-z0-9_]{1,64}")


@dataclass(frozen=True, slots=True)
class Point:
    """An observation point and the interface on which its packets arrive, or the capture that is played back for it.

    unwrap: how its mirror wrapped them, as `policyhub flows --unwrap` takes it; empty: not at all.
    """

    name: str
    interface: str = ""
    file: Path | None = None
    unwrap: str = ""


@dataclass(frozen=True, slots=True)
class Collector:
    """Where flow records go as IPFIX. transport: udp or tcp; domain: observation domain of all messages."""

    transport: str
    host: str
    port: int
    domain: int = 1


@dataclass(frozen=True, slots=True)
class Post:
    """A point at which exporters are heard: NetFlow, IPFIX or sFlow over UDP."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class SensorConfig:
    """url: scheme and host of the service. spool_bytes: most that waits on disk. Intervals in seconds.

    heartbeat_s: longest silence of a sensor that has nothing to tell. replay: the points are files, played at their own pace.
    filter: only these frames (pcap-filter); promiscuous: those for others, too.
    card_stamps: times of the cards' clocks instead of the system's; frame_times: those that frames bear, by whom, empty: none.
    queues_file: rates, buffers and points of the device between, as `policyhub flows --queues` takes it.
    signatures: a folder of signature files, as `policyhub flows --signatures` takes it.
    facts_file: what marked probes told of the points, as `policyhub flows --point-facts` takes it.
    """

    name: str
    url: str
    token_file: Path
    points: tuple[Point, ...]
    spool_dir: Path
    spool_bytes: int = 1024 * 1024 * 1024
    ca_file: Path | None = None
    insecure: bool = False
    batch_s: float = 1.0
    bundle_s: float = 10.0
    heartbeat_s: float = 10.0
    snaplen: int = 256
    ring_mb: int = 32
    threads: int = 1
    filter: str | None = None
    promiscuous: bool = True
    card_stamps: bool = False
    frame_times: str = ""
    queues_file: Path | None = None
    facts_file: Path | None = None
    signatures: Path | None = None
    ipfix: Collector | None = None
    collect: tuple[Post, ...] = ()

    @property
    def unwraps(self) -> dict[str, str]:
        return {point.name: point.unwrap for point in self.points if point.unwrap}

    @property
    def timestamps(self) -> dict[str, str]:
        return {point.name: self.frame_times for point in self.points if self.frame_times}

    @property
    def is_replay(self) -> bool:
        return bool(self.points) and self.points[0].file is not None

    def queues(self) -> bytes | None:
        """The queues file as the engine takes it; None when none is named. Raises BadInput."""
        if self.queues_file is None:
            return None
        return read_text(self.queues_file, "Name the queues file, or leave `queues` out").encode()

    def facts(self) -> dict[str, PointFacts]:
        """What marked probes told of the points; empty when no file is named. Raises BadInput."""
        if self.facts_file is None:
            return {}
        text = read_text(self.facts_file, "Name the file of `policyhub sensor probe judge --into`, or leave `point_facts` out")
        return read_facts(text, str(self.facts_file))

    def token(self) -> str:
        """Read anew each time, so that a renewed token needs no restart. Raises BadInput."""
        text = read_text(self.token_file, "See `policyhub token`").strip()
        if not re.fullmatch(r"phb_[0-9a-f]+\.[-\w]+", text):
            raise BadInput.at(str(self.token_file), 1, "is not a token", "Put the output of `policyhub token create` there")
        return text


def read_config(path: Path) -> SensorConfig:
    """Raises BadInput. Relative paths are relative to the file's own folder."""
    try:
        raw = tomllib.loads(read_text(path, "Name a sensor configuration"))
    except tomllib.TOMLDecodeError as error:
        raise BadInput.at(str(path), None, f"not TOML: {error}", "See docs/sensor.md") from None
    return _Reader(str(path), path.resolve().parent).config(raw)


class _Reader:
    def __init__(self, file: str, folder: Path) -> None:
        self.file, self.folder = file, folder

    def config(self, raw: Mapping[str, Any]) -> SensorConfig:
        known = {
            "name", "url", "token_file", "ca_file", "insecure", "points", "replay", "spool", "batch_interval_ms",
            "bundle_interval_ms", "heartbeat_ms", "snaplen", "ring_mb", "queues", "ipfix", "ipfix_domain", "collect",
            "filter", "promiscuous", "point_facts", "threads", "signatures",
            "timestamps",
        }  # fmt: skip
        self._only(raw, known, "")
        spool: dict[str, Any] = self._take(raw, "spool", dict)
        self._only(spool, {"dir", "max_mb"}, "spool.")
        insecure = bool(self._take(raw, "insecure", bool, False))
        name = self._take(raw, "name", str)
        if not NAME.fullmatch(name):
            raise self._bad(f"name = {name!r}", "A name has 1 to 64 letters, digits, - or _")
        return SensorConfig(
            name=name,
            url=self._url(self._take(raw, "url", str), insecure),
            token_file=self._path(self._take(raw, "token_file", str)),
            points=self._points(raw),
            spool_dir=self._path(self._take(spool, "dir", str)),
            spool_bytes=self._number(spool, "max_mb", 1024, 1, 1024 * 1024) * 1024 * 1024,
            ca_file=self._path(raw["ca_file"]) if self._take(raw, "ca_file", str, "") else None,
            insecure=insecure,
            batch_s=self._number(raw, "batch_interval_ms", 1000, 50, 60_000) / 1000,
            bundle_s=self._number(raw, "bundle_interval_ms", 10_000, 100, 3_600_000) / 1000,
            heartbeat_s=self._number(raw, "heartbeat_ms", 10_000, 100, 60_000) / 1000,
            snaplen=self._number(raw, "snaplen", 256, 64, 65_535),
            ring_mb=self._number(raw, "ring_mb", 32, 1, 4096),
            threads=self._number(raw, "threads", 1, 1, 64),
            filter=self._take(raw, "filter", str, "") or None,
            promiscuous=bool(self._take(raw, "promiscuous", bool, True)),
            card_stamps=self._timestamps(raw) == "hardware",
            frame_times=text if (text := self._timestamps(raw)) in FRAME_TIMES else "",
            queues_file=self._path(raw["queues"]) if self._take(raw, "queues", str, "") else None,
            facts_file=self._path(raw["point_facts"]) if self._take(raw, "point_facts", str, "") else None,
            signatures=self._signatures(raw),
            ipfix=self._collector(raw),
            collect=self._posts(raw),
        )

    def _timestamps(self, raw: Mapping[str, Any]) -> str:
        text = self._take(raw, "timestamps", str, "system")
        if text not in ("system", "hardware", *FRAME_TIMES):
            cure = f"Write system, hardware where the cards stamp every frame, or who stamps frames: {', '.join(FRAME_TIMES)}"
            raise self._bad(f"timestamps = {text!r}", cure)
        if text == "hardware" and "points" not in raw:
            raise self._bad("timestamps needs [[points]]", "Only a sensor that captures has time stamps; take timestamps out")
        rows = [row for key in ("points", "replay") for row in raw.get(key, ()) if isinstance(row, dict)]
        if text == "erspan" and not all(str(row.get("unwrap", "")).startswith("erspan") for row in rows):
            raise self._bad('timestamps = "erspan" needs unwrapped points', 'Write unwrap = "erspan" at every point')
        return text

    def _signatures(self, raw: Mapping[str, Any]) -> Path | None:
        if "signatures" not in raw:
            return None
        folder = self._path(self._take(raw, "signatures", str))
        if "points" not in raw:
            raise self._bad("signatures needs [[points]]", "Only a sensor that captures looks at payload; take signatures out")
        if not folder.is_dir():
            raise self._bad(f"signatures = {str(folder)!r} is no folder", "Name a folder of signature files (docs/signatures.md)")
        return folder

    def _collector(self, raw: Mapping[str, Any]) -> Collector | None:
        if "ipfix" not in raw:
            return None
        text = self._take(raw, "ipfix", str)
        if "replay" in raw or "points" not in raw:
            raise self._bad("ipfix needs [[points]]", "Flow records leave a sensor that captures; take ipfix out")
        transport, _, place = text.rpartition("://")
        if transport not in ("", "udp", "tcp"):
            raise self._bad(f"ipfix = {text!r}", "Write host:port, udp://host:port or tcp://host:port")
        host, port = self._place("ipfix", place)
        return Collector(transport or "udp", host, port, self._number(raw, "ipfix_domain", 1, 0, 2**32 - 1))

    def _posts(self, raw: Mapping[str, Any]) -> tuple[Post, ...]:
        rows: list[Any] = self._take(raw, "collect", list, [])
        posts = []
        for row in rows:
            table = self._table(row, {"name", "listen"}, "collect.")
            posts.append(Post(self._take(table, "name", str), *self._place("collect.listen", self._take(table, "listen", str))))
        taken = [
            row.get("name", row.get("point")) for key in ("points", "replay") for row in raw.get(key, ()) if isinstance(row, dict)
        ]
        names = [post.name for post in posts]
        if len({*names, *taken}) < len(names) + len(taken) or not all(NAME.fullmatch(name) for name in names):
            raise self._bad(f"collect {names}", "Give each its own name (letters, digits, - or _), which no point has")
        return tuple(posts)

    def _place(self, key: str, text: str) -> tuple[str, int]:
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise self._bad(f"{key} = {text!r}", "Write host:port, e.g. 192.0.2.7:4739 or [2001:db8::7]:4739")
        return host.strip("[]"), int(port)

    def _points(self, raw: Mapping[str, Any]) -> tuple[Point, ...]:
        if raw.get("collect") and "points" not in raw and "replay" not in raw:
            return ()
        if ("points" in raw) == ("replay" in raw):
            raise self._bad("needs either [[points]] or [[replay]]", 'Write e.g. [[points]] name = "in0" interface = "eth1"')
        is_replay = "replay" in raw
        rows: list[Any] = self._take(raw, "replay" if is_replay else "points", list)
        points = [self._played(row) if is_replay else self._watched(row) for row in rows]
        names = [point.name for point in points]
        if not points or len(set(names)) < len(names) or not all(NAME.fullmatch(name) for name in names):
            raise self._bad(f"points {names}", "Give one or more points, each with its own name (letters, digits, - or _)")
        return tuple(points)

    def _watched(self, row: Any) -> Point:
        table = self._table(row, {"name", "interface", "unwrap"}, "points.")
        interface = self._take(table, "interface", str)
        if not 0 < len(interface) < 16 or "/" in interface:
            raise self._bad(f"points.interface = {interface!r}", "Name an interface as `ip link` shows it")
        return Point(self._take(table, "name", str), interface=interface, unwrap=self._unwrap(table))

    def _played(self, row: Any) -> Point:
        table = self._table(row, {"point", "file", "unwrap"}, "replay.")
        file = self._path(self._take(table, "file", str))
        return Point(self._take(table, "point", str), file=file, unwrap=self._unwrap(table))

    def _unwrap(self, table: Mapping[str, Any]) -> str:
        text = self._take(table, "unwrap", str, "")
        if text and not UNWRAP.fullmatch(text):
            raise self._bad(
                f"unwrap = {text!r}", "Write erspan, vxlan, geneve or gre, or e.g. erspan:10 for one session, VNI or key"
            )
        return text

    def _table(self, row: Any, known: set[str], prefix: str) -> Mapping[str, Any]:
        if not isinstance(row, dict):
            raise self._bad(f"{prefix[:-1]} holds {row!r}", "Write tables: [[points]] or [[replay]]")
        self._only(row, known, prefix)
        return row

    def _url(self, text: str, insecure: bool) -> str:
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
            raise self._bad(f"url = {text!r}", "Write e.g. https://policyhub.example:8443")
        if parts.scheme == "http" and not insecure and not LOOPBACK.fullmatch(parts.hostname):
            raise self._bad(f"url = {text!r} would send the token in clear", "Use https, or insecure = true where that is meant")
        return text.rstrip("/")

    def _path(self, text: str) -> Path:
        return self.folder / text

    def _number(self, raw: Mapping[str, Any], key: str, default: int, low: int, high: int) -> int:
        value = self._take(raw, key, int, default)
        if isinstance(value, bool) or not low <= value <= high:
            raise self._bad(f"{key} = {value!r}", f"Write a whole number from {low} to {high}")
        return value

    def _take(self, raw: Mapping[str, Any], key: str, kind: Callable[..., T], default: T | None = None) -> T:
        value = raw.get(key, default)
        if value is None:
            raise self._bad(f"{key} is missing", "See docs/sensor.md")
        if not isinstance(value, kind):  # type: ignore[arg-type]
            raise self._bad(f"{key} = {value!r}", f"It must be of type {getattr(kind, '__name__', 'other')}")
        return value  # type: ignore[no-any-return]

    def _only(self, raw: Mapping[str, Any], known: set[str], prefix: str) -> None:
        for key in raw:
            if key not in known:
                raise self._bad(f"{prefix}{key} is not a key", f"Keys here: {', '.join(sorted(known))}")

    def _bad(self, what: str, cure: str) -> BadInput:
        return BadInput.at(self.file, None, what, cure)
