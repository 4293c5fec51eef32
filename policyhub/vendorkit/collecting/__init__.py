"""Which commands read a platform, as data: one file per platform beside this one, asked for by name.

Keys of a file, all optional but the first three:
configuration: the command that prints the running configuration. version: {command, platform: regex by which its answer is
recognised, release: regex with one group}. errors: regex of refusals. setup: lines once after login. questions: [[regex, answer]]
of what is asked after a login. enable, privileged: how privilege is asked for, and the prompt that has it.
counters, queues: commands whose outputs hold rule hits and queue counters. slow: [[regex, seconds]]. driver: netmiko's name where
its plain one does not do. shell: lines are shell commands. changed: regex of the syslog message of a changed configuration.
push: regexes of what a push account must be allowed besides. names: what inventories call the platform.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from policyhub.domain.errors import UnknownPlatform
from policyhub.domain.message import gettext_noop

PLAIN = "terminal_server"


@dataclass(frozen=True, slots=True)
class Greeting:
    """From a login to a privileged prompt; as policyhub.transport.greeting wants it."""

    questions: tuple[tuple[str, str], ...] = ()
    enable: str = ""
    privileged: str = ""


@dataclass(frozen=True, slots=True)
class ReadProfile:
    """How to read a platform; data only. A manner for policyhub.transport, without configuration mode."""

    platform: str
    configuration: str
    version_command: str
    platform_regex: str
    release_regex: str
    error_regex: str
    device_type: str = PLAIN
    setup: tuple[str, ...] = ()
    greeting: Greeting | None = None
    counters: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    slow: tuple[tuple[str, float], ...] = ()
    shell: bool = False
    changed: str = ""
    push: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    read_timeout_s: float = 60.0
    enter: str = ""
    leave: str = ""
    commit: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        """Everything that is asked, in order, each once."""
        return tuple(dict.fromkeys((self.version_command, self.configuration, *self.counters, *self.queues)))

    @property
    def needed(self) -> tuple[str, ...]:
        """Those without which nothing is collected; counters exist on some models only."""
        return (self.configuration,)


ERRORS = (
    r"(?im)^\s*(?:%\s*(?![A-Z0-9_]+-\d-)(?:invalid|incomplete|ambiguous|unknown|unrecognized|error|access denied|authorization"
    r"|command authorization|permission|bad)\b|error\s*[:.]|\^\s*$|command authorization failed|permission denied"
    r"|unknown command|syntax error|invalid (?:command|input|syntax)|command fail)"
)


def read_profile(platform: str) -> ReadProfile:
    """Raises UnknownPlatform when nobody wrote down how to read it."""
    found = _all().get(platform)
    if found is None:
        said = gettext_noop("platform %(name)r cannot be read over SSH. It can: %(known)s")
        raise UnknownPlatform.of(said, name=platform, known=", ".join(sorted(_all())))
    return found


def profiles() -> tuple[ReadProfile, ...]:
    """By platform."""
    return tuple(_all().values())


def platform_named(text: str) -> str:
    """The platform that an inventory calls so (Ansible's network OS, NetBox's platform slug), "" when nobody does."""
    wanted = text.strip().lower()
    short = wanted.rsplit(".", 1)[-1]  # cisco.ios.ios, ansible.netcommon...
    for name in (wanted, short):
        for profile in _all().values():
            if name == profile.platform or name in profile.names:
                return profile.platform
    return ""


@cache
def _all() -> dict[str, ReadProfile]:
    files = sorted(
        (entry for entry in resources.files(__package__).iterdir() if entry.name.endswith(".json")), key=lambda entry: entry.name
    )
    return {name: _profile(name, json.loads(entry.read_text("utf-8"))) for entry in files for name in [entry.name[:-5]]}


def _profile(platform: str, data: dict[str, Any]) -> ReadProfile:
    driver, version = data.get("driver", PLAIN), data["version"]
    greeting = Greeting(
        tuple((asked, answer) for asked, answer in data.get("questions", ())), data.get("enable", ""), data.get("privileged", "")
    )
    return ReadProfile(
        platform=platform,
        configuration=data["configuration"],
        version_command=version["command"],
        platform_regex=version["platform"],
        release_regex=version["release"],
        error_regex=data.get("errors", ERRORS),
        device_type=driver,
        setup=tuple(data.get("setup", ())),
        greeting=greeting if driver == PLAIN else None,
        counters=tuple(data.get("counters", ())),
        queues=tuple(data.get("queues", ())),
        slow=tuple((pattern, float(seconds)) for pattern, seconds in data.get("slow", ())),
        shell=data.get("shell", False),
        changed=data.get("changed", ""),
        push=tuple(data.get("push", ())),
        names=tuple(data.get("names", ())),
    )
