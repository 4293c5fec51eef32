"""Tables and chains as they stand after all commands, before they become policies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policyhub.vendorkit.lexing import NotUnderstood, is_decimal
from policyhub.vendorkit.xtables.listing import Row
from policyhub.vendorkit.xtables.options import split_words

BUILT_IN = {
    "raw": ("PREROUTING", "OUTPUT"),
    "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
    "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
    "filter": ("INPUT", "FORWARD", "OUTPUT"),
    "security": ("INPUT", "FORWARD", "OUTPUT"),
}

JUMPS = frozenset({"-j", "--jump", "-g", "--goto"})
MOST_SEARCHED = 5_000_000  # rules compared for `-D`; a script that deletes thousands one by one would take a minute


@dataclass(slots=True)
class Entry:
    """A rule as read. `words` behind the chain's name, or the `row` of a listing. counter None: none printed.

    A saved line keeps its text only (`words` None): words of a hundred thousand rules would take ten times the file.
    conditions: of the shell around the command. unresolved: shell variables that nobody gave a value.
    """

    lines: tuple[int, ...]
    text: str
    words: list[str] | None = None
    row: Row | None = None
    counter: tuple[int, int] | None = None
    conditions: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()

    def options(self) -> list[str]:
        """Everything behind the chain's name."""
        return split_words(self.text)[2:] if self.words is None else self.words


@dataclass(slots=True)
class Chain:
    """policy "" for a user chain or when none was given."""

    name: str
    policy: str = ""
    entries: list[Entry] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    counter: tuple[int, int] | None = None


@dataclass(slots=True)
class Table:
    """version 0 until the text has told the family. dump: 1 for the first of its kind in the text."""

    name: str
    version: int = 0
    chains: dict[str, Chain] = field(default_factory=dict)
    dump: int = 1
    searched: int = 0

    def chain(self, name: str) -> Chain:
        return self.chains.setdefault(name, Chain(name))

    def is_built_in(self, name: str) -> bool:
        return name in BUILT_IN.get(self.name, ())

    def looks_like_version(self) -> int:
        """6 when a rule shows it, else 4."""
        for chain in self.chains.values():
            for entry in chain.entries:
                row = entry.row
                if row is None and ":" not in entry.text and "v6" not in entry.text and "icmp6" not in entry.text:
                    continue
                for word in (row.protocol, row.source, row.destination) if row is not None else entry.options():
                    if word in ("ipv6-icmp", "icmpv6", "icmp6", "--icmpv6-type", "::/0") or (
                        ":" in word and word.count(":") > 1 and "/" in word
                    ):
                        return 6
        return 4


@dataclass(slots=True)
class Ruleset:
    """All tables of a text, in its order."""

    tables: list[Table] = field(default_factory=list)

    def current(self, name: str, version: int) -> Table:
        """The last table of that name and family, made when there is none. version 0: not told."""
        for table in reversed(self.tables):
            if table.name == name and (table.version == version or 0 in (table.version, version)):
                if not table.version:
                    table.version = version
                return table
        return self.open(name, version)

    def open(self, name: str, version: int) -> Table:
        table = Table(name, version)
        self.tables.append(table)
        return table

    def settle(self) -> None:
        """Give every table its family and number the dumps of one kind."""
        seen: dict[tuple[str, int], int] = {}
        for table in self.tables:
            table.version = table.version or table.looks_like_version()
            kind = (table.name, table.version)
            table.dump = seen[kind] = seen.get(kind, 0) + 1


def apply_command(ruleset: Ruleset, words: list[str], version: int, entry: Entry) -> None:
    """One iptables command without its name. Raises NotUnderstood; then nothing was changed."""
    table_name, rest = _table_of(words)
    if not rest:
        raise NotUnderstood("a command is expected")
    at = next((i for i, word in enumerate(rest) if word in COMMANDS), None)
    if at is None:
        raise NotUnderstood(f"{rest[0][:40]!r} is not an iptables command")
    verb = COMMANDS[rest[at]]
    before, after = rest[:at], rest[at + 1 :]
    if verb == "none" or ("$" in table_name and verb in ("-F", "-X")):
        return  # prints, or clears what is not known
    if "$" in table_name:
        raise NotUnderstood("the table is a variable")
    name = after[0] if after and not after[0].startswith("-") else ""
    if "$" in name:
        if verb in ("-F", "-X", "-Z"):
            return  # clearing what is not known
        raise NotUnderstood("the chain is a variable")
    table = ruleset.current(table_name, version)
    if verb in ("-F", "-X"):
        _clear(table, name, verb)
        return
    if not name:
        raise NotUnderstood("the line ends where a chain is expected")
    VERBS[verb](table, name, before + after[1:], entry)


