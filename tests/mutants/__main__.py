"""Samples wrong decisions of named rooms and says how many the tests notice; survivors are shown with their lines."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import pytest

from tests.mutants.decisions import Mutant, mutants, sample
from tests.mutants.killing import Killing

ROOT = Path(__file__).resolve().parents[2]
VENDORS = ROOT / "policyhub" / "vendors"
FLOOR = 0.8
MIN_CASES = 30
EQUIVALENT = Path(__file__).with_name("equivalent.tsv")
# They ask for no exception, at length, or for little memory, which is not little while lines are traced.
NO_VALUES = ("test_mutations.py", "test_total.py", "test_parse_robust.py", "test_memory.py")
# Words that tests use for a platform, besides its id.
SHORT = {
    "fortinet_fortios": "fortios", "hillstone_stoneos": "stoneos", "juniper_junos": "junos", "paloalto_panos": "panos",
    "huawei_usg": "usg", "huawei_vrp": "vrp or test_render or test_guard", "h3c_comware": "comware",
    "checkpoint_gaia": "checkpoint", "cisco_ios": "ios or cisco or test_render or test_guard", "cisco_nxos": "relatives",
    "cisco_iosxr": "relatives", "arista_eos": "relatives", "cisco_asa": "asa or cisco",
    "linux_nftables": "nft or test_render or test_guard",
}  # fmt: skip
VENDOR_TESTS, HIT_TESTS = "tests/vendors", "tests/checks/test_unread_hits.py"
DOMAIN_TESTS = [
    "tests/policyhub/domain", "tests/policyhub/test_change_states.py", "tests/policyhub/test_hosts.py",
    "tests/checks/test_deciders.py", "tests/checks/test_hit_histories.py", "tests/checks/test_hit_pains.py",
    "tests/checks/test_rulespace.py", "tests/vendors/test_render_lint.py",
]  # fmt: skip
ROOMS = {
    "vendorkit": (ROOT / "policyhub/vendorkit", [VENDOR_TESTS, HIT_TESTS], "not recognised"),
    "domain": (ROOT / "policyhub/domain", DOMAIN_TESTS, ""),
    "flowguard": (
        ROOT / "flowguard/domain",
        ["tests/flowguard/domain", "tests/flowguard/test_bundle_ranks.py", "tests/flowguard/test_batches_with_junk.py"],
        "",
    ),
}


def room(name: str) -> tuple[Path, list[str], str]:
    """(folder of the code, tests, pytest's -k)."""
    if name in ROOMS:
        return ROOMS[name]
    if not (VENDORS / name).is_dir():
        raise SystemExit(f"mutants: unknown room {name!r}; name {', '.join(ROOMS)} or a folder of policyhub/vendors")
    words = f"{name} or {SHORT[name]}" if name in SHORT else name
    files = [path for path in (ROOT / VENDOR_TESTS).rglob("test_*.py") if path.name not in NO_VALUES and _is_about(path, words)]
    return VENDORS / name, [*(path.as_posix() for path in sorted(files)), HIT_TESTS], words


def deep() -> list[str]:
    """Platforms with as many golden cases as a deep one has."""
    cases = {path.name: len(list((ROOT / VENDOR_TESTS / path.name).glob("*/expected.json"))) for path in VENDORS.iterdir()}
    return sorted(name for name, count in cases.items() if count >= MIN_CASES)


def _is_about(path: Path, words: str) -> bool:
    return path.name == "test_golden.py" or any(word in path.as_posix() + path.read_text("utf-8") for word in words.split(" or "))


def equivalents() -> set[tuple[str, ...]]:
    rows = (line.split("\t") for line in EQUIVALENT.read_text(encoding="utf-8").splitlines() if line and line[0] != "#")
    return {tuple(row[:4]) for row in rows}


def key(mutant: Mutant) -> tuple[str, ...]:
    """(path, function, change, text of the line): what a line number would say until the next edit."""
    source = mutant.path.read_text(encoding="utf-8").splitlines()[mutant.line - 1].strip()
    return mutant.path.relative_to(ROOT).as_posix(), mutant.owner, mutant.change, source


def choose(name: str, options: argparse.Namespace) -> tuple[int, list[Mutant]]:
    """(how many decisions there are, the sample of them)."""
    known = equivalents()
    files = [path for path in sorted(room(name)[0].rglob("*.py")) if options.only in path.as_posix()]
    everything = [mutant for path in files for mutant in mutants(path)]
    possible = [mutant for mutant in everything if key(mutant) not in known]
    return len(possible), sample(possible, options.sample, options.seed)


def kill(names: list[str], chosen: list[Mutant], options: argparse.Namespace) -> Killing:
    """One session of pytest for all rooms: what tests have in common is collected and learnt once."""
    killing = Killing(chosen, jobs=options.jobs, budget_s=options.budget, lived=show)
    tests = dict.fromkeys(test for name in names for test in room(name)[1])
    words = [room(name)[2] for name in names]
    ignored = [f"--ignore={ROOT / VENDOR_TESTS / test}" for test in NO_VALUES]
    marked = "not db and not waits and not corpus and not soak and not bench and not serial"
    dear = ["--deselect", f"{VENDOR_TESTS}/test_golden.py::test_no_ignored_line_may_hold_a_rule"]  # parses all of it again
    quiet = ["-q", "--no-header", "--no-summary", "--assert=plain", "--tb=no", "-p", "no:cacheprovider"]
    selected = ["-k", " or ".join(words)] if all(words) else []
    pytest.main([*tests, *ignored, *dear, *quiet, "-m", marked, *selected], plugins=[killing])
    for failing in killing.failing:
        print(f"  fails without any mutation: {failing}")
    for mutant in killing.broken:
        print(f"  not tried: {key(mutant)}")
    return killing


def show(mutant: Mutant, is_run: bool) -> None:
    path, owner, change, source = key(mutant)
    print(f"  {path}:{mutant.line} {owner}\t{change}\t{'' if is_run else '(no test runs it) '}{source}", flush=True)


def tell(name: str, chosen: list[Mutant], count: int, killing: Killing) -> bool:
    killed, lives = len(set(chosen) & set(killing.killed)), len(set(chosen) & set(killing.lives))
    print(f"{name}: {killed}/{killed + lives} killed, of {count} decisions", flush=True)
    return killed >= FLOOR * (killed + lives) > 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", default=[*ROOMS, *deep()], help="domain, vendorkit, flowguard or platforms")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of traced tests that a mutant may cost")
    parser.add_argument("--only", default="", help="files whose path holds this")
    options = parser.parse_args()
    chosen = {name: choose(name, options) for name in options.rooms}
    killing = kill(options.rooms, [mutant for _, some in chosen.values() for mutant in some], options)
    below = [name for name, (count, some) in chosen.items() if not tell(name, some, count, killing)]
    print(f"below {FLOOR:.0%}: {', '.join(below) or 'none'}")
    return 1 if below or killing.failing else 0


if __name__ == "__main__":
    sys.exit(main())
