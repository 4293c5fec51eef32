"""The books of a parser: every line ends up understood, on the platform's explicit ignore list, or Unparsed with a reason."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from types import TracebackType

from policyhub.domain.device_config import Unparsed
from policyhub.vendorkit.blocks import Block, Line, Lines
from policyhub.vendorkit.lexing import NotUnderstood

SENSITIVE_WORDS = ("permit", "deny", "access", "acl", "policy", "nat", "qos", "dscp", "police", "queue", "trust", "pfc")
# a word counts unless letters stand on both sides of it: "dnat" and "natpool" count, "destination" does not
SENSITIVE = re.compile("|".join(f"(?<![a-z]){w}|{w}(?![a-z])" for w in SENSITIVE_WORDS), re.IGNORECASE)
NOT_UNDERSTOOD = "not understood"
MAX_LINE = 4000  # no device writes a longer line of policy; searching patterns in one costs the square of its length
UNSEEN = frozenset({"Cc", "Cf", "Mn", "Me"})  # Unicode: control, format, marks on and around the letter before
UNDERSTOOD, IGNORED, SPECIAL = 1, 2, 4  # marks of a line; it may bear several
MAX_TEXT = 400  # of an Unparsed line; binary rubbish may hold megabytes without a line break


def is_sensitive(text: str) -> bool:
    """Whether a line may never be ignored, because it may hold a rule or QoS; nothing that is not seen hides a word."""
    if not (text.isascii() and text.isprintable()):
        text = _as_seen(text)
    return SENSITIVE.search(text) is not None


def _as_seen(text: str) -> str:
    """Full-width letters and letters with marks as plain ones; without control characters, zero-width ones and soft hyphens."""
    apart = unicodedata.normalize("NFKD", text.replace("\t", " "))
    return "".join(letter for letter in apart if unicodedata.category(letter) not in UNSEEN)


@dataclass(frozen=True, slots=True)
class IgnoreList:
    """Lines that hold no rule and no QoS. `lines` match one line; `blocks` match a header and take everything below it.

    Neither ever takes a sensitive line, whatever the pattern says; only a row of `special`, which must match the whole line,
    does, and such lines are counted apart.
    """

    lines: re.Pattern[str]
    blocks: re.Pattern[str]
    special: re.Pattern[str]

    @classmethod
    def read(cls, text: str, special: str = "") -> IgnoreList:
        """One regular expression per row, matched at the line's start; `block: ` in front takes the lines below, too."""
        rows = _rows(text)
        blocks = [row.removeprefix("block:").strip() for row in rows if row.startswith("block:")]
        lines = [row for row in rows if not row.startswith("block:")]
        return cls(_any_of(lines), _any_of(blocks), _any_of(_rows(special)))

    @classmethod
    def of(cls, package: str, file: str = "ignored.txt") -> IgnoreList:
        """The data files beside a vendor's modules: the list, and `special.txt` when there is one."""
        special = files(package).joinpath("special.txt")
        more = special.read_text(encoding="utf-8") if special.is_file() else ""
        return cls.read(files(package).joinpath(file).read_text(encoding="utf-8"), more)

    def takes(self, text: str) -> bool:
        return not is_sensitive(text) and (self.lines.match(text) is not None or self.blocks.match(text) is not None)

    def excuses(self, text: str) -> bool:
        """Whether a sensitive line is listed as one that holds no rule and no QoS."""
        return self.special.fullmatch(text) is not None

    def opens(self, text: str) -> bool:
        """Whether everything below this header is ignored as well."""
        return self.blocks.match(text) is not None


def _rows(text: str) -> list[str]:
    rows = [row.strip() for row in text.splitlines()]
    return [row for row in rows if row and not row.startswith("#")]


def _any_of(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{p})" for p in patterns) or r"(?!)", re.IGNORECASE)