COMMANDS = {
    "-A": "-A", "--append": "-A", "-I": "-I", "--insert": "-I", "-D": "-D", "--delete": "-D", "-R": "-R", "--replace": "-R",
    "-P": "-P", "--policy": "-P", "-N": "-N", "--new-chain": "-N", "--new": "-N", "-F": "-F", "--flush": "-F", "-X": "-X",
    "--delete-chain": "-X", "-E": "-E", "--rename-chain": "-E", **dict.fromkeys(("-L", "--list", "-S", "--list-rules", "-Z",
    "--zero", "-C", "--check", "-V", "--version", "-h", "--help"), "none"),
}  # fmt: skip


def _table_of(words: list[str]) -> tuple[str, list[str]]:
    """`-t T` may stand anywhere; `-w` with its seconds, `-n`, `-v` say nothing about rules."""
    table = "filter"
    rest: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word in ("-t", "--table") and at + 1 < len(words):
            table = words[at + 1]
            at += 2
        elif word in ("-w", "--wait", "-W", "--wait-interval"):
            at += 2 if at + 1 < len(words) and is_decimal(words[at + 1]) else 1
        elif word in ("-n", "--numeric", "-v", "--verbose", "-x", "--line-numbers", "--modprobe"):
            at += 1
        else:
            rest.append(word)
            at += 1
    return table, rest


def _clear(table: Table, name: str, verb: str) -> None:
    chosen = [table.chains[name]] if name in table.chains else [] if name else list(table.chains.values())
    for chain in chosen:
        if verb == "-F":
            chain.entries.clear()
        elif not table.is_built_in(chain.name) and not chain.entries:
            del table.chains[chain.name]


def one_by_one(words: list[str]) -> list[list[str]]:
    """A rule for each source and destination of lists: iptables(8), "will expand to multiple rules". Raises NotUnderstood."""
    rules = [words]
    for names in (("-s", "--source", "--src"), ("-d", "--destination", "--dst")):
        rules = [each for rule in rules for each in _each_address(rule, names)]
    return rules


def _each_address(words: list[str], names: tuple[str, ...]) -> list[list[str]]:
    at = next((i for i, word in enumerate(words) if "," in word and {*names} & {*words[max(0, i - 2) : i]}), 0)
    if not at or (words[at - 1] not in names and words[at - 1] != "!"):
        return [words]
    if "!" in words[max(0, at - 2) : at]:
        raise NotUnderstood("a list of addresses cannot be negated")
    return [[*words[:at], address, *words[at + 1 :]] for address in words[at].split(",") if address]


def _append(table: Table, name: str, words: list[str], entry: Entry) -> None:
    table.chain(name).entries += [replace(entry, words=each) for each in one_by_one(words)]


def _insert(table: Table, name: str, words: list[str], entry: Entry) -> None:
    at = 1
    if words and is_decimal(words[0]):
        at, words = int(words[0][:9]), words[1:]
    entries = table.chain(name).entries
    for each in one_by_one(words):  # every one at the same place: the last of a list comes first
        entries.insert(max(0, at - 1), replace(entry, words=each))


def _delete(table: Table, name: str, words: list[str], entry: Entry) -> None:
    entries = table.chain(name).entries
    if len(words) == 1 and is_decimal(words[0]):
        at = int(words[0][:9])
        if 1 <= at <= len(entries):
            del entries[at - 1]
        return
    for each in one_by_one(words):
        table.searched += len(entries)
        if table.searched > MOST_SEARCHED:
            raise NotUnderstood("too many rules are deleted to follow")
        position = next((i for i, known in enumerate(entries) if known.options() == each), None)
        if position is not None:
            del entries[position]


def _replace(table: Table, name: str, words: list[str], entry: Entry) -> None:
    entries = table.chain(name).entries
    if not words or not is_decimal(words[0]) or not 1 <= int(words[0][:9]) <= len(entries):
        raise NotUnderstood("there is no such rule to replace")
    if len(one_by_one(words[1:])) > 1:
        raise NotUnderstood("one rule cannot be replaced by a list of addresses")
    entry.words = words[1:]
    entries[int(words[0][:9]) - 1] = entry


def _policy(table: Table, name: str, words: list[str], entry: Entry) -> None:
    if not words or words[0] not in ("ACCEPT", "DROP", "QUEUE", "RETURN"):
        raise NotUnderstood("ACCEPT or DROP is expected")
    chain = table.chain(name)
    chain.policy = words[0]
    chain.lines.extend(entry.lines)


def _new(table: Table, name: str, words: list[str], entry: Entry) -> None:
    table.chain(name).lines.extend(entry.lines)


def _rename(table: Table, name: str, words: list[str], entry: Entry) -> None:
    if words and name in table.chains:
        chain = table.chains.pop(name)
        chain.name = words[0]
        table.chains[words[0]] = chain
        for entry in [entry for known in table.chains.values() for entry in known.entries]:
            options = entry.options()
            at = next((i for i, word in enumerate(options[1:], 1) if word == name and options[i - 1] in JUMPS), 0)
            if at:  # a jump follows its chain
                entry.words = [*options[:at], words[0], *options[at + 1 :]]


VERBS = {"-A": _append, "-I": _insert, "-D": _delete, "-R": _replace, "-P": _policy, "-N": _new, "-E": _rename}
