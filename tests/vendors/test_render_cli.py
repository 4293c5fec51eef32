"""Guard renderers of IOS and VRP against model devices: what they write, take back, refuse and read."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyhub.domain.change import GuardSpec
from policyhub.domain.errors import CannotRender
from policyhub.vendorkit.contract import Renderer
from policyhub.vendors.cisco_ios import render as ios
from policyhub.vendors.huawei_vrp import render as vrp
from policyhub.vendors.linux_nftables import render as nft
from tests.vendors.boxes import IosBox, VrpBox

IOS_BASE = """\
hostname rim-sw-4
ip access-list extended OFFICE
 10 permit tcp any any eq 443
interface GigabitEthernet1/0/7
 description towards lab {a}
interface GigabitEthernet1/0/8
 service-policy input CARRIER
interface GigabitEthernet1/0/9
 channel-group 3 mode active
interface GigabitEthernet1/0/10
 mls qos trust dscp
interface Vlan31"""
VRP_BASE = """\
sysname rim-sw-5
acl number 3007
 rule 5 permit tcp destination-port eq 443
interface GigabitEthernet0/0/7
 port link-type trunk
interface GigabitEthernet0/0/8
 traffic-policy CARRIER inbound
interface GigabitEthernet0/0/9
 eth-trunk 3
