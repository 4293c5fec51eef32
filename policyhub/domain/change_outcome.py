"""What a fresh reading of the device says about a change: applied, not applied, or something in between."""

from __future__ import annotations

import re
from dataclasses import dataclass

from policyhub.domain.change import ChangeKind, GuardSpec, GuardState, PushOutcome
from policyhub.domain.message import Message, gettext_noop

_HEAD = re.compile(r"^guard: (not installed|installed, intact|installed, not as rendered); lines naming it: (\d+)$")

INTACT = gettext_noop("the guard is installed, exactly as rendered")
CHANGED = gettext_noop("the guard is installed, but not as rendered")
ABSENT = gettext_noop("the guard is not installed")


@dataclass(frozen=True, slots=True)
class GuardPicture:
    """A guard as read, comparable and storable as text.

    mentions: lines of the running configuration that name the guard; leftovers of a half-done push show here first.
    """

    installed: bool
    intact: bool
    members: frozenset[str]
    mentions: int

    @classmethod
    def of(cls, state: GuardState, spec: GuardSpec, running: str) -> GuardPicture:
        return cls(state.installed, state.intact, state.members, mentions(spec, running))

    @classmethod
    def of_text(cls, text: str) -> GuardPicture:
        """Inverse of `text`. Raises ValueError on anything else."""
        first, *rest = text.splitlines() or [""]
        head = _HEAD.match(first)
        if head is None or any(not line.startswith("member ") for line in rest):
            raise ValueError("not the picture of a guard")
        members = frozenset(line.removeprefix("member ") for line in rest)
        return cls(head[1] != "not installed", head[1] == "installed, intact", members, int(head[2]))

    @property
    def text(self) -> str:
        how = ("installed, intact" if self.intact else "installed, not as rendered") if self.installed else "not installed"
        return "\n".join([f"guard: {how}; lines naming it: {self.mentions}", *(f"member {m}" for m in sorted(self.members))])

    @property
    def words(self) -> tuple[Message, ...]:
        """`text` for people, line by line."""
        how = (INTACT if self.intact else CHANGED) if self.installed else ABSENT
        members = (Message(gettext_noop("member %(member)s"), {"member": member}) for member in sorted(self.members))
        return (
            Message(how),
            Message(gettext_noop("lines of the device that name it: %(count)d"), {"count": self.mentions}),
            *members,
        )


def mentions(spec: GuardSpec, running: str) -> int:
    """Lines that name the guard in any spelling its platforms use (PHG-X, phg_x)."""
    spelled = "[-_]".join(re.escape(part) for part in spec.name.split("-"))
    name = re.compile(rf"(?i)(?<![\w-]){spelled}(?![A-Z0-9])")
    return sum(1 for line in running.splitlines() if name.search(line))


def judge_push(kind: ChangeKind, member: str | None, before: GuardPicture, now: GuardPicture) -> PushOutcome:
    """APPLIED, NOT_APPLIED or PARTIAL. UNKNOWN is for whoever cannot read the device."""
    if _is_as_planned(kind, member, before, now):
        return PushOutcome.APPLIED
    return PushOutcome.NOT_APPLIED if now == before else PushOutcome.PARTIAL


def is_taken_back(kind: ChangeKind, member: str | None, before: GuardPicture, now: GuardPicture) -> bool:
    """Whether nothing of the change is left. Other members may have come or gone since: they are other changes."""
    match kind:
        case ChangeKind.GUARD_INSTALL:
            return not now.installed and now.mentions <= before.mentions
        case ChangeKind.GUARD_REMOVE:
            return now.installed == before.installed and now.intact == before.intact and now.members >= before.members
        case ChangeKind.MEMBER_ADD:
            return member not in now.members and now.installed == before.installed
        case ChangeKind.MEMBER_REMOVE:
            return member in now.members


def _is_as_planned(kind: ChangeKind, member: str | None, before: GuardPicture, now: GuardPicture) -> bool:
    wanted = {member} if member else set()
    match kind:
        case ChangeKind.GUARD_INSTALL:
            return now.installed and now.intact and now.members == before.members
        case ChangeKind.GUARD_REMOVE:
            return not now.installed
        case ChangeKind.MEMBER_ADD:
            return now.installed and now.intact and now.members == before.members | wanted
        case ChangeKind.MEMBER_REMOVE:
            return now.installed == before.installed and now.members == before.members - wanted
