"""One worker's hold on one device for one change: sessions, readings, the watchdog."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime

from policyhub import transport
from policyhub.actions import kill_switch, leases
from policyhub.actions.changes_record import spec_of
from policyhub.actions.sessions import open_session, profile_of
from policyhub.domain.change import ChangeKind, Commands, GuardSpec, GuardState
from policyhub.domain.change_outcome import GuardPicture
from policyhub.domain.errors import DeviceClosed, PolicyHubError
from policyhub.domain.message import gettext_noop
from policyhub.domain.plan_lint import Limits
from policyhub.models import Change, Credential, Device
from policyhub.transport import WALL_LIMIT_S
from policyhub.vendorkit.contract import PushProfile, Renderer
from policyhub.vendorkit.registry import REGISTRY

Clock = Callable[[], datetime]
LEASE_S = 45.0  # a crashed worker's device is free again after this; longer than a login takes, renewed while waiting


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the device. foreign_sha256: digest of everything that is not ours."""

    picture: GuardPicture
    foreign_sha256: str
    running: str
    state: GuardState


def renderer_of(device: Device) -> Renderer:
    """Raises DeviceClosed where this version only reads the platform."""
    renderer = REGISTRY.get(device.platform).render
    if renderer is None:
        said = gettext_noop("%(device)s: %(platform)s is read only in this version; no change can be planned")
        raise DeviceClosed.of(said, device=device.name, platform=device.platform)
    return renderer


def limits_of(profile: PushProfile) -> Limits:
    return Limits(profile.max_lines, profile.snapshot_command, profile.reads_allowed)


def render(renderer: Renderer, kind: ChangeKind, spec: GuardSpec, member: str | None, running: str) -> Commands:
    """Raises CannotRender. member: needed for the member kinds."""
    match kind:
        case ChangeKind.GUARD_INSTALL:
            return renderer.install(spec, running)
        case ChangeKind.GUARD_REMOVE:
            return renderer.remove(spec, running)
        case ChangeKind.MEMBER_ADD:
            return renderer.add_member(spec, member or "", running)
        case ChangeKind.MEMBER_REMOVE:
            return renderer.remove_member(spec, member or "", running)


OPPOSITE = {
    ChangeKind.GUARD_INSTALL: ChangeKind.GUARD_REMOVE,
    ChangeKind.GUARD_REMOVE: ChangeKind.GUARD_INSTALL,
    ChangeKind.MEMBER_ADD: ChangeKind.MEMBER_REMOVE,
    ChangeKind.MEMBER_REMOVE: ChangeKind.MEMBER_ADD,
}


def observe(session: transport.DeviceSession, renderer: Renderer, profile: PushProfile, spec: GuardSpec) -> Reading:
    """Read the running configuration and the guard's counters. An error for an answer is none: raises LineRejected."""
    running = session.read(profile.snapshot_command)
    outputs = {command: session.ask(command) for command in renderer.reads(spec) if command != profile.snapshot_command}
    state = renderer.read(spec, {**outputs, profile.snapshot_command: running})
    return Reading(GuardPicture.of(state, spec, running), state.foreign_sha256, running, state)


class Work:
    """Everything a handler needs. `may_push` is set by the one transition after which lines may leave, in this process only."""

    def __init__(self, change: Change, lease: leases.Lease, clock: Clock) -> None:
        self.change, self.lease, self.clock = change, lease, clock
        self.kind, self.spec, self.member = spec_of(change)
        self.device = change.device
        self.renderer, self.profile = renderer_of(self.device), profile_of(self.device)
        self.session: transport.DeviceSession | None = None
        self.may_push = False
        self._stack = ExitStack()

    def fresh(self) -> transport.DeviceSession:
        """A new login; the old session, if any, is closed first. Raises what sessions.open_session raises, and LeaseLost."""
        self.close()
        self.keep()
        wall_s = min(WALL_LIMIT_S, self.change.ttl_s)  # no line leaves after the watchdog's time
        opening = open_session(self.device, Credential.Purpose.PUSH, now=self.clock(), wall_s=wall_s)
        self.session = self._stack.enter_context(opening)
        self.session.heartbeat = self.keep
        return self.session

    def read_fresh(self) -> Reading:
        return observe(self.fresh(), self.renderer, self.profile, self.spec)

    def keep(self) -> None:
        leases.renew(self.lease, ttl_s=LEASE_S, now=self.clock())

    @property
    def takes_back(self) -> bool:
        """A member's removal ends what we did; like an inverse, it is never stopped."""
        return self.kind is ChangeKind.MEMBER_REMOVE

    def check_kill_switch(self) -> None:
        """Raises Stopped."""
        if not self.takes_back:
            kill_switch.check(self.device.group.name)

    def before_line(self, number: int, line: str) -> None:
        """Asked before every line of a forward push leaves. Raises Stopped, LeaseLost."""
        self.check_kill_switch()
        self.keep()

    def before_inverse(self, number: int, line: str) -> None:
        """The kill switch stops pushes, not taking back: a device is never left half-way. Raises LeaseLost."""
        self.keep()

    def close(self) -> None:
        self.session = None
        self._stack.close()

    def arm(self, token: str) -> None:
        """Start the device's own revert of our own objects. Platforms without one rely on our inverse."""
        if self.profile.watchdog and self.session is not None:
            text = self.profile.watchdog.replace("{ttl_s}", str(self.change.ttl_s)).replace("{token}", token)
            self.session.run(text.replace("{inverse}", "; ".join(line.strip() for line in self.change.inverse)))

    def disarm(self) -> str:
        """Stop it, in the open session. Returns what went wrong, "" when nothing did."""
        token = armed_token(self.change)
        if not self.profile.disarm or not token or self.session is None:
            return ""
        try:
            self.session.run(self.profile.disarm.replace("{token}", token))
        except PolicyHubError as error:
            return str(error)
        return ""

    @property
    def settle_s(self) -> float:
        """A line that got no answer may still be carried out; two readings this far apart have to agree."""
        return self.profile.read_timeout_s


def armed_token(change: Change) -> str:
    """The token of the watchdog that was started last, "" when none was."""
    for row in change.events.filter(state=Change.State.ARMED).order_by("-pk"):
        if "token" in row.data:
            return str(row.data["token"])
    return ""