interface Vlanif31"""
BOXES: dict[str, tuple[Renderer, Any, str]] = {
    "ios-xe": (ios, lambda: IosBox(IOS_BASE), "GigabitEthernet1/0/"),
    "ios": (ios, lambda: IosBox(IOS_BASE, numbers=False), "GigabitEthernet1/0/"),
    "vrp": (vrp, lambda: VrpBox(VRP_BASE), "GigabitEthernet0/0/"),
}
EVERY = pytest.mark.parametrize("kind", BOXES)
DENIED = re.compile(
    r"no interface|undo interface|(?<!no )shutdown|reload|reboot|erase|flush|format|write|save|\bend\b|no aaa|undo aaa|username"
    r"|line vty|user-interface|default interface|no vlan|undo vlan|delete table inet (?!phg_)|hostname|sysname",
    re.I,
)


def spec_for(prefix: str, **changes: Any) -> GuardSpec:
    values: dict[str, Any] = {"name": "PHG-RIM4", "interfaces": (f"{prefix}7",), "marks": frozenset({40, 46})}
    return GuardSpec(**(values | changes))


def outputs(renderer: Renderer, spec: GuardSpec, running: str, counters: str = "") -> dict[str, str]:
    snapshot, *others = renderer.reads(spec)
    return {snapshot: running} | dict.fromkeys(others, counters)


members4 = st.integers(1, 2**32 - 2).flatmap(lambda n: st.sampled_from([32, 32, 24, 27, 9]).map(lambda p: v4(n, p)))
members6 = st.integers(1, 2**128 - 2).flatmap(lambda n: st.sampled_from([128, 128, 64, 61]).map(lambda p: v6(n, p)))


def v4(number: int, length: int) -> str:
    return str(IPv4Network((number, length), strict=False))


def v6(number: int, length: int) -> str:
    return str(IPv6Network((number, length), strict=False))


specs = st.builds(
    lambda marks, target, rate, families, tail: {
        "marks": frozenset(marks), "target_dscp": target, "families": families, "name": "PHG-" + tail,
        "rate_bps": rate * 1000 if len(families) == 1 and rate >= 64 else None,
    },
    st.sets(st.integers(0, 63), min_size=1, max_size=8), st.sampled_from([0, 8, 1, 10, 26]), st.integers(0, 10_000_000),
    st.sampled_from([(4,), (6,), (4, 6)]), st.from_regex(r"\A[A-Z0-9]{1,12}\Z"),
)  # fmt: skip


@EVERY
@settings(max_examples=40, deadline=None)
@given(changes=specs)
def test_installed_guard_reads_back_intact_and_its_inverse_leaves_nothing(kind: str, changes: dict[str, Any]) -> None:
    renderer, box_of, prefix = BOXES[kind]
    box, spec = box_of(), spec_for(prefix, **changes)
    before = box.running()
    clean = renderer.read(spec, outputs(renderer, spec, before))
    assert (clean.installed, clean.intact, clean.members) == (False, False, frozenset())
    commands = renderer.install(spec, before)
    box.push(commands.lines)
    state = renderer.read(spec, outputs(renderer, spec, box.running()))
    assert (state.installed, state.intact, state.members, state.problems) == (True, True, frozenset(), ())
    assert state.foreign_sha256 == clean.foreign_sha256
    assert renderer.install(spec, box.running()).lines == ()
    assert renderer.remove(spec, box.running()).lines == commands.inverse
    box.push(commands.inverse)
    assert box.running() == before


@EVERY
@settings(max_examples=60, deadline=None)
@given(members=st.lists(st.one_of(members4, members6), min_size=1, max_size=5, unique=True), data=st.data())
def test_each_member_is_taken_back_exactly(kind: str, members: list[str], data: st.DataObject) -> None:
    renderer, box_of, prefix = BOXES[kind]
    box, spec = box_of(), spec_for(prefix)
    box.push(renderer.install(spec, box.running()).lines)
    inside: list[str] = []
    for member in members:
        before = box.running()
        try:
            step = renderer.add_member(spec, member, before)
        except CannotRender:
            assert any(ip_network(member).overlaps(ip_network(m)) for m in inside if (":" in m) == (":" in member))
            continue
        box.push(step.lines)
        assert renderer.add_member(spec, member, box.running()).lines == ()
        box.push(step.inverse)
        assert box.running() == before
        box.push(step.lines)
        inside.append(member)
    state = renderer.read(spec, outputs(renderer, spec, box.running()))
    assert (state.members, state.intact) == (frozenset(inside), True)
    full = box.running()
    for member in data.draw(st.permutations(inside)):
        step = renderer.remove_member(spec, member, box.running())
        before = renderer.read(spec, outputs(renderer, spec, box.running()))
        box.push(step.lines)
        assert renderer.remove_member(spec, member, box.running()).lines == ()
        box.push(step.inverse)
        assert renderer.read(spec, outputs(renderer, spec, box.running())) == before
        box.push(step.lines)
    whole = renderer.remove(spec, full)
    assert renderer.read(spec, outputs(renderer, spec, box.running())).members == frozenset()
    box.push(renderer.remove(spec, box.running()).lines)
    box.push(whole.inverse)
    assert renderer.read(spec, outputs(renderer, spec, box.running())).members == frozenset(inside)


def all_lines(renderer: Renderer, spec: GuardSpec, running: str, members: list[str]) -> set[str]:
    steps = [renderer.install(spec, running), renderer.remove(spec, running)]
    for member in members:
        try:
            steps += [renderer.add_member(spec, member, running), renderer.remove_member(spec, member, running)]
        except CannotRender:
            continue
    return {line for step in steps for line in (*step.lines, *step.inverse)}


@EVERY
@settings(max_examples=40, deadline=None)
@given(changes=specs, members=st.lists(st.one_of(members4, members6), max_size=4))
def test_every_line_passes_the_lint_and_none_is_on_the_deny_list(kind: str, changes: dict[str, Any], members: list[str]) -> None:
    renderer, box_of, prefix = BOXES[kind]
    box, spec = box_of(), spec_for(prefix, **changes)
    lines = all_lines(renderer, spec, box.running(), [])
    box.push(renderer.install(spec, box.running()).lines)
    lines |= all_lines(renderer, spec, box.running(), members)
    assert lines
    other = spec_for(prefix, name="PHG-SOMEBODY", interfaces=(f"{prefix}77",))
    for line in lines:
        assert renderer.owns(line, spec), line
        assert not DENIED.search(line), line
        if spec.name in line or prefix in line:
            assert not renderer.owns(line, other), "a line of one guard must not pass for another"


@settings(max_examples=60, deadline=None)
@given(changes=specs, member=st.one_of(members4, members6))
def test_every_nft_line_passes_the_lint_and_none_is_on_the_deny_list(changes: dict[str, Any], member: str) -> None:
    spec = GuardSpec(**({"interfaces": ("eth0", "vlan-7.x")} | changes))
    install = nft.install(spec, "")
    lines = [*install.lines, *install.inverse]
    for line in lines:
        assert nft.owns(line, spec), line
        assert not DENIED.search(line), line
        assert "'" not in line, "watchdogs hold lines inside single quotes"
        assert not nft.owns(line, GuardSpec("PHG-SOMEBODY1", ("eth0",), frozenset({1}))), line


@EVERY
def test_a_foreign_policy_at_the_interface_is_refused(kind: str) -> None:
    renderer, box_of, prefix = BOXES[kind]
    for port, word in (("8", "CARRIER"), ("9", "member of a"), ("99", "is not in the running configuration")):
        with pytest.raises(CannotRender, match=word):
            renderer.install(spec_for(prefix, interfaces=(f"{prefix}7", f"{prefix}{port}")), box_of().running())


def test_ios_port_that_trusts_marks_is_refused_because_a_policy_would_replace_the_trust() -> None:
    with pytest.raises(CannotRender, match="mls qos trust"):
        ios.install(spec_for("GigabitEthernet1/0/", interfaces=("GigabitEthernet1/0/10",)), IosBox(IOS_BASE).running())


def test_vrp_device_with_two_stage_configuration_is_refused() -> None:
    running = VrpBox(VRP_BASE).running() + "traffic classifier TRAIN type or\n if-match dscp 26\n#\n"
    with pytest.raises(CannotRender, match="commit"):
        vrp.install(spec_for("GigabitEthernet0/0/"), running)


@EVERY
@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"rate_bps": 10_000_000}, "one guard per family"),
        ({"marks": frozenset(range(9))}, "at most 8 marks"),
        ({"rate_bps": 100, "families": (4,)}, "polices"),
        ({"interfaces": ("Gi1/0/7; reload",)}, "interface"),
    ],
)
def test_what_the_platform_cannot_express_is_refused(kind: str, changes: dict[str, Any], word: str) -> None:
    renderer, box_of, prefix = BOXES[kind]
    with pytest.raises(CannotRender, match=word):
        renderer.install(spec_for(prefix, **changes), box_of().running())


@EVERY
def test_members_that_a_guard_never_takes(kind: str) -> None:
    renderer, box_of, prefix = BOXES[kind]
    box, spec = box_of(), spec_for(prefix, families=(4,))
    with pytest.raises(CannotRender, match="not installed"):
        renderer.add_member(spec, "10.1.2.3/32", box.running())
    box.push(renderer.install(spec, box.running()).lines)
    for member, word in (
        ("0.0.0.0/0", "everybody"),
        ("10.1.2.3/24", "host bits"),
        ("2001:db8::1/128", "IPv6"),
        ("x", "not an address"),
    ):
        with pytest.raises(CannotRender, match=word):
            renderer.add_member(spec, member, box.running())


DAMAGE = {
    "ios-xe": [
        ("set dscp default", "set dscp ef"),
        ("match access-group name PHG-RIM4\n", "match any\n"),
        (" service-policy input PHG-RIM4\n", ""),
        ("10 deny ip host 255.255.255.255 any", "10 permit ip any any"),
    ],
    "vrp": [
        ("remark dscp default", "remark dscp ef"),
        ("PHG-RIM4 operator and", "PHG-RIM4 operator or"),
        (" traffic-policy PHG-RIM4 inbound\n", ""),
        ("rule 1 permit ip source 255.255.255.255 0", "rule 1 permit ip"),
    ],
}


@pytest.mark.parametrize(("kind", "damage"), [(kind, pair) for kind, pairs in DAMAGE.items() for pair in pairs])
def test_a_guard_changed_by_hand_is_not_intact_and_takes_no_member_but_gives_them_back(
    kind: str, damage: tuple[str, str]
) -> None:
    renderer, box_of, prefix = BOXES[kind]
    box, spec = box_of(), spec_for(prefix)
    box.push(renderer.install(spec, box.running()).lines)
    box.push(renderer.add_member(spec, "10.1.2.3/32", box.running()).lines)
    running = box.running()
    assert damage[0] in running
    changed = running.replace(damage[0], damage[1], 1)
    state = renderer.read(spec, outputs(renderer, spec, changed))
    assert (state.installed, state.intact) == (True, False)
    assert state.problems
    with pytest.raises(CannotRender, match="not as installed"):
        renderer.add_member(spec, "10.1.2.4/32", changed)
    assert renderer.remove_member(spec, "10.1.2.3/32", changed).lines
    assert renderer.remove(spec, changed).inverse == ()


@EVERY
def test_pager_remnants_and_carriage_returns_do_not_change_what_is_read(kind: str) -> None:
    renderer, box_of, prefix = BOXES[kind]
    box, spec = box_of(), spec_for(prefix)
    box.push(renderer.install(spec, box.running()).lines)
    box.push(renderer.add_member(spec, "10.1.2.3/32", box.running()).lines)
    running = box.running()
    pager = (
        "  ---- More ----\x1b[42D" + " " * 42 + "\x1b[42D"
        if kind == "vrp"
        else " --More-- \x08\x08\x08\x08\x08\x08\x08\x08\x08        \x08\x08\x08\x08\x08\x08\x08\x08\x08"
    )
    rows = running.split("\n")
    dirty = "\r\n".join(pager + row if at % 7 == 3 and row else row for at, row in enumerate(rows))
    assert renderer.read(spec, outputs(renderer, spec, dirty)) == renderer.read(spec, outputs(renderer, spec, running))
    assert renderer.add_member(spec, "10.1.2.3/32", dirty).lines == ()


@pytest.mark.parametrize("renderer", [ios, vrp, nft])
@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=300), other=st.text(max_size=200))
def test_reading_never_raises_on_odd_text(renderer: Renderer, text: str, other: str) -> None:
    spec = spec_for("GigabitEthernet1/0/")
    for running in (
        text,
        f"policy-map PHG-RIM4\n {text}",
        f"acl name PHG-RIM4 advance\n {text}",
        f"table inet phg_rim4 {{\n{text}",
    ):
        state = renderer.read(spec, outputs(renderer, spec, running, other))
        assert not state.intact
    assert renderer.read(spec, {}).problems


IOS_COUNTERS = """
 GigabitEthernet1/0/7

  Service-policy input: PHG-RIM4

    Class-map: PHG-RIM4 (match-all)
      1200 packets, 96000 bytes
      5 minute offered rate 0000 bps, drop rate 0000 bps
      Match: access-group name PHG-RIM4
      QoS Set
        dscp default
          Packets marked 1200

    Class-map: PHG-RIM4-V6 (match-all)
      34 packets, 3400 bytes
      Match: access-group name PHG-RIM4-V6

    Class-map: class-default (match-any)
      99999 packets, 9999999 bytes
