"""One device looked at from outside to inside, step by step; no database, so that many can be looked at beside each other.

The login is tried once. What fails says its cure; what stands behind it was not tried and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from policyhub import transport
from policyhub.actions.collect import release_in
from policyhub.actions.sessions import READING_WALL_S
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.message import Message, gettext_noop
from policyhub.transport import Address, Login, PublicKey, Way
from policyhub.transport.errors import (
    NO_PROMPT,
    AuthenticationFailed,
    HostKeyChanged,
    HostKeyUnknown,
    LineRejected,
    NotReady,
    OnlyOldAlgorithms,
    PrivilegeRefused,
    TransportError,
    Unreachable,
)
from policyhub.vendorkit.collecting import Greeting, ReadProfile, profiles

OK, FAILED, NOT_TRIED = "ok", "failed", "not-tried"
REACHABLE, HOST_KEY, LOGIN, PRIVILEGE, PLATFORM, VERSION = "reachable", "host-key", "login", "privilege", "platform", "version"
STEPS = (REACHABLE, HOST_KEY, LOGIN, PRIVILEGE, PLATFORM, VERSION)
DETECT = "detect"
# Asked when nobody knows the platform; harmless everywhere, and each answered by some with an error.
_QUESTIONS = (
    (r"(?i)to accept", "a"),
    (r"(?i)change now\? ?\[y/n\]:?", "n"),
    (r"(?i)press y or enter to continue[^\n]*$", ""),
)
DETECTING = ReadProfile(
    platform=DETECT,
    configuration="",
    version_command="",
    platform_regex="",
    release_regex="",
    error_regex=r"(?!)",
    greeting=Greeting(_QUESTIONS),
    read_timeout_s=20.0,
)
CURES: dict[type[TransportError], str] = {
    OnlyOldAlgorithms: gettext_noop("update the device, or give it the SSH profile 'old' if its network is trusted"),
    Unreachable: gettext_noop("check address, port, routing and the access list of its management port"),
    HostKeyUnknown: gettext_noop("compare the fingerprint on the device, then trust it: policyhub device trust"),
    HostKeyChanged: gettext_noop("find out whether the device was replaced; then trust its new key: policyhub device trust"),
    PrivilegeRefused: gettext_noop("enter the right enable secret (policyhub device credential), then release the device"),
    AuthenticationFailed: gettext_noop(
        "enter the right password (policyhub device credential), then release the device: policyhub device release"
    ),
    NotReady: gettext_noop(
        "set the right platform, or have it found again: policyhub device preflight NAME --detect;"
        " see what a login by hand prints"
    ),
}
NO_PRIVILEGE = gettext_noop("give the credential an enable secret, or the account the privilege to read everything")
NOT_THIS = gettext_noop("set its platform to what it is, or have it found again: policyhub device preflight NAME --detect")
NOT_ALLOWED = gettext_noop(
    "allow the command for the read account (policyhub device account %(platform)s), unless this model does not have it"
)
FIRST_LINES = 200


@dataclass(frozen=True, slots=True)
class Target:
    """Everything a look needs, lent for it. platform: an id, or "detect"."""

    name: str
    address: Address
    login: Login
    trusted: tuple[PublicKey, ...]
    way: Way
    profile: ReadProfile | None


@dataclass(frozen=True, slots=True)
class Step:
    """state: ok, failed (with its cure) or not-tried."""

    name: str
    state: str
    said: Message = field(default_factory=lambda: Message(""))
    cure: Message = field(default_factory=lambda: Message(""))


@dataclass
class Look:
    """What was seen. offered: a key nobody trusts yet. error: what ended it early. texts: answers by command."""

    steps: list[Step] = field(default_factory=list)
    profile: ReadProfile | None = None
    version: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    offered: PublicKey | None = None
    error: TransportError | None = None

    def ok(self, name: str, template: str = "", **values: object) -> None:
        self.steps.append(Step(name, OK, Message(template, values)))

    def failed(self, name: str, said: Message, cure: Message) -> None:
        self.steps.append(Step(name, FAILED, said, cure))

    def rest(self, profile: ReadProfile | None) -> None:
        """Everything behind the last step was not tried."""
        seen = {step.name for step in self.steps}
        commands = profile.commands if profile else ()
        self.steps += [Step(name, NOT_TRIED) for name in (*STEPS, *commands) if name not in seen]
        order = {name: at for at, name in enumerate((*STEPS, *commands))}
        self.steps.sort(key=lambda step: order.get(step.name, len(order)))

    @property
    def can_read(self) -> bool:
        needed = {REACHABLE, HOST_KEY, LOGIN, PLATFORM, *(self.profile.needed if self.profile else ())}
        return self.profile is not None and all(step.state == OK for step in self.steps if step.name in needed)

    @property
    def is_whole(self) -> bool:
        return self.profile is not None and all(step.state == OK for step in self.steps)


def examine(target: Target, *, cancelled: Callable[[], bool] = lambda: False, timeout_s: float = 20.0) -> Look:
    """Never raises what a device or a network can cause. cancelled: asked between the commands."""
    look = Look(profile=target.profile)
    try:
        if _may_log_in(target, look, timeout_s):
            _inside(target, look, cancelled, timeout_s)
    except TransportError as error:
        look.error = error
        _place(look, error)
    look.rest(look.profile)
    return look


def _may_log_in(target: Target, look: Look, timeout_s: float) -> bool:
    """A key nobody trusts is looked at without a login; with a trusted one the login itself shows it."""
    if target.trusted:
        return True
    look.offered = transport.fetch(target.address.host, target.address.port, way=target.way, timeout_s=min(10.0, timeout_s))
    look.ok(REACHABLE)
    said = Message(
        gettext_noop("offers %(fingerprint)s, which nobody has trusted yet"), {"fingerprint": look.offered.fingerprint}
    )
    look.failed(HOST_KEY, said, Message(CURES[HostKeyUnknown]))
    return False


def _inside(target: Target, look: Look, cancelled: Callable[[], bool], timeout_s: float) -> None:
    profile = target.profile
    with _session(target, profile or DETECTING, timeout_s) as session:
        look.ok(REACHABLE)
        look.ok(HOST_KEY)
        look.ok(LOGIN, gettext_noop("as %(user)s"), user=target.login.username)
        if profile is None:
            profile = look.profile = _detect(session, look)
        if profile is None or cancelled():
            return
        if target.profile is not None:
            _read(session, profile, look, cancelled)
            return
    # A session knows the errors and the privilege of one platform, so what was detected is read in one of its own.
    with _session(target, profile, timeout_s) as session:
        _read(session, profile, look, cancelled)


def _session(target: Target, profile: ReadProfile, timeout_s: float) -> transport.DeviceSession:
    return transport.DeviceSession.open(
        target.address, target.login, profile, target.trusted, way=target.way, timeout_s=timeout_s, wall_s=READING_WALL_S
    )


def _read(session: transport.DeviceSession, profile: ReadProfile, look: Look, cancelled: Callable[[], bool]) -> None:
    answer = session.ask(profile.version_command)
    _privilege(session, profile, look)
    _platform(answer, profile, look)
    look.texts[profile.version_command] = answer
    for command in profile.commands:
        if cancelled():
            return
        try:
            text = answer if command == profile.version_command else session.read(command)
            if command == profile.version_command and re.search(profile.error_regex, text[:2000]):
                raise LineRejected(text.strip()[:200], command=command, text=text)
        except LineRejected as error:
            said = Message(
                "%(words)s", {"words": " / ".join(str(error.data.get("text", error.message)).split("\n"))[:200].strip()}
            )
            look.failed(command, said, Message(NOT_ALLOWED, {"platform": profile.platform}))
            continue
        look.texts[command] = text
        if command == profile.configuration and not text.strip():
            look.failed(
                command, Message(gettext_noop("it printed nothing")), Message(NOT_ALLOWED, {"platform": profile.platform})
            )
        else:
            look.ok(command, gettext_noop("%(lines)s lines"), lines=len(text.splitlines()))


def _privilege(session: transport.DeviceSession, profile: ReadProfile, look: Look) -> None:
    wanted = profile.greeting.privileged if profile.greeting else ""
    if wanted and session.prompt and not re.search(wanted, session.prompt):
        said = Message(gettext_noop("the prompt is %(prompt)s"), {"prompt": session.prompt[:60]})
        look.failed(PRIVILEGE, said, Message(NO_PRIVILEGE))
    else:
        look.ok(PRIVILEGE)


def _platform(answer: str, profile: ReadProfile, look: Look) -> None:
    """By what it says of itself, never by what the inventory says."""
    if re.search(profile.platform_regex, answer, re.M):
        look.ok(PLATFORM, "%(words)s", words=profile.platform)
    else:
        other = next((row.platform for row in profiles() if re.search(row.platform_regex, answer, re.M)), "")
        said = (
            Message(gettext_noop("it says it is %(platform)s"), {"platform": other})
            if other
            else Message("%(words)s", {"words": _first(answer)})
        )
        look.failed(PLATFORM, said, Message(NOT_THIS))
    look.version = release_in(profile, answer)
    if look.version:
        look.ok(VERSION, "%(words)s", words=look.version)
    else:
        said = Message(gettext_noop("no version in the answer to %(command)s"), {"command": profile.version_command})
        look.failed(VERSION, said, Message(NOT_ALLOWED, {"platform": profile.platform}))


def _detect(session: transport.DeviceSession, look: Look) -> ReadProfile | None:
    """Ask what the platforms ask for their version; the first answer that one recognises decides."""
    asked: dict[str, str] = {}
    for command in _questions(profiles()):
        asked[command] = session.ask(command)
        for profile in profiles():
            if profile.version_command == command and re.search(profile.platform_regex, asked[command], re.M):
                return profile
    said = Message(gettext_noop("none of %(n)s questions was answered as any platform does"), {"n": len(asked)})
    look.ok(PRIVILEGE)
    look.failed(PLATFORM, said, Message(CURES[NotReady]))
    return None


def _questions(rows: Sequence[ReadProfile]) -> Iterator[str]:
    """Each version command once, those of most platforms first."""
    commands = [row.version_command for row in rows]
    yield from sorted(set(commands), key=lambda command: (-commands.count(command), command))


def _place(look: Look, error: TransportError) -> None:
    """At which step an error of the way belongs; the steps before it were passed."""
    at = _step_of(error, len(look.steps))
    passed = {step.name for step in look.steps}
    for name in STEPS[: STEPS.index(at)] if at in STEPS else ():
        if name not in passed:
            look.ok(name)
    if at in passed:
        at = next((command for command in (look.profile.commands if look.profile else ()) if command not in passed), at)
    if at in passed:
        look.steps = [step for step in look.steps if step.name != at]
    look.failed(at, replace(error.said), _cure(error))


def _cure(error: TransportError) -> Message:
    """With our commands in it; "" where the error's own sentence knows better: of a bastion, or of privilege."""
    special = {"bastion", "jump"} & error.data.keys() or (isinstance(error, NotReady) and error.said.template != NO_PROMPT)
    if special and error.said.has_cure:
        return Message("")
    return Message(next((CURES[kind] for kind in type(error).__mro__ if kind in CURES), CURES[Unreachable]))


def _step_of(error: TransportError, done: int) -> str:
    kinds: tuple[tuple[type[PolicyHubError], str], ...] = (
        (PrivilegeRefused, PRIVILEGE), (AuthenticationFailed, LOGIN), (HostKeyChanged, HOST_KEY), (HostKeyUnknown, HOST_KEY),
        (NotReady, PLATFORM),
    )  # fmt: skip
    if error.data.get("bastion"):
        return REACHABLE
    found = next((name for kind, name in kinds if isinstance(error, kind)), "")
    return found or (REACHABLE if not done else STEPS[min(done, len(STEPS) - 1)])


def _first(answer: str) -> str:
    return next((line.strip()[:FIRST_LINES] for line in answer.splitlines() if line.strip()), "")
