"""Neighbours by LLDP, and what DCBX says of lossless classes, beside tshark: public captures, and frames made afresh."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

import native_capture
from tests.support.seeds import fresh_seeds
from tests.support.tshark import rows

pytestmark = pytest.mark.corpus

CAPTURES = ("arkime__wireshark-lldp", "lldpd__8023bt", "tcpdump__LLDP_and_CDP", "tcpdump__dcb_ets")
ALGORITHMS = {"0": "strict", "1": "credit", "2": "ets", "255": "vendor"}
SELECTORS = {
    "ieee": {"1": "ethertype", "2": "tcp-port", "3": "udp-port", "4": "port", "5": "dscp"},
    "cee": {"0": "ethertype", "1": "port"},
}
ONCE = (
    "frame.time_epoch",
    "lldp.chassis.id.mac",
    "lldp.port.id.mac",
    "lldp.port.id",
    "lldp.time_to_live",
    "lldp.tlv.system.name",
)
CLASSES = [f"lldp.dcbx.feature.pg.pgid_prio{n}" for n in range(8)]
PERCENT = [f"lldp.dcbx.feature.pg.per{n}" for n in range(8)]
USED = [f"lldp.dcbx.ieee.ets.tsa{n}" for n in range(8)]
PAUSED = [f"lldp.dcbx.feature.pfc.prio{n}" for n in range(8)]
APPLICATIONS = (
    "lldp.dcbx.iee.app.sf",
    "lldp.dcbx.feature.app.sf",
    "lldp.dcbx.feature.app.proto",
    "lldp.dcbx.ieee.app.prio",
    "lldp.dcbx.feature.app.prio",
)
WILLING = ("lldp.dcbx.ieee.willing", "lldp.dcbx.feature.willing")
ALL = (*ONCE, *CLASSES, *PERCENT, *USED, *PAUSED, *APPLICATIONS, *WILLING)

Row = dict[str, Any]


def by_tshark(path: Path) -> list[dict[str, list[str]]]:
    """Of each LLDP frame: name of a field to its values."""
    frames = (dict(zip(ALL, row, strict=True)) for row in rows(path, *ALL, only="lldp", joined=";"))
    return [{name: value.split(";") if value else [] for name, value in frame.items()} for frame in frames]


def newest(frames: list[dict[str, list[str]]]) -> dict[tuple[str, str], dict[str, list[str]]]:
    frames = sorted(frames, key=lambda frame: float(frame["frame.time_epoch"][0]))
    return {(frame["lldp.chassis.id.mac"][0], (frame["lldp.port.id.mac"] or frame["lldp.port.id"])[0]): frame for frame in frames}


def ours(path: Path) -> dict[tuple[str, str], Row]:
    report = json.loads(native_capture.analyse([("p", path)]))
    return {(row["chassis"], row["port"]): row for row in report["points"][0]["lldp"]}


def nth(frame: dict[str, list[str]], names: list[str], at: int) -> list[int] | None:
    return [int(frame[name][at]) for name in names] if len(frame[names[0]]) > at else None


@pytest.mark.parametrize("name", CAPTURES)
def test_neighbours_of_public_captures_are_those_of_tshark(name: str, corpus: Path) -> None:
    path = corpus / "pcap" / "pfc_dcb_lldp" / f"{name}.pcap"
    frames, found = by_tshark(path), ours(path)
    wanted = newest(frames)
    assert found.keys() == wanted.keys() and sum(row["frames"] for row in found.values()) == len(frames)
    for sender, row in found.items():
        frame = wanted[sender]
        names = [*frame["lldp.tlv.system.name"], None]
        assert (row["ttl_s"], row["system_name"]) == (int(frame["lldp.time_to_live"][0]), names[0])
        said = next((each for each in row["dcbx"] if each["ets"]), None)
        if classes := nth(frame, CLASSES, 0):
            assert said and (said["ets"]["class_of"], said["ets"]["percent"]) == (classes, nth(frame, PERCENT, 0))
            assert said["ets_recommended"]["class_of"] == nth(frame, CLASSES, 1)
        assert bool(said) == bool(classes)


# ---- frames made afresh


def tlv(kind: int, value: bytes) -> bytes:
    return struct.pack(">H", kind << 9 | len(value)) + value


def ets(dice: random.Random) -> bytes:
    return bytes(dice.randrange(256) for _ in range(4)) + bytes(dice.randrange(101) for _ in range(8))


def ieee(dice: random.Random) -> bytes:
    applications = b"".join(
        struct.pack(">BH", dice.randrange(8) << 5 | dice.randint(1, 5), dice.choice([4791, 0x8906, 46]))
        for _ in range(dice.randrange(5))
    )
    said = {
        9: bytes([dice.randrange(256)]) + ets(dice) + bytes(dice.choice([0, 1, 2, 255]) for _ in range(8)),
        10: b"\0" + ets(dice) + bytes(dice.choice([0, 1, 2, 255]) for _ in range(8)),
        11: bytes([dice.randrange(256), dice.randrange(256)]),
        12: b"\0" + applications,
    }
    return b"".join(tlv(127, b"\0\x80\xc2" + bytes([kind]) + body) for kind, body in said.items())


def cee(dice: random.Random) -> bytes:
    def head() -> bytes:
        return bytes([0, 0, dice.choice([0, 0x40, 0x80, 0xC0]), 0])

    applications = b"".join(
        struct.pack(">HBHB", dice.choice([4791, 0x8906]), dice.randrange(2), 0x1B21, 1 << dice.randrange(8))
        for _ in range(dice.randint(1, 4))
    )
    groups = head() + ets(dice) + bytes([dice.randrange(9)])
    features = [
        (1, bytes(10)),
        (2, groups),
        (3, head() + bytes([dice.randrange(256), dice.randrange(9)])),
        (4, head() + applications),
    ]
    return tlv(127, b"\0\x1b\x21\2" + b"".join(tlv(kind, body) for kind, body in features))


def write(path: Path, dialect: str, dice: random.Random) -> None:
    frames = []
    for number in range(20):
        head = (
            tlv(1, b"\4" + bytes(5) + bytes([number])),
            tlv(2, b"\5Ethernet%d" % number),
            tlv(3, struct.pack(">H", dice.randrange(1 << 16))),
        )
        body = b"".join(head) + tlv(5, b"leaf-%d" % number) + (ieee if dialect == "ieee" else cee)(dice) + tlv(0, b"")
        frames.append(Ether(src="02:00:00:00:00:01", dst="01:80:c2:00:00:0e", type=0x88CC) / body)
    wrpcap(str(path), frames)


def applications(frame: dict[str, list[str]], dialect: str) -> list[Row]:
    """tshark writes the one bit of CEE's set as its number."""
    kinds, names = (frame["lldp.dcbx.iee.app.sf"], frame["lldp.dcbx.ieee.app.prio"]) if dialect == "ieee" else (
        frame["lldp.dcbx.feature.app.sf"], frame["lldp.dcbx.feature.app.prio"])  # fmt: skip
    given = zip(kinds, frame["lldp.dcbx.feature.app.proto"], names, strict=True)
    return [
        {
            "selector": SELECTORS[dialect][kind],
            "protocol": int(protocol, 16),
            "priorities": [int(name)],
        }
        for kind, protocol, name in given
    ]


