"""A cursor over the nodes of one rule, and the grammar of what stands on the left and on the right of a match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendors.linux_nftables.lexer import Group, Node, Token, text_of
from policyhub.vendors.linux_nftables.reading import elements_of

OPERATORS = {"==": "==", "eq": "==", "!=": "!=", "ne": "!=", "<": "<", "lt": "<", ">": ">", "gt": ">", "<=": "<=", "le": "<=", ">=": ">=", "ge": ">="}  # fmt: skip  # noqa: E501
BIT_OPERATORS = ("&", "|", "^", "and", "or", "xor", "<<", ">>", "/")
PAYLOADS = frozenset((
    "ip", "ip6", "tcp", "udp", "udplite", "sctp", "dccp", "th", "icmp", "icmpv6", "igmp", "ether", "vlan", "arp", "ah", "esp",
    "comp", "frag", "hbh", "rt0", "rt2", "rt4", "srh", "mh", "dst", "gre", "exthdr", "vxlan", "geneve",
))  # fmt: skip
BARE_META = frozenset((
    "mark", "iif", "iifname", "iiftype", "oif", "oifname", "oiftype", "skuid", "skgid", "nftrace", "rtclassid", "ibrname",
    "obrname", "pkttype", "cpu", "iifgroup", "oifgroup", "cgroup", "nfproto", "l4proto", "protocol",
))  # fmt: skip
CT_SIDES = ("original", "reply")
OPTION_FIELDS = (
    "kind",
    "length",
    "left",
    "right",
    "size",
    "count",
    "tsval",
    "tsecr",
    "left2",
    "right2",
    "ptr",
    "value",
    "addr",
    "type",
)


@dataclass(slots=True)
class Operand:
    """Alternatives on the right of a match. `sets`: names after @; `nodes`: the whole as written."""

    values: list[str] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    nodes: Sequence[Node] = ()

    @property
    def text(self) -> str:
        return text_of(self.nodes)


class Cursor:
    __slots__ = ("at", "nodes")

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.at = 0

    def __bool__(self) -> bool:
        return self.at < len(self.nodes)

    def peek(self, ahead: int = 0) -> Node | None:
        at = self.at + ahead
        return self.nodes[at] if at < len(self.nodes) else None

    def word(self, ahead: int = 0) -> str:
        """The next token when it is a word, else ""."""
        try:
            node = self.nodes[self.at + ahead]
        except IndexError:
            return ""
        return node.text if isinstance(node, Token) and node.kind == "word" else ""

    def next(self, what: str = "a word") -> Node:
        node = self.peek()
        if node is None:
            raise NotUnderstood(f"the rule ends where {what} is expected")
        self.at += 1
        return node

    def take_word(self, what: str = "a word") -> str:
        """A word or a quoted string."""
        node = self.next(what)
        if isinstance(node, Group) or node.kind not in ("word", "string"):
            raise NotUnderstood(f"{what} is expected, not braces or commas")
        return node.text

    def accept(self, *choices: str) -> str:
        if self.word() in choices:
            self.at += 1
            return self.nodes[self.at - 1].text  # type: ignore[union-attr]
        return ""

    def text(self, start: int) -> str:
        return text_of(self.nodes[start : self.at])

    def rest(self) -> str:
        start, self.at = self.at, len(self.nodes)
        return self.text(start)


def selector(cursor: Cursor) -> str:
    """`ip saddr`, `meta l4proto`, `ct state` ...: the name of what is compared. Raises NotUnderstood when it is none."""
    word = cursor.word()
    start = cursor.at
    if word in BARE_META:
        cursor.at += 1
        return f"meta {word}"
    if word in ("@ll", "@nh", "@th", "@ih"):
        cursor.at += 5  # @ll , 0 , 48
        return cursor.text(start)
    if word == "meta":
        cursor.at += 1
        return f"meta {cursor.take_word('a meta key')}"
    if word in PAYLOADS:
        return _payload(cursor)
    if word == "ct":
        return _conntrack(cursor)
    if word in ("fib", "rt", "socket", "osf", "ipsec", "numgen", "jhash", "symhash"):
        return _other(cursor, word)
    raise NotUnderstood(f"{word[:40] or 'braces'!r} is not understood here")


def _payload(cursor: Cursor) -> str:
    start = cursor.at
    protocol = cursor.take_word()
    name = cursor.take_word("a field")
    if name == "option":
        cursor.take_word("an option")
        cursor.accept(*OPTION_FIELDS)
    elif protocol == "arp" and name in ("saddr", "daddr"):
        cursor.accept("ip", "ether")
    elif protocol == "sctp" and name == "chunk":
        cursor.take_word("a chunk")
    return cursor.text(start)


def _conntrack(cursor: Cursor) -> str:
    start = cursor.at
    cursor.at += 1
    cursor.accept(*CT_SIDES)
    cursor.accept("ip", "ip6")
    cursor.take_word("a conntrack key")
    cursor.accept("over")
    return cursor.text(start)


def _other(cursor: Cursor, word: str) -> str:
    start = cursor.at
    cursor.at += 1
    if word == "fib":
        cursor.take_word("a fib selector")
        while cursor.accept("."):
            cursor.take_word("a fib selector")
        cursor.take_word("a fib result")
    elif word in ("numgen", "jhash", "symhash"):
        while cursor and not cursor.accept("mod"):
            cursor.next()
        cursor.take_word("a modulus")
        if cursor.accept("seed", "offset"):
            cursor.take_word("a number")
        if cursor.accept("offset"):
            cursor.take_word("a number")
    elif word == "ipsec":
        cursor.take_word("a direction")
        cursor.take_word("a key")
    elif word == "socket":
        if cursor.take_word("a key") == "cgroupv2" and cursor.accept("level"):
            cursor.take_word("a level")
    else:
        cursor.accept("ip", "ip6", "ttl")
        cursor.take_word("a key")
    return cursor.text(start)


def operand(cursor: Cursor) -> Operand:
    """A set in braces, `@name`, a value, or values with commas between. Raises NotUnderstood for concatenations and masks."""
    start = cursor.at
    node = cursor.next("a value")
    found = Operand()
    if isinstance(node, Group):
        for part in elements_of(node):
            _element(found, part)
    elif node.kind == "word" and node.text.startswith("@"):
        found.sets.append(node.text[1:])
    else:
        found.values.append(_value(node))
        if cursor.accept("-"):  # older spelling of a range
            found.values[-1] += f"-{_value(cursor.next('a value'))}"
        while isinstance(cursor.peek(), Token) and cursor.peek().kind == "comma":  # type: ignore[union-attr]
            cursor.at += 1
            found.values.append(_value(cursor.next("a value")))
    if cursor.word() in BIT_OPERATORS or cursor.word() == ".":
        raise NotUnderstood("a mask or concatenation")
    found.nodes = cursor.nodes[start : cursor.at]
    return found


def _value(node: Node) -> str:
    if isinstance(node, Group) or node.kind not in ("word", "string") or node.text.startswith(("(", "$")):
        raise NotUnderstood("not a plain value")
    if node.kind == "word" and node.text in BIT_OPERATORS:
        raise NotUnderstood("a mask")
    return node.text


def _element(found: Operand, part: list[Node]) -> None:
    """The key of an element; counters, comments and timeouts behind it do not matter."""
    first = part[0]
    if len(part) > 1 and isinstance(part[1], Token) and part[1].text in (".", ":", *BIT_OPERATORS):
        raise NotUnderstood("a concatenation or map in braces")
    if isinstance(first, Token) and first.kind == "word" and first.text.startswith("@"):
        found.sets.append(first.text[1:])
    elif len(part) == 3 and isinstance(part[1], Token) and part[1].text == "-":
        found.values.append(f"{_value(first)}-{_value(part[2])}")
    else:
        found.values.append(_value(first))


def condition(cursor: Cursor) -> None:
    """Everything of a match behind its selector, however it is built: bit operations, comparison, value."""
    done = False
    while cursor:
        word = cursor.word()
        if word in BIT_OPERATORS or word == ".":
            cursor.at += 1
            _any_value(cursor)
        elif word in OPERATORS and not done:
            cursor.at += 1
            _any_value(cursor)
            done = True
        elif not done:
            _any_value(cursor)
            done = True
        else:
            return


def _any_value(cursor: Cursor) -> None:
    node = cursor.next("a value")
    if isinstance(node, Group):
        elements_of(node)
    if isinstance(node, Token) and node.text.startswith("("):
        depth = node.text.count("(") - node.text.count(")")
        while depth > 0:
            inner = cursor.next(")")
            if isinstance(inner, Token):
                depth += inner.text.count("(") - inner.text.count(")")
        return
    while isinstance(cursor.peek(), Token) and cursor.peek().kind == "comma":  # type: ignore[union-attr]
        cursor.at += 1
        cursor.next("a value")
