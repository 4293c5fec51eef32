"""The guard on nftables without a kernel: the lines that build it, and what is done to a table that `nft list` shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyhub.domain.change import Commands, GuardSpec
from policyhub.vendorkit.rendering import CannotRender
from policyhub.vendors.linux_nftables import render as nft

SPEC = GuardSpec("PHG-RIM4", ("edge0", "edge1"), frozenset({40, 46}))
TABLE = (Path(__file__).parent / "installed_guard" / "config.txt").read_text(encoding="utf-8")
DROP = 'nft "add table inet phg_rim4; delete table inet phg_rim4"'


def element(verb: str, name: str, member: str) -> str:
    return f'nft {verb} element inet phg_rim4 {name} "{{ {member} }}"'


def test_the_lines_of_a_guard() -> None:
    made = nft.install(SPEC, "")
    assert made.inverse == (DROP,)
    assert made.lines == (
        "nft add table inet phg_rim4",
        'nft add set inet phg_rim4 m4 "{ type ipv4_addr; flags interval; }"',
        'nft add set inet phg_rim4 m6 "{ type ipv6_addr; flags interval; }"',
        "nft add counter inet phg_rim4 hits",
        "nft add chain inet phg_rim4 act",
        'nft add rule inet phg_rim4 act "ip saddr @m4 ip dscp { 40, 46 } counter name hits"',
        'nft add rule inet phg_rim4 act "ip saddr @m4 ip dscp { 40, 46 } ip dscp set 0"',
        'nft add rule inet phg_rim4 act "ip6 saddr @m6 ip6 dscp { 40, 46 } counter name hits"',
        'nft add rule inet phg_rim4 act "ip6 saddr @m6 ip6 dscp { 40, 46 } ip6 dscp set 0"',
        'nft add chain inet phg_rim4 pre "{ type filter hook prerouting priority mangle; policy accept; }"',
        'nft add rule inet phg_rim4 pre "iifname { \\"edge0\\", \\"edge1\\" } jump act"',
    )


def test_a_meter_drops_what_is_over_its_rate() -> None:
    metered = nft.install(GuardSpec("PHG-M", ("eth0",), frozenset({46}), rate_bps=8_000_000, families=(4,)), "").lines
    assert any(line.startswith('nft add limit inet phg_m cap "{ rate over 1000000 bytes/second burst ') for line in metered)
    assert [line for line in metered if "cap drop" in line] == [
        'nft add rule inet phg_m act "ip saddr @m4 ip dscp { 46 } limit name cap drop"',
    ]
    assert not any("m6" in line for line in metered)
    nft.install(GuardSpec("PHG-M", ("eth0",), frozenset({46}), rate_bps=8), "")
    with pytest.raises(CannotRender, match="below one byte per second"):
        nft.install(GuardSpec("PHG-M", ("eth0",), frozenset({46}), rate_bps=7), "")


@pytest.mark.parametrize("families", [(), (5,), (4, 5)])
def test_families_that_do_not_exist(families: tuple[int, ...]) -> None:
    with pytest.raises(CannotRender, match="are not 4 and/or 6"):
        nft.install(GuardSpec("PHG-M", ("eth0",), frozenset({46}), families=families), "")


def test_a_name_that_no_interface_has() -> None:
    with pytest.raises(CannotRender, match="is not the name of a Linux interface"):
        nft.install(GuardSpec("PHG-M", ("eth0; reboot",), frozenset({46})), "")


def installed() -> str:
    """Both families, as the kernel lists them."""
    match = "\t\tip6 saddr @m6 ip6 dscp { cs5, ef }"
    six = f'{match} counter name "hits"\n{match} ip6 dscp set cs0\n'
    head, mark, tail = TABLE.partition("ip dscp set cs0\n")
    return head + mark + six + tail


def test_what_stands_already_is_not_built_again_and_what_was_changed_is_told() -> None:
    assert nft.install(SPEC, installed()).lines == ()
    with pytest.raises(CannotRender, match="exists in another form"):
        nft.install(SPEC, TABLE)
    with pytest.raises(CannotRender, match="exists in another form"):
        nft.install(SPEC, installed().replace("cs5", "cs6"))


def test_taking_the_guard_away_can_be_undone_with_its_members() -> None:
    gone = nft.remove(SPEC, installed())
    assert gone.lines == (DROP,)
    assert gone.inverse[-2:] == (element("add", "m4", "10.1.2.3/32"), element("add", "m4", "10.9.0.0/24"))
    assert gone.inverse[:-2] == nft.install(SPEC, "").lines
    assert nft.remove(SPEC, "") == Commands((), (), nft.reads(SPEC))


def test_members_come_and_go() -> None:
    running = installed()
    one = nft.add_member(SPEC, "10.2.0.7", running)
    assert (one.lines, one.inverse) == ((element("add", "m4", "10.2.0.7/32"),), (element("delete", "m4", "10.2.0.7/32"),))
    six = nft.add_member(SPEC, "2001:db8::1/128", running)
    assert six.lines == (element("add", "m6", "2001:db8::1/128"),)
    assert nft.add_member(SPEC, "10.1.2.3", running).lines == ()
    with pytest.raises(CannotRender):
        nft.add_member(SPEC, "10.9.0.5", running)
    with pytest.raises(CannotRender, match="is not installed"):
        nft.add_member(SPEC, "10.2.0.7", "")
    back = nft.remove_member(SPEC, "10.1.2.3", running)
    assert (back.lines, back.inverse) == ((element("delete", "m4", "10.1.2.3/32"),), (element("add", "m4", "10.1.2.3/32"),))
    assert nft.remove_member(SPEC, "10.2.0.7", running).lines == () and nft.remove_member(SPEC, "10.1.2.3", "").lines == ()


def test_what_is_read_back() -> None:
    ruleset, counters = nft.reads(SPEC)
    state = nft.read(SPEC, {ruleset: installed(), counters: TABLE})
    assert (state.installed, state.intact, state.problems) == (True, True, ())
    assert (state.packets, state.bytes, state.members) == (812, 99_064, {"10.1.2.3/32", "10.9.0.0/24"})
    gone = nft.read(SPEC, {ruleset: "table ip nat {\n}\n", counters: ""})
    assert (gone.installed, gone.intact, gone.packets, gone.bytes, gone.members) == (False, False, None, None, frozenset())
    assert len(nft.read(SPEC, {}).problems) == 2


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("\tset m6 {\n\t\ttype ipv6_addr\n\t\tflags interval\n\t}\n", ""), "set m6 is missing"),
        (("\tchain act {", "\tset other {\n\t\ttype ipv4_addr\n\t}\n\n\tchain act {"), "set other is not ours"),
        (("jump act", "jump act\n\t\tcounter"), "chain pre was changed"),
    ],
)
def test_what_is_wrong_with_a_table(change: tuple[str, str], fault: str) -> None:
    assert change[0] in installed()
    state = nft.read(SPEC, {nft.RULESET: installed().replace(*change), nft.COUNTERS: TABLE})
    assert not state.intact and fault in state.problems


def test_one_mark_is_listed_without_braces() -> None:
    spec = GuardSpec("PHG-RIM4", ("edge0", "edge1"), frozenset({46}))
    state = nft.read(spec, {nft.RULESET: installed().replace("{ cs5, ef }", "ef"), nft.COUNTERS: TABLE})
    assert (state.intact, state.problems) == (True, ())


def test_a_listing_that_is_cut_off_is_no_intact_guard() -> None:
    cut = installed()[: installed().index("type filter hook")]
    state = nft.read(SPEC, {nft.RULESET: cut, nft.COUNTERS: TABLE})
    assert not state.intact and state.problems
