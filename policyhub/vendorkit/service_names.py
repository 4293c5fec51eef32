"""Names of protocols, ports and ICMP types as one platform spells them: a data file per vendor, its source stated in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

from policyhub.domain.addresses import Interval
from policyhub.domain.services import ICMP, ICMPV6, MAX_PORT, MAX_PROTOCOL, UDP, Service
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in, port_interval

PORT_WORDS = ("eq", "neq", "lt", "gt", "range")
IcmpType = tuple[int, int | None]


@dataclass(frozen=True, slots=True)
class ServiceNames:
    """`icmp`/`icmp6`: name -> (type, code or None for all codes). `protocols`: name -> number, None = every IP protocol."""

    protocols: dict[str, int | None]
    tcp: dict[str, int]
    udp: dict[str, int]
    icmp: dict[str, IcmpType]
    icmp6: dict[str, IcmpType]

    @classmethod
    def of(cls, package: str, file: str = "names.json") -> ServiceNames:
        """The data file beside a vendor's modules."""
        data = json.loads(files(package).joinpath(file).read_text(encoding="utf-8"))
        icmp, icmp6 = ({name: (pair[0], pair[1]) for name, pair in data[key].items()} for key in ("icmp", "icmp6"))
        return cls(data["protocols"], data["tcp"], data["udp"], icmp, icmp6)

    def extended(self, more: ServiceNames) -> ServiceNames:
        """What a platform names beside the names that it shares with others; its own meaning wins."""
        ports = (self.tcp | more.tcp, self.udp | more.udp)
        return ServiceNames(self.protocols | more.protocols, *ports, self.icmp | more.icmp, self.icmp6 | more.icmp6)

    def knows_protocol(self, word: str) -> bool:
        return word.lower() in self.protocols or (is_decimal(word) and len(word) <= 3 and int(word) <= MAX_PROTOCOL)

    def protocol(self, word: str) -> int | None:
        """Number, None for every protocol. Raises NotUnderstood."""
        known = word.lower()
        if known in self.protocols:
            return self.protocols[known]
        if self.knows_protocol(known):
            return int(known)
        raise NotUnderstood(f"{word[:40]!r} is not a protocol name or number")

    def knows_port(self, word: str, protocol: int | None) -> bool:
        try:
            self.port(word, protocol)
        except NotUnderstood:
            return False
        return True

    def port_or_word(self, word: str, protocol: int | None) -> int | str:
        """The number of a port; the word itself when it is none."""
        try:
            return self.port(word, protocol)
        except NotUnderstood:
            return word

    def port(self, word: str, protocol: int | None) -> int:
        """A number, or a name of the given protocol (None: of either). Raises NotUnderstood."""
        if is_decimal(word):
            if len(word) <= 6 and int(word) <= MAX_PORT:
                return int(word)
            raise NotUnderstood(f"{word[:40]!r} is not a port (0..{MAX_PORT})")
        first = self.udp if protocol == UDP else self.tcp
        name = word.lower()
        for table in (first, self.tcp, self.udp):
            port = table.get(name)
            if port is not None:
                return port
        raise NotUnderstood(f"{word[:40]!r} is not a port name or number")

    def icmp_type(self, word: str, protocol: int) -> IcmpType | None:
        """(type, code) of a name or number; None when the word is neither."""
        table = self.icmp6 if protocol == ICMPV6 else self.icmp
        if is_decimal(word):
            return (int(word), None) if len(word) <= 3 and int(word) <= 255 else None
        return table.get(word.lower())

    def read_icmp(self, words: Words, protocol: int) -> Service | None:
        """`type [code]` when the next word is a type; nothing is consumed otherwise."""
        found = self.icmp_type(words.peek(), protocol)
        if found is None:
            return None
        words.next()
        kind, code = found
        if is_decimal(words.peek()):
            code = number_in(words.next(), 0, 255, "an ICMP code")
        return icmp_service(kind, code, protocol)

    def read_ports(self, words: Words, protocol: int | None, several: bool = False) -> tuple[Interval, ...]:
        """`eq P`, `neq P`, `lt P`, `gt P`, `range P P`; `several`: more ports may follow eq and neq. Raises NotUnderstood."""
        operator = words.next("a port operator").lower()
        if operator not in PORT_WORDS:
            raise NotUnderstood(f"{operator[:40]!r} is not eq, neq, lt, gt or range")
        ports = [self.port(words.next("a port"), protocol)]
        if operator == "range":
            ports.append(self.port(words.next("a port"), protocol))
        while several and operator in ("eq", "neq") and self.knows_port(words.peek(), protocol):
            ports.append(self.port(words.next(), protocol))
        found = port_interval(operator, ports)
        if not found:
            raise NotUnderstood("the ports are empty")
        return found


def icmp_service(kind: int, code: int | None, protocol: int = ICMP) -> Service:
    """One ICMP type, and code when it is given."""
    base = kind * 256
    interval: Interval = (base, base + 255) if code is None else (base + code, base + code)
    return Service.of(protocol, (interval,))
