"""The console script `policyhub`: finds commands by entry point and loads only the one that is asked for."""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from policyhub.domain.errors import PolicyHubError, is_full
from policyhub.management.terminal import plain

GROUP = "policyhub.commands"
BAD_INPUT = 2
INTERNAL_ERROR = 70  # EX_SOFTWARE: a defect of ours, not of the input
INTERRUPTED = 130
DEBUG = "POLICYHUB_DEBUG"


class Parser(argparse.ArgumentParser):
    """Says a usage error in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message}. See `{self.prog} --help`.\n")


def commands() -> dict[str, EntryPoint]:
    """Registered commands by name."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def help_line(entry: EntryPoint) -> str:
    """First line of the module's docstring, read without running it; empty when the module is not there."""
    try:
        spec = importlib.util.find_spec(entry.module)
    except ModuleNotFoundError:
        return ""
    if spec is None or spec.origin is None:
        return ""
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def overview(found: dict[str, EntryPoint]) -> str:
    width = max(map(len, found), default=0)
    lines = [f"  {name:<{width}}  {help_line(entry)}" for name, entry in found.items()]
    return "\n".join(["usage: policyhub COMMAND [ARGUMENTS]", "", *lines, "", "`policyhub COMMAND --help` says more.", ""])


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code: 0 nothing found, 1 findings, 2 bad input or usage, 3 partial, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(arguments)
    except BrokenPipeError:
        # The reader (`| head`) has seen enough; without this Python complains again while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except PolicyHubError as error:
        return _fail(str(error), BAD_INPUT)
    except Exception as error:
        code, line = _explain(error)
        return _fail(line, code)


def _dispatch(arguments: list[str]) -> int:
    found = commands()
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(overview(found), end="")
        return 0 if arguments else BAD_INPUT
    if arguments[0] == "--version":
        print(f"policyhub {version('policyhub')}")
        return 0
    entry = found.get(arguments[0])
    if entry is None:
        return _fail(f"policyhub: no command '{arguments[0]}'. `policyhub --help` lists them.", BAD_INPUT)
    module = importlib.import_module(entry.module)
    return run(module, entry.name, arguments[1:])


def run(module: ModuleType, name: str, arguments: Sequence[str]) -> int:
    """Parse and run a command module: `add_arguments(parser)`, `run(args) -> int`, optionally `NEEDS_DJANGO`."""
    parser = Parser(
        prog=f"policyhub {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    if not getattr(module, "NEEDS_DJANGO", False):
        return int(module.run(parser.parse_args(list(arguments))) or 0)
    anywhere = Parser(prog=parser.prog, add_help=False, allow_abbrev=False)  # before or after the verb
    for each in (parser, anywhere):
        each.add_argument("--data", metavar="DIR", help="data folder (default: POLICYHUB_DATA, else ./data)")
    chosen, others = anywhere.parse_known_args(list(arguments))
    args = parser.parse_args(others)
    from policyhub.conf.setup import django_setup

    django_setup(chosen.data)
    return int(module.run(args) or 0)


def _explain(error: Exception) -> tuple[int, str]:
    """Exit code and one line for what no command expected."""
    if is_full(error):
        return BAD_INPUT, f"the disk is full ({str(error).strip().partition(chr(10))[0]}). Free some space, then do it again."
    if isinstance(error, (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)) and error.filename:
        return BAD_INPUT, f"{error.filename}: {error.strerror}. Check the path and its permissions."
    if isinstance(error, OSError) and error.strerror:
        return BAD_INPUT, f"{error.filename or 'system'}: {error.strerror}."
    if type(error).__module__ == "django.db.utils":
        line = str(error).strip().partition("\n")[0]
        return BAD_INPUT, f"database: {line}. Is the service set up (`policyhub up`) and its database reachable?"
    if type(error).__name__ == "ImproperlyConfigured":
        return BAD_INPUT, f"configuration: {error}"
    return INTERNAL_ERROR, f"internal error: {type(error).__name__}: {error}. {DEBUG}=1 shows where."


def _fail(line: str, code: int) -> int:
    if os.environ.get(DEBUG, "0") not in {"", "0"}:
        traceback.print_exc()
    print(plain(" ".join(line.split())), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
