"""The options of one rule (`-s .. -p .. -m .. -j ..`), as iptables(8) and iptables-extensions(8) define them."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.qos import parse_dscp
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal
from policyhub.vendorkit.xtables.facts import Facts

CORE = {
    "-s": "-s", "--source": "-s", "--src": "-s", "-d": "-d", "--destination": "-d", "--dst": "-d", "-p": "-p",
    "--protocol": "-p", "--proto": "-p", "-i": "-i", "--in-interface": "-i", "-o": "-o", "--out-interface": "-o", "-m": "-m",
    "--match": "-m", "-j": "-j", "--jump": "-j", "-g": "-g", "--goto": "-g", "-f": "-f", "--fragment": "-f", "-c": "-c",
    "--set-counters": "-c", "-4": "-4", "--ipv4": "-4", "-6": "-4", "--ipv6": "-4",
}  # fmt: skip
# option -> what it means; the modules that hold only such options leave no condition behind
EXACT = {
    "--sport": "--sport", "--source-port": "--sport", "--sports": "--sport", "--source-ports": "--sport",
    "--dport": "--dport", "--destination-port": "--dport", "--dports": "--dport", "--destination-ports": "--dport",
    "--icmp-type": "icmp", "--icmpv6-type": "icmp", "--src-range": "-s range", "--dst-range": "-d range",
    "--comment": "comment", "--dscp": "dscp", "--dscp-class": "dscp", "--match-set": "set",
}  # fmt: skip
MODELLED = frozenset({
    "tcp", "udp", "udplite", "sctp", "dccp", "icmp", "icmp6", "icmpv6", "ipv6-icmp", "multiport", "mport", "iprange",
    "comment", "dscp", "set",
})  # fmt: skip


@dataclass(slots=True)
class _Module:
    """Words of one `-m`. `name` "" stands for options that a protocol brings without `-m`."""

    name: str
    words: list[str] = field(default_factory=list)


def number(text: str) -> int:
    """C notation, as iptables reads numbers. Raises NotUnderstood."""
    try:
        return int(text, 16) if text.lower().startswith("0x") else int(text, 8 if len(text) > 1 and text.startswith("0") else 10)
    except ValueError:
        raise NotUnderstood(f"{text[:40]!r} is not a number") from None


@dataclass(slots=True)
class _Reader:
    """Where the reading of one rule stands."""

    facts: Facts
    words: list[str]
    modules: list[_Module] = field(default_factory=lambda: [_Module("")])
    at: int = 0
    in_target: bool = False
    negated: bool = False
    target_at: int = -1

    def take_negation(self) -> bool:
        negated, self.negated = self.negated, False
        return negated

    def verbatim(self, words: list[str]) -> None:
        words += ["!", self.words[self.at]] if self.take_negation() else [self.words[self.at]]
        self.at += 1

    def core(self, option: str) -> None:
        """An option of iptables itself."""
        facts = self.facts
        self.at += 1
        if option in ("-f", "-4", "-c"):
            negated = self.take_negation()
            if option == "-f":
                facts.conditions.append("! -f" if negated else "-f")
            self.at += 2 if option == "-c" else 0
            return
        if self.at < len(self.words) and self.words[self.at] == "!":
            self.negated = not self.negated
            self.at += 1
        if self.at >= len(self.words):
            raise NotUnderstood(f"nothing stands behind {option}")
        value, negated = self.words[self.at], self.take_negation()
        self.at += 1
        self.in_target = option in ("-j", "-g")
        if self.in_target:
            facts.target, facts.is_goto = value, option == "-g"
            self.target_at = self.at - 2 if self.target_at < 0 else self.target_at
        elif option == "-m":
            self.modules.append(_Module(value))
        else:
            _core(facts, option, value, negated)
            if option == "-p":
                self.modules.append(_Module(""))


def read_options(facts: Facts, words: list[str]) -> Facts:
    """Everything behind the chain's name. Raises NotUnderstood; the facts are then of no use."""
    reader = _Reader(facts, words)
    while reader.at < len(words):
        word = words[reader.at]
        module = reader.modules[-1]
        option = CORE.get(word)
        if word == "!":
            reader.negated = True
            reader.at += 1
        elif option is not None:
            reader.core(option)
        elif reader.in_target:
            reader.verbatim(facts.target_words)
        elif (word in EXACT and (word != "--dscp" or module.name in ("dscp", ""))) or (word == "--set" and module.name == "set"):
            reader.at = _exact(facts, EXACT.get(word, "set"), words, reader.at + 1, reader.take_negation())
        else:
            reader.verbatim(module.words)
    facts.middle = " ".join(words if reader.target_at < 0 else words[: reader.target_at])
    _leave(facts, reader.modules)
    return facts


