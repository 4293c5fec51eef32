"""The console script: loads what is asked for, says errors in one line, keeps the exit codes of the contract."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from policyhub.conf import cli
from policyhub.domain.errors import BadInput
from tests.platform.running import clean_environment


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "policyhub.conf.cli", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=180, env=clean_environment(**environment))


def one_line(text: str) -> bool:
    return text.count("\n") == 1 and text.endswith("\n") and "Traceback" not in text


@pytest.mark.parametrize("name", sorted(cli.commands()))
def test_every_registered_command_can_be_loaded_and_has_help(name: str) -> None:
    entry = cli.commands()[name]
    assert len(cli.help_line(entry)) > 15
    module = entry.load()
    assert callable(module.add_arguments)
    assert callable(module.run)


def test_the_overview_lists_every_command_with_its_help() -> None:
    done = run("--help")
    assert done.returncode == 0
    for name, entry in cli.commands().items():
        assert any(line.split()[:1] == [name] and cli.help_line(entry) in line for line in done.stdout.splitlines())


@pytest.mark.parametrize("command", ["check", "flows", "sensor"])
def test_a_command_for_files_and_packets_loads_no_django(command: str) -> None:
    code = (
        "import contextlib, sys; from policyhub.conf import cli\n"
        f"with contextlib.suppress(SystemExit): cli.main(['{command}', '--help'])\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'django', 'celery', 'netmiko', 'redis'}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=180, env=clean_environment())
    assert done.stderr.strip() == "[]"


def test_no_command_is_a_usage_error_and_shows_the_overview() -> None:
    done = run()
    assert done.returncode == 2
    assert "usage: policyhub COMMAND" in done.stdout


@pytest.mark.parametrize(
    "arguments", [("no-such-command",), ("check",), ("check", "--no-such-option", "x"), ("up", "--port", "many")]
)
def test_a_usage_error_is_one_line_and_exit_code_2(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert one_line(done.stderr)


@pytest.mark.parametrize("verb_first", [True, False])
def test_a_command_that_needs_data_says_where_there_is_none(tmp_path: Path, verb_first: bool) -> None:
    place = ("--data", str(tmp_path / "empty"))
    done = run("audit", "verify", *place) if verb_first else run("audit", *place, "verify")
    assert done.returncode == 2
    assert one_line(done.stderr)
    assert str(tmp_path / "empty") in done.stderr and "policyhub up" in done.stderr
    assert not (tmp_path / "empty").exists()


def command(run_it: object) -> ModuleType:
    module = ModuleType("made_here", "Made here.")
    module.add_arguments = lambda parser: None  # type: ignore[attr-defined]
    module.run = run_it  # type: ignore[attr-defined]
    return module


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = command(lambda args: 0)
    monkeypatch.setitem(sys.modules, "made_here", module)
    monkeypatch.setattr(cli, "commands", lambda: {"made": EntryPoint("made", "made_here", cli.GROUP)})
    return module


def raising(error: BaseException) -> object:
    def run_it(_args: object) -> int:
        raise error

    return run_it


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_the_exit_code_is_the_commands_own(made: ModuleType, code: int) -> None:
    made.run = lambda args: code  # type: ignore[attr-defined]
    assert cli.main(["made"]) == code


def test_an_error_of_ours_is_one_line_with_its_code(made: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    made.run = raising(BadInput.at("rules.cfg", 7, "no\nsuch thing", "Write another"))  # type: ignore[attr-defined]
    assert cli.main(["made"]) == 2
    assert capsys.readouterr().err == "PH-E001 rules.cfg:7: no such thing. Write another\n"


def test_a_defect_of_ours_is_told_apart_from_bad_input(made: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    made.run = raising(ZeroDivisionError("division by zero"))  # type: ignore[attr-defined]
    assert cli.main(["made"]) == cli.INTERNAL_ERROR
    said = capsys.readouterr().err
    assert one_line(said) and "ZeroDivisionError" in said and "POLICYHUB_DEBUG" in said


def test_the_traceback_is_shown_only_when_asked_for(
    made: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made.run = raising(ZeroDivisionError("division by zero"))  # type: ignore[attr-defined]
    monkeypatch.setenv(cli.DEBUG, "1")
    cli.main(["made"])
    assert "Traceback" in capsys.readouterr().err


def test_a_missing_file_is_named(made: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    made.run = lambda args: len(Path("/no/such/file").read_text())  # type: ignore[attr-defined]
    assert cli.main(["made"]) == 2
    assert capsys.readouterr().err.startswith("/no/such/file: No such file")


def test_an_interrupt_ends_without_a_traceback(made: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    made.run = raising(KeyboardInterrupt())  # type: ignore[attr-defined]
    assert cli.main(["made"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_command_whose_module_is_missing_does_not_break_the_overview(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = {"gone": EntryPoint("gone", "policyhub.no_such_room.cli", cli.GROUP)}
    assert "gone" in cli.overview(gone)


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m policyhub.conf.cli --help | true; echo ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", capture_output=True, text=True, timeout=180, env=clean_environment(),
    )  # fmt: skip
    assert done.stdout.strip() == "0"
    assert done.stderr == ""
