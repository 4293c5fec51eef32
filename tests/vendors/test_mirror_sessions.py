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


@pytest.mark.parametrize(
    ("platform", "text", "numbers"),
    [
        (
            "nvidia_cumulus",
            "system:\n  port-mirror:\n    session:\n      '2':\n        span:\n          direction: ingress\n      5:\n",
            {2, 5},
        ),
        (
            "nvidia_cumulus",
            '{"system": {\n "port-mirror": {\n  "session": {\n   "7": {\n    "span": {}\n   }\n  }\n },\n "3": {}\n}}',
            {7},
        ),
        (
            "nvidia_cumulus",
            "nv set system port-mirror session 4 span direction ingress\nnv set interface swp1 link state up\n",
            {4},
        ),
        ("juniper_junos", "forwarding-options {\n    analyzer {\n        PHM3 {\n            input {\n", {3}),
        ("juniper_junos", "set forwarding-options analyzer PHM12 input ingress interface et-0/0/8.0\n", {12}),
        ("juniper_junos", "set forwarding-options analyzer OTHER1 input ingress interface et-0/0/8.0\n", set()),
        ("cisco_iosxr", "monitor-session PHM4 ethernet\ninterface tunnel-ip7\nmonitor-session other5 ethernet\n", {4, 7}),
        ("cisco_ios", "monitor session 3 type erspan-source\n source interface Gi1\nno monitor session 9\n", {3}),
        ("sonic", '{"MIRROR_SESSION": {"PHM6": {}, "everflow0": {}}}', {6}),
        (
            "h3c_comware",
            "mirroring-group 2 local\ninterface Ten-GigabitEthernet1/0/2\n mirroring-group 3 mirroring-port both\n",
            {2, 3},
        ),
        ("huawei_vrp", "observe-port 4 interface GigabitEthernet0/0/1\n port-mirroring to observe-port 5 both\n", {4}),
        ("linux_nftables", "filter parent ffff: protocol all pref 49007 matchall\n3: phm2@NONE: <BROADCAST>\n", {7, 2}),
        (
            "arista_eos",
            "monitor session PHM1 source Ethernet1\nmonitor session 2 source Ethernet1\nmonitor session X3 source Ethernet1\n",
            {1, 2},
        ),
    ],
)
def test_sessions_in_use_are_found_in_every_form_of_a_configuration(platform: str, text: str, numbers: set[int]) -> None:
    mirror = REGISTRY.get(platform).mirror
    assert mirror is not None and mirror.taken(text) == numbers


@pytest.mark.parametrize(
    ("port", "lines"),
    [
        ("10GE1/0/1", (" port-mirroring observe-port 1 inbound", "commit")),
        ("GigabitEthernet0/0/1", (" port-mirroring to observe-port 1 inbound", " quit")),
    ],
)
def test_cloudengine_ports_are_copied_by_its_own_words_and_committed(port: str, lines: tuple[str, str]) -> None:
    wish = Wish(port, Copied.RX, "25GE1/0/9")
    found = proposed("huawei_vrp", wish, f"#\ninterface {port}\n#\ninterface 25GE1/0/9\n#\n").commands
    assert (found.lines[2], found.lines[-1]) == lines
    assert f" undo{lines[0]}" in found.inverse and (found.inverse[-1] == "commit") == (lines[1] == "commit")


def test_a_probe_vlan_that_is_there_is_neither_made_nor_taken_away() -> None:
    ios = "vlan 999\n name copies\n remote-span\ninterface GigabitEthernet1/0/1\n"
    found = proposed("cisco_ios", Wish("GigabitEthernet1/0/1", vlan=999), ios).commands
    assert found.lines[0] == "monitor session 1 source interface GigabitEthernet1/0/1 both" and found.inverse == (
        "no monitor session 1",
    )
    other = proposed("cisco_ios", Wish("GigabitEthernet1/0/1", vlan=99), ios).commands
    assert other.lines[:2] == ("vlan 99", " remote-span") and other.inverse[-1] == " no remote-span"
    ranged = "vlan 5,990-1000\n remote-span\n!\n" + ios.replace("vlan 999", "vlan 7")
    assert proposed("cisco_ios", Wish("GigabitEthernet1/0/1", vlan=999), ranged).commands.inverse == ("no monitor session 1",)
    ports = "interface Ten-GigabitEthernet1/0/1\n#\ninterface Ten-GigabitEthernet1/0/2\n"
    for vlans, made in (("vlan 990 to 1000\n#\n", False), ("vlan 1 5 990 to 998\n#\n", True), ("vlan 9990\n#\n", True)):
        wish = Wish("Ten-GigabitEthernet1/0/1", destination="Ten-GigabitEthernet1/0/2", vlan=999)
        found = proposed("h3c_comware", wish, vlans + ports).commands
        assert ("undo vlan 999" in found.inverse, found.lines[0] == "vlan 999") == (made, made), vlans
    h3c = "vlan 999\n#\ninterface Ten-GigabitEthernet1/0/1\n#\ninterface Ten-GigabitEthernet1/0/2\n"
    found = proposed(
        "h3c_comware", Wish("Ten-GigabitEthernet1/0/1", destination="Ten-GigabitEthernet1/0/2", vlan=999), h3c
    ).commands
    assert found.lines[0] == "mirroring-group 1 remote-source" and found.inverse == ("undo mirroring-group 1",)
