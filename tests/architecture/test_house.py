"""The rules of the house that a linter does not know."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.services import ROOT

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 50
TEXT = {
    ".py",
    ".pyi",
    ".rs",
    ".toml",
    ".md",
    ".html",
    ".css",
    ".js",
    ".yml",
    ".yaml",
    ".txt",
    ".lock",
    ".cfg",
    ".conf",
    ".nft",
    ".svg",
    "",
}
# Written so that this file does not hold what it looks for.
FORBIDDEN_WORDS = re.compile(
    r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK|NotImplemented" + r"Error)\b|pytest\.(?:mark\.)?sk" + r"ip"
)
MACHINE_PLACES = re.compile(r"/wo" + r"rk/(?:main|shared)|/ho" + r"me/\w+/|/Us" + r"ers/\w+/|/ro" + r"ot/\.")
INDEX_HOSTS = re.compile(
    r"pyp"
    + r"i\.org|files\.pythonho"
    + r"sted|crat"
    + r"es\.io|registry\.npm"
    + r"js|--(?:extra-)?index-"
    + r"url|--find-"
    + r"links",
    re.I,
)
# Says where packages come from, as its format demands; no host of a mirror.
INDEX_ALLOWED = {"native_capture/Cargo.lock", "native_capture/fuzz/Cargo.lock"}


@cache
def tracked() -> list[Path]:
    """Files that git knows or would add."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / line for line in done.stdout.splitlines() if (ROOT / line).is_file()]


def source(*suffixes: str) -> Iterator[tuple[str, str]]:
    """(path below the root, text) of the project's own files."""
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in (suffixes or TEXT) and "static/vendor/" not in name and not is_test_data(name):
            yield name, text_of(path)


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@cache
def outline(text: str) -> tuple[bool, list[tuple[str, int, int]], int]:
    """Of Python: has it a docstring; its functions (name, line, lines); its classes."""
    tree = ast.parse(text)
    functions: list[tuple[str, int, int]] = []
    nodes: list[ast.AST] = [tree]
    classes = 0
    while nodes:  # only where definitions can stand: expressions are most of a tree
        for node in ast.iter_child_nodes(nodes.pop()):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append((node.name, node.lineno, (node.end_lineno or 0) - node.lineno + 1))
            classes += isinstance(node, ast.ClassDef)
            if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                nodes.append(node)
    return bool(ast.get_docstring(tree)), functions, classes


def is_test_data(name: str) -> bool:
    """Golden files of vendors hold what devices print."""
    return name.startswith("tests/vendors/") and not name.endswith(".py")


def is_data(text: str) -> bool:
    """A file of nothing but data: no functions, no classes."""
    _, functions, classes = outline(text)
    return not functions and not classes


def test_git_knows_the_source() -> None:
    names = {name for name, _ in source(".py")}
    assert {"policyhub/conf/cli.py", "flowguard/apps.py", "tests/architecture/test_house.py"} <= names


def test_no_file_is_longer_than_the_hard_stop() -> None:
    def counts(name: str, text: str) -> bool:
        return "/migrations/" not in name and not (name.endswith(".py") and is_data(text))

    long = {name: text.count("\n") for name, text in source(".py", ".rs", ".js") if counts(name, text)}
    assert {name: lines for name, lines in long.items() if lines > MAX_FILE_LINES} == {}


def test_no_function_is_longer_than_the_hard_stop() -> None:
    long = {
        f"{name}:{line} {function}": lines
        for name, text in source(".py")
        for function, line, lines in outline(text)[1]
        if lines > MAX_FUNCTION_LINES
    }
    assert long == {}


def test_nothing_is_left_for_later_and_nothing_passes_without_running() -> None:
    found = [f"{name}: {line.strip()}" for name, text in source() for line in text.splitlines() if FORBIDDEN_WORDS.search(line)]
    assert found == []


def test_no_place_of_a_developers_machine_is_named() -> None:
    found = [
        f"{name}: {line.strip()[:120]}" for name, text in source() for line in text.splitlines() if MACHINE_PLACES.search(line)
    ]
    assert found == []


def test_no_package_index_is_named() -> None:
    found = [
        f"{name}: {line.strip()[:120]}"
        for name, text in source()
        if name not in INDEX_ALLOWED
        for line in text.splitlines()
        if INDEX_HOSTS.search(line)
    ]
    assert found == []


def test_nothing_of_the_shared_corpus_is_committed() -> None:
    large = {path.relative_to(ROOT).as_posix(): path.stat().st_size for path in tracked() if path.stat().st_size > 2_000_000}
    assert large == {}
    captures = [
        path.name for path in tracked() if path.suffix in {".pcap", ".pcapng", ".pcap.gz"} and path.stat().st_size > 200_000
    ]
    assert captures == []


