"""Random iptables rulesets, spelled in the many ways that iptables-restore accepts, for the kernel to spell in its own."""

from __future__ import annotations

import random

CHAINS = {
    "raw": ("PREROUTING", "OUTPUT"),
    "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
    "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
    "filter": ("INPUT", "FORWARD", "OUTPUT"),
}
ICMP = ("8", "echo-request", "3/4", "fragmentation-needed", "time-exceeded", "host-prohibited")
ICMP6 = ("128", "echo-request", "1/4", "port-unreachable", "packet-too-big", "136")
CONDITIONS = (
    "-m conntrack --ctstate RELATED,ESTABLISHED", "-m state --state NEW", "-m mac --mac-source 00:11:22:33:44:55",
    "-m mark --mark 0x1", "-m limit --limit 5/min --limit-burst 7", "-m length --length 10:20",
    "-m conntrack ! --ctstate NEW", "-m connmark --mark 0x10/0xff",
)  # fmt: skip

QUOTED = '"two words"'


class Generator:
    def __init__(self, seed: int, version: int) -> None:
        self.random = random.Random(seed)
        self.version = version

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def address(self) -> str:
        if self.version == 6:
            return f"2001:db8:{self.random.randrange(1, 99):x}::{self.pick('', '1')}{self.pick('/48', '/64', '/128', '')}"
        host = f"10.{self.random.randrange(256)}.{self.random.randrange(256)}.{self.random.randrange(256)}"
        return host + self.pick("", "/32", "/24", "/255.255.0.0", "/8", "/255.255.255.255", "/19")

    def side(self, short: str, long: str) -> str:
        return f"{self.pick('', '! ')}{self.pick(short, long)} {self.address()}"

    def ports(self) -> str:
        low = self.random.randrange(1, 60_000)
        return self.pick(str(low), f"{low}:{low + 100}", f":{low}", f"{low}:", "domain", "80")

    def transport(self) -> str:
        protocol = self.pick("tcp", "udp", "6", "17")
        word = {"6": "tcp", "17": "udp"}.get(protocol, protocol)
        text = f"{self.pick('-p', '--protocol')} {protocol}"
        kind = self.random.randrange(4)
        if kind == 0:
            text += (
                f" {self.pick('', f'-m {word} ')}{self.pick('', '! ')}{self.pick('--dport', '--destination-port')} {self.ports()}"
            )
        elif kind == 1:
            text += f" -m {word} --sport {self.ports()} --dport {self.ports()}"
        elif kind == 2:
            ports = f"80,{self.random.randrange(100, 999)},8000:8100"
            text += f" -m multiport {self.pick('', '! ')}{self.pick('--dports', '--sports')} {ports}"
        return text

    def protocol(self) -> str:
        kind = self.random.randrange(6)
        if kind < 3:
            return self.transport()
        if kind == 3:
            if self.version == 6:
                return f"-p {self.pick('icmpv6', 'ipv6-icmp')} {self.pick('', '! ')}--icmpv6-type {self.pick(*ICMP6)}"
            return f"-p icmp {self.pick('', '-m icmp ')}{self.pick('', '! ')}--icmp-type {self.pick(*ICMP)}"
        return self.pick("-p esp", "-p 47", "! -p tcp", "-p 89")

    def interface(self, chain: str) -> str:
        into = (
            "" if chain in ("OUTPUT", "POSTROUTING") else f"{self.pick('', '! ')}-i {self.pick('eth0', 'eth1.100', 'ppp+', 'lo')}"
        )
        out = "" if chain in ("INPUT", "PREROUTING") else f"{self.pick('', '! ')}-o {self.pick('eth0', 'br-1', 'tun+')}"
        return self.pick(into, out)

    def ranges(self) -> str:
        side = self.pick("src", "dst")
        value = "10.0.0.5-10.0.0.99" if self.version == 4 else "2001:db8::5-2001:db8::99"
        return f"-m iprange {self.pick('', '! ')}--{side}-range {value}"

    def match(self, chain: str) -> list[str]:
        makers = (
            lambda: self.side("-s", "--source"),
            lambda: self.side("-d", "--destination"),
            self.protocol,
            lambda: self.interface(chain),
            self.ranges,
            lambda: self.pick(*CONDITIONS),
            lambda: f"-m dscp {self.pick('', '! ')}--dscp {self.pick('46', '0x0a')}",
            lambda: f"-m comment --comment {self.pick('word', QUOTED)}",
        )
        chosen = self.random.sample(makers, self.random.randrange(0, 5))
        parts = [part for part in (make() for make in chosen) if part]
        if chain not in ("PREROUTING", "INPUT", "FORWARD"):  # the kernel refuses it where it could see packets without a sender
            parts = [part for part in parts if "mac" not in part]
        return parts

    def nat_target(self, chain: str, has_ports: bool) -> str:
        host = "[2001:db8::9]" if self.version == 6 else "192.0.2.9"
        plain = host.strip("[]")
        if chain in ("POSTROUTING", "INPUT"):
            if has_ports and self.random.random() < 0.5:
                return f"-j SNAT --to-source {host}:1024-2048"
            return self.pick(
                f"-j SNAT --to-source {plain}", "-j MASQUERADE" if chain == "POSTROUTING" else "-j ACCEPT", "-j ACCEPT"
            )
        if has_ports and self.random.random() < 0.5:
            return self.pick(f"-j DNAT --to-destination {host}:8080", "-j REDIRECT --to-ports 5353")
        return self.pick(f"-j DNAT --to-destination {plain}", "-j ACCEPT", "-j REDIRECT")

    def target(self, table: str, chain: str, users: tuple[str, ...], match: list[str]) -> str:
        has_ports = any(part.startswith(("-p", "--protocol")) and part.split()[1] in ("tcp", "udp", "6", "17") for part in match)
        if table == "nat" and chain in CHAINS["nat"]:
            return self.nat_target(chain, has_ports)
        if table == "mangle" and self.random.random() < 0.6:
            return self.pick(
                "-j DSCP --set-dscp 46", "-j DSCP --set-dscp-class AF31", "-j MARK --set-mark 16", "-j TOS --set-tos 0xb8",
                "-j CLASSIFY --set-class 1:10" if chain in ("POSTROUTING", "FORWARD", "OUTPUT") else "-j MARK --set-mark 0x2",
            )  # fmt: skip
        if users and self.random.random() < 0.3:
            return f"{self.pick('-j', '-g')} {self.pick(*users)}"
        return self.pick("-j ACCEPT", "-j DROP", "-j RETURN", "", '-j LOG --log-prefix "a b "')

    def rule(self, table: str, chain: str, users: tuple[str, ...]) -> str:
        match = self.match(chain)
        target = self.target(table, chain, users, match)
        parts = [target, *match] if "ACCEPT" in target and self.random.random() < 0.3 else [*match, target]
        counter = f"[{self.random.randrange(10**6)}:{self.random.randrange(10**9)}] "
        return f"{counter}-A {chain} {' '.join(part for part in parts if part)}".strip()

    def text(self, rules: int) -> str:
        lines: list[str] = [f"# Generated by ip{'6' if self.version == 6 else ''}tables-save v1.8.9"]
        for table, chains in CHAINS.items():
            users = ("last", "web") if table in ("filter", "mangle") else ()
            lines.append(f"*{table}")
            lines += [f":{chain} {self.pick('ACCEPT', 'DROP') if table == 'filter' else 'ACCEPT'} [0:0]" for chain in chains]
            lines += [f":{chain} - [0:0]" for chain in users]
            for _ in range(rules):
                chain = self.pick(*chains, *users)
                lines.append(self.rule(table, chain, () if chain == "last" else ("last",) if chain == "web" else users))
            lines.append("COMMIT")
        return "\n".join(lines) + "\n"
