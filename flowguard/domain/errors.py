"""The error tree of flowguard; a branch of policyhub's so that one handler at each edge serves both."""

from policyhub.domain.errors import PolicyHubError


class FlowGuardError(PolicyHubError):
    code = "FG-E000"


class BadBatch(FlowGuardError):
    """A sensor batch that cannot be stored."""

    code = "FG-E001"


class BatchConflict(FlowGuardError):
    """One (sensor, stream, sequence) with two contents."""

    code = "FG-E003"


class BatchTooLarge(FlowGuardError):
    """A batch over the limit, on the wire or unpacked."""

    code = "FG-E004"
