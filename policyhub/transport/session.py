"""The only speaker to devices: types lines, waits for the prompt, keeps the transcript. It parses nothing and decides nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self

import paramiko
from netmiko.exceptions import NetmikoBaseException

from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.redaction import redact
from policyhub.transport.errors import ConnectionLost, LineRejected, NotReady, TimedOut, TransportError
from policyhub.transport.greeting import Greeting
from policyhub.transport.lending import STRAIGHT, WALL_LIMIT_S, Address, Login, PublicKey, Way
from policyhub.transport.login import connect, drop

HEARTBEAT_S = 5.0
_IDLE_S = 0.4  # a prompt in the middle of the text counts once nothing followed it for this long (a log line came after it)
_POLL_S = 0.01
_QUESTION = re.compile(r"(?i)(?:\[(?:y|yes|confirm)[^\]\r\n]{0,20}\]|\(y(?:es)?/n(?:o)?\)|\bcontinue\s*\?)[^\r\n]{0,20}$")
_MORE = re.compile(
    r"(?i)(?:-+ ?\(?more(?: \d+%)?\)? ?-+|<-+ ?more ?-+>|lines \d+-\d+(?:/\d+)?(?: \(END\))?)(?: \(.{0,20}\))?[ \t]*$"
)
_WIPED = re.compile(r"\x08+[ \x08]*|\r {2,}\r")  # how a pager takes its question back
_SAY_RC = "printf '\\nrc=%s\\n' $?"  # on a line of its own, also after an answer without a line end
_RC = re.compile(r"\nrc=(\d{1,3})\n\Z")
_SHORT_ANSWER = 4  # lines; a read that answers so briefly is checked for an error, a configuration is not


class Manner(Protocol):
    """What this room needs of a push profile (policyhub.vendorkit.contract.PushProfile fits)."""

    @property
    def device_type(self) -> str: ...
    @property
    def error_regex(self) -> str: ...
    @property
    def setup(self) -> tuple[str, ...]: ...
    @property
    def shell(self) -> bool: ...
    @property
    def enter(self) -> str: ...
    @property
    def leave(self) -> str: ...
    @property
    def commit(self) -> str: ...
    @property
    def read_timeout_s(self) -> float: ...
    @property
    def slow(self) -> tuple[tuple[str, float], ...]: ...
    @property
    def greeting(self) -> Greeting | None: ...


class DeviceSession:
    """One login. Use as a context manager: it is closed on every way out.

    sent: lines of `push` that left this program so far. heartbeat: called every few seconds while an answer is awaited; may raise
    to give up. Times come from `clock` (monotonic seconds) and `sleep`.
    """

    def __init__(self, connection: Any, address: Address, login: Login, manner: Manner, clock: Callable[[], float],
                 sleep: Callable[[float], None], wall_s: float) -> None:  # fmt: skip
        self.sent = 0
        self.heartbeat: Callable[[], None] = lambda: None
        self._connection, self._address, self._login, self._manner = connection, address, login, manner
        self._clock, self._sleep = clock, sleep
        self._deadline = clock() + wall_s
        self._beaten_at = clock()
        self._errors = re.compile(manner.error_regex, re.I | re.M)
        self._transcript: list[str] = []
        self._healthy = True
        self._configuring = False
        self._seen_prompt = ""
        self._shell: Any = None
        name = re.escape(str(connection.base_prompt).strip())
        self._prompt = re.compile(rf"(?m)^[<\[]?[~*]?{name}[^\r\n]{{0,64}}[>#\]$]\s*$")

    @classmethod
    def open(
        cls,
        address: Address,
        login: Login,
        manner: Manner,
        trusted: Sequence[PublicKey],
        *,
        way: Way = STRAIGHT,
        timeout_s: float = 20.0,
        wall_s: float = WALL_LIMIT_S,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Self:
        """Log in once and run the platform's set-up lines. Raises TransportError; nothing stays open then."""
        connection = connect(manner.device_type, address, login, trusted, timeout_s=timeout_s, way=way, greeting=manner.greeting)
        session = cls(connection, address, login, manner, clock, sleep, wall_s)
        try:
            for line in manner.setup:
                session.ask(line)
        except BaseException:
            session.close()
            raise
        return session

    @property
    def prompt(self) -> str:
        """The prompt as last seen, "" before the first line."""
        return self._seen_prompt

    @property
    def transcript(self) -> str:
        """Everything typed and answered, secrets masked."""
        return redact("\n".join(self._transcript), self._login.secrets)

    def read(self, command: str) -> str:
        """The answer to one operational command, without echo and prompt. Raises LineRejected when it is an error."""
        self._leave_configuration()
        answer = self.ask(command)
        if len(answer.splitlines()) <= _SHORT_ANSWER and self._errors.search(answer):
            raise self._rejected(command, answer)
        return answer

    def push(self, lines: Sequence[str], *, before_line: Callable[[int, str], None] = lambda number, line: None) -> None:
        """Type configuration lines one by one; stops at the first that is not answered with a clean prompt.

        before_line(number, line) runs before each line leaves and may raise to stop. A candidate is committed at the end.
        """
        start = len(self._transcript)
        self._enter_configuration()
        for number, line in enumerate(lines):
            before_line(number, line)
            self._send(line)
        if self._manner.commit:
            before_line(len(lines), self._manner.commit)
            self._send(self._manner.commit)
        self._leave_configuration()
        whole = "\n".join(self._transcript[start:])
        late = None if self._manner.shell else self._errors.search(_without_typed(whole))
        if late:
            raise self._rejected("(transcript)", late[0])

    def run(self, line: str) -> str:
        """One line outside of any plan (arm or disarm a watchdog), checked like a pushed one."""
        self._leave_configuration()
        return self._checked(line, self.ask(line))

    def ask(self, line: str, *, timeout_s: float | None = None) -> str:
        """Type one line and return what came before the next prompt. Raises TimedOut, ConnectionLost."""
        limit = min(self._deadline, self._clock() + (timeout_s or self._patience(line)))
        self._transcript.append(f"> {line}")
        try:
            answer = self._run_in_shell(line, limit) if self._manner.shell else self._type(line, limit)
        except TransportError:
            self._healthy = False
            raise
        except (OSError, EOFError, paramiko.SSHException, NetmikoBaseException) as error:
            self._healthy = False
            said = gettext_noop("%(host)s: connection lost after %(command)r")
            raise ConnectionLost.of(said, host=str(self._address), command=line) from error
        self._transcript.append(answer)
        return answer

    def close(self) -> None:
        """Never raises. A session that broke is cut off; the device then drops what it had not committed."""
        with suppress(Exception):
            if self._healthy:
                self._leave_configuration()
        drop(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _send(self, line: str) -> None:
        self.sent += 1  # before the bytes leave: a line that may have left counts as sent
        self._checked(line, self.ask(line))

    def _checked(self, line: str, answer: str) -> str:
        if self._errors.search(answer):
            raise self._rejected(line, answer)
        return answer

    def _rejected(self, command: str, answer: str) -> LineRejected:
        text = redact(answer.strip(), self._login.secrets)
        said = " / ".join(part.strip() for part in text.splitlines() if part.strip())[:300]
        refused = gettext_noop("%(host)s: %(command)r was refused: %(said)s")
        place = str(self._address)
        told = Message(refused, {"host": place, "command": command, "said": said})
        return LineRejected(told, host=place, command=command, text=text)

    def _patience(self, line: str) -> float:
        return next((seconds for pattern, seconds in self._manner.slow if re.search(pattern, line)), self._manner.read_timeout_s)

    def _enter_configuration(self) -> None:
        """By its own two lines and not by netmiko's methods: those wait for silence, seconds per step on some drivers."""
        if self._configuring or not self._manner.enter:
            return
        if not self._seen_prompt:
            self.ask("")
        before = self._seen_prompt
        answer = self.ask(self._manner.enter)
        if self._errors.search(answer) or self._seen_prompt == before:
            place = str(self._address)
            said = gettext_noop("%(host)s: no configuration mode. Check the privilege of %(user)s; nothing was sent")
            raise NotReady.of(said, host=place, user=self._login.username)
        self._configuring = True

    def _leave_configuration(self) -> None:
        if self._configuring:
            self._configuring = False
            self.ask(self._manner.leave)

    def _type(self, line: str, limit: float) -> str:
        self._connection.write_channel(line + self._connection.RETURN)
        text, quiet_since = "", self._clock()
        while True:
            piece = self._connection.read_channel()
            now = self._clock()
            if piece:
                text, quiet_since = _WIPED.sub("", text + piece), now
                if (more := _MORE.search(text)) is not None:
                    text = text[: more.start()]
                    self._connection.write_channel(" ")
                    continue
                if self._prompted(text[text.rfind("\n") + 1 :]):
                    return _body(text, line, self._prompt)
                continue
            if now - quiet_since > _IDLE_S:
                if self._prompted(text):
                    return _body(text, line, self._prompt)
                if _QUESTION.search(text):
                    self._healthy = False
                    raise self._rejected(line, text + "\n(the device asks; nobody answers)")
            self._give_up_when_due(line, now, limit)
            self._sleep(_POLL_S)

    def _prompted(self, text: str) -> bool:
        found = self._prompt.search(text)
        if found:
            self._seen_prompt = found[0].strip()
        return found is not None

    def _run_in_shell(self, line: str, limit: float) -> str:
        """In one shell without a terminal: no echo, no wrapping, and the return code in a line of its own."""
        if self._shell is None:
            self._shell = self._connection.remote_conn_pre.get_transport().open_session(timeout=max(0.1, limit - self._clock()))
            self._shell.exec_command("exec /bin/sh 2>&1")
        self._shell.sendall(f"{{\n{line}\n}} </dev/null\n{_SAY_RC}\n".encode())
        data = b""
        while (code := _RC.search(answer := data.decode(errors="replace"))) is None:
            if self._shell.recv_ready():
                data += self._shell.recv(65536)
                continue
            if self._shell.closed or self._shell.eof_received:
                raise ConnectionLost.of(
                    gettext_noop("%(host)s: the shell ended in %(command)r"), host=str(self._address), command=line
                )
            self._give_up_when_due(line, self._clock(), limit)
            self._sleep(_POLL_S)
        return answer[: code.start()] if code[1] == "0" else answer

    def _give_up_when_due(self, line: str, now: float, limit: float) -> None:
        if self._is_lost():
            said = gettext_noop("%(host)s: connection closed after %(command)r")
            raise ConnectionLost.of(said, host=str(self._address), command=line)
        if now - self._beaten_at > HEARTBEAT_S:
            self._beaten_at = now
            self.heartbeat()
        if now > limit:
            said = gettext_noop("%(host)s: no prompt after %(command)r")
            if limit >= self._deadline:
                said = gettext_noop("%(host)s: no prompt after %(command)r (time limit of the whole push)")
            raise TimedOut.of(said, host=str(self._address), command=line)

    def _is_lost(self) -> bool:
        transport = self._connection.remote_conn_pre.get_transport()
        channel = self._connection.remote_conn
        return transport is None or not transport.is_active() or channel.closed or channel.eof_received


def _body(text: str, line: str, prompt: re.Pattern[str]) -> str:
    """Without the echo of the line, and without the prompt; a log line that followed the prompt stays."""
    lines = text.replace("\r", "").split("\n")
    if lines and lines[0].strip() == line.strip():
        lines = lines[1:]
    return "\n".join(part for part in lines if not prompt.match(part)).strip("\n")


def _without_typed(transcript: str) -> str:
    return "\n".join(line for line in transcript.splitlines() if not line.startswith("> "))
