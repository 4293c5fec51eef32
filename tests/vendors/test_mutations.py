"""Damaged configurations of every platform: a model plus Unparsed, never an exception, a hang or a burst of memory.

The golden configurations are mutated as files get damaged in the field: lines lost, repeated or out of order, text cut off in the
middle, bytes flipped, words swapped. A sample runs with every test run; `make soak` runs fifty times as many.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from policyhub.domain.device_config import DeviceConfig
from policyhub.vendorkit.ledger import is_sensitive
from policyhub.vendorkit.registry import REGISTRY

HERE = Path(__file__).parent
PLATFORMS = sorted(name for name in REGISTRY.names() if list((HERE / name).glob("*/config.txt")))
FEW, MANY = 200, 10_000
CPU_S_PER_MB = 1.0
LEAST_CPU_S = 1.0  # a file of some kB must not cost a second of processor time
Mutation = Callable[[random.Random, bytes], bytes]


def lose_lines(rng: random.Random, body: bytes) -> bytes:
    lines = body.split(b"\n")
    for _ in range(rng.randrange(1, 6)):
        del lines[rng.randrange(len(lines)) : rng.randrange(len(lines)) + 1]
        lines = lines or [b""]
    return b"\n".join(lines)


def cut(rng: random.Random, body: bytes) -> bytes:
    return body[: rng.randrange(len(body) + 1)]


def flip_bytes(rng: random.Random, body: bytes) -> bytes:
    flipped = bytearray(body)
    for _ in range(rng.randrange(1, 20)):
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def reorder(rng: random.Random, body: bytes) -> bytes:
    lines = body.split(b"\n")
    for _ in range(rng.randrange(1, 6)):
        a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def repeat(rng: random.Random, body: bytes) -> bytes:
    lines = body.split(b"\n")
    start = rng.randrange(len(lines))
    return b"\n".join([*lines, *lines[start : start + rng.randrange(1, 30)]])


def swap_words(rng: random.Random, body: bytes) -> bytes:
    words = body.split(b" ")
    for _ in range(rng.randrange(1, 8)):
        a, b = rng.randrange(len(words)), rng.randrange(len(words))
        words[a], words[b] = words[b], words[a]
    return b" ".join(words)


def odd_numbers(rng: random.Random, body: bytes) -> bytes:
    return body.replace(b"0", rng.choice(["99999", "²", "-1", "x", ""]).encode(), rng.randrange(1, 9))


MUTATIONS: tuple[Mutation, ...] = (lose_lines, cut, flip_bytes, reorder, repeat, swap_words, odd_numbers)


def bodies(platform: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((HERE / platform).glob("*/*.txt")) if path.stat().st_size]


@contextmanager
def cpu_limit(seconds: float, what: str) -> Iterator[None]:
    """Processor time, not the clock on the wall: a loaded machine is no hang."""

    def stop(*_: object) -> None:
        raise AssertionError(f"{what}: more than {seconds:.1f} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def check(platform: str, body: bytes) -> DeviceConfig:
    vendor = REGISTRY.get(platform)
    text = body.decode("utf-8", errors="replace")
    with cpu_limit(max(LEAST_CPU_S, CPU_S_PER_MB * len(body) / 2**20), f"{platform}: {body[:60]!r}"):
        config = vendor.parse(text)
        vendor.counters(text, None)
    lines = text.removeprefix("\ufeff").split("\n")
    assert config.lines in (len(lines), len(lines) - 1)
    assert not [n for n in config.ignored if is_sensitive(lines[n - 1])]
    assert not set(config.ignored) & {u.line for u in config.unparsed}
    assert all(1 <= u.line <= len(lines) for u in config.unparsed)
    return config


def mutate(platform: str, count: int) -> None:
    rng = random.Random(platform)
    sources = bodies(platform)
    for number in range(count):
        body = rng.choice(sources)
        for mutation in rng.sample(MUTATIONS, rng.randrange(1, 3)):
            body = mutation(rng, body) or b"\n"
        try:
            check(platform, body)
        except Exception as error:
            raise AssertionError(f"{platform} mutation {number}:\n{body.decode('utf-8', errors='replace')}") from error


@pytest.mark.parametrize("platform", PLATFORMS)
def test_damaged_files_give_a_model_and_never_an_exception(platform: str) -> None:
    mutate(platform, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("platform", PLATFORMS)
def test_ten_thousand_damaged_files(platform: str) -> None:
    mutate(platform, MANY)
