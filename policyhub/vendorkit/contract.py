"""What a vendor must offer: a frozen dataclass of pure functions, not a base class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from policyhub.domain.change import Commands, GuardSpec, GuardState
from policyhub.domain.counter_series import CounterText
from policyhub.domain.device_config import DeviceConfig, Unparsed
from policyhub.domain.hits import HitSample, RuleUse
from policyhub.domain.message import gettext_noop
from policyhub.domain.mirroring import MirrorDrafts


class Capability(StrEnum):
    RULES = "rules"
    OBJECTS = "objects"
    ZONES = "zones"
    NAT = "nat"
    ROUTES = "routes"
    HIT_COUNTS = "hit-counts"
    TRAFFIC_LOGS = "traffic-logs"
    QOS = "qos"
    LOSSLESS = "lossless"
    QUEUE_COUNTERS = "queue-counters"
    GUARD = "guard"
    MIRROR = "mirror"


class Tier(StrEnum):
    """What a capability was proven against; nobody is told more than that."""

    DOCUMENTATION = gettext_noop("from vendor documentation")
    REAL_OUTPUTS = gettext_noop("read from real outputs")
    SIMULATED = gettext_noop("simulated")
    HARDWARE = gettext_noop("run on hardware")


class Renderer(Protocol):
    """Pure text: configuration in, device lines out. Raises CannotRender for what the platform cannot express."""

    def install(self, spec: GuardSpec, running: str) -> Commands:
        """Everything for an empty guard, attached last. `running` is the device's running configuration."""

    def remove(self, spec: GuardSpec, running: str) -> Commands: ...

    def add_member(self, spec: GuardSpec, member: str, running: str) -> Commands:
        """Exactly one member; empty `lines` when it is there already. `running`: output of `snapshot_command`."""

    def remove_member(self, spec: GuardSpec, member: str, running: str) -> Commands: ...

    def read(self, spec: GuardSpec, outputs: Mapping[str, str]) -> GuardState:
        """State from the outputs of `reads(spec)`, keyed by command. Never raises on odd text: says so in `problems`."""

    def reads(self, spec: GuardSpec) -> tuple[str, ...]: ...

    def owns(self, line: str, spec: GuardSpec) -> bool:
        """Whether a configuration line may be sent for this guard; plan lint refuses all others."""


@dataclass(frozen=True, slots=True)
class PushProfile:
    """How to talk to the platform; data only.

    device_type: netmiko's name. error_regex: anchored, multi-line, case-insensitive; checked on every answer and the transcript.
    snapshot_command: prints the running configuration (nft: `nft -s list ruleset`). read_timeout_s: per command;
    slow: (regex, seconds) for slow lines. setup: lines once after login (paging off, no monitor).
    shell: lines are shell commands run outside a configuration mode and answer `rc=<n>`.
    enter/leave: lines that open and close the configuration mode, "" when there is none.
    counter_commands: operational commands whose outputs `Vendor.counters` understands.
    commit: line that activates a candidate, "" when immediate. revert_timer: device-native timer primitive, "" when none.
    watchdog: shell text with {ttl_s}, {token} and {inverse} that arms a device-side revert of our own objects only, "" when none;
    disarm: its counterpart with {token}. reads_allowed: regular expressions (whole line) of commands that may be sent to read.
    """

    device_type: str
    error_regex: str
    snapshot_command: str
    setup: tuple[str, ...] = ()
    shell: bool = False
    enter: str = ""
    leave: str = ""
    commit: str = ""
    read_timeout_s: float = 30.0
    slow: tuple[tuple[str, float], ...] = ()
    revert_timer: str = ""
    watchdog: str = ""
    disarm: str = ""
    max_lines: int = 20
    reads_allowed: tuple[str, ...] = field(default=())
    counter_commands: tuple[str, ...] = ()
    greeting: None = None  # netmiko's driver finds the prompt of platforms that are pushed to


@dataclass(frozen=True, slots=True)
class Vendor:
    """parse(text) -> DeviceConfig. counters(text, read_at) -> HitSample or None when the text holds none.

    looks_like(text): 0.0 .. 1.0 by content, never by file name. render/push None: the platform is read only.
    capabilities: what it can do, and what that was proven against; absent means it cannot.
    rule_uses(text): traffic or session log lines that carry rule ids, as RuleUse rows, a second source beside the counters.
    unread_hits(text): lines of a hit output or a traffic log that are meant to count a rule and could not be read, with a reason
    that is a msgid.
    series(text, read_at): counters of queues and ports, and the lines with figures that are none of them or not understood.
    mirror: lines of mirror sessions, as proposals only.
    """

    name: str
    label: str
    parse: Callable[[str], DeviceConfig]
    counters: Callable[[str, datetime | None], HitSample | None]
    looks_like: Callable[[str], float]
    capabilities: Mapping[Capability, Tier]
    render: Renderer | None = None
    push: PushProfile | None = None
    rule_uses: Callable[[str], tuple[RuleUse, ...]] | None = None
    unread_hits: Callable[[str], tuple[Unparsed, ...]] | None = None
    series: Callable[[str, datetime | None], CounterText] | None = None
    mirror: MirrorDrafts | None = None
