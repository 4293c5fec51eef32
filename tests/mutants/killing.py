"""The pytest plugin: one run that learns which test runs which line, then a fork for each mutant."""

from __future__ import annotations

import functools
import gc
import os
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.decisions import Mutant

OWN = ("policyhub", "flowguard")
MEMORY = 4 << 30
KILLED, LIVES, BROKEN = 3, 0, 5
Place = tuple[str, str, int]  # file, qualified name, first line of a function


class Killing:
    """After the session `killed`, `lives` and `broken` hold the mutants; `failing` tests that fail without any mutation."""

    def __init__(self, mutants: list[Mutant], *, jobs: int, budget_s: float, lived: Callable[[Mutant, bool], None]) -> None:
        self.mutants, self.jobs, self.budget_s, self.lived = mutants, jobs, budget_s, lived
        self.lines: dict[str, set[int]] = {str(m.path): set() for m in mutants}  # of the test that runs now
        self.covering: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
        self.cost_s: dict[pytest.Item, float] = {}
        self.failing: list[str] = []
        self.killed: list[Mutant] = []
        self.lives: list[Mutant] = []
        self.broken: list[Mutant] = []
        self.loaded = Loaded()

    def pytest_configure(self) -> None:
        """The same examples in every fork and every run."""
        import hypothesis  # not before pytest has prepared its plugins

        hypothesis.settings.register_profile("mutants", derandomize=True, database=None, deadline=None)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for item in session.items:
            self._learn(item)
        waiting = list(reversed(self.mutants))
        running: dict[int, Mutant] = {}
        while waiting or running:
            while waiting and len(running) < self.jobs:
                mutant = waiting.pop()
                running[self._fork(mutant, self._tests(mutant))] = mutant
            pid, status = os.wait()
            mutant = running.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            {LIVES: self.lives, BROKEN: self.broken}.get(code, self.killed).append(mutant)
            if code == LIVES:
                self.lived(mutant, bool(self._tests(mutant)))
        return True

    def _learn(self, item: pytest.Item) -> None:
        for lines in self.lines.values():
            lines.clear()
        self.loaded.forget()
        started = time.process_time()
        sys.settrace(self._trace)
        try:
            failed = fails(item)
        finally:
            sys.settrace(None)
        self.cost_s[item] = time.process_time() - started
        if failed:
            self.failing.append(item.nodeid)
            return
        for path, lines in self.lines.items():
            for line in lines:
                self.covering[path, line].append(item)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        lines = self.lines.get(frame.f_code.co_filename)
        if lines is None:
            return None
        lines.add(frame.f_lineno)

        def inside(frame: FrameType, event: str, argument: Any) -> Any:
            lines.add(frame.f_lineno)
            return inside

        return inside

    def _tests(self, mutant: Mutant) -> list[pytest.Item]:
        """Those that run the decision, cheap ones first, as many as the budget holds."""
        found = {item: None for line in mutant.lines for item in self.covering[str(mutant.path), line]}
        chosen, spent = [], 0.0
        for item in sorted(found, key=self.cost_s.__getitem__):
            spent += self.cost_s[item]
            if chosen and spent > self.budget_s:
                break
            chosen.append(item)
        return chosen

    def _fork(self, mutant: Mutant, tests: list[pytest.Item]) -> int:
        if pid := os.fork():
            return pid
        code = BROKEN
        try:
            limit = int(self.budget_s) + 5  # without the tracing that the budget was measured with, far more than is needed
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))  # a loop without end dies of SIGXCPU: killed
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.alarm(30 * limit)
            change(mutant, self.loaded.functions)
            self.loaded.forget()
            code = KILLED if any(fails(item) for item in tests) else LIVES
        finally:
            os._exit(code)


def fails(item: pytest.Item) -> bool:
    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


class Loaded:
    """Our functions and caches that live in this process, looked for again whenever a module was loaded."""

    def __init__(self) -> None:
        self.functions: dict[Place, list[FunctionType]] = {}
        self.caches: list[Any] = []
        self._modules = 0

    def look(self) -> None:
        if len(sys.modules) == self._modules:
            return
        self._modules = len(sys.modules)
        self.functions, self.caches = defaultdict(list), []
        for thing in gc.get_objects():
            if type(thing) is FunctionType:
                self.functions[place(thing.__code__)].append(thing)
            elif type(thing) is functools._lru_cache_wrapper and (thing.__module__ or "").startswith(OWN):
                self.caches.append(thing)

    def forget(self) -> None:
        """Empty the caches: what an earlier test has computed must be computed by this one."""
        self.look()
        for cache in self.caches:
            cache.cache_clear()


def change(mutant: Mutant, functions: Mapping[Place, list[FunctionType]]) -> None:
    """Also the functions that the owner has made before: a table of checks is made once, when its module is loaded."""
    mutant.apply()
    module = compile(mutant.tree, str(mutant.path), "exec")
    (owner,) = [code for code in _codes(module) if (code.co_qualname, code.co_firstlineno) == (mutant.owner, mutant.owner_line)]
    made = list(_codes(owner))
    alike = Counter(map(place, made))  # lambdas of one line cannot be told apart
    for code in (owner, *(code for code in made if alike[place(code)] == 1)):
        for function in functions.get(place(code), []):
            function.__code__ = code


def place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterable[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
