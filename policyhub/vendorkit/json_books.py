"""The books for platforms whose configuration is JSON or XML: a member is read, listed or unparsed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet, Interval
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.services import MAX_PORT
from policyhub.vendorkit.blocks import Lines, read_lines
from policyhub.vendorkit.json_lines import Document, Node, read_json
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD, LineLedger, is_sensitive
from policyhub.vendorkit.lexing import NotUnderstood, host_set, number_in, prefix_set
from policyhub.vendorkit.rendering import is_prompt
from policyhub.vendorkit.sharing import drained
from policyhub.vendorkit.xml_lines import read_xml

REMARKS = ("#", "!", "//", "$ ")  # what people keep around answers: the command, and where it was asked
BRACKETS = "{}[], "
MARKUP = ("<?", "<!--", "-->", "$Id", "$Date", "$Revision")  # of XML: declarations and comments
MOST_TEXT = 400


@dataclass(slots=True)
class JsonBooks:
    """A text while it is read. `document` holds its values."""

    lines: Lines
    ledger: LineLedger = field(default_factory=LineLedger)
    document: Document = field(default_factory=Document)

    @classmethod
    def read(cls, text: str) -> JsonBooks:
        """Total: lines that break the grammar are unparsed with their reason."""
        books = cls(read_lines(text))
        first, starts = "", set()
        for line in books.lines:
            is_markup = (first or line.text).startswith("<")  # a tag, a text or a comment may look like a prompt
            if not is_markup and (is_prompt(line.text) or line.text.startswith(REMARKS)):
                books.ledger.understood(line.number)
            elif line.text:
                first = first or line.text
                starts.add(line.text[0])
        kept = (line for line in books.ledger.unbooked(books.lines) if line.text)
        if "<" in starts:
            books.document = read_xml(kept)
        elif starts & {"{", "["}:
            books.document = read_json(kept)
        for number, reason in books.document.odd.items():
            books.refuse(range(number, number + 1), reason)
        return books

    def take(self, node: Node, known: Collection[str], ignored: Collection[str] = ()) -> None:
        """Book the members of one object by name. `ignored` is the explicit list of those that hold no rule and no QoS.

        Objects below a known member have to be taken as well: what nobody takes is unparsed in the end.
        """
        self.ledger.understood(node.line, node.end)
        for name, value in node.pairs():
            if name in known:
                holds_objects = value.members or any(not item.is_scalar for item in value.items or ())
                self.ledger.understood(*((value.line, value.end) if holds_objects else value.numbers))
            elif name in ignored:
                self.ignore(value)
            else:
                self.refuse(value.numbers, f"{name[:60]} is not known here")

    def ignore(self, node: Node) -> None:
        """Sensitive lines are counted apart."""
        for number in node.numbers:
            line = self.lines.get(number)
            if line is None or not line.text:
                continue
            if is_sensitive(line.text):
                self.ledger.excuse(number)
            else:
                self.ledger.ignore(line)

    def refuse(self, numbers: range, reason: str) -> None:
        for number in numbers:
            line = self.lines.get(number)
            if line is not None and line.text.strip(BRACKETS):
                self.ledger.unparsed(line, reason)

    def finish(self) -> None:
        """Lines that nobody has booked: brackets are understood, everything else is unparsed."""
        for line in self.ledger.unbooked(self.lines):
            if line.text:
                if line.text.strip(BRACKETS) and not line.text.startswith(MARKUP):
                    self.ledger.unparsed(line, NOT_UNDERSTOOD)
                else:
                    self.ledger.understood(line.number)

    def text_of(self, node: Node) -> str:
        """The source of a value, on one line."""
        lines = (self.lines.get(number) for number in node.numbers[:40])
        found = " ".join(line.text for line in lines if line is not None)
        return found[:MOST_TEXT]

    def config(self, platform: str) -> DeviceConfig:
        """A model with the books alone; `dataclasses.replace` puts the rest in."""
        self.finish()
        return DeviceConfig(
            platform, "", len(self.lines), ignored=self.ledger.ignored_lines, unparsed=self.ledger.unparsed_lines,
            special=self.ledger.special_lines,
        )  # fmt: skip


def objects_of(node: Node | None) -> Iterator[Node]:
    """Objects of an array, or the one object."""
    if node is not None and node.items is not None:
        yield from (item for item in node.items if item.members is not None)
    elif node is not None and node.members is not None:
        yield node


def consumed(node: Node | None) -> Iterator[Node]:
    """The same, each forgotten when the next is asked for: a hundred thousand rules as nodes take ten times the text."""
    found = list(objects_of(node))
    if node is not None and node.items is not None:
        node.items = []
    yield from drained(found)


def address(text: str) -> AddressSet | None:
    """A prefix, an address or a range `A-B`; None when it is a name."""
    found = prefix_set(text) if "/" in text else host_set(text)
    if found is None and "-" in text:
        try:
            return AddressSet.of(text)
        except ValueError:
            return None
    return found


def whole(of: AddressSet) -> AddressSet:
    """Everything of the families of a set: the other side of a rule that names one side only."""
    return ANY if bool(of.v4) == bool(of.v6) else ANY4 if of.v4 else ANY6


def port_range(text: str) -> Interval:
    """`80` or `80-90`. Raises NotUnderstood."""
    low, dash, high = text.partition("-")
    first = number_in(low.strip(), 0, MAX_PORT, "a port")
    last = number_in(high.strip(), 0, MAX_PORT, "a port") if dash else first
    if first > last:
        raise NotUnderstood(f"{text[:40]!r} is not a range of ports")
    return (first, last)
