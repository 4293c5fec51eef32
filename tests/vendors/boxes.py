"""Two small model devices for renderer tests: they take lines, keep a configuration, and print it as the vendor does.

Written from the vendors' syntax; they share nothing with policyhub.vendors and refuse what they do not know.
"""

from __future__ import annotations

import re


class Refused(Exception):
    """The device answered with an error."""


class IosBox:
    """IOS. numbers: IOS-XE prints sequence numbers in the running configuration, classic IOS does not."""

    HEADERS = re.compile(
        r"^(interface \S+|ip access-list extended \S+|ipv6 access-list \S+|class-map match-all \S+|policy-map \S+)$"
    )
    BODIES = {
        "interface": r"service-policy input \S+",
        "ip": r"(?:\d+ )?(?:permit|deny) ip (?:host \S+|\S+ \S+) any",
        "ipv6": r"(?:sequence \d+ )?(?:permit|deny) ipv6 (?:host \S+|\S+/\d+) any",
        "class-map": r"match (?:access-group name \S+|dscp [\d ]+)",
        "policy-map": r"class \S+|set dscp \w+|police cir \d+ bc \d+ conform-action transmit exceed-action drop",
    }

    def __init__(self, base: str, numbers: bool = True, bundle: str = "") -> None:
        self.numbers = numbers
        self.sections: dict[str, list[str]] = {}
        self.mode = ""
        for line in base.splitlines():
            if not line.startswith(" "):
                self.mode = line
                self.sections[line] = []
            else:
                self.sections[self.mode].append(line.strip())
        self.mode = ""

    def push(self, lines: tuple[str, ...]) -> None:
        for line in lines:
            self.take(" ".join(line.split()))

    def take(self, line: str) -> None:
        if line.startswith("no ") and self.HEADERS.match(line[3:]):
            if line[3:] not in self.sections or line.startswith("no interface"):
                raise Refused(line)
            if any(line.split()[-1] in body.split() for body in self._others(line[3:])):
                raise Refused(f"% {line[3:]} is in use")
            del self.sections[line[3:]]
            self.mode = ""
        elif self.HEADERS.match(line):
            if line.startswith("interface ") and line not in self.sections:
                raise Refused(line)
            self.sections.setdefault(line, [])
            self.mode = line
        else:
            self._body(line)

    def _others(self, header: str) -> list[str]:
        """Lines that could refer to the object: a policy uses classes, a class uses lists, an interface uses policies."""
        users = {"ip": "class-map", "ipv6": "class-map", "class-map": "policy-map", "policy-map": "interface"}[header.split()[0]]
        return [line for name, body in self.sections.items() if name.startswith(users) for line in body]

    def _body(self, line: str) -> None:
        kind = self.mode.split()[0] if self.mode else ""
        undo = line.startswith("no ")
        plain = line.removeprefix("no ")
        if kind not in self.BODIES or not re.fullmatch(self.BODIES[kind], plain):
            raise Refused(line)
        body = self.sections[self.mode]
        if kind not in ("ip", "ipv6"):
            if undo:
                body.remove(plain)
            else:
                body.append(plain)
            return
        number, entry = self._numbered(plain)
        known = {self._numbered(old)[1]: old for old in body}
        if undo:
            if entry not in known:
                raise Refused(line)
            body.remove(known[entry])
            return
        if entry in known:
            raise Refused(f"duplicate {line}")
        used = [self._numbered(old)[0] or 0 for old in body]
        number = number or max([*used, 0]) // 10 * 10 + 10
        body.append(f"sequence {number} {entry}" if kind == "ipv6" else f"{number} {entry}")
        body.sort(key=lambda old: self._numbered(old)[0] or 0)

    @staticmethod
    def _numbered(line: str) -> tuple[int | None, str]:
        found = re.match(r"^(?:sequence )?(\d+) (.*)$", line)
        return (int(found[1]), found[2]) if found else (None, line)

    def running(self) -> str:
        out = ["Building configuration...", "", "Current configuration : 4711 bytes", "!"]
        for header, body in self.sections.items():
            out.append(header)
            for line in body:
                if "access-list" in header and not self.numbers:
                    line = self._numbered(line)[1]
                deep = header.startswith("policy-map") and not line.startswith("class ")
                line = line.replace("match dscp 40 46", "match dscp cs5  ef ").replace("dscp 8", "dscp cs1")
                if line.startswith("police"):
                    head, tail = line.split(" conform-action ")
                    out += [f"  {head}", f"   conform-action {tail.split(' exceed')[0]} ", "   exceed-action drop "]
                else:
                    out.append(("  " if deep else " ") + line)
            out.append("!")
        return "\n".join([*out, "end", ""])


