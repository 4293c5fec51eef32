"""Damaged configurations of every platform: a model plus Unparsed, never an exception, a hang or a burst of memory.

The golden configurations are mutated as files get damaged in the field: lines lost, repeated or out of order, text cut off in the
middle, bytes flipped, words swapped. A sample runs with every test run; `make soak` runs fifty times as many.

Files of some kB cannot show what grows faster than the text, so others are put together from several cases before they are
damaged in the ways that multiply: lines repeated many times, numbers as large as they get, names that become each other.
"""

from __future__ import annotations

import gc
import random
import re
import signal
import time
import tracemalloc
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
SMALL, LARGER = 25_000, 60_000  # bytes put together before the damage
MANY_GROWN = 200
MOST_GROWN = 120_000
GROWN_LEAST_S = 0.2
MEMORY_OF_TEXT = 20
MEMORY_LEAST = 2**18  # of a text of any size: tables that grow by doubling, names of services
NUMBER, WORD = re.compile(rb"\d+"), re.compile(rb"[A-Za-z][\w.-]{2,40}")
HUGE = b"65535 1-65535 0-4294967295 999999999999 4294967295 255 0.0.0.0 255.255.255.255 0.255.10.255 255.0.245.0 ::".split()
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


def multiply(rng: random.Random, body: bytes) -> bytes:
    lines = body.split(b"\n")
    at = rng.randrange(len(lines))
    return b"\n".join([*lines[:at], *(lines[at : at + rng.randrange(1, 20)] * rng.randrange(2, 60)), *lines[at:]])


def enlarge(rng: random.Random, body: bytes) -> bytes:
    return NUMBER.sub(lambda found: rng.choice(HUGE) if rng.random() < 0.05 else found[0], body)


def confuse(rng: random.Random, body: bytes) -> bytes:
    """Words become others everywhere: groups hold themselves and each other, one name is many things."""
    words = WORD.findall(body)
    for _ in range(rng.randrange(1, 12) if words else 0):
        body = body.replace(rng.choice(words), rng.choice(words))[:MOST_GROWN]
    return body


MUTATIONS: tuple[Mutation, ...] = (lose_lines, cut, flip_bytes, reorder, repeat, swap_words, odd_numbers)
GROWING: tuple[Mutation, ...] = (*MUTATIONS, *(multiply, enlarge, confuse) * 3)


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


def seconds(parse: Callable[[str], DeviceConfig], text: str) -> float:
    began = time.process_time()
    parse(text)
    return time.process_time() - began


def memory(parse: Callable[[str], DeviceConfig], text: str) -> int:
    """Most bytes at a time."""
    gc.collect()
    tracemalloc.start()
    try:
        parse(text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def check_growth(parse: Callable[[str], DeviceConfig], body: bytes) -> None:
    """Time and memory of a parse are bounded by the size of the text; the best of three, as others use the machine, too."""
    text = body.decode("utf-8", errors="replace")
    limit = CPU_S_PER_MB * len(body) / 2**20 + GROWN_LEAST_S
    assert any(seconds(parse, text) <= limit for _ in range(3)), f"{len(body)} bytes take more than {limit:.2f} s"
    most = MEMORY_OF_TEXT * len(text.encode()) + MEMORY_LEAST
    peak = memory(parse, text)
    if peak > most:
        peak = memory(parse, text)  # once in a while a table of the process itself grows, that of interned words above all
    assert peak <= most, f"{len(body)} bytes take {peak} bytes of memory, {peak / len(body):.1f} times as much"


def grow(platform: str, count: int, size: int) -> None:
    rng = random.Random(f"{platform} grown")
    sources = bodies(platform)
    parse = REGISTRY.get(platform).parse
    for number in range(count):
        body = b""
        while len(body) < size:
            body += rng.choice(sources) + b"\n"
        for mutation in rng.sample(GROWING, rng.randrange(2, 6)):
            body = mutation(rng, body)[:MOST_GROWN] or b"\n"
        try:
            check_growth(parse, body)
        except Exception as error:
            raise AssertionError(f"{platform} grown file {number}: {error}") from error


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_large_damaged_file_takes_time_and_memory_by_its_size(platform: str) -> None:
    grow(platform, 1, SMALL)


@pytest.mark.soak
@pytest.mark.parametrize("platform", PLATFORMS)
def test_large_damaged_files_take_time_and_memory_by_their_size(platform: str) -> None:
    grow(platform, MANY_GROWN, LARGER)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_damaged_files_give_a_model_and_never_an_exception(platform: str) -> None:
    mutate(platform, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("platform", PLATFORMS)
def test_ten_thousand_damaged_files(platform: str) -> None:
    mutate(platform, MANY)
