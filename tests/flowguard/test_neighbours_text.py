"""What people read of neighbours: lossless priorities, bandwidth, and a dash for what was not said."""

from __future__ import annotations

from flowguard.sensor.neighbours_text import neighbours_text

ETS = {"class_of": [0, 0, 0, 3, 0, 0, 0, 0], "percent": [50, 20, 0, 30, 0, 0, 0, 0]}
SAID = {"dialect": "ieee", "pfc": {"enabled": [3, 4], "willing": True}, "ets": ETS, "roce_priority": 3}


def row(dcbx: list[dict[str, object]]) -> list[str]:
    neighbour = {"system_name": None, "chassis": "leaf", "port": "Eth1", "frames": 1234, "dcbx": dcbx}
    text = neighbours_text({"points": [{"name": "p", "lldp": [neighbour]}]})
    return [cell.strip() for cell in text.splitlines()[2].split("  ") if cell]


def test_what_is_lossless_and_who_shares_the_bandwidth_is_told():
    shares = "0,1,2,4,5,6,7: 50 %; 3: 30 %"
    assert row([SAID]) == ["p", "-", "leaf", "Eth1", "IEEE", "3 4", "yes", shares, "3", "1,234"]
    quiet = {"dialect": "cee", "pfc": {"enabled": [], "willing": False}, "ets": None, "roce_priority": None}
    assert row([quiet])[4:] == ["CEE", "none", "no", "-", "-", "1,234"]


def test_a_neighbour_without_dcbx_is_a_neighbour_and_a_point_without_neighbours_has_no_table():
    assert row([]) == ["p", "-", "leaf", "Eth1", "-", "-", "-", "-", "-", "1,234"]
    assert neighbours_text({"points": [{"name": "p", "lldp": []}]}) == ""