def test_every_module_says_what_it_is_for() -> None:
    silent = []
    for name, text in source(".py"):
        if "/migrations/" not in name and text.strip() and not outline(text)[0]:
            silent.append(name)
    assert silent == []


def test_every_migration_is_made() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run", "--settings", "policyhub.conf.settings.test"],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_import_contracts_hold() -> None:
    done = subprocess.run([Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:]


def test_an_import_across_a_wall_would_be_noticed(tmp_path: Path) -> None:
    """The contracts are read from pyproject and can fail: the same tool refuses a policyhub that imports flowguard."""
    (tmp_path / "policyhub" / "domain").mkdir(parents=True)
    (tmp_path / "flowguard").mkdir()
    for package in ("policyhub", "policyhub/domain", "flowguard"):
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "policyhub" / "domain" / "rules.py").write_text("import flowguard\n")
    contract = '[tool.importlinter]\nroot_packages = ["policyhub", "flowguard"]\n[[tool.importlinter.contracts]]\n'
    contract += 'name = "one way"\ntype = "forbidden"\nsource_modules = ["policyhub"]\nforbidden_modules = ["flowguard"]\n'
    (tmp_path / "pyproject.toml").write_text(contract)
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"], cwd=tmp_path, capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-test.lock", "docker/requirements.lock"])
def test_a_lock_pins_every_package_with_hashes(lock: str) -> None:
    text = (ROOT / lock).read_text()
    pins = re.findall(r"^(\S+?)==(\S+) \\$", text, re.M)
    assert len(pins) > 40
    assert len(re.findall(r"^(\S+?)==", text, re.M)) == len(pins)
    blocks = re.split(r"^(?=\S+==)", text, flags=re.M)[1:]
    assert all("--hash=sha256:" in block for block in blocks)


def test_the_locks_hold_what_the_project_asks_for() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(row for rows in project["optional-dependencies"].values() for row in rows)]
    names = {re.split(r"[\[<>=~! ]", row)[0].lower() for row in wanted} - {"native-capture", "policyhub"}
    locked = {name.lower() for name in re.findall(r"^(\S+?)==", (ROOT / "requirements-test.lock").read_text(), re.M)}
    assert names - locked == set()


def test_the_smaller_locks_are_parts_of_the_tested_one() -> None:
    def pins(lock: str) -> set[str]:
        return set(re.findall(r"^(\S+?==\S+)", (ROOT / lock).read_text(), re.M))

    assert pins("requirements.lock") <= pins("requirements-test.lock")
    assert pins("docker/requirements.lock") <= pins("requirements.lock")


@pytest.mark.parametrize("lock", ["requirements.lock", "docker/requirements.lock"])
def test_a_lock_holds_what_every_distribution_in_it_needs(lock: str) -> None:
    """Run time imports what an extra brings (kombu's Redis transport needs `packaging`), so extras that we ask for count."""
    locked = {name.lower() for name in re.findall(r"^(\S+?)==", (ROOT / lock).read_text(), re.M)}
    extras = {"celery": {"redis"}, "kombu": {"redis"}, "psycopg": {"binary"}}
    missing = set()
    for name in locked & {dist.name.lower() for dist in metadata.distributions()}:
        for requirement in map(Requirement, metadata.requires(name) or []):
            wanted = any(
                not requirement.marker or requirement.marker.evaluate({"extra": x}) for x in extras.get(name, set()) | {""}
            )
            if wanted and requirement.name.lower().replace("_", "-") not in locked:
                missing.add(f"{name} needs {requirement}")
    assert missing == set()


def test_the_hooks_before_a_commit_are_the_lines_of_make_lint() -> None:
    import yaml

    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    makefile = (ROOT / "Makefile").read_text().replace("$(BIN)", ".venv/bin")
    for word in ("ruff format --check", "ruff check", "mypy", "lint-imports", "makemigrations --check", "cargo fmt", "clippy"):
        assert any(word in hook["entry"] for hook in hooks), word
        assert word in makefile, word


def test_commands_in_the_readme_exist() -> None:
    from policyhub.conf import cli

    readme = (ROOT / "README.md").read_text()
    named = set(re.findall(r"^(?:\.venv/bin/)?policyhub (\w+)", readme, re.M))
    assert named and named <= set(cli.commands())
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"^make ([a-z-]+)", readme, re.M)) <= targets


def test_the_scan_itself_finds_what_it_looks_for() -> None:
    samples = json.loads('["# TO\\u0044O later", "# FIXM\\u0045", "raise NotImplementedErro\\u0072", "pytest.ski\\u0070()"]')
    assert all(FORBIDDEN_WORDS.search(sample) for sample in samples)
    assert MACHINE_PLACES.search("/wo" + "rk/main/x")
    assert INDEX_HOSTS.search("https://pyp" + "i.org/simple")
