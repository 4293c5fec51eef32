"""Mirror sessions as each platform writes them: tests/vendors/mirror_sessions/<platform>/{config.txt, expected.txt}.

Expected lines are the vendors' (each `mirror.py` names its source). What is proposed parses again without a sensitive line that
nobody understood, and the numbers it takes are seen as taken.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from flowguard.domain.mirror_load import load_of
from flowguard.domain.mirror_proposal import Proposal, Wish, propose
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.mirroring import Copied, MirrorKind
from policyhub.vendorkit.contract import Capability
from policyhub.vendorkit.ledger import is_sensitive
from policyhub.vendorkit.registry import REGISTRY

HERE = Path(__file__).parent / "mirror_sessions"
PLATFORMS = sorted(path.parent.name for path in HERE.glob("*/config.txt"))
PORTS = {
    "arista_eos": ("Ethernet1", "Ethernet49"), "cisco_ios": ("GigabitEthernet1/0/1", "TenGigabitEthernet1/1/1"),
    "cisco_iosxr": ("TenGigE0/0/0/1", "HundredGigE0/0/0/9"), "cisco_nxos": ("Ethernet1/1", "Ethernet1/48"),
    "h3c_comware": ("Ten-GigabitEthernet1/0/1", "Ten-GigabitEthernet1/0/24"),
    "huawei_vrp": ("GigabitEthernet0/0/1", "GigabitEthernet0/0/23"), "juniper_junos": ("et-0/0/4", "et-0/0/9"),
    "linux_iptables": ("eth1", "eth9"), "linux_nftables": ("eth1", "eth9"), "nvidia_cumulus": ("swp1", "swp32"),
    "sonic": ("Ethernet0", "Ethernet8"),
}  # fmt: skip
COMMANDS = frozenset({"sonic", "linux_nftables", "linux_iptables"})  # shell commands, which no configuration holds
EACH = pytest.mark.parametrize("platform", PLATFORMS)


def wishes(platform: str) -> dict[str, Wish]:
    source, destination = PORTS[platform]
    outer = {"collector": "198.51.100.7", "origin": "10.255.0.1"}
    leaves = {"destination": destination} if platform == "h3c_comware" else {}
    ported = {} if platform == "cisco_ios" else {"destination": destination}
    return {
        "span both": Wish(source, destination=destination),
        "span tx": Wish(source, Copied.TX, destination),
        "rspan both": Wish(source, Copied.BOTH, vlan=999, **ported),
        "erspan rx": Wish(source, Copied.RX, **outer, **leaves),
        "erspan both": Wish(source, Copied.BOTH, **outer, **leaves),
    }


def proposed(platform: str, wish: Wish, running: str | None = None) -> Proposal:
    vendor = REGISTRY.get(platform)
    text = (HERE / platform / "config.txt").read_text() if running is None else running
    assert vendor.mirror is not None
    return propose(wish, vendor.parse(text), vendor.mirror, text, load_of(MirrorKind.SPAN, wish.copied))


def told(platform: str, name: str, wish: Wish) -> str:
    try:
        found = proposed(platform, wish)
    except PolicyHubError as error:
        return f"== {name}\nrefused: {error.message}\n"
    notes = [str(note) for note in found.notes]
    parts = {"": found.commands.lines, "-- way back": found.commands.inverse, "-- see": found.commands.reads, "-- notes": notes}
    rows = [row for title, lines in parts.items() for row in ([title] if title else []) + list(lines)]
    return "\n".join([f"== {name}", *rows, ""])


@EACH
def test_lines_and_their_way_back_are_those_of_the_vendor(platform: str, request: pytest.FixtureRequest) -> None:
    found = "".join(told(platform, name, wish) for name, wish in wishes(platform).items())
    expected = HERE / platform / "expected.txt"
    if request.config.getoption("--update-golden", default=False):
        expected.write_text(found, encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8")


@EACH
def test_what_is_proposed_parses_again_and_its_number_is_seen_as_taken(platform: str) -> None:
    vendor = REGISTRY.get(platform)
    assert vendor.mirror is not None and Capability.MIRROR in vendor.capabilities
    text = (HERE / platform / "config.txt").read_text()
    before = {row.text for row in vendor.parse(text).unparsed}
    for name, wish in wishes(platform).items():
        if wish.vlan is not None and MirrorKind.RSPAN not in vendor.mirror.kinds:
            continue
        found = proposed(platform, wish)
        assert not vendor.mirror.taken(text) & set(found.mirror.numbers)
        whole = text.removesuffix("return\n").removesuffix("end\n") + "\n".join(found.commands.lines) + "\n"
        assert set(found.mirror.numbers) <= vendor.mirror.taken(whole), name
        if platform not in COMMANDS:
            left = [row.text for row in vendor.parse(whole).unparsed if row.text not in before]
            assert [line for line in left if is_sensitive(line)] == [], name
            again = proposed(platform, wish, whole)
            assert not set(again.mirror.numbers) & set(found.mirror.numbers)


def test_every_platform_that_can_mirror_has_its_file() -> None:
    assert [vendor.name for vendor in REGISTRY.all() if vendor.mirror is not None] == PLATFORMS
