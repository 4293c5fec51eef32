"""The rendered lines on the real kernel, each test in a network namespace of its own."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from policyhub.domain.change import GuardSpec
from policyhub.vendors.linux_nftables import render
from policyhub.vendors.linux_nftables.push import PROFILE
from tests.support.services import wait_until
from tests.vendors.linux_nftables.netns import Namespace, namespace

pytestmark = pytest.mark.root

SPECS = [
    GuardSpec("PHG-EDGE7", ("uplink.7", "wan-2"), frozenset({46, 40, 3, 1, 44}), target_dscp=0, rate_bps=480_000_000),
    GuardSpec("PHG-A", ("ip",), frozenset({46}), target_dscp=8, families=(4,)),
    GuardSpec("PHG-V6ONLY", ("eth0",), frozenset({34, 46}), rate_bps=1_000_000, families=(6,)),
]
FOREIGN = """
table ip shop {
    counter sold { packets 7 bytes 700 }
    set seen { type ipv4_addr; size 128; flags dynamic; elements = { 192.0.2.77 } }
    chain in { type filter hook input priority 0; policy accept;
        tcp dport 22 counter packets 41 bytes 4100 accept comment "door {1}"
    }
}
table inet phgarden {
    chain rows { counter packets 5 bytes 50; }
}
"""


@pytest.fixture
def router() -> Iterator[Namespace]:
    with namespace("nft") as space:
        space.must(f"nft -f - <<'END'\n{FOREIGN}\nEND")
        yield space


def outputs(router: Namespace, spec: GuardSpec) -> dict[str, str]:
    return {command: router.must(command) for command in render.reads(spec)}


def push(router: Namespace, lines: tuple[str, ...]) -> None:
    for line in lines:
        router.must(line)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_install_gives_an_intact_guard_and_leaves_the_rest_alone(router: Namespace, spec: GuardSpec) -> None:
    before = router.must("nft list ruleset")
    state_before = render.read(spec, outputs(router, spec))
    commands = render.install(spec, before)
    push(router, commands.lines)
    state = render.read(spec, outputs(router, spec))
    assert (state.installed, state.intact, state.members, state.problems) == (True, True, frozenset(), ())
    assert (state.packets, state.bytes) == (0, 0)
    assert state.foreign_sha256 == state_before.foreign_sha256
    assert render.install(spec, router.must(render.RULESET)).lines == ()
    push(router, commands.inverse)
    assert router.must("nft list ruleset") == before, "the inverse must leave every byte, foreign counters too"


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_member_added_and_removed_leaves_the_ruleset_byte_equal(router: Namespace, spec: GuardSpec) -> None:
    push(router, render.install(spec, router.must(render.RULESET)).lines)
    listed, counted = router.must(render.RULESET), router.must("nft list ruleset")
    candidates = {4: ["10.1.2.3/32", "10.1.2.2/32", "10.9.0.0/24"], 6: ["2001:db8:5::9/128", "2001:db8:6::/64"]}
    members = [m for family in spec.families for m in candidates[family]]
    steps = []
    for member in members:
        steps.append(render.add_member(spec, member, router.must(render.RULESET)))
        push(router, steps[-1].lines)
        again = render.add_member(spec, member, router.must(render.RULESET))
        assert again.lines == ()
    state = render.read(spec, outputs(router, spec))
    assert state.members == frozenset(members)
    assert state.intact
    for member, step in zip(members, steps, strict=True):
        assert render.remove_member(spec, member, router.must(render.RULESET)).lines == step.inverse
        push(router, step.inverse)
    assert router.must(render.RULESET) == listed
    assert router.must("nft list ruleset") == counted


def test_removing_a_guard_with_members_has_an_inverse_that_brings_them_back(router: Namespace) -> None:
    spec = SPECS[0]
    push(router, render.install(spec, router.must(render.RULESET)).lines)
    for member in ("10.1.2.3/32", "2001:db8::1/128", "10.7.0.0/16"):
        push(router, render.add_member(spec, member, router.must(render.RULESET)).lines)
    before = router.must(render.RULESET)
    commands = render.remove(spec, before)
    push(router, commands.lines)
    assert not render.read(spec, outputs(router, spec)).installed
    push(router, commands.inverse)
    assert router.must(render.RULESET) == before


def test_another_writer_in_our_table_is_seen(router: Namespace) -> None:
    spec = SPECS[0]
    push(router, render.install(spec, router.must(render.RULESET)).lines)
    router.must('nft insert rule inet phg_edge7 act "ip saddr 198.51.100.9 accept"')
    state = render.read(spec, outputs(router, spec))
    assert state.installed
    assert not state.intact
    assert "chain act was changed" in state.problems


def test_a_foreign_edit_changes_the_foreign_digest_and_packets_do_not(router: Namespace) -> None:
    spec = SPECS[0]
    first = render.read(spec, outputs(router, spec)).foreign_sha256
    router.must('nft add element ip shop seen "{ 192.0.2.78 }"')  # what a packet would do to a dynamic set
    assert render.read(spec, outputs(router, spec)).foreign_sha256 == first
    router.must('nft add rule ip shop in "tcp dport 23 drop"')
    assert render.read(spec, outputs(router, spec)).foreign_sha256 != first


def test_packets_of_a_member_lose_their_mark_and_are_counted_and_others_keep_theirs(router: Namespace) -> None:
    """Loopback passes prerouting with iifname "lo": real packets, real rewrite."""
    spec = GuardSpec("PHG-LO", ("lo",), frozenset({46}), target_dscp=0, families=(4,))
    push(router, render.install(spec, router.must(render.RULESET)).lines)
    push(router, render.add_member(spec, "127.9.0.1/32", router.must(render.RULESET)).lines)
    code = (
        "import socket\n"
        "r=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); r.setsockopt(0,13,1); r.bind(('127.0.0.1',9777)); r.settimeout(3)\n"
        "for src,tos in (('127.9.0.1',0xb8|2),('127.9.0.2',0xb8),('127.9.0.1',0x28)):\n"
        "    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind((src,0)); s.setsockopt(0,1,tos)\n"
        "    s.sendto(b'x'*100,('127.0.0.1',9777))\n"
        "    d,a,f,p=r.recvmsg(2048,64); print(p[0],a[0][2][0])\n"
    )
    seen = dict(enumerate(router.must(f"python3 - <<'END'\n{code}END").split("\n")))
    assert seen[0] == "127.9.0.1 2", "EF became DF and the ECN bits stayed"
    assert seen[1] == f"127.9.0.2 {0xB8}"
    assert seen[2] == f"127.9.0.1 {0x28}"
    state = render.read(spec, outputs(router, spec))
    assert (state.packets, state.bytes) == (1, 128)


def test_kernel_errors_match_the_error_expression(router: Namespace) -> None:
    for command in (
        'nft delete element inet phg_none m4 "{ 10.0.0.1/32 }"',
        'nft add rule ip shop in "nonsense"',
        "nft list table ip nowhere",
        "nfft list ruleset",
    ):
        done = router.run(f"{command}; echo rc=$?")
        assert re.search(PROFILE.error_regex, done.stdout), command
        assert re.search(PROFILE.error_regex, done.stderr), command
    fine = router.run(f"{render.RULESET}; echo rc=$?")
    assert not re.search(PROFILE.error_regex, fine.stdout + fine.stderr)


@pytest.mark.parametrize("confirmed", [False, True])
def test_watchdog_takes_the_member_back_unless_disarmed(router: Namespace, confirmed: bool) -> None:
    spec = SPECS[0]
    push(router, render.install(spec, router.must(render.RULESET)).lines)
    step = render.add_member(spec, "10.1.2.3/32", router.must(render.RULESET))
    token = f"t{time.time_ns():x}"
    armed = PROFILE.watchdog.format(ttl_s=5, token=token, inverse="; ".join(step.inverse))
    assert router.must(f"{armed}; echo rc=$?") == "rc=0\n"
    push(router, step.lines)
    if confirmed:
        router.must(PROFILE.disarm.format(token=token))
    wait_until(lambda: router.run(f"pgrep -f '[p]hg-{token}'").returncode != 0, "the watchdog's end")
    members = render.read(spec, outputs(router, spec)).members
    assert members == (frozenset({"10.1.2.3/32"}) if confirmed else frozenset())
    assert router.run(f"ls /run/phg-{token}.ok").returncode != 0, "the watchdog cleans up after itself"
