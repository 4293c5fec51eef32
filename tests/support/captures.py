"""Captures made afresh at two points, with everything that the engine must find in them known by construction.

Random addresses, ports, marks and times; TCP with repeated segments, SYNs and FINs and closed windows; UDP; ICMP; IPv6;
VLAN tags on one side; packets lost and marks changed between the points; traffic that never crosses.
"""

from __future__ import annotations

import ipaddress
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw

from policyhub.domain.identity import Identity
from tests.support.capture_files import Stamped

PRIORITY = (40, 44, 46, 48, 56)
PLAIN = (0, 8, 10, 18, 26, 34)
US = 1_000
FlowKey = tuple[str, str, str, int, int]
VerdictKey = tuple[str, str, str, str, int | str, int]


@dataclass
class Host:
    address: str
    near: bool
    allowed: frozenset[int] | None  # None: has no identity

    @property
    def six(self) -> bool:
        return ":" in self.address


@dataclass
class Truth:
    """What one pair of captures holds. flows: packets, bytes, then the five TCP counts, at the point that saw them first."""

    near: list[Stamped] = field(default_factory=list)
    far: list[Stamped] = field(default_factory=list)
    identities: list[Identity] = field(default_factory=list)
    flows: dict[FlowKey, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0] * 7))
    verdicts: Counter[VerdictKey] = field(default_factory=Counter)
    lost: Counter[int] = field(default_factory=Counter)
    matched: Counter[int] = field(default_factory=Counter)
    rewrites: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    delays: dict[str, list[int]] = field(default_factory=lambda: {"near": [], "far": []})
    near_sources: set[str] = field(default_factory=set)
    unmatched: int = 0
    non_ip: int = 0


@dataclass
class Way:
    """One direction of a conversation. rewritten_to: mark that the network gives to it."""

    src: Host
    dst: Host
    proto: str
    sport: int
    dport: int
    server_port: int | str
    dscp: int
    vlan: int | None
    rewritten_to: int | None = None
    ip_id: int = 0
    sent: int = 0