def _core(facts: Facts, option: str, value: str, negated: bool) -> None:
    if value.startswith("!") and len(value) > 1:  # `-s !10.0.0.0/8` of very old versions
        value, negated = value[1:], not negated
    if value.startswith("$"):
        facts.unresolved.append(value)
    elif option in ("-s", "-d"):
        facts.set_address(option, value, negated)
    elif option == "-p":
        facts.set_protocol(value, negated)
    else:
        facts.set_interface(option, value, negated)


def _exact(facts: Facts, meaning: str, words: list[str], at: int, negated: bool) -> int:
    """Take the values of a modelled option; gives the position behind them."""
    if at < len(words) and words[at] == "!":
        negated = not negated
        at += 1
    if at >= len(words):
        raise NotUnderstood("an option ends without its value")
    value = words[at]
    at += 1
    if value.startswith("$"):
        facts.unresolved.append(value)
    elif meaning in ("--sport", "--dport"):
        facts.set_ports(meaning, value, negated)
    elif meaning == "icmp":
        facts.set_icmp(value, negated)
    elif meaning in ("-s range", "-d range"):
        facts.set_range(meaning[:2], value, negated)
    elif meaning == "comment":
        facts.comment = value
    elif meaning == "dscp":
        facts.set_dscp(dscp_value(value), negated)
    else:
        if at >= len(words):
            raise NotUnderstood("a set is named without src or dst")
        facts.use_set(value, words[at], negated)
        at += 1
    return at


def dscp_value(text: str) -> int:
    """`0x2e`, `46`, `EF`. Raises NotUnderstood."""
    try:
        return parse_dscp(text) if not text.lower().startswith("0x") else parse_dscp(str(int(text, 16)))
    except ValueError:
        raise NotUnderstood(f"{text[:40]!r} is not a DSCP") from None


def _leave(facts: Facts, modules: list[_Module]) -> None:
    """What is not modelled becomes a condition per module, verbatim."""
    protocol = facts.key.get("-p", "").removeprefix("! ")
    for module in modules:
        name = module.name or protocol
        if not module.words and (not module.name or module.name in MODELLED):
            continue
        if module.name == "set" and module.words:
            raise NotUnderstood(f"{module.words[0][:40]!r} is not understood here")
        if not module.name and not module.words[0].startswith(("--", "!")):
            raise NotUnderstood(f"{module.words[0][:40]!r} is not understood here")
        text = " ".join([name, *(quoted(word) for word in module.words)]).strip()
        facts.conditions.append(text)
        if module.name == "time":
            facts.schedule = text
        facts.unresolved += [word for word in module.words if word.startswith("$")]


def quoted(word: str) -> str:
    return f'"{word}"' if not word or " " in word else word


def split_words(text: str) -> list[str]:
    """Words with shell-like quotes, as iptables-save prints and iptables-restore reads them."""
    if '"' not in text and "'" not in text and "\\" not in text:
        return text.split()
    words: list[str] = []
    current: list[str] = []
    quote, started, at = "", False, 0
    while at < len(text):
        char = text[at]
        if quote:
            if char == quote:
                quote = ""
            elif char == "\\" and quote == '"' and at + 1 < len(text):
                at += 1
                current.append(text[at])
            else:
                current.append(char)
        elif char in "\"'":
            quote, started = char, True
        elif char == "\\" and at + 1 < len(text):
            at += 1
            current.append(text[at])
        elif char.isspace():
            if current or started:
                words.append("".join(current))
            current, started = [], False
        else:
            current.append(char)
        at += 1
    if current or started:
        words.append("".join(current))
    return words


def option_values(words: list[str]) -> dict[str, str]:
    """Options of a target with their value ("" for a flag); words without an option in front are left out."""
    found: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--") and not is_decimal(word):
            name = word
            found[name] = ""
        elif name and not found[name]:
            found[name] = word
    return found