@dataclass(slots=True)
class LineLedger:
    """Books for one text. A line may be booked more than once; unparsed wins over understood, understood over ignored."""

    _books: bytearray = field(default_factory=bytearray)  # one byte per line: a set of numbers takes seventy
    _unparsed: dict[int, Unparsed] = field(default_factory=dict)

    def understood(self, *numbers: int) -> None:
        books = self._books
        for number in numbers:
            if number < len(books):
                books[number] |= UNDERSTOOD
            else:
                self._book(number, UNDERSTOOD)

    def _book(self, number: int, mark: int) -> None:
        try:
            self._books[number] |= mark
        except IndexError:
            self._books.extend(bytes(number + 1 - len(self._books)))
            self._books[number] |= mark

    def _marked(self, number: int) -> int:
        return self._books[number] if number < len(self._books) else 0

    def unparsed(self, line: Line, reason: str) -> None:
        """The first reason given for a line stays."""
        self._unparsed.setdefault(line.number, Unparsed(line.number, line.text[:MAX_TEXT], reason))

    def booking(self, line: Line) -> _Booking:
        """What is read inside makes the line understood, or unparsed for the reason that it raises."""
        return _Booking(self, line)

    def ignore(self, line: Line, reason: str = "may hold a rule") -> None:
        """For a line ignored by its place (a certificate); a sensitive one becomes unparsed instead."""
        if is_sensitive(line.text):
            self.unparsed(line, reason)
        else:
            self._book(line.number, IGNORED)

    def excuse(self, number: int) -> None:
        """A sensitive line that a row of `special` takes by something else than its own text (a path)."""
        self._book(number, SPECIAL)

    def is_understood(self, number: int) -> bool:
        return self._marked(number) & UNDERSTOOD != 0

    def is_booked(self, number: int) -> bool:
        return self._marked(number) != 0 or number in self._unparsed

    def without_long(self, lines: Iterable[Line], long_ones: re.Pattern[str] | None = None) -> Sequence[Line]:
        """Lines that may be configuration; the others are booked. long_ones: lines that may be of any length."""
        if isinstance(lines, Lines) and lines.longest <= MAX_LINE:
            return lines
        kept: list[Line] = []
        for line in lines:
            if len(line.text) <= MAX_LINE or (long_ones is not None and long_ones.match(line.text)):
                kept.append(line)
            else:
                self.unparsed(line, "the line is too long to be configuration")
        return kept

    def settle(
        self, blocks: Iterable[Block], ignored: IgnoreList, reason: Callable[[str], str] = lambda _: NOT_UNDERSTOOD
    ) -> None:
        """Book every line of the blocks that nobody has booked: on the ignore list, or unparsed for `reason(text)`."""
        stack = [(block, False) for block in blocks]
        while stack:
            block, inside = stack.pop()
            if self._marked(block.number) & UNDERSTOOD:  # most are, and nothing of what follows is for them
                if block.children:
                    stack.extend((child, inside) for child in block.children)
                continue
            if not self.is_booked(block.number):
                self._settle_one(block.line, ignored, inside, reason)
            if block.children:
                below = inside or ignored.opens(block.text)
                stack.extend((child, below) for child in block.children)

    def settle_at(self, line: Line, place: str, ignored: IgnoreList, reason: str = NOT_UNDERSTOOD) -> None:
        """One line of a platform whose lines get their meaning from where they stand: the lists match `place`, its whole path."""
        if self.is_booked(line.number):
            return
        if not is_sensitive(line.text) and (ignored.lines.match(place) or ignored.blocks.match(place)):
            self._book(line.number, IGNORED)
        elif is_sensitive(line.text) and ignored.excuses(place):
            self._book(line.number, SPECIAL)
        else:
            self.unparsed(line, reason)

    def _settle_one(self, line: Line, ignored: IgnoreList, inside: bool, reason: Callable[[str], str]) -> None:
        if ignored.takes(line.text) or (inside and not is_sensitive(line.text)):
            self._book(line.number, IGNORED)
        elif ignored.excuses(line.text):
            self._book(line.number, SPECIAL)
        else:
            self.unparsed(line, reason(line.text))

    def settle_lines(
        self, lines: Sequence[Line], ignored: IgnoreList, is_comment: Callable[[str], bool] = lambda text: False
    ) -> None:
        """The same for platforms that are not made of indented blocks."""
        for line in self.unbooked(lines):
            if line.text and not is_comment(line.text):
                self._settle_one(line, ignored, False, lambda _: NOT_UNDERSTOOD)

    def unbooked(self, lines: Sequence[Line]) -> Iterator[Line]:
        """Lines that nobody has booked, blank ones too; the others of a text are not even made."""
        if isinstance(lines, Lines):
            yield from (lines.at(number) for number in range(1, len(lines) + 1) if not self.is_booked(number))
        else:
            yield from (line for line in lines if not self.is_booked(line.number))

    @property
    def ignored_lines(self) -> tuple[int, ...]:
        return self._only(IGNORED)

    @property
    def special_lines(self) -> tuple[int, ...]:
        """Sensitive lines excused one by one."""
        return self._only(SPECIAL)

    def _only(self, mark: int) -> tuple[int, ...]:
        marks = enumerate(self._books)
        return tuple(n for n, marked in marks if marked & (mark | UNDERSTOOD) == mark and n not in self._unparsed)

    @property
    def unparsed_lines(self) -> tuple[Unparsed, ...]:
        return tuple(self._unparsed[number] for number in sorted(self._unparsed))


class _Booking:
    __slots__ = ("_ledger", "_line")

    def __init__(self, ledger: LineLedger, line: Line) -> None:
        self._ledger = ledger
        self._line = line

    def __enter__(self) -> None: ...

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        if error is None:
            self._ledger.understood(self._line.number)
        elif isinstance(error, NotUnderstood):
            self._ledger.unparsed(self._line, str(error))
            return True
        return False