class Maker:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.truth = Truth()
        self.now = 1_700_000_000 * 10**9 + self.chance.randrange(10**6) * US
        self._near_mac, self._far_mac = "02:00:00:00:00:01", "02:00:00:00:00:02"

    def make(self, conversations: int = 24) -> Truth:
        hosts = [self._host(near=n % 2 == 0, six=n % 5 == 4) for n in range(12)]
        for number in range(conversations):
            six = number % 4 == 3
            near = self.chance.choice([h for h in hosts if h.near and h.six == six] or [self._host(near=True, six=six)])
            far = self.chance.choice([h for h in hosts if not h.near and h.six == six] or [self._host(near=False, six=six)])
            (client, server) = (near, far) if self.chance.random() < 0.6 else (far, near)
            self.chance.choice([self._tcp, self._tcp, self._udp, self._echo])(client, server)
        self._stays_local()
        self._icmp_error(hosts[0], hosts[1])
        self.truth.near.append((self.now, bytes(Ether(src=self._near_mac) / ARP(pdst="192.0.2.1"))))
        self.truth.non_ip = 1
        self.truth.near.sort(key=lambda stamped: stamped[0])
        self.truth.far.sort(key=lambda stamped: stamped[0])
        return self.truth

    def _host(self, *, near: bool, six: bool) -> Host:
        top = (0x20010DB8 << 96) + (0 if near else 1 << 64) if six else (10 << 24) + (0 if near else 1 << 23)
        address = str(ipaddress.ip_address(top + self.chance.randrange(1, 1 << 22)))
        if self.chance.random() < 0.2:
            return Host(address, near, None)
        allowed = frozenset(self.chance.sample(PLAIN + PRIORITY, self.chance.randrange(1, 4)))
        self.truth.identities.append(Identity(prefix=f"{address}/{128 if six else 32}", name=address, allowed_dscp=allowed))
        return Host(address, near, allowed)

    def _way(self, proto: str, src: Host, dst: Host, sport: int, dport: int, server: int, vlan: int | None) -> Way:
        dscp = self.chance.choice(PLAIN + PRIORITY)
        named: int | str = server if server < 32_768 else "ephemeral"
        way = Way(src, dst, proto, sport, dport, named, dscp, vlan, ip_id=self.chance.randrange(1, 60_000))
        if self.chance.random() < 0.2:
            way.rewritten_to = self.chance.choice([mark for mark in PLAIN if mark != dscp])
        return way

    def _ways(self, proto: str, client: Host, server: Host) -> tuple[Way, Way]:
        port = self.chance.choice([self.chance.randrange(1, 32_768), self.chance.randrange(52_000, 60_000)])
        own = self.chance.randrange(33_500, 34_500)
        vlan = self.chance.choice([None, None, self.chance.randrange(1, 4_095)])
        return (
            self._way(proto, client, server, own, port, port, vlan),
            self._way(proto, server, client, port, own, port, vlan),
        )

    def _tcp(self, client: Host, server: Host) -> None:
        there, back = self._ways("tcp", client, server)
        isn = {id(way): self.chance.randrange(1 << 32) for way in (there, back)}
        for way, flags in ((there, "S"), (back, "SA")):
            for again in range(self.chance.choice([1, 1, 1, 2])):
                self._segment(way, isn[id(way)], flags, b"", repeated_syn=again > 0)
        for way in (there, back):
            self._data(way, (isn[id(way)] + 1) % (1 << 32))

    def _data(self, way: Way, seq: int) -> None:
        sent: list[tuple[int, bytes]] = []
        for _ in range(self.chance.randrange(0, 30)):
            draw = self.chance.random()
            if sent and draw < 0.2:
                self._segment(way, *self.chance.choice(sent[-5:]), data=True, repeated=True)
            elif draw < 0.3:
                self._segment(way, seq, b"", window=0)
            else:
                payload = self.chance.randbytes(self.chance.randrange(1, 1_400))
                self._segment(way, seq, payload, data=True)
                sent.append((seq, payload))
                seq = (seq + len(payload)) % (1 << 32)
        for again in range(self.chance.choice([0, 1, 2])):
            self._segment(way, seq, b"", "FA", repeated_fin=again > 0)

    def _segment(
        self, way: Way, seq: int, *rest: Any, data: bool = False, repeated: bool = False, repeated_syn: bool = False,
        repeated_fin: bool = False, window: int = 500,
    ) -> None:  # fmt: skip
        flags = next((part for part in rest if isinstance(part, str)), "A")
        payload = next((part for part in rest if isinstance(part, bytes)), b"")
        transport = TCP(sport=way.sport, dport=way.dport, seq=seq, ack=way.sent + 1, flags=flags, window=window)
        # The acknowledgement goes on, as it does in life: without it, and without an IP id, two segments would be one.
        self._send(way, transport / Raw(payload) if payload else transport)
        counts = (data, repeated, repeated_syn, repeated_fin, window == 0)
        flow = self.truth.flows[self._key(way)]
        flow[2:] = [have + more for have, more in zip(flow[2:], counts, strict=True)]

    def _udp(self, client: Host, server: Host) -> None:
        there, back = self._ways("udp", client, server)
        for number in range(self.chance.randrange(2, 30)):
            way = there if number == 0 or self.chance.random() < 0.6 else back
            payload = self.chance.randbytes(self.chance.choice([40, 40, self.chance.randrange(1, 1_400)]))
            self._send(way, UDP(sport=way.sport, dport=way.dport) / Raw(payload))

    def _echo(self, client: Host, server: Host) -> None:
        way = self._way("icmpv6" if client.six else "icmp", client, server, 0, 0, 0, None)
        run = self.chance.randrange(1 << 16)
        for number in range(self.chance.randrange(1, 6)):
            echo = ICMPv6EchoRequest(id=run, seq=number) if client.six else ICMP(type=8, id=run, seq=number)
            self._send(way, echo)

    def _icmp_error(self, src: Host, dst: Host) -> None:
        way = Way(src, dst, "icmp", 0, 0, 0, 46 if src.allowed is None else 63, None, ip_id=77)
        self._send(way, ICMP(type=3, code=3) / IP(src=dst.address, dst=src.address) / UDP(), judged=False)

    def _stays_local(self) -> None:
        """A talker whose packets never cross: seen at the near point only, and not lost."""
        talker, silent = self._host(near=True, six=False), self._host(near=True, six=False)
        way = Way(talker, silent, "udp", 9, 9, 9, self.chance.choice(PLAIN), None)
        for _ in range(self.chance.randrange(1, 9)):
            self._send(way, UDP(sport=9, dport=9) / Raw(self.chance.randbytes(20)), crosses=False)

    def _key(self, way: Way) -> FlowKey:
        return way.src.address, way.dst.address, way.proto, way.sport, way.dport

    def _send(self, way: Way, transport: Packet, *, judged: bool = True, crosses: bool = True) -> None:
        self.now += self.chance.randrange(1, 3_000) * US
        way.ip_id = way.ip_id % 65_535 + 1
        if way.src.near:
            self.truth.near_sources.add(way.src.address)
        first, second = ("near", "far") if way.src.near else ("far", "near")
        frame = self._frame(way, transport, way.dscp, tagged=True)
        getattr(self.truth, first).append((self.now, frame))
        flow = self.truth.flows[self._key(way)]
        flow[0] += 1
        flow[1] += len(frame)
        if judged:
            self._judge(way)
        if not crosses:
            self.truth.unmatched += 1
        elif way.sent and self.chance.random() < 0.1:
            self.truth.lost[way.dscp] += 1
        else:
            self._arrive(way, transport, first, second)
        way.sent += 1

    def _arrive(self, way: Way, transport: Packet, first: str, second: str) -> None:
        delay = self.chance.choice([self.chance.randrange(1, 50), self.chance.randrange(1, 50_000)]) * US
        mark = way.dscp if way.rewritten_to is None else way.rewritten_to
        frame = self._frame(way, transport, mark, tagged=first == "far")
        getattr(self.truth, second).append((self.now + delay, frame))
        self.truth.matched[way.dscp] += 1
        self.truth.delays[first].append(delay)
        if way.rewritten_to is not None:
            self.truth.rewrites[(*self._key(way), way.dscp, mark)] += 1
            key = "dscp-rewritten", way.src.address, way.dst.address, way.proto, way.server_port, way.dscp
            self.truth.verdicts[key] += 1

    def _judge(self, way: Way) -> None:
        if way.src.allowed is None:
            name = "unknown-identity-in-priority" if way.dscp in PRIORITY else ""
        else:
            name = "" if way.dscp in way.src.allowed else "class-not-allowed"
        if name:
            self.truth.verdicts[name, way.src.address, way.dst.address, way.proto, way.server_port, way.dscp] += 1

    def _frame(self, way: Way, transport: Packet, dscp: int, *, tagged: bool) -> bytes:
        """tagged: on the side where the VLAN is; the other side is untagged."""
        if way.src.six:
            network: Packet = IPv6(src=way.src.address, dst=way.dst.address, tc=dscp << 2, hlim=64 if tagged else 63)
        else:
            ttl = 64 if tagged else 63
            network = IP(src=way.src.address, dst=way.dst.address, tos=dscp << 2, id=way.ip_id, ttl=ttl, flags="DF")
        link: Packet = Ether(src=self._near_mac, dst=self._far_mac)
        if tagged and way.vlan is not None:
            link = link / Dot1Q(vlan=way.vlan)
        return bytes(link / network / transport)