@pytest.mark.parametrize("dialect", ["ieee", "cee"])
@pytest.mark.parametrize("seed", fresh_seeds(2))
def test_what_dcbx_says_is_what_tshark_reads(seed: int, dialect: str, tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    write(path, dialect, random.Random(seed))
    wanted, found = newest(by_tshark(path)), ours(path)
    assert len(found) == 20 and found.keys() == wanted.keys()
    for sender, row in found.items():
        frame, (said,) = wanted[sender], row["dcbx"]
        assert (said["dialect"], row["complete"]) == (dialect, True)
        willing = [
            value == "1" for value in frame["lldp.dcbx.ieee.willing" if dialect == "ieee" else "lldp.dcbx.feature.willing"]
        ]
        assert [said["ets"]["willing"], said["pfc"]["willing"]] == willing[:2]
        assert said["pfc"]["enabled"] == [n for n, on in enumerate(nth(frame, PAUSED, 0) or []) if on]
        assert (said["ets"]["class_of"], said["ets"]["percent"]) == (nth(frame, CLASSES, 0), nth(frame, PERCENT, 0))
        assert said["applications"] == applications(frame, dialect)
        roce = {
            p
            for app in said["applications"]
            if app["protocol"] == 4791 and app["selector"] in ("udp-port", "port")
            for p in app["priorities"]
        }
        assert said["roce_priority"] == (next(iter(roce)) if len(roce) == 1 else None)
        if dialect == "ieee":
            assert said["ets"]["algorithm"] == [ALGORITHMS[frame[name][0]] for name in USED]
            assert said["ets_recommended"]["algorithm"] == [ALGORITHMS[frame[name][1]] for name in USED]
