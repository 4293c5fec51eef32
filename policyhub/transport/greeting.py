"""From a fresh terminal to a quiet, privileged prompt, for platforms that are only read: nothing is configured on the way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Protocol

from policyhub.domain.message import gettext_noop
from policyhub.transport.errors import ENABLE_REFUSED, NO_PROMPT, ConnectionLost, NotReady, PrivilegeRefused
from policyhub.transport.lending import Address, Login

PLAIN = "terminal_server"  # netmiko's driver that types nothing by itself; others change settings of the device (console, width)
_PROMPT = re.compile(r"[\w@~<\[][^\r\n]{0,126}[>#$%]\s*$|^[>#$%]\s*$")
_PASSWORD = re.compile(r"(?i)password:?\s*$")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_QUIET_S = 0.25  # a line that looks like a prompt is one when nothing follows it
_POLL_S = 0.01


class Greeting(Protocol):
    """questions: (regex of what is asked after the login, answer). enable: line that asks for privilege, "" = there is none.

    privileged: regex of a prompt that may read everything, "" = every prompt may.
    """

    @property
    def questions(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def enable(self) -> str: ...
    @property
    def privileged(self) -> str: ...


class Settler:
    """Reads a terminal until its prompt stands still."""

    def __init__(
        self, connection: Any, address: Address, clock: Callable[[], float], sleep: Callable[[float], None], limit_s: float
    ) -> None:
        self._connection, self._address, self._clock, self._sleep = connection, address, clock, sleep
        self._until = clock() + limit_s

    def settle(self, greeting: Greeting, login: Login) -> str:
        """The prompt. Raises NotReady, PrivilegeRefused, ConnectionLost."""
        answers = list(greeting.questions)
        prompt = self._wait(answers)
        if greeting.enable and login.enable and not re.search(greeting.privileged, prompt):
            prompt = self._raise(greeting, login)
        self._connection.base_prompt = prompt.rstrip("\r\n >#$%")
        return prompt

    def _raise(self, greeting: Greeting, login: Login) -> str:
        self._connection.write_channel(greeting.enable + self._connection.RETURN)
        said = self._until_seen(lambda text: bool(_PASSWORD.search(text) or _PROMPT.search(_last(text))))
        if not _PASSWORD.search(said):
            return _last(said).strip()
        self._connection.write_channel(login.enable + self._connection.RETURN)
        prompt = _last(self._until_seen(lambda text: bool(_PASSWORD.search(text) or _PROMPT.search(_last(text)))))
        if _PASSWORD.search(prompt) or not re.search(greeting.privileged, prompt):
            raise PrivilegeRefused.of(ENABLE_REFUSED, host=str(self._address))
        return prompt.strip()

    def _wait(self, answers: list[tuple[str, str]]) -> str:
        text, silent_since, nudged = "", self._clock(), False
        while True:
            piece = self._read()
            now = self._clock()
            if piece:
                text, silent_since = _ANSI.sub("", text + piece), now
            asked = next((pair for pair in answers if re.search(pair[0], text)), None)
            if asked:
                answers.remove(asked)
                self._connection.write_channel(asked[1] + self._connection.RETURN)
                text = ""
            elif now - silent_since > _QUIET_S:
                if _PROMPT.search(_last(text)):
                    return _last(text).strip()
                if not nudged and now - silent_since > 1.0:
                    nudged = True
                    self._connection.write_channel(self._connection.RETURN)
            self._give_up(now)

    def _until_seen(self, seen: Callable[[str], bool]) -> str:
        text = ""
        while True:
            piece = self._read()
            text = _ANSI.sub("", text + piece)
            if not piece and text.strip() and seen(text):
                return text
            self._give_up(self._clock())

    def _read(self) -> str:
        piece = str(self._connection.read_channel())
        if not piece:
            self._sleep(_POLL_S)
        return piece

    def _give_up(self, now: float) -> None:
        channel = self._connection.remote_conn
        place = str(self._address)
        if channel.closed or channel.eof_received:
            said = gettext_noop("%(host)s: connection closed before a prompt came")
            raise ConnectionLost.of(said, host=place, command="")
        if now > self._until:
            raise NotReady.of(NO_PROMPT, host=place)


def settle(connection: Any, address: Address, greeting: Greeting, login: Login, *, limit_s: float,
           clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> str:  # fmt: skip
    """Bring a plain connection to its prompt and give it its `base_prompt`."""
    return Settler(connection, address, clock, sleep, limit_s).settle(greeting, login)


def _last(text: str) -> str:
    return text.replace("\r", "\n").rsplit("\n", 1)[-1]
