"""Any text gives a model and a full account of its lines; nothing raises, nothing hangs."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyhub.vendorkit.registry import REGISTRY

HERE = Path(__file__).parent
PLATFORMS = ("cisco_asa", "cisco_ios", "huawei_vrp", "linux_nftables")
CISCO = ("cisco_asa", "cisco_ios")
MUTANTS = 200
ODD_WORDS = (
    "eq", "host", "any", "range", "log", "object-group", "sequence", "permit", "police", "percent", "to", "rule", "accept", "{",
    "}", "99999999999999999999", "²", "0x12345678", "(hitcnt=", "-1", "1.2.3.4/99", "::/129",
    "255.0.255.0", "match", "remark", "no",
)  # fmt: skip


def account(platform: str, text: str) -> None:
    """Parse, count, recognise; line numbers are in the text and no line is booked twice."""
    vendor = REGISTRY.get(platform)
    config = vendor.parse(text)
    vendor.counters(text, None)
    assert 0.0 <= vendor.looks_like(text) <= 1.0
    unparsed = [u.line for u in config.unparsed]
    assert len(set(unparsed)) == len(unparsed)
    assert not set(unparsed) & set(config.ignored)
    assert all(1 <= line <= max(1, config.lines) for line in (*unparsed, *config.ignored))


def mutate(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    kind = rng.randrange(6)
    if kind == 0:
        return text[: rng.randrange(len(text) + 1)]
    if kind == 1:
        return "\n".join(line for line in lines if rng.random() > 0.2)
    if kind == 2:
        raw = bytearray(text.encode())
        for _ in range(rng.randrange(1, 40)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        return raw.decode("utf-8", errors="replace")
    if kind == 3:
        rng.shuffle(lines)
        return "\n".join(lines)
    if kind == 4:
        return "\n".join(" " * rng.randrange(4) + line.strip() for line in lines)
    changed = []
    for line in lines:
        words = line.split(" ")
        if rng.random() < 0.3:
            del words[rng.randrange(len(words))]
        if rng.random() < 0.2:
            words.insert(rng.randrange(len(words) + 1), rng.choice(ODD_WORDS))
        changed.append(" ".join(words))
    return "\n".join(changed)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_mutated_configuration_never_raises(platform: str) -> None:
    seeds = [path.read_bytes().decode("utf-8", errors="replace") for path in sorted(HERE.glob(f"{platform}/*/*.txt"))]
    assert seeds
    rng = random.Random(20261130)
    for _ in range(MUTANTS):
        account(platform, mutate(rng.choice(seeds), rng))


@pytest.mark.parametrize("platform", PLATFORMS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=400))
def test_any_text_is_accounted_for(platform: str, text: str) -> None:
    account(platform, text)


@pytest.mark.parametrize("platform", CISCO)
@settings(max_examples=100, deadline=None)
@given(
    words=st.lists(
        st.sampled_from((*ODD_WORDS, "access-list", "ip", "extended", "X", "\n", "\n ", "tcp", "10.0.0.1", "deny")), max_size=40
    )
)
def test_any_order_of_words_is_accounted_for(platform: str, words: list[str]) -> None:
    account(platform, " ".join(words))


def lines_of(config_lines: int, text: str) -> set[int]:
    return {number for number, line in enumerate(text.split("\n"), 1) if line.strip() and not line.strip().startswith(("!", ":"))}


@pytest.mark.parametrize("platform", CISCO)
def test_foreign_text_is_unparsed_line_by_line(platform: str) -> None:
    text = "package main\n\nfunc permit() {\n  return qos\n}\n\x00\x01\x02binary\n"
    config = REGISTRY.get(platform).parse(text)
    assert {u.line for u in config.unparsed} | set(config.ignored) == lines_of(config.lines, text)
    assert {3, 4, 6} <= {u.line for u in config.unparsed}
    assert config.policies == () and config.qos_policies == ()


HOSTILE = {
    "dashes": "-" * 100_000 + " more\n",
    "blanks": "access-list A line 1 extended permit" + " " * 100_000 + "ip\n",
    "brackets": "access-list A line 1 extended permit ip any any " + "(" * 3_000 + " (hitcnt=1)\n",
    "nat words": ("nat " * 900 + "access-list\n") * 20,
    "one banner": "banner motd ^C\n" * 8_000,
    "newlines after a header": "object network x" + "\n" * 100_000,
    "indentation": "\n".join(" " * n + "permit ip any any" for n in range(500)),
    "scattered wildcards": "ip access-list extended W\n" + "".join(
        f" permit ip 10.{n % 256}.0.0 0.170.170.170 host 10.{n // 256}.1.1\n" for n in range(3_000)
    ),
    "nested groups": "".join(
        f"object-group network G{n}\n network-object host 10.{n // 250}.{n % 250}.1\n group-object G{n - 1}\n"
        for n in range(2_000)
    )
    + "access-list A extended permit ip object-group G1999 any\n",
    "criteria": "class-map match-any C\n" + " match protocol p\n" * 8_000,
    "thresholds": "policy-map P\n class C\n" + "  random-detect x\n" * 8_000,
}  # fmt: skip


@pytest.mark.parametrize("platform", CISCO)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_takes_no_longer_than_its_size_allows(platform: str, text: str) -> None:
    started = time.process_time()
    account(platform, text)
    assert time.process_time() - started < 4.0
