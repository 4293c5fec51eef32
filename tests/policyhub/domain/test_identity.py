"""The identity table: what a file may say, and who an address is."""

from __future__ import annotations

import ipaddress

import pytest

from policyhub.domain.errors import BadInput
from policyhub.domain.identity import COLUMNS, Identity, IdentityTable, check_fields, read_identities

HEADER = ",".join(COLUMNS)
ROW = "10.1.0.0/16,algo,tests,li.wei,non-core,46 AF31,22:00-06:00@Mon-Fri Asia/Shanghai,12.5"


def read(*rows: str, header: str = HEADER) -> tuple[Identity, ...]:
    return read_identities("\n".join((header, *rows)) + "\n", "id.csv")


def test_a_row_of_every_column() -> None:
    window = "22:00-06:00@Mon-Fri Asia/Shanghai"
    assert read(ROW) == (Identity("10.1.0.0/16", "algo", "tests", "li.wei", False, frozenset({46, 26}), window, 12.5, ""),)
    (realm,) = read("::/0,a,,,core,,,,lab", header=f"\ufeff {HEADER} ,realm")
    assert realm == Identity("::/0", "a", core=True, realm="lab")


@pytest.mark.parametrize(
    ("rows", "header", "said"),
    [
        ([ROW], HEADER.replace(",owner", ""), "id.csv:1: missing column owner"),
        ([ROW], HEADER + ",colour", "id.csv:1: unknown column colour"),
        ([ROW], HEADER.replace("owner", "colour"), "id.csv:1: missing column owner"),
        ([ROW, ROW], HEADER, "id.csv:3: 10.1.0.0/16 stands on line 2 already"),
        ([ROW + ",x"], HEADER, "id.csv:2: the number of fields differs"),
        ([ROW.rpartition(",")[0]], HEADER, "id.csv:2: the number of fields differs"),
        ([ROW.replace("10.1.0.0", "10.1.0.1")], HEADER, "id.csv:2: prefix '10.1.0.1/16'"),
        ([ROW.replace("non-core", "odd")], HEADER, "id.csv:2: class 'odd'"),
        ([ROW.replace("AF31", "64")], HEADER, "id.csv:2: allowed_dscp '46 64'"),
        ([ROW.replace("Mon-Fri", "Mon-Fry")], HEADER, "id.csv:2: active_window"),
        ([ROW.replace("Asia/Shanghai", "Asia/Nowhere")], HEADER, "id.csv:2: active_window"),
        ([ROW.replace("22:00", "25:00")], HEADER, "id.csv:2: active_window"),
        ([ROW.replace("12.5", "0")], HEADER, "id.csv:2: peak_mbps '0'"),
        ([ROW.replace("12.5", "1e9")], HEADER, "id.csv:2: peak_mbps '1e9'"),
        ([ROW.replace("12.5", "fast")], HEADER, "id.csv:2: peak_mbps 'fast'"),
        ([], HEADER, "id.csv:2: holds no identity. Add at least one row"),
        (['"10.1"x'], HEADER, "id.csv:2: not readable as CSV"),
    ],
)
def test_a_file_that_cannot_be_used_names_line_and_field(rows: list[str], header: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(*rows, header=header)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "prefix",
    [
        "10.0.0.0/8", "10.0.0.0/08", "10.1.0.0/8", "010.0.0.0/8", "10.0.0.0/33", "10.0.0.256/32", "255.255.255.255/32",
        "0.0.0.0/0", "10.0.0.1/0", "10.0.0.0", "10.0.0/8", "10.0.0.128/25", "10.0.0.64/25", "\uff11\uff10.0.0.0/8",
        "10.0.0.0/255.0.0.0", "2001:DB8::/32",
    ],
)  # fmt: skip
def test_the_short_way_to_read_a_prefix_leads_where_the_long_one_does(prefix: str) -> None:
    try:
        expected = str(ipaddress.ip_network(prefix))
    except ValueError:
        with pytest.raises(BadInput, match=r"id\.csv:2: prefix"):
            read(ROW.replace("10.1.0.0/16", prefix))
    else:
        assert read(ROW.replace("10.1.0.0/16", prefix))[0].prefix == expected


def test_one_prefix_may_stand_in_two_realms() -> None:
    rows = [f"{ROW},{realm}" for realm in ("a", "b")]
    assert [one.realm for one in read(*rows, header=HEADER + ",realm")] == ["a", "b"]


def test_windows_without_days_or_zone() -> None:
    for window in ("00:00-24:00", "08:00-18:00@Sat", "08:00-18:00 Europe/Berlin"):
        assert read(ROW.replace("22:00-06:00@Mon-Fri Asia/Shanghai", window))[0].active_window == window


def test_the_longest_prefix_of_the_realm_wins() -> None:
    prefixes = ("10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "0.0.0.0/0", "2001:db8::/32")
    table = IdentityTable([*(Identity(p, p) for p in prefixes), Identity("10.1.2.0/24", "other", realm="lab")])
    names = {
        "10.1.2.3": "10.1.2.3/32", "10.1.2.4": "10.1.0.0/16", "10.2.0.0": "10.0.0.0/8", "11.0.0.1": "0.0.0.0/0",
        "2001:db8:ffff::1": "2001:db8::/32",
    }  # fmt: skip
    for address, name in names.items():
        found = table.find(address)
        assert found is not None and found.name == name
    assert table.find("2001:db9::1") is None
    assert (lab := table.find("10.1.2.3", "lab")) is not None and lab.name == "other"
    assert table.find("10.1.3.3", "lab") is None and table.find("10.1.2.3", "none") is None


@pytest.mark.parametrize(
    ("prefix", "marks", "window", "peak", "said"),
    [
        ("10.0.0.0/8", [46, 8], "", 1.0, ""),
        ("10.0.0.0/8", None, "08:00-18:00", None, ""),
        ("10.0.0.0/8", [], "", None, "allowed_dscp is no list"),
        ("10.0.0.0/8", "46", "", None, "allowed_dscp is no list"),
        ("10.0.0.0/8", ["ef"], "", None, "something that is no number"),
        ("10.0.0.0/8", [64], "", None, "allowed_dscp"),
        ("10.0.0.0/255.0.0.0", [46], "", None, "is written 10.0.0.0/8"),
        ("10.0.0.0/8", None, "noon", None, "active_window"),
        ("10.0.0.0/8", None, "", -2.0, "peak_mbps"),
    ],
)
def test_a_form_is_held_to_the_same(prefix: str, marks: object, window: str, peak: float | None, said: str) -> None:
    if not said:
        check_fields(prefix, marks, window, peak)
        return
    with pytest.raises(BadInput, match=said):
        check_fields(prefix, marks, window, peak)
