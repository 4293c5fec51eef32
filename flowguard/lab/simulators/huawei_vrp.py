"""A Huawei S-series switch (VRP 5, immediate): named ACLs, classifiers, behaviors, traffic policies, and their refusals."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field

from flowguard.lab.simulators.shell import Device, Refused, Session, command

UNKNOWN = "                  ^\nError: Unrecognized command found at '^' position."
WRONG = "                  ^\nError: Wrong parameter found at '^' position."
NAMES = {0: "default", 8: "cs1", 16: "cs2", 24: "cs3", 32: "cs4", 40: "cs5", 46: "ef", 48: "cs6", 56: "cs7"} | {
    8 * group + 2 * drop: f"af{group}{drop}" for group in range(1, 5) for drop in range(1, 4)
}
NUMBERS = {name: number for number, name in NAMES.items()} | {"be": 0}
PRECEDENCES = ("be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7")
RULE_REST = r"(?: (?:destination|source-port|destination-port|dscp) .+)?"
INTERFACE_LINES = re.compile(
    r"description .+|port .+|ip address .+|qos .+|trust \S+|eth-trunk \d+|shutdown|undo shutdown|stp .+|mtu \d+|undo portswitch"
    r"|traffic-policy \S+ outbound"
)


def _dscp(word: str) -> int:
    value = NUMBERS.get(word.lower())
    if value is None and word.isdigit() and int(word) <= 63:
        value = int(word)
    if value is None:
        raise Refused(WRONG)
    return value


def _dscp_text(value: int) -> str:
    return NAMES.get(value, str(value))


def _source(family: int, text: str) -> str:
    """` source 10.1.1.0 0.0.0.255` and ` source 2001:DB8::/64` as the device prints them; "" stays "" (any)."""
    words = text.split()[1:]
    if not words:
        return ""
    try:
        if family == 6:
            network = ipaddress.IPv6Network("/".join(words[:2]) if len(words) > 1 else words[0], strict=False)
            return f" source {str(network).upper()}"
        address = int(ipaddress.IPv4Address(words[0]))
        wildcard = 0 if words[1] == "0" else int(ipaddress.IPv4Address(words[1]))
        kept = ipaddress.IPv4Address(address & ~wildcard & 0xFFFFFFFF)
        return f" source {kept} {ipaddress.IPv4Address(wildcard) if wildcard else 0}"
    except (ValueError, IndexError):
        raise Refused(WRONG) from None


@dataclass
class VrpDevice(Device):
    """acls: (4 or 6, name) -> (number, rule id -> rule). policies: name -> classifier -> behavior. other: kept as it is."""

    acls: dict[tuple[int, str], tuple[str, dict[int, str]]] = field(default_factory=dict)
    classifiers: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    behaviors: dict[str, list[str]] = field(default_factory=dict)
    policies: dict[str, dict[str, str]] = field(default_factory=dict)
    interfaces: dict[str, list[str]] = field(default_factory=dict)
    other: dict[str, list[str]] = field(default_factory=dict)

    def session(self) -> VrpSession:
        return VrpSession(self)

    def refusal(self) -> str:
        return UNKNOWN

    def attached(self, policy: str) -> list[str]:
        return [
            name for name, lines in self.interfaces.items() if any(line.startswith(f"traffic-policy {policy} ") for line in lines)
        ]

    def running(self) -> str:
        parts = ["!Software Version V200R021C00SPC100", "#", f"sysname {self.hostname}", "#"]
        for (family, name), (number, rules) in self.acls.items():
            parts.append(f"acl {'ipv6 ' if family == 6 else ''}{f'number {name}' if name.isdigit() else f'name {name} {number}'}")
            parts += [f" rule {at} {rule}" for at, rule in sorted(rules.items())]
        parts.append("#")
        for name, (how, matches) in self.classifiers.items():
            parts += [f"traffic classifier {name} operator {how}", *(f" {line}" for line in matches)]
        parts.append("#")
        for name, actions in self.behaviors.items():
            parts += [f"traffic behavior {name}", *(f" {line}" for line in actions)]
        parts.append("#")
        for name, bindings in self.policies.items():
            parts += [
                f"traffic policy {name} match-order config",
                *(f" classifier {c} behavior {b}" for c, b in bindings.items()),
            ]
        for name, lines in self.interfaces.items():
            parts += ["#", f"interface {name}", *(f" {line}" for line in lines)]
        for header, lines in self.other.items():
            parts += ["#", header, *(f" {line}" for line in lines)]
        return "\n".join([*parts, "#", "return"]) + "\n"

    def load(self, text: str) -> None:
        """A configuration as `display current-configuration` prints it; what is not modelled here is kept as it is."""
        session, keeping = VrpSession(self), ""
        for raw in text.splitlines():
            line = raw.strip()
            if not line or line[0] in "#!" or line == "return":
                continue
            if not raw.startswith(" "):
                session.mode, session.inside, keeping = "system", "", ""
                if line.startswith("interface "):
                    self.interfaces.setdefault(line.removeprefix("interface "), [])
            elif keeping:
                self.other[keeping].append(raw[1:].rstrip())
                continue
            if session.carry_out(line) == UNKNOWN:
                if raw.startswith(" "):
                    raise ValueError(f"the simulated switch does not know {line!r}")
                keeping = line
                self.other.setdefault(line, [])
        self.saved = self.running()


class VrpSession(Session):
    FALLBACK = {
        "acl4": "system",
        "acl6": "system",
        "classifier": "system",
        "behavior": "system",
        "policy": "system",
        "if": "system",
    }
    VIEW = {
        "acl4": "acl-adv-",
        "acl6": "acl6-adv-",
        "classifier": "classifier-",
        "behavior": "behavior-",
        "policy": "trafficpolicy-",
        "if": "",
    }
    INNER = "acl4 acl6 classifier behavior policy if"
    device: VrpDevice

    def __init__(self, device: VrpDevice) -> None:
        super().__init__(device, "user")

    @property
    def prompt(self) -> str:
        if self.mode == "user":
            return f"<{self.device.hostname}>"
        if self.mode == "system":
            return f"[{self.device.hostname}]"
        return f"[{self.device.hostname}-{self.VIEW[self.mode]}{self.inside}]"

    def carry_out(self, line: str) -> str:
        before = self.device.running() if self.mode != "user" else ""
        text = super().carry_out(line)
        if before and before != self.device.running():
            self.device.changed()
        return text

    # user view ----------------------------------------------------------------------------------------------------------------

    @command("user", r"screen-length 0 temporary|screen-width \d+|undo terminal monitor")
    def terminal(self) -> str:
        return "Info: The configuration takes effect on the current user terminal interface only."

    @command("user", "quit")
    def leave(self) -> None:
        self.closed = True

    @command("user", "system-view")
    def system_view(self) -> str:
        self.mode = "system"
        return "Enter system view, return user view with Ctrl+Z."

    @command("user", r"save(?: force)?")
    def save(self) -> str:
        self.device.saved = self.device.running()
        return "Info: Save the configuration successfully."

    @command(f"user system {INNER}", r"display current-configuration")
    def display_running(self) -> str:
        return self.device.running().rstrip("\n")

    @command("user system", "display version")
    def display_version(self) -> str:
        return (
            "Huawei Versatile Routing Platform Software\nVRP (R) software, Version 5.170 (S5735 V200R021C00SPC100)\n"
            "Copyright (C) 2000-2021 HUAWEI TECH Co., Ltd.\nHUAWEI S5735-L24T4S-A1 Routing Switch uptime is 4 weeks"
        )

    @command("user system", "display acl all")
    def display_acls(self) -> str:
        lines: list[str] = []
        for (family, name), (number, rules) in self.device.acls.items():
            what = f"{number}, {len(rules)} rules" if name.isdigit() else f"{name} {number}, {len(rules)} rules"
            lines += [f"Advanced ACL{' IPv6' if family == 6 else ''} {what}", "Acl's step is 5"]
            for at, rule in sorted(rules.items()):
                seen = self.device.hits.get(f"{name} {at}", [0, 0])[0]
                lines.append(f" rule {at} {rule}" + (f" (match-counter {seen})" if seen else ""))
        return "\n".join(lines)

    @command("user system", r"display traffic policy statistics interface (\S+) inbound")
    def display_statistics(self, interface: str) -> str:
        name = self._interface(interface)
        policy = next(
            (line.split()[1] for line in self.device.interfaces[name] if re.match(r"traffic-policy \S+ inbound", line)), ""
        )
        if not policy:
            return "Error: No traffic policy is applied to this interface in the inbound direction."
        hits = [self.device.hit(known) for known in self.device.policies[policy]]
        packets, size = (sum(pair[part] for pair in hits) for part in (0, 1))
        rule = "-" * 69
        return (
            f"\n Interface: {name}\n Traffic policy inbound: {policy}\n Rule number: {len(self.device.policies[policy])}\n"
            f" Current status: success\n Statistics interval: 300\n{rule}\n Board : 0\n{rule}\n"
            f" Matched          |      Packets:        {packets:>24}\n                  |      Bytes:          {size:>24}\n"
            f"                  |      Rate(pps):      {0:>24}\n                  |      Rate(bps):      {0:>24}\n{rule}\n"
            f"   Passed         |      Packets:        {packets:>24}\n                  |      Bytes:          {size:>24}\n{rule}"
        )

    # system view --------------------------------------------------------------------------------------------------------------

    @command(f"system {INNER}", "return")
    def back(self) -> None:
        self.mode, self.inside = "user", ""

    @command(f"system {INNER}", "quit")
    def quit(self) -> None:
        self.mode, self.inside = ("user" if self.mode == "system" else "system"), ""

    @command("system", r"sysname (\S+)")
    def sysname(self, name: str) -> None:
        self.device.hostname = name

    @command("system", r"acl (ipv6 )?(?:(?:number )?(\d+)|name (\S+)(?: (advance|\d+))?)")
    def acl(self, six: str | None, digits: str | None, name: str | None, kind: str | None) -> None:
        family, own = (6 if six else 4), name or digits or ""
        if (family, own) not in self.device.acls:
            taken = {number for (known, _), (number, _) in self.device.acls.items() if known == family}
            free = next(str(number) for number in range(3999, 2999, -1) if str(number) not in taken)
            self.device.acls[family, own] = (digits or (kind if kind and kind.isdigit() else free), {})
        self.mode, self.inside = f"acl{family}", own

    @command("system", r"undo acl (ipv6 )?(?:number |name )?(\S+)")
    def undo_acl(self, six: str | None, name: str) -> None:
        family = 6 if six else 4
        if (family, name) not in self.device.acls:
            raise Refused("Error: The ACL does not exist.")
        if any(self._uses(line, family, name) for _, lines in self.device.classifiers.values() for line in lines):
            raise Refused("Error: The ACL is in use and cannot be deleted.")
        del self.device.acls[family, name]

    @staticmethod
    def _uses(line: str, family: int, name: str) -> bool:
        return re.fullmatch(rf"if-match {'ipv6 ' if family == 6 else ''}acl (?:name )?{re.escape(name)}", line) is not None

    @command("acl4", rf"rule(?: (\d+))? (permit|deny) (ip|tcp|udp|icmp|\d+)((?: source \S+ \S+)?)({RULE_REST})")
    def rule4(self, number: str | None, action: str, protocol: str, source: str, rest: str) -> None:
        self._rule(4, number, f"{action} {protocol}{_source(4, source)}{rest}")

    @command("acl6", r"rule(?: (\d+))? (permit|deny) (ipv6|tcp|udp|icmpv6|\d+)((?: source \S+(?: \d+)?)?)((?: destination .+)?)")
    def rule6(self, number: str | None, action: str, protocol: str, source: str, rest: str) -> None:
        self._rule(6, number, f"{action} {protocol}{_source(6, source)}{rest}")

    def _rule(self, family: int, number: str | None, rule: str) -> None:
        rules = self.device.acls[family, self.inside][1]
        at = int(number) if number else (max(rules, default=0) // 5 + 1) * 5
        rules[at] = rule  # VRP replaces a rule whose number is used again

    @command("acl4 acl6", r"undo rule (\d+)")
    def undo_rule(self, number: str) -> None:
        if self.device.acls[int(self.mode[-1]), self.inside][1].pop(int(number), None) is None:
            raise Refused("Error: The specified rule does not exist.")

    @command("system", r"traffic classifier (\S+)(?: operator (and|or))?(?: precedence \d+)?")
    def classifier(self, name: str, how: str | None) -> None:
        known = self.device.classifiers.get(name)
        self.device.classifiers[name] = (how or (known[0] if known else "or"), known[1] if known else [])
        self.mode, self.inside = "classifier", name

    @command("system", r"undo traffic classifier (\S+)")
    def undo_classifier(self, name: str) -> None:
        if any(name in bindings for bindings in self.device.policies.values()):
            raise Refused("Error: The classifier is used by a traffic policy and cannot be deleted.")
        if self.device.classifiers.pop(name, None) is None:
            raise Refused("Error: The classifier does not exist.")

    @command("classifier", r"if-match (ipv6 )?acl (?:name )?(\S+)")
    def match_acl(self, six: str | None, name: str) -> None:
        if (6 if six else 4, name) not in self.device.acls:
            raise Refused("Error: The ACL does not exist.")
        self._match(f"if-match {six or ''}acl {name}")

    @command("classifier", r"if-match dscp (.+)")
    def match_dscp(self, words: str) -> None:
        marks = sorted({_dscp(word) for word in words.split()})
        if len(marks) > 8:
            raise Refused(WRONG)
        self._match(f"if-match dscp {' '.join(_dscp_text(mark) for mark in marks)}")

    @command("classifier", r"(if-match any|if-match 8021p .+|if-match vlan-id .+)")
    def match_other(self, line: str) -> None:
        self._match(line)

    def _match(self, line: str) -> None:
        lines = self.device.classifiers[self.inside][1]
        if line not in lines:
            lines.append(line)

    @command("system", r"traffic behavior (\S+)")
    def behavior(self, name: str) -> None:
        self.device.behaviors.setdefault(name, [])
        self.mode, self.inside = "behavior", name

    @command("system", r"undo traffic behavior (\S+)")
    def undo_behavior(self, name: str) -> None:
        if any(name in bindings.values() for bindings in self.device.policies.values()):
            raise Refused("Error: The behavior is used by a traffic policy and cannot be deleted.")
        if self.device.behaviors.pop(name, None) is None:
            raise Refused("Error: The behavior does not exist.")

    @command("behavior", r"remark dscp (\S+)")
    def remark_dscp(self, word: str) -> None:
        self._act(f"remark dscp {_dscp_text(_dscp(word))}", "remark dscp ")

    @command("behavior", r"remark local-precedence (\S+)")
    def remark_precedence(self, word: str) -> None:
        if word not in PRECEDENCES and not (word.isdigit() and int(word) < 8):
            raise Refused(WRONG)
        self._act(f"remark local-precedence {PRECEDENCES[int(word)] if word.isdigit() else word}", "remark local-precedence ")

    @command("behavior", r"statistics? enable")
    def statistics(self) -> None:
        self._act("statistic enable", "statistic ")

    @command("behavior", r"car cir (\d+)(?: cbs (\d+))?(?: .+)?")
    def car(self, rate: str, burst: str | None) -> None:
        self._act(f"car cir {rate} cbs {burst or int(rate) * 188} green pass yellow pass red discard", "car ")

    @command("behavior", r"(permit|deny|queue .+|remark 8021p \d)")
    def action(self, line: str) -> None:
        self._act(line, line)

    def _act(self, line: str, replaces: str) -> None:
        actions = self.device.behaviors[self.inside]
        actions[:] = [known for known in actions if not known.startswith(replaces)] + [line]

    @command("system", r"traffic policy (\S+)(?: match-order \w+)?")
    def policy(self, name: str) -> None:
        self.device.policies.setdefault(name, {})
        self.mode, self.inside = "policy", name

    @command("system", r"undo traffic policy (\S+)")
    def undo_policy(self, name: str) -> None:
        if self.device.attached(name):
            raise Refused("Error: The traffic policy is applied and cannot be deleted.")
        if self.device.policies.pop(name, None) is None:
            raise Refused("Error: The traffic policy does not exist.")

    @command("policy", r"classifier (\S+) behavior (\S+)(?: precedence \d+)?")
    def bind(self, classifier: str, behavior: str) -> None:
        if classifier not in self.device.classifiers:
            raise Refused("Error: The classifier does not exist.")
        if behavior not in self.device.behaviors:
            raise Refused("Error: The behavior does not exist.")
        self.device.policies[self.inside][classifier] = behavior

    # interfaces ---------------------------------------------------------------------------------------------------------------

    def _interface(self, name: str) -> str:
        known = next((known for known in self.device.interfaces if known.lower() == name.lower()), None)
        if known is None:
            raise Refused(WRONG)
        return known

    @command("system", r"interface (\S+)")
    def interface(self, name: str) -> None:
        if re.match(r"(?i)(?:vlanif|loopback|eth-trunk)\d+$", name):
            self.device.interfaces.setdefault(name, [])
        self.inside = self._interface(name)
        self.mode = "if"

    @command("if", r"traffic-policy (\S+) inbound")
    def attach(self, policy: str) -> None:
        if policy not in self.device.policies:
            raise Refused("Error: The traffic policy does not exist.")
        lines = self.device.interfaces[self.inside]
        other = next((line for line in lines if re.match(r"traffic-policy \S+ inbound", line)), None)
        if other == f"traffic-policy {policy} inbound":
            return
        if other:
            raise Refused("Error: A traffic policy has been applied in the inbound direction.")
        lines.append(f"traffic-policy {policy} inbound")

    @command("if", r"undo traffic-policy (?:(\S+) )?inbound")
    def detach(self, policy: str | None) -> None:
        lines = self.device.interfaces[self.inside]
        there = next((line for line in lines if re.match(r"traffic-policy \S+ inbound", line)), None)
        if there is None or (policy and there.split()[1] != policy):
            raise Refused("Error: The traffic policy is not applied.")
        lines.remove(there)

    @command("if", f"({INTERFACE_LINES.pattern})")
    def interface_line(self, line: str) -> None:
        lines = self.device.interfaces[self.inside]
        if line not in lines:
            lines.append(line)

    @command("if", f"undo ({INTERFACE_LINES.pattern})")
    def undo_interface_line(self, line: str) -> None:
        lines = self.device.interfaces[self.inside]
        lines[:] = [known for known in lines if not known.startswith(line)]
