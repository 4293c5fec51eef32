"""The error tree of policyhub. Every error has a stable code and says what happened, where, and the cure in one line."""


class PolicyHubError(Exception):
    """Root. `code` is stable, `permanent` says that trying again cannot help."""

    code = "PH-E000"
    permanent = True

    def __init__(self, message: str, **data: object) -> None:
        super().__init__(message)
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


class BadInput(PolicyHubError):
    """A file, line or argument from outside cannot be used."""

    code = "PH-E001"

    @classmethod
    def at(cls, file: str, line: int | None, what: str, cure: str) -> "BadInput":
        place = f"{file}:{line}" if line else file
        return cls(f"{place}: {what}. {cure}", file=file, line=line)


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
