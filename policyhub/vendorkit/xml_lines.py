"""XML with source lines as the nodes of `json_lines`, read as far as it can be. No entity is expanded but the five of XML.

An element without children and attributes is a scalar; else its children are members by tag, repeated ones an array in text
order, attributes are members `@name`, and text beside attributes is the member `#text`.
"""

from __future__ import annotations

import html
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.json_lines import MOST_DEPTH, Document, Node
from policyhub.vendorkit.sharing import Pool

ATTRIBUTE = re.compile(r"([\w:.-]{1,100})\s{0,20}=\s{0,20}(?:\"([^\"]{0,2000})\"|'([^']{0,2000})')")
NAME = re.compile(r"[\w:.-]{1,200}")
MOST_TAG = 4000
SPECIAL = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">"))
TEXT = "#text"


@dataclass(slots=True)
class _Element:
    tag: str
    line: int
    members: dict[str, Node] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)

    def add(self, name: str, node: Node) -> None:
        known = self.members.get(name)
        if known is None:
            self.members[name] = node
        elif known.items is not None:
            known.items.append(node)
            known.end = node.end
        else:
            self.members[name] = Node(known.line, node.end, items=[known, node])

    def node(self, end: int) -> Node:
        text = "".join(self.text).strip()
        if not self.members:
            return Node(self.line, end, text=text)
        if text:
            self.members[TEXT] = Node(self.line, end, text=text)
        return Node(self.line, end, members=self.members)


@dataclass(slots=True)
class _Reader:
    """`text` is the lines joined; `starts` tells where each begins, `numbers` which it is."""

    text: str
    starts: array[int]
    numbers: array[int]
    document: Document = field(default_factory=Document)
    last: int = 0
    pool: Pool = field(default_factory=Pool)
    stack: list[_Element] = field(default_factory=list)

    def line_at(self, at: int) -> int:
        number = self.numbers[max(0, bisect_right(self.starts, at) - 1)]
        if number != self.last:
            self.last = number
        return self.last  # one object for a line, however many elements stand on it

    def odd(self, at: int, reason: str) -> None:
        self.document.odd.setdefault(self.line_at(at), reason)

    def run(self) -> None:
        at = 0
        while (begin := self.text.find("<", at)) >= 0:
            self.words(self.text[at:begin], at)
            opener = ("<", ">")
            if self.text.startswith(("<!", "<?"), begin):  # few are
                opener = next(pair for pair in SPECIAL if self.text.startswith(pair[0], begin))
            end = self.text.find(opener[1], begin + len(opener[0]))
            if end < 0:
                self.odd(begin, "a tag does not end")
                break
            inside = self.text[begin + len(opener[0]) : end]
            if opener[0] == "<":
                self.tag(inside, begin, end)
            elif "CDATA" in opener[0] and self.stack:
                self.stack[-1].text.append(inside)
            at = end + len(opener[1])
        else:
            self.words(self.text[at:], at)
        while self.stack:
            self.close(len(self.text))

    def words(self, text: str, at: int) -> None:
        if self.stack:
            self.stack[-1].text.append(html.unescape(text) if "&" in text else text)
        elif text.strip():
            first = at + len(text) - len(text.lstrip())
            for number in range(self.line_at(first), self.line_at(at + len(text.rstrip()) - 1) + 1):
                self.document.odd.setdefault(number, "not XML")

    def tag(self, inside: str, begin: int, end: int) -> None:
        if inside.startswith("/"):
            self.end_tag(inside[1:].strip(), begin, end)
            return
        found = NAME.match(inside)
        if found is None or len(inside) > MOST_TAG or len(self.stack) >= MOST_DEPTH:
            self.odd(begin, "not a tag, or nested too deeply")
            return
        element = _Element(self.pool(found[0]), self.line_at(begin))
        for name, double, single in ATTRIBUTE.findall(inside, found.end()):
            element.members[f"@{name}"] = Node(element.line, self.line_at(end), text=html.unescape(double or single))
        self.stack.append(element)
        if inside.endswith("/"):
            self.close(end)

    def end_tag(self, name: str, begin: int, end: int) -> None:
        if self.stack and self.stack[-1].tag == name:  # most do
            self.close(end)
            return
        if not any(element.tag == name for element in self.stack):
            self.odd(begin, f"nothing is open that </{name[:40]}> closes")
            return
        while self.stack[-1].tag != name:
            self.odd(begin, f"</{name[:40]}> closes what something else opened")
            self.close(end)
        self.close(end)

    def close(self, at: int) -> None:
        element = self.stack.pop()
        node = element.node(self.line_at(at))
        if self.stack:
            self.stack[-1].add(element.tag, node)
        else:
            self.document.roots.append(Node(element.line, node.end, members={element.tag: node}))


def read_xml(lines: Iterable[Line]) -> Document:
    """Roots are objects with one member, the root element. Total; time grows with the text."""
    texts: list[str] = []
    starts, numbers, at = array("Q"), array("Q"), 0
    for line in lines:
        texts.append(line.text)
        starts.append(at)
        numbers.append(line.number)
        at += len(line.text) + 1
    reader = _Reader("\n".join(texts), starts, numbers)
    del texts
    if numbers:
        reader.run()
    return reader.document


def several(node: Node | None) -> Iterator[Node]:
    """Elements of one tag: none, one, or an array."""
    if node is not None:
        yield from node.items if node.items is not None else (node,)
