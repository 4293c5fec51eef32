"""A proposed mirror: what is refused, which class the copies get, which session, what it loads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowguard.domain.mirror import Reading
from flowguard.domain.mirror_load import Load, load_of
from flowguard.domain.mirror_proposal import LOSSLESS_COPIES, WHICH_PAUSE, MirrorRefused, Proposal, Wish, propose
from policyhub.domain.change import Commands
from policyhub.domain.device_config import DeviceConfig, Interface, Losslessness
from policyhub.domain.errors import CannotRender
from policyhub.domain.mirroring import Copied, Mirror, MirrorDrafts, MirrorKind
from policyhub.domain.qos import DscpMap
from policyhub.vendors.cisco_nxos.mirror import MIRRORS as NXOS

PORTS = (
    Interface("Eth1", speed_bps=10**10), Interface("Eth2", speed_bps=10**10), Interface("Eth9", addresses=("10.0.0.1/24",)),
    Interface("Eth9.7"), Interface("Eth3", speed_bps=10**9, enabled=False),
)  # fmt: skip
CONFIG = DeviceConfig("x_os", "box", 9, interfaces=PORTS)
SPAN = Wish("Eth1", destination="Eth2")
ERSPAN = Wish("Eth1", collector="10.9.9.9", origin="10.0.0.1")
RSPAN = Wish("Eth1", destination="Eth2", vlan=999)
NOTHING = Load("unknown")


def draft(wish: Mirror, running: str) -> Commands:
    return Commands((f"copy {wish.source} {wish.dscp}",), ("no copy",), ())


DRAFTS = MirrorDrafts(
    range(1, 5), frozenset(MirrorKind), lambda running: frozenset(map(int, running.split())), draft,
    by_port=frozenset({MirrorKind.SPAN, MirrorKind.RSPAN}),
)  # fmt: skip


def asked(wish: Wish = SPAN, config: DeviceConfig = CONFIG, running: str = "", load: Load = NOTHING, **drafts) -> Proposal:
    return propose(wish, config, replace(DRAFTS, **drafts), running, load)


def pausing(*rows: tuple[str, bool | None, set[int] | None]) -> DeviceConfig:
    losses = tuple(Losslessness(port, on, None if which is None else frozenset(which)) for port, on, which in rows)
    return replace(CONFIG, losslessness=losses)


def maps(*levels: dict[int, int]) -> tuple[DscpMap, ...]:
    return tuple(DscpMap(f"m{n}", tuple(sorted(level.items()))) for n, level in enumerate(levels))


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (replace(SPAN, destination="eth1"), "to itself"),
        (Wish("Eth9", destination="Eth9.7"), "to itself"),
        (replace(SPAN, destination="Eth9.7"), "Eth9.7 has the address 10.0.0.1/24"),
        (replace(SPAN, source="Eth4"), "port Eth4 is not in the configuration. Ports there: Eth1, Eth2, Eth9, Eth9.7, Eth3"),
        (replace(SPAN, destination="Eth2; reboot"), "is no name of a port"),
        (replace(SPAN, source=""), "is no name of a port"),
        (replace(SPAN, destination=""), "Give --destination PORT"),
        (replace(ERSPAN, destination="Eth2"), "Leave --destination out"),
        (replace(ERSPAN, origin=""), "must both be addresses"),
        (replace(ERSPAN, collector="10.0.0.1"), "two IPv4 addresses"),
        (replace(ERSPAN, collector="239.1.1.1"), "two IPv4 addresses"),
        (replace(ERSPAN, collector="2001:db8::1", origin="2001:db8::2"), "two IPv4 addresses"),
        (replace(RSPAN, vlan=4095), "2 to 4094"),
        (replace(RSPAN, vlan=1), "2 to 4094"),
        (replace(ERSPAN, vlan=7), "without --collector"),
        (replace(SPAN, session=2), "session 2 is taken, or not one of 1 to 4. The next free is 3"),
        (replace(SPAN, session=5), "The next free is 3"),
    ],
)
def test_what_would_harm_or_cannot_be_is_refused_with_a_cure(wish: Wish, told: str) -> None:
    with pytest.raises(MirrorRefused, match=r"FG-E020 .*") as refused:
        asked(wish, running="1 2")
    assert told in str(refused.value)


def test_many_ports_are_not_all_listed_and_the_bounds_of_a_vlan_are_vlans() -> None:
    many = replace(CONFIG, interfaces=tuple(Interface(f"Eth{number}") for number in range(9)))
    with pytest.raises(MirrorRefused, match=r"Ports there: Eth0, .*, Eth7, \.\.\.$"):
        asked(replace(SPAN, source="Te1"), many)
    assert [asked(replace(RSPAN, vlan=vlan)).mirror.vlan for vlan in (2, 4094)] == [2, 4094]


def test_a_kind_that_the_platform_has_not_is_refused() -> None:
    with pytest.raises(MirrorRefused, match=r"x_os has no rspan that is documented\. It has: erspan, span"):
        asked(RSPAN, kinds=frozenset({MirrorKind.SPAN, MirrorKind.ERSPAN}))


@pytest.mark.parametrize(
    ("row", "refused"),
    [
        (("Eth2", True, {3}), True),
        (("eth2", None, {3}), True),
        (("Eth2", True, None), True),
        (("Eth2", None, None), False),  # only a watchdog stands there
        (("Eth2", False, {3}), False),
        (("Eth1", True, {3}), False),
    ],
)
def test_a_port_with_flow_control_takes_no_copies_but_may_be_copied(
    row: tuple[str, bool | None, set[int] | None], refused: bool
) -> None:
    if refused:
        with pytest.raises(MirrorRefused, match="must not enter a lossless port"):
            asked(config=pausing(row))
    else:
        assert asked(config=pausing(row)).mirror.destination == "Eth2"


def test_rspan_keeps_priorities_so_it_is_refused_beside_lossless_ones() -> None:
    assert asked(RSPAN).mirror.vlan == 999
    assert asked(RSPAN, pausing(("Eth1", False, {3}))).mirror.vlan == 999
    with pytest.raises(MirrorRefused, match="priorities 3, 4 are lossless"):
        asked(RSPAN, pausing(("Eth1", True, {4, 3})))


@pytest.mark.parametrize(
    ("priorities", "tables", "mark"),
    [
        (set(), (), 8),
        ({3}, (), 8),
        ({1}, (), 0),  # without a map CS1 is priority 1
        ({1}, maps({8: 0, 0: 0}), 8),
        ({0}, maps({8: 0, 0: 1}), 0),
        (set(), maps({8: 1, 0: 0}), 0),  # CS1 is served better than best effort
        (set(), maps({8: 0, 0: 0}, {8: 2, 0: 0}), 0),
        ({2}, maps({8: 2, 0: 0}, {46: 5}), 0),
        ({0, 1}, (), None),
        ({0}, maps({8: 0, 0: 0}), None),
    ],
)
def test_erspan_gets_the_lowest_class_that_may_drop(priorities: set[int], tables: tuple[DscpMap, ...], mark: int | None) -> None:
    config = replace(pausing(("Eth1", True, priorities)), dscp_maps=tables)
    if mark is None:
        with pytest.raises(MirrorRefused, match="both lie in lossless priorities"):
            asked(ERSPAN, config)
    else:
        found = asked(ERSPAN, config)
        assert found.mirror.dscp == mark and found.commands.lines == (f"copy Eth1 {mark}",)


def test_a_platform_that_cannot_mark_says_so_and_is_refused_where_best_effort_pauses() -> None:
    found = asked(ERSPAN, marks=False)
    assert found.mirror.dscp is None and any("no command for the mark" in str(note) for note in found.notes)
    with pytest.raises(MirrorRefused, match=r"cannot mark ERSPAN, and best effort is lossless here \(0\)"):
        asked(ERSPAN, pausing(("Eth1", True, {0})), marks=False)


def test_the_next_free_session_is_taken_and_two_where_one_copies_one_way() -> None:
    assert asked(running="1 3").mirror.numbers == (2,)
    assert asked(running="1", one_way=True).mirror.numbers == (2, 3)
    assert asked(replace(SPAN, copied=Copied.TX), running="1", one_way=True).mirror.numbers == (2,)
    assert asked(replace(SPAN, session=3), running="1", one_way=True).mirror.numbers == (3, 4)
    with pytest.raises(MirrorRefused, match="all 4 sessions of the device are taken"):
        asked(running="1 2 4", one_way=True)


def test_a_configuration_without_ports_is_not_held_against_the_wish_but_said() -> None:
    found = asked(config=DeviceConfig("x_os", "", 1))
    assert [str(note) for note in found.notes if "lists no ports" in str(note)] == [
        "The configuration lists no ports: whether Eth1 exists was not checked.",
        "The configuration lists no ports: whether Eth2 exists was not checked.",
    ]


def test_notes_name_what_copies_cannot_show() -> None:
    texts = {note.template for note in asked(ERSPAN, pausing(("Eth1", True, None))).notes}
    assert {LOSSLESS_COPIES, WHICH_PAUSE} <= texts
    assert not {LOSSLESS_COPIES, WHICH_PAUSE} & {note.template for note in asked(ERSPAN).notes}
    assert any(
        "No port of the configuration has 10.0.0.2" in str(note) for note in asked(replace(ERSPAN, origin="10.0.0.2")).notes
    )
    assert any("Eth3 is shut down" in str(note) for note in asked(Wish("Eth3", destination="Eth2")).notes)


def test_a_port_with_an_address_that_is_none_is_passed_over() -> None:
    odd = replace(CONFIG, interfaces=(Interface("Eth0", addresses=("2404:::2/64", "dhcp")), *PORTS))
    assert not any("No port of the configuration" in str(note) for note in asked(ERSPAN, odd).notes)


def reading(second: float, packets: int, octets: int | None) -> Reading:
    return Reading(int(second * 1e9), packets, octets)


def test_load_is_the_busiest_interval_of_the_counters_with_outer_headers() -> None:
    rows = [reading(0, 0, 0), reading(10, 1000, 10**6), reading(20, 5000, 6 * 10**6), reading(30, 10, 10), reading(40, 20, None)]
    load = load_of(MirrorKind.ERSPAN, Copied.RX, readings=rows, speed_bps=10**10)
    assert (load.basis, load.copied_bps, load.frames_ps, load.total_bps) == ("counters", 4e6, 400, 4e6 + 400 * 50 * 8)
    assert load_of(MirrorKind.RSPAN, Copied.RX, readings=rows).total_bps == 4e6 + 400 * 4 * 8
    assert load_of(MirrorKind.SPAN, Copied.RX, readings=rows).total_bps == 4e6


def test_a_reset_or_a_reading_without_octets_leaves_out_its_interval_only() -> None:
    rows = [
        reading(0, 9, 900),
        reading(1, 5, 950),
        reading(2, 6, 100),
        reading(3, 6, 100),
        reading(4, 7, None),
        reading(5, 8, 1000),
    ]
    assert load_of(MirrorKind.SPAN, Copied.RX, readings=rows[:4]).copied_bps == 0
    assert load_of(MirrorKind.SPAN, Copied.RX, readings=[*rows, reading(7, 10, 1200)]).copied_bps == 800
    assert Load("given", 8.0, None, 50).total_bps == 8.0


def test_load_without_counters_is_assumed_for_each_way_or_unknown() -> None:
    assumed = load_of(MirrorKind.SPAN, Copied.BOTH, speed_bps=10**10, use=0.25)
    assert (assumed.basis, assumed.copied_bps, assumed.use) == ("assumed", 5e9, 0.25)
    assert load_of(MirrorKind.SPAN, Copied.TX, speed_bps=10**10, use=0.25).copied_bps == 2.5e9
    resets = [reading(0, 9, 9), reading(1, 1, 1)]
    assert load_of(MirrorKind.SPAN, Copied.RX, readings=resets).basis == "unknown"
    assert load_of(MirrorKind.SPAN, Copied.RX, rate_bps=5.0, readings=resets, speed_bps=9) == Load("given", 5.0, 5 / 8 / 500)
    assert Load("unknown").total_bps is None


@pytest.mark.parametrize(("bps", "fits", "note"), [
    (11e9, False, "too slow"), (8e9, True, "leaves little room"), (5e9, True, None), (None, None, "is not known"),
])  # fmt: skip
def test_load_is_held_against_the_capacity_of_the_destination(bps: float | None, fits: bool | None, note: str | None) -> None:
    found = asked(load=Load("given", bps, 0.0))
    assert found.fits is fits and found.capacity_bps == 10**10
    assert [str(each) for each in found.notes if note and note in str(each)] == [str(each) for each in found.notes]
    assert bool(found.notes) == bool(note)


def test_one_direction_is_not_advised_to_whom_mirrors_one() -> None:
    for copied, advised in ((Copied.BOTH, True), (Copied.RX, False), (Copied.TX, False)):
        (note,) = asked(replace(SPAN, copied=copied), load=Load("given", 11e9, 0.0)).notes
        assert "too slow" in str(note) and "faster port" in str(note) and ("Mirror one direction" in str(note)) is advised


def test_the_way_to_the_collector_has_the_capacity_that_is_given() -> None:
    assert asked(ERSPAN, load=Load("given", 1e9, 0.0)).fits is None
    assert asked(replace(ERSPAN, capacity_bps=2e9), load=Load("given", 1e9, 0.0)).use == 0.5


def test_nxos_has_one_origin_for_all_sessions() -> None:
    running = "monitor erspan origin ip-address 10.0.0.1 global\n"
    found = propose(ERSPAN, CONFIG, NXOS, running, NOTHING).commands
    assert not any("origin" in line for line in (*found.lines, *found.inverse))
    with pytest.raises(CannotRender, match=r"Give --origin 10\.0\.0\.1"):
        propose(replace(ERSPAN, origin="10.0.0.2"), CONFIG, NXOS, running, NOTHING)


def test_nxos_leaves_a_port_that_is_a_destination_already() -> None:
    running = "interface Eth2\n  switchport\n  Switchport  monitor\ninterface Eth1\n"
    found = propose(Wish("Eth1", destination="Eth2"), CONFIG, NXOS, running, NOTHING).commands
    assert found.lines[0] == "monitor session 1" and found.inverse == ("no monitor session 1",)
    other = propose(Wish("Eth1", destination="Eth2"), CONFIG, NXOS, "interface Eth1\n  switchport monitor\n", NOTHING).commands
    assert "  no switchport monitor" in other.inverse


def test_nxos_makes_a_routed_port_routed_again() -> None:
    wish = Wish("Eth1", destination="Eth2")
    lines = propose(wish, CONFIG, NXOS, "interface Eth2\n  no switchport\ninterface Eth1\n", NOTHING).commands
    assert (
        lines.lines[:3] == ("interface Eth2", "  switchport", "  switchport monitor") and lines.inverse[-1] == "  no switchport"
    )
    other = propose(wish, CONFIG, NXOS, "interface Eth1\n  no switchport\ninterface Eth2\n", NOTHING).commands
    assert "  switchport" not in other.lines and "  no switchport" not in other.inverse
