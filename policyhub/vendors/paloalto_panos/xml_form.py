"""XML of PAN-OS as a tree: several documents in one text, parts of a configuration, broken and truncated ones.

expat is driven directly, below an element of our own: a document type there is a syntax error, so no entity can be defined, and
an undefined one ends the reading. Line numbers are those of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from xml.parsers import expat

from policyhub.domain.device_config import ENDS_INSIDE
from policyhub.vendors.paloalto_panos.tree import DEEPEST, Node
from policyhub.vendors.paloalto_panos.xml_fields import STAND_IN, Field, Members, take_fields

DECLARATION = re.compile(r"<\?xml[^>]{0,300}\?>")
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
FOREIGN = bytes(code for code in range(32) if code not in b"\t\n") + STAND_IN.encode()
IRREGULAR = (b"<!", b"<?", b"\xef\xbf")  # comments, CDATA, instructions; some of UNPRINTABLE
ENTRY, MEMBER = "entry", "member"
NO_FIELDS = frozenset((ENTRY, MEMBER, "config"))
VALUE = Node("", 0)  # stands for an open member: its text becomes a value of the list above it


@dataclass(slots=True)
class XmlText:
    """root: a nameless node above all documents. broken: (line, reason) where reading ended, None at the end of the text.

    passed: lines of declarations and comments. version: attribute of `config`. stray: lines of text between elements, and of
    elements nested too deep or in a member.
    """

    root: Node
    broken: tuple[int, str] | None = None
    passed: list[int] = field(default_factory=list)
    stray: list[int] = field(default_factory=list)
    version: str = ""


def read_xml(text: str) -> XmlText:
    """Total: whatever stands before the break is in the tree."""
    plain = DECLARATION.sub("", text)
    result = _read_quickly(plain) or _read(UNPRINTABLE.sub(" ", plain))
    if "<?xml" in text:
        result.passed += [number for number, line in enumerate(text.split("\n"), 1) if "<?xml" in line]
    return result


def _read_quickly(plain: str) -> XmlText | None:
    """The same tree as of the whole, for half of the time. None for texts that are not so regular: expat must see all of them."""
    try:
        whole = plain.encode("utf-8")
    except UnicodeEncodeError:
        return None
    if len(whole.translate(None, FOREIGN)) < len(whole) or any(mark in whole for mark in IRREGULAR):
        return None
    text, taken = take_fields(plain)
    fields = iter(taken)
    try:
        result = _read(text, fields)
    except _MixedError:
        return None
    is_left = next(fields, None) is not None  # a token stood in an attribute: all behind it got fields of others
    return None if is_left or result.broken is not None else result


def _read(plain: str, fields: Iterator[Field] | None = None) -> XmlText:
    """fields: that tokens stand for."""
    result = XmlText(Node("", 1))
    builder = _Builder(result, fields)
    try:
        builder.parser.Parse(f"<text>{plain}\n</text>".encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        last = len(plain.rstrip().split("\n"))
        line, inside = min(error.lineno, last), builder.innermost
        # What breaks is the end of the element of our own around it, or a tag that does not end.
        is_cut = inside and (error.lineno > last or (line == last and plain.rfind("<") > plain.rfind(">")))
        said = f"{ENDS_INSIDE}{inside[:40]!r}" if is_cut else f"the XML breaks here: {expat.ErrorString(error.code)}"
        result.broken = (line, said)
        builder.close(line)
    return result


class _MixedError(Exception):
    """Tokens stand where fields do not."""


class _Builder:
    """Keeps the open nodes. An entry has its name in an attribute, a member is its text, any other element is its tag.

    Most elements are fields with one value. Such a one is no node: `field` is its tag ("" when none is open), `begun` its line,
    `value` and `at` the member read, and `in_member` tells that a member is open. What else turns up makes it a node.
    """

    __slots__ = ("at", "begun", "field", "fields", "in_member", "parser", "result", "stack", "texts", "too_deep", "value")

    def __init__(self, result: XmlText, fields: Iterator[Field] | None) -> None:
        self.result = result
        self.fields = fields
        self.stack: list[Node] = []
        self.texts: list[str] = []
        self.too_deep = self.begun = self.at = 0
        self.field = ""
        self.value: str | None = None
        self.in_member = False
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.finish
        parser.CharacterDataHandler = self.texts.append
        parser.CommentHandler = self.comment

    def comment(self, text: str) -> None:
        first = self.parser.CurrentLineNumber
        self.result.passed.extend(range(first, first + text.count("\n") + 1))

    def start(self, tag: str, attributes: list[str]) -> None:
        if self.texts:
            text = "".join(self.texts)
            self.texts.clear()
            if self.fields is None or not self._attach(text, self.fields):
                self.note_stray(text)
        if self.too_deep or self.in_member:
            self.too_deep += 1
            self.result.stray.append(self.parser.CurrentLineNumber)
        elif tag == MEMBER and self.field and self.value is None:  # by far the most frequent
            self.in_member = True
        else:
            if self.field:
                self._grow()
            line, stack = self.parser.CurrentLineNumber, self.stack
            if tag not in NO_FIELDS and 0 < len(stack) < DEEPEST and (top := stack[-1]) is not VALUE and not top.has(tag):
                self.field, self.begun = tag, line
            else:
                self._open(tag, attributes, line)

    def _open(self, tag: str, attributes: list[str], line: int) -> None:
        stack = self.stack
        if not stack:
            stack.append(self.result.root)
        elif len(stack) > DEEPEST or stack[-1] is VALUE:
            self.too_deep += 1
            self.result.stray.append(line)
        elif tag == MEMBER:
            stack.append(VALUE)
        elif tag == ENTRY and attributes:
            node = Node(attributes[1] if attributes[0] == "name" else _attribute(attributes, "name"), line)
            stack[-1].add_twin(node)
            stack.append(node)
        elif tag == ENTRY and len(stack) < DEEPEST and not stack[-1].has(tag):  # nameless
            self.field, self.begun = tag, line
        else:
            if tag == "config" and attributes and not self.result.version:
                self.result.version = _attribute(attributes, "version")
            stack.append(self._named(tag, line))

    def _grow(self) -> None:
        """The open field holds more than one value: it becomes a node."""
        node = self._named(self.field, self.begun)
        if self.value is not None:
            node.children = {self.value: self.at}
        self.stack.append(node)
        self.field, self.value = "", None

    def _named(self, tag: str, line: int) -> Node:
        parent = self.stack[-1]
        if parent.children is None:
            parent.children = {}
        if tag not in parent.children or (known := parent.get(tag)) is None:
            node = parent.children[tag] = Node(tag, line)
            return node
        if known.own is None:
            known.own = [known.line, known.end]
        known.own.append(line)
        return known

    def finish(self, _: str) -> None:
        texts = self.texts
        if texts and self.fields is not None and self._attach("".join(texts), self.fields):
            self._finish_node("")
        elif self.too_deep:
            self.too_deep -= 1
        elif self.in_member:
            self.value = "".join(texts).strip() if texts else ""
            self.at = self.parser.CurrentLineNumber
            self.in_member = False
            texts.clear()
        elif not (field := self.field):
            self._finish_node("".join(texts).strip() if texts else "")
        else:
            value, at = self.value, self.at
            if value is None:
                value, at = ("".join(texts).strip() if texts else ""), self.begun
                if not value:
                    self._grow_empty()
                    return
                texts.clear()
            packed = (value, self.begun, self.parser.CurrentLineNumber, at)
            children = self.stack[-1].children
            if children is None:
                self.stack[-1].children = {field: packed}
            else:
                children[field] = packed
            self.field, self.value = "", None
            if texts:
                self.note_stray("".join(texts))
                texts.clear()

    def _attach(self, text: str, fields: Iterator[Field]) -> bool:
        """Whether the text holds tokens; the open node then got their fields. Raises _MixedError."""
        amount = text.count(STAND_IN)
        if not amount:
            return False
        if self.field:
            self._grow()
        top = self.stack[-1]
        if self.too_deep or self.in_member or top is VALUE or len(self.stack) >= DEEPEST or text.replace(STAND_IN, "").strip():
            raise _MixedError
        if top.children is None:
            top.children = {}
        for tag, found in islice(fields, amount):
            if tag in top.children:
                raise _MixedError
            if not isinstance(found, Members):
                top.children[tag] = found
            else:
                node = top.children[tag] = Node(tag, found.begun, found.end)
                node.children = {}
                for value, at in found.members:
                    node.children.setdefault(value, at)
                top.pack(node)
        return True

    def _grow_empty(self) -> None:
        self.value = None
        self._grow()
        self._finish_node("")

    def _finish_node(self, text: str) -> None:
        node, texts = self.stack.pop(), self.texts
        line = self.parser.CurrentLineNumber
        if node is VALUE:
            texts.clear()
            children = self.stack[-1].children
            if children is None:
                self.stack[-1].children = {text: line}
            else:
                children.setdefault(text, line)
            return
        if node.own is None:
            node.end = line
        else:
            node.open_again(node.own[-1], line)
            node.own.append(line)
        if text and not node.children:
            node.children = {text: node.line}
        elif text:
            self.note_stray("".join(texts))
        texts.clear()
        if node.own is None and self.stack:
            self.stack[-1].pack(node)

    def note_stray(self, text: str) -> None:
        """Text that ends where the parser stands. Around the documents it is judged line by line elsewhere."""
        if text.isspace() or len(self.stack) + bool(self.field) < 2:
            return
        last = self.parser.CurrentLineNumber
        parts = text.split("\n")
        self.result.stray.extend(last - len(parts) + at for at, part in enumerate(parts, 1) if part.strip())

    @property
    def innermost(self) -> str:
        """Name of the entry, or of the element, that is open; "" when none is."""
        return self.field or next((node.name for node in reversed(self.stack[1:]) if node is not VALUE), "")

    def close(self, line: int) -> None:
        """After a break: what is open ends here."""
        if self.field:
            self._grow()
        for node in self.stack[1:]:
            if node is VALUE:
                continue
            if node.own is None:
                node.end = max(node.end, line)
            else:
                node.open_again(node.own[-1], line)
                node.own.append(line)


def _attribute(attributes: list[str], name: str) -> str:
    """From the flat list of names and values; "" when it is missing."""
    pairs = zip(attributes[::2], attributes[1::2], strict=True)
    return next((value for key, value in pairs if key == name), "")