"""
VRP_COUNTERS = """
Interface: GigabitEthernet0/0/7
Traffic policy inbound: PHG-RIM4
Rule number: 3
Current status: success
Statistics interval: 300
---------------------------------------------------------------------
Board : 0
---------------------------------------------------------------------
Matched          |      Packets:                         1,234
                 |      Bytes:                          99,400
                 |      Rate(pps):                           0
                 |      Rate(bps):                           0
---------------------------------------------------------------------
  Passed         |      Packets:                         1,234
                 |      Bytes:                          99,400
---------------------------------------------------------------------
"""


@pytest.mark.parametrize(("kind", "text"), [("ios", IOS_COUNTERS), ("vrp", VRP_COUNTERS)])
def test_counters_are_those_of_the_guard_only_and_none_when_not_printed(kind: str, text: str) -> None:
    renderer, box_of, prefix = BOXES[kind]
    box, spec = box_of(), spec_for(prefix)
    box.push(renderer.install(spec, box.running()).lines)
    state = renderer.read(spec, outputs(renderer, spec, box.running(), text))
    assert (state.packets, state.bytes) == (1234, 99400)
    silent = renderer.read(spec, outputs(renderer, spec, box.running(), ""))
    assert (silent.packets, silent.bytes) == (None, None)


def test_another_guard_on_the_device_is_not_foreign_and_a_foreign_edit_is() -> None:
    for renderer, box_of, prefix in BOXES.values():
        box, spec = box_of(), spec_for(prefix)
        first = renderer.read(spec, outputs(renderer, spec, box.running())).foreign_sha256
        vlan = "Vlan31" if renderer is ios else "Vlanif31"
        other = spec_for(prefix, name="PHG-OTHER", interfaces=(vlan,))
        box.push(renderer.install(other, box.running()).lines)
        assert renderer.read(spec, outputs(renderer, spec, box.running())).foreign_sha256 == first
        changed = box.running().replace("OFFICE", "OFFICES").replace("3007", "3008")
        assert renderer.read(spec, outputs(renderer, spec, changed)).foreign_sha256 != first
