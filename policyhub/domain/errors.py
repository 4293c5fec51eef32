"""The error tree of policyhub. Every error has a stable code and says what happened, where, and the cure in one line."""

from __future__ import annotations

from typing import Self

from policyhub.domain.message import Message, gettext_noop, spoken


class PolicyHubError(Exception):
    """Root. `code` is stable, `permanent` says that trying again cannot help.

    said: what happened, for readers of any language; message: the same in English. Text of devices, files and other programs is
    a value of it, or the whole of it.
    """

    code = "PH-E000"
    permanent = True

    def __init__(self, message: str | Message, **data: object) -> None:
        super().__init__(str(message))
        self.said = spoken(message)
        self.message = str(message)
        self.data = data

    @classmethod
    def of(cls, template: str, **values: object) -> Self:
        """From a msgid and what fills it, which is the error's data, too."""
        return cls(Message(template, values), **values)

    @property
    def told(self) -> Message:
        """Code and words, as `str` has them."""
        return Message("%(code)s %(what)s", {"code": self.code, "what": self.said})

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


def is_full(error: BaseException | None) -> bool:
    """Whether there was no space to write: in the words of SQLite, PostgreSQL and the system (ENOSPC, EDQUOT)."""
    words = str(error)
    return any(sign in words for sign in ("disk is full", "No space left on device", "Disk quota exceeded"))


class BadInput(PolicyHubError):
    """A file, line or argument from outside cannot be used."""

    code = "PH-E001"

    @classmethod
    def at(cls, file: str, line: int | None, what: str | Message, cure: str | Message) -> Self:
        place = f"{file}:{line}" if line else file
        said = Message(gettext_noop("%(place)s: %(what)s. %(cure)s"), {"place": place, "what": what, "cure": cure})
        return cls(said, file=file, line=line)


class UnknownPlatform(BadInput):
    code = "PH-E002"


class CannotRender(PolicyHubError):
    """A renderer met a field it cannot express; nothing is dropped silently."""

    code = "PH-E010"


class PlanRefused(PolicyHubError):
    """Plan lint found a line that must never leave this program."""

    code = "PH-E011"


class PlanChanged(PolicyHubError):
    """The plan that was read is not the plan that stands there now."""

    code = "PH-E030"


class SelfApproval(PolicyHubError):
    """Requester and approver are one person."""

    code = "PH-E031"


class WrongState(PolicyHubError):
    """The change is in a state from which this is not possible, or somebody else moved it first."""

    code = "PH-E032"


class DeviceBusy(PolicyHubError):
    """Another worker holds the device."""

    code = "PH-E033"
    permanent = False


class LeaseLost(PolicyHubError):
    """A newer lease exists; whoever holds this one must stop."""

    code = "PH-E034"


class Stopped(PolicyHubError):
    """The kill switch is engaged."""

    code = "PH-E035"
    permanent = False


class DeviceClosed(PolicyHubError):
    """The device is quarantined, disabled, without credential, or its platform is read only."""

    code = "PH-E036"