class VrpBox:
    """VRP S series."""

    HEADERS = re.compile(
        r"^(interface \S+|acl (?:ipv6 )?name \S+|traffic (?:classifier|behavior|policy) \S+)(?: advance| operator and)?$"
    )
    BODIES = {
        "interface": r"traffic-policy \S+ inbound",
        "acl name": r"rule \d+ permit ip source [\d.]+ [\d.]+",
        "acl ipv6": r"rule \d+ permit ipv6 source [0-9a-f:]+/\d+",
        "traffic classifier": r"if-match (?:acl \S+|ipv6 acl \S+|dscp [\d ]+)",
        "traffic behavior": r"remark dscp \w+|remark local-precedence \w+|car cir \d+|statistics enable",
        "traffic policy": r"classifier \S+ behavior \S+",
    }

    def __init__(self, base: str) -> None:
        self.sections: dict[str, list[str]] = {}
        self.view = ""
        for line in base.splitlines():
            if not line.startswith(" "):
                self.view = line
                self.sections[line] = []
            else:
                self.sections[self.view].append(line.strip())
        self.view = ""

    def push(self, lines: tuple[str, ...]) -> None:
        for line in lines:
            self.take(" ".join(line.split()))

    def take(self, line: str) -> None:
        if line == "quit":
            if not self.view:
                raise Refused("quit leaves the system view")
            self.view = ""
        elif not self.view:
            self._system(line)
        else:
            self._inside(line)

    def _system(self, line: str) -> None:
        undo = line.startswith("undo ")
        found = self.HEADERS.match(line.removeprefix("undo "))
        if found is None:
            raise Refused(line)
        name = found[1]
        if undo:
            if name not in self.sections or name.startswith("interface"):
                raise Refused(line)
            word = name.split()[-1]
            users = {"acl": "traffic classifier", "traffic": "traffic policy"}[name.split()[0]]
            if name.startswith("traffic policy"):
                users = "interface"
            if any(word in body.split() for other, lines in self.sections.items() if other.startswith(users) for body in lines):
                raise Refused(f"Error: {name} is used")
            del self.sections[name]
            return
        if name.startswith("interface") and name not in self.sections:
            raise Refused(line)
        self.sections.setdefault(name, [])
        self.view = name

    def _inside(self, line: str) -> None:
        kind = next(kind for kind in self.BODIES if self.view.startswith(kind))
        body = self.sections[self.view]
        undo_rule = re.fullmatch(r"undo rule (\d+)", line)
        if undo_rule and kind.startswith("acl"):
            keep = [old for old in body if not old.startswith(f"rule {undo_rule[1]} ")]
            if len(keep) == len(body):
                raise Refused(line)
            body[:] = keep
            return
        plain = line.removeprefix("undo ")
        if not re.fullmatch(self.BODIES[kind], plain):
            raise Refused(line)
        if line != plain:
            body.remove(plain)
            return
        if kind.startswith("acl"):
            number = plain.split()[1]
            body[:] = [old for old in body if not old.startswith(f"rule {number} ")]  # VRP replaces
        body.append(plain)
        if kind.startswith("acl"):
            body.sort(key=lambda old: int(old.split()[1]))

    def running(self) -> str:
        out = ["!Software Version V200R019C10SPC500", "#"]
        for header, body in self.sections.items():
            shown = header
            if header.startswith("acl name"):
                shown += " 3999"
            if header.startswith("acl ipv6"):
                shown += " 3999"
            if header.startswith("traffic classifier"):
                shown += " operator and"
            if header.startswith("traffic policy"):
                shown += " match-order config"
            out.append(shown)
            if header.startswith("traffic behavior"):
                out.append(" permit")
            for line in body:
                if line.startswith("car cir"):
                    rate = line.split()[2]
                    line += f" pir {rate} cbs {int(rate) * 125} pbs {int(rate) * 125} mode color-blind"
                    line += " green pass yellow pass red discard"
                out.append(" " + line.replace("dscp 40 46", "dscp cs5 ef").replace("dscp 0", "dscp default"))
            out.append("#")
        return "\n".join([*out, "return", ""])
