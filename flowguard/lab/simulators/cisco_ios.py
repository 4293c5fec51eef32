"""An IOS switch: access lists, class-maps, policy-maps, service-policies, and the refusals that go with them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field

from flowguard.lab.simulators.shell import Device, Refused, Session, command

MARKER = "                    ^\n% Invalid input detected at '^' marker.\n"
NAMES = {0: "default", 8: "cs1", 16: "cs2", 24: "cs3", 32: "cs4", 40: "cs5", 46: "ef", 48: "cs6", 56: "cs7"} | {
    8 * group + 2 * drop: f"af{group}{drop}" for group in range(1, 5) for drop in range(1, 4)
}
NUMBERS = {name: number for number, name in NAMES.items()}
INTERFACE_LINES = re.compile(
    r"description .+|switchport( .+)?|ip address .+|mtu \d+|speed \d+|duplex \w+|shutdown|channel-group \d+ mode \w+"
    r"|mls qos trust \w+|service-policy output \S+|negotiation auto|spanning-tree .+|load-interval \d+"
)
ACTIONS = re.compile(
    r"police .+|priority( .+)?|bandwidth .+|shape .+|fair-queue|queue-limit .+|random-detect( .+)?|set (?:cos|qos-group) \d+"
)


def _dscp(word: str) -> int:
    value = NUMBERS.get(word.lower())
    if value is None and word.isdigit() and int(word) <= 63:
        value = int(word)
    if value is None:
        raise Refused(MARKER)
    return value


def _dscp_text(value: int) -> str:
    return NAMES.get(value, str(value))


def _source4(text: str) -> str:
    """`any`, `host A`, `A W`; printed as the device prints it."""
    words = text.split()
    try:
        if words[0] == "any" and len(words) == 1:
            return "any"
        if words[0] == "host" and len(words) == 2:
            return f"host {ipaddress.IPv4Address(words[1])}"
        address, wildcard = (int(ipaddress.IPv4Address(word)) for word in words)
        kept = ipaddress.IPv4Address(address & ~wildcard & 0xFFFFFFFF)  # bits under the wildcard are not kept
        return f"{kept} {words[1]}" if wildcard else f"host {kept}"
    except (ValueError, IndexError):
        raise Refused(MARKER) from None


def _source6(text: str) -> str:
    words = text.split()
    try:
        if words == ["any"]:
            return "any"
        if words[0] == "host" and len(words) == 2:
            return f"host {str(ipaddress.IPv6Address(words[1])).upper()}"
        return str(ipaddress.IPv6Network(words[0], strict=False)).upper()
    except (ValueError, IndexError):
        raise Refused(MARKER) from None


@dataclass
class IosDevice(Device):
    """acls: (4 or 6, name) -> sequence -> entry. policies: name -> class -> actions. other: lines nobody here looks into.

    show_sequence: newer releases print sequence numbers in the running configuration, classic ones do not.
    """

    acls: dict[tuple[int, str], dict[int, str]] = field(default_factory=dict)
    classes: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    policies: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    interfaces: dict[str, list[str]] = field(default_factory=dict)
    other: dict[str, list[str]] = field(default_factory=dict)
    show_sequence: bool = True

    def session(self) -> IosSession:
        return IosSession(self)

    def refusal(self) -> str:
        return MARKER

    def attached(self, policy: str) -> list[str]:
        return [name for name, lines in self.interfaces.items() if f"service-policy input {policy}" in lines]

    def running(self) -> str:
        parts: list[str] = ["version 17.9", f"hostname {self.hostname}", "!"]
        for name, (how, matches) in self.classes.items():
            parts += [f"class-map {how} {name}", *(f" {line}" for line in matches)]
        parts.append("!")
        for name, inner in self.policies.items():
            parts.append(f"policy-map {name}")
            for known, actions in inner.items():
                parts += [f" class {known}", *(f"  {line}" for line in actions)]
        parts.append("!")
        for name, lines in self.interfaces.items():
            parts += [f"interface {name}", *(f" {line}" for line in lines), "!"]
        for (family, name), entries in self.acls.items():
            parts.append(f"{'ip access-list extended' if family == 4 else 'ipv6 access-list'} {name}")
            parts += [f" {self._entry(family, number, entry)}" for number, entry in sorted(entries.items())]
        parts.append("!")
        for header, lines in self.other.items():
            parts += [header, *(f" {line}" for line in lines)]
        return "\n".join([*parts, "!", "end"]) + "\n"

    def _entry(self, family: int, number: int, entry: str) -> str:
        if not self.show_sequence:
            return entry
        return f"{number} {entry}" if family == 4 else f"sequence {number} {entry}"

    def load(self, text: str) -> None:
        """A configuration as `show running-config` prints it; lines that this simulator does not model are kept as they are."""
        session, keeping = IosSession(self), ""
        session.mode = "config"
        for raw in text.splitlines():
            line = raw.strip()
            if not line or line.startswith("!") or line == "end" or line.startswith("version "):
                continue
            if not raw.startswith(" "):
                session.mode, session.inside, keeping = "config", "", ""
                if line.startswith("interface "):
                    self.interfaces.setdefault(line.removeprefix("interface "), [])
            elif keeping:
                self.other[keeping].append(raw[1:].rstrip())
                continue
            if session.carry_out(line) == MARKER:
                if raw.startswith(" "):
                    raise ValueError(f"the simulated switch does not know {line!r}")
                keeping = line
                self.other.setdefault(line, [])
        self.saved = self.running()


class IosSession(Session):
    FALLBACK = {"acl4": "config", "acl6": "config", "cmap": "config", "pmap": "config", "pclass": "pmap", "if": "config"}
    SUFFIX = {"user": ">", "exec": "#", "config": "(config)#", "acl4": "(config-ext-nacl)#", "acl6": "(config-ipv6-acl)#",
              "cmap": "(config-cmap)#", "pmap": "(config-pmap)#", "pclass": "(config-pmap-c)#", "if": "(config-if)#"}  # fmt: skip
    device: IosDevice

    def __init__(self, device: IosDevice) -> None:
        super().__init__(device, "user" if device.enable_secret else "exec")
        self.klass = ""

    @property
    def prompt(self) -> str:
        return self.device.hostname[:20] + self.SUFFIX[self.mode]

    def carry_out(self, line: str) -> str:
        before = self.device.running() if self.mode not in ("user", "exec") else ""
        kept = self.inside
        text = super().carry_out(line)
        if self.mode == "pmap" and not self.inside:
            self.inside = kept  # from a class back to its policy
        if before and before != self.device.running():
            self.device.changed()
        return text

    # exec ---------------------------------------------------------------------------------------------------------------------

    @command("user", "enable")
    def enable(self) -> str:
        def secret(given: str) -> str:
            self.mode = "exec" if given == self.device.enable_secret else "user"
            return "" if self.mode == "exec" else "% Access denied\n"

        self.answer_to, self.hidden = secret, True
        return "Password: "

    @command("user exec", r"terminal (?:width|length) \d+|terminal no monitor")
    def terminal(self) -> None:
        pass

    @command("user exec", r"exit|quit|logout")
    def leave(self) -> None:
        self.closed = True

    @command("exec", r"configure terminal|conf t")
    def configure(self) -> str:
        self.mode = "config"
        return "Enter configuration commands, one per line.  End with CNTL/Z."

    @command("exec", r"show running-config")
    def show_running(self) -> str:
        text = self.device.running()
        return f"Building configuration...\n\nCurrent configuration : {len(text)} bytes\n!\n{text}"

    @command("user exec", "show version")
    def show_version(self) -> str:
        return (
            "Cisco IOS XE Software, Version 17.09.04a\n"
            "Cisco IOS Software [Cupertino], Catalyst L3 Switch Software, Version 17.9.4a\n"
            f"{self.device.hostname} uptime is 12 weeks, 3 days\n"
            "cisco C9300-48P (X86) processor with 1331521K/6147K bytes of memory."
        )

    @command("exec", "show policy-map interface")
    def show_all_policies(self) -> str:
        return "\n".join(text for name in self.device.interfaces if (text := self.show_policy(name)))

    @command("exec", r"write memory|write mem|write|copy running-config startup-config")
    def write(self) -> str:
        self.device.saved = self.device.running()
        return "Building configuration...\n[OK]"

    @command("exec", "show access-lists")
    def show_access_lists(self) -> str:
        lines: list[str] = []
        for (family, name), entries in self.device.acls.items():
            lines.append(f"{'Extended IP' if family == 4 else 'IPv6'} access list {name}")
            for number, entry in sorted(entries.items()):
                seen = self.device.hits.get(f"{name} {number}", [0, 0])[0]
                matches = f" ({seen} matches)" if seen else ""
                lines.append(f"    {number} {entry}{matches}" if family == 4 else f"    {entry}{matches} sequence {number}")
        return "\n".join(lines)

    @command("exec", r"show policy-map interface (\S+) input")
    def show_policy(self, interface: str) -> str:
        name = self._interface(interface)
        policy = next((line.split()[-1] for line in self.device.interfaces[name] if line.startswith("service-policy input ")), "")
        if not policy:
            return ""
        lines = [f" {name} ", "", f"  Service-policy input: {policy}"]
        for known, actions in (self.device.policies[policy] | {"class-default": []}).items():
            how, matches = self.device.classes.get(known, ("match-any", ["match any"]))
            packets, size = self.device.hit(known)
            lines += ["", f"    Class-map: {known} ({how})  ", f"      {packets} packets, {size} bytes"]
            lines += [f"      Match: {line.removeprefix('match ')}" for line in matches]
            lines += [f"      QoS Set\n        {line.removeprefix('set ')}" for line in actions if line.startswith("set ")]
        return "\n".join(lines)

    # configuration ------------------------------------------------------------------------------------------------------------

    @command("config acl4 acl6 cmap pmap pclass if", "end")
    def end(self) -> None:
        self.mode, self.inside = "exec", ""

    @command("config acl4 acl6 cmap pmap pclass if", "exit")
    def exit_mode(self) -> None:
        self.mode = {"config": "exec", "pclass": "pmap"}.get(self.mode, "config")

    @command("config", r"hostname (\S+)")
    def hostname(self, name: str) -> None:
        self.device.hostname = name

    @command("config", r"ip access-list extended (\S+)")
    def acl4(self, name: str) -> None:
        self._open_acl(4, name)

    @command("config", r"ipv6 access-list (\S+)")
    def acl6(self, name: str) -> None:
        self._open_acl(6, name)

    def _open_acl(self, family: int, name: str) -> None:
        if (10 - family, name) in self.device.acls:
            raise Refused(f"% Access list {name} exists as an IPv{10 - family} list: name already in use")
        self.device.acls.setdefault((family, name), {})
        self.mode, self.inside = f"acl{family}", name

    @command("config", r"no (ip access-list extended|ipv6 access-list) (\S+)")
    def no_acl(self, kind: str, name: str) -> None:
        if self.device.acls.pop((4 if kind.startswith("ip ") else 6, name), None) is None:
            raise Refused(f"% Access list {name} does not exist")

    @command(
        "acl4", r"(?:(\d+) )?(permit|deny) +(ip|tcp|udp|icmp) ((?:any|host \S+|\S+ \S+)) ((?:any|host \S+|\S+ \S+))((?: .+)?)"
    )
    def ace4(self, number: str | None, action: str, protocol: str, source: str, target: str, rest: str) -> None:
        self._add(4, number, f"{action} {protocol} {_source4(source)} {_source4(target)}{rest}")

    @command(
        "acl6", r"(?:sequence (\d+) )?(permit|deny) (ipv6|tcp|udp|icmp) ((?:any|host \S+|\S+)) ((?:any|host \S+|\S+))((?: .+)?)"
    )
    def ace6(self, number: str | None, action: str, protocol: str, source: str, target: str, rest: str) -> None:
        self._add(6, number, f"{action} {protocol} {_source6(source)} {_source6(target)}{rest}")

    def _add(self, family: int, number: str | None, entry: str) -> None:
        entries = self.device.acls[family, self.inside]
        if entry in entries.values():
            return  # IOS says nothing about an entry that is there already
        at = int(number) if number else (max(entries, default=0) // 10 + 1) * 10
        if at in entries:
            raise Refused("% Duplicate sequence number")
        entries[at] = entry

    @command("acl4 acl6", r"no (?:sequence )?(\d+)")
    def no_number(self, number: str) -> None:
        if self.device.acls[int(self.mode[-1]), self.inside].pop(int(number), None) is None:
            raise Refused(f"% Sequence number {number} does not exist")

    @command("acl4", r"no (permit|deny) +(ip|tcp|udp|icmp) ((?:any|host \S+|\S+ \S+)) ((?:any|host \S+|\S+ \S+))((?: .+)?)")
    def no_ace4(self, action: str, protocol: str, source: str, target: str, rest: str) -> None:
        self._remove(4, f"{action} {protocol} {_source4(source)} {_source4(target)}{rest}")

    @command("acl6", r"no (permit|deny) (ipv6|tcp|udp|icmp) ((?:any|host \S+|\S+)) ((?:any|host \S+|\S+))((?: .+)?)")
    def no_ace6(self, action: str, protocol: str, source: str, target: str, rest: str) -> None:
        self._remove(6, f"{action} {protocol} {_source6(source)} {_source6(target)}{rest}")

    def _remove(self, family: int, entry: str) -> None:
        entries = self.device.acls[family, self.inside]
        number = next((at for at, known in entries.items() if known == entry), None)
        if number is None:
            raise Refused("% The entry does not exist in this list")
        del entries[number]

    @command("config", r"class-map (?:(match-all|match-any) )?(\S+)")
    def class_map(self, how: str | None, name: str) -> None:
        known = self.device.classes.get(name)
        if known is None:
            self.device.classes[name] = (how or "match-all", [])
        elif how and how != known[0]:
            raise Refused(f"% Class-map {name} is being used with {known[0]}")
        self.mode, self.inside = "cmap", name

    @command("config", r"no class-map (?:(?:match-all|match-any) )?(\S+)")
    def no_class_map(self, name: str) -> None:
        if any(name in inner for inner in self.device.policies.values()):
            raise Refused(f"% Class-map {name} is being used")
        if self.device.classes.pop(name, None) is None:
            raise Refused(f"% Class-map {name} does not exist")

    @command("cmap", r"match access-group name (\S+)")
    def match_acl(self, name: str) -> None:
        self._match(f"match access-group name {name}")

    @command("cmap", r"match (?:ip )?dscp +(.+)")
    def match_dscp(self, words: str) -> None:
        marks = sorted({_dscp(word) for word in words.split()})
        if len(marks) > 8:
            raise Refused(MARKER)
        self._match(f"match dscp {' '.join(_dscp_text(mark) for mark in marks)}")

    @command("cmap", r"match (?:any|protocol \S+|ip precedence .+)")
    def match_other(self) -> None:
        self._match("match any")

    def _match(self, line: str) -> None:
        lines = self.device.classes[self.inside][1]
        if line not in lines:
            lines.append(line)

    @command("config", r"policy-map (\S+)")
    def policy_map(self, name: str) -> None:
        self.device.policies.setdefault(name, {})
        self.mode, self.inside = "pmap", name

    @command("config", r"no policy-map (\S+)")
    def no_policy_map(self, name: str) -> None:
        if self.device.attached(name):
            raise Refused(f"% Policy-map {name} is being used")
        if self.device.policies.pop(name, None) is None:
            raise Refused(f"% Policy-map {name} does not exist")

    @command("pmap pclass", r"class (\S+)")
    def policy_class(self, name: str) -> None:
        if name != "class-default" and name not in self.device.classes:
            raise Refused(f"% class map {name} not configured")
        self.device.policies[self.inside].setdefault(name, [])
        self.mode, self.klass = "pclass", name

    @command("pmap", r"no class (\S+)")
    def no_policy_class(self, name: str) -> None:
        if self.device.policies[self.inside].pop(name, None) is None:
            raise Refused(f"% class {name} does not exist in this policy")

    @command("pclass", r"set (?:ip )?dscp (\S+)")
    def set_dscp(self, word: str) -> None:
        self._act(f"set dscp {_dscp_text(_dscp(word))}", "set dscp ")

    @command("pclass", f"({ACTIONS.pattern})")
    def action(self, line: str, *_: str) -> None:
        self._act(line, line.split()[0])

    def _act(self, line: str, replaces: str) -> None:
        actions = self.device.policies[self.inside][self.klass]
        actions[:] = [known for known in actions if not known.startswith(replaces)] + [line]

    # interfaces ---------------------------------------------------------------------------------------------------------------

    def _interface(self, name: str) -> str:
        known = next((known for known in self.device.interfaces if known.lower() == name.lower()), None)
        if known is None:
            raise Refused(MARKER)
        return known

    @command("config", r"interface (\S+)")
    def interface(self, name: str) -> None:
        if re.match(r"(?i)(?:vlan|loopback|port-channel|tunnel)\d+$", name):
            self.device.interfaces.setdefault(name, [])  # a logical one is made by naming it
        self.inside = self._interface(name)
        self.mode = "if"

    @command("if", r"service-policy input (\S+)")
    def attach(self, policy: str) -> None:
        if policy not in self.device.policies:
            raise Refused(f"% policy map {policy} not configured")
        lines = self.device.interfaces[self.inside]
        other = next((line for line in lines if line.startswith("service-policy input ")), None)
        if other == f"service-policy input {policy}":
            return
        if other:
            raise Refused(f"% Policy map {other.split()[-1]} is already attached")
        lines.append(f"service-policy input {policy}")

    @command("if", r"no service-policy input (\S+)")
    def detach(self, policy: str) -> None:
        lines = self.device.interfaces[self.inside]
        if f"service-policy input {policy}" not in lines:
            raise Refused(f"% Policy map {policy} is not attached: not configured")
        lines.remove(f"service-policy input {policy}")

    @command("if", f"({INTERFACE_LINES.pattern})")
    def interface_line(self, line: str, *_: str) -> None:
        lines = self.device.interfaces[self.inside]
        if line not in lines:
            lines.append(line)

    @command("if", f"no ({INTERFACE_LINES.pattern})")
    def no_interface_line(self, line: str, *_: str) -> None:
        lines = self.device.interfaces[self.inside]
        lines[:] = [known for known in lines if not known.startswith(line)]
