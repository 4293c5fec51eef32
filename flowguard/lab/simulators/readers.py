"""Devices that are only read: a table of answers, a pager, and the words with which each platform refuses."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from flowguard.lab.simulators.shell import Device, Session

ANSWERS: dict[str, dict[str, Any]] = json.loads(resources.files(__package__).joinpath("readers.json").read_text("utf-8"))
PAGE = 24


@dataclass
class ReadOnlyDevice(Device):
    """platform: a key of readers.json. text: the running configuration. paging: until the session switches it off."""

    platform: str = ""
    text: str = ""
    refused: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.text = self.text or self.table["configuration"]

    @property
    def table(self) -> dict[str, Any]:
        return ANSWERS[self.platform]

    def running(self) -> str:
        return self.text.replace("{host}", self.hostname)

    def load(self, text: str) -> None:
        self.text = text

    def session(self) -> ReadSession:
        return ReadSession(self)

    def refusal(self) -> str:
        return str(self.table["refusal"])


class ReadSession(Session):
    """Modes: user (before `enable`, where the platform has it) and exec."""

    device: ReadOnlyDevice

    def __init__(self, device: ReadOnlyDevice) -> None:
        super().__init__(device, "user" if device.enable_secret and device.table.get("enable") else "exec")
        self.paging, self._rest = True, []  # type: ignore[var-annotated]

    @property
    def prompt(self) -> str:
        form = self.device.table["prompt_user" if self.mode == "user" else "prompt"]
        return str(form).replace("{host}", self.device.hostname)

    def carry_out(self, line: str) -> str:
        table = self.device.table
        if line in ("exit", "quit"):
            self.closed = True
            return ""
        if self.mode == "user" and line == table.get("enable"):
            return self._ask_secret()
        if re.fullmatch(table["setup"], line):
            self.paging = self.paging and not re.fullmatch(table["unpaged"], line)
            return str(table.get("setup_answer", ""))
        if (self.mode == "user" and line != "show version") or line in self.device.refused:
            return self.device.refusal()
        if line == table["show"]:
            return self._paged(self.device.running())
        answer = table["answers"].get(line)
        return self.device.refusal() if answer is None else self._paged(str(answer).replace("{host}", self.device.hostname))

    def _ask_secret(self) -> str:
        def secret(given: str) -> str:
            self.mode = "exec" if given == self.device.enable_secret else "user"
            return "" if self.mode == "exec" else "Invalid password\n"

        self.answer_to, self.hidden = secret, True
        return "Password: "

    def _paged(self, text: str) -> str:
        """A page and the pager's question; any line (a blank and what follows it) brings the next one."""
        lines = text.rstrip("\n").split("\n")
        if not self.paging or len(lines) <= PAGE:
            return "\n".join(lines)
        rest = "\n".join(lines[PAGE:])
        self.answer_to = lambda _: self._paged(rest)
        return "\n".join([*lines[:PAGE], "<--- More --->"])
