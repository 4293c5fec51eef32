"""Probes are found however they are wrapped, and their copies say of the mirror what they can and no more."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from flowguard.domain.probe import MAGIC, PORT, PointFacts, Seen, Sent, find, judge, payload, run_of

RUN = "00112233445566ff"
NOW = 1_700_000_000_000_000_000
MARKS = (0, 8, 46)
Links = Packet


def probe(sequence: int = 5, sent: int = 46, seen: int | None = None) -> Packet:
    tos = (sent if seen is None else seen) << 2 | 1
    return IP(src="10.0.0.1", dst="10.0.1.9", tos=tos) / UDP(sport=40_000, dport=PORT) / Raw(payload(RUN, sequence, sent, NOW))


def ethernet() -> Packet:
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def erspan(frame: Packet) -> Packet:
    head = struct.pack(">HHI", 0x1000, 0x88BE, 77) + struct.pack(">HHI", 0x1005, 1, 0)
    return ethernet() / IP(src="192.0.2.1", dst="192.0.2.2", tos=32, proto=47) / Raw(head + bytes(frame))


WRAPPED = {
    "plain": (ethernet() / probe(), None),
    "tagged": (ethernet() / Dot1Q(vlan=7, prio=5) / probe(), 7),
    "two tags": (ethernet() / Dot1AD(vlan=100) / Dot1Q(vlan=9) / probe(), 9),
    "erspan": (erspan(ethernet() / probe()), None),
    "erspan tagged": (erspan(ethernet() / Dot1Q(vlan=7) / probe()), 7),
    "vxlan": (ethernet() / IP() / UDP(dport=4789) / VXLAN(vni=5) / ethernet() / probe(), None),
    "bare ip": (probe(), None),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_probe_is_found_however_it_is_wrapped(name: str) -> None:
    frame, vlan = WRAPPED[name]
    assert find(bytes(frame), NOW + 5) == Seen(RUN, 5, 46, 46, vlan, NOW + 5, NOW)


def test_the_mark_is_that_of_the_header_it_was_seen_with_also_of_ipv6() -> None:
    assert find(bytes(ethernet() / probe(sent=46, seen=8)), NOW) == Seen(RUN, 5, 46, 8, None, NOW, NOW)
    six = IPv6(src="2001:db8::1", dst="2001:db8::2", tc=26 << 2 | 3) / UDP(sport=1, dport=PORT) / Raw(payload(RUN, 7, 26, NOW))
    assert find(bytes(ethernet() / Dot1Q(vlan=4094) / six), NOW) == Seen(RUN, 7, 26, 26, 4094, NOW, NOW)


@pytest.mark.parametrize("cut", [0, 30, 42, 60, 73])
def test_a_frame_that_is_cut_within_the_payload_is_no_probe(cut: int) -> None:
    whole = bytes(ethernet() / probe())
    assert find(whole, NOW) is not None and len(whole) == 74
    assert find(whole[:cut], NOW) is None


@pytest.mark.parametrize("frame", [MAGIC, MAGIC * 9, b"\x45" * 40 + MAGIC + bytes(40), bytes(ethernet() / probe())[20:]])
def test_the_magic_alone_is_no_probe(frame: bytes) -> None:
    assert find(frame, NOW) is None


def seen(sequence: int, dscp: int | None = None, vlan: int | None = None, mark: int | None = None) -> Seen:
    sent = MARKS[sequence % 3] if mark is None else mark
    return Seen(RUN, sequence, sent, sent if dscp is None else dscp, vlan, NOW + 900 + sequence, NOW + sequence)


SENT = Sent(RUN, MARKS * 20)
ALL = [seen(number) for number in range(60)]
EF_TO_0 = [seen(number, dscp=0 if number % 3 == 2 else None) for number in range(60)]
ARRIVED = [row for row in ALL if row.sequence % 10]  # six are lost


@pytest.mark.parametrize(
    ("copies", "arrivals", "rewrite"),
    [
        (ALL, EF_TO_0, "before"),
        (EF_TO_0, EF_TO_0, "after"),
        (EF_TO_0, None, "after"),
        (EF_TO_0, ALL, "after"),  # changed, and changed back behind
        (ALL, ALL, "unknown"),
        (ALL, None, "unknown"),
        ([*ALL, *EF_TO_0], EF_TO_0, "both"),
        (ALL[:19], EF_TO_0, "unknown"),
        (ALL[:30] + EF_TO_0[30:], EF_TO_0, "unknown"),
    ],
)
def test_copies_show_marks_before_or_after_they_are_changed(
    copies: list[Seen], arrivals: list[Seen] | None, rewrite: str
) -> None:
    facts, _ = judge(copies, arrivals=arrivals, sent=SENT)
    assert facts.rewrite == rewrite


def test_marks_that_contradict_each_other_are_not_decided() -> None:
    copies = [replace(row, dscp=26) if row.sent_dscp == 8 else row for row in ALL]  # 8 changed before, 46 behind
    assert judge(copies, arrivals=EF_TO_0, sent=SENT)[0].rewrite == "unknown"


@pytest.mark.parametrize(
    ("copies", "arrivals", "sent", "drop"),
    [
        (ALL, ARRIVED, SENT, "before"),
        (ALL, ARRIVED, None, "before"),  # the copies say what was sent
        (ARRIVED, ARRIVED, SENT, "after"),
        (ARRIVED, ARRIVED, None, "unknown"),
        (ALL, ALL, SENT, "unknown"),
        (ALL, ALL[:-4], SENT, "unknown"),
        (ALL, ALL[:-5], SENT, "before"),
        (ALL, None, SENT, "unknown"),
        ([row for row in ALL if row.sequence % 20], ARRIVED, SENT, "unknown"),  # half of what was lost
        (ARRIVED[::2], ARRIVED, SENT, "unknown"),  # the mirror itself loses half
        (ALL, [], SENT, "unknown"),
    ],
)
def test_copies_of_what_never_arrived_were_made_before_it_was_dropped(
    copies: list[Seen], arrivals: list[Seen] | None, sent: Sent | None, drop: str
) -> None:
    assert judge(copies, arrivals=arrivals, sent=sent)[0].egress_drop == drop


@pytest.mark.parametrize(
    ("tagged_copies", "is_tagged", "tags"),
    [
        (60, False, "kept"),
        (54, True, "kept"),
        (30, False, "some"),
        (0, False, "none"),
        (0, True, "stripped"),
        (3, True, "stripped"),
    ],
)
def test_tags_are_kept_stripped_or_never_were(tagged_copies: int, is_tagged: bool, tags: str) -> None:
    copies = [replace(row, vlan=7 if row.sequence < tagged_copies else None) for row in ALL]
    assert judge(copies, tagged=is_tagged)[0].tags == tags


def test_doubles_losses_pauses_and_cuts_are_counted() -> None:
    facts, figures = judge([*ALL[:50], *ALL[:5]], arrivals=ALL, sent=SENT, pauses=2, cut_to=128)
    assert facts == PointFacts("unknown", "unknown", "none", "seen", 128, 0.1, round(10 / 60, 6))
    expected = {"sent": 60, "copied": 50, "twice": 5, "arrived": 60, "arrived_not_copied": 10, "not_arrived": 0, "tagged": 0}
    assert {key: figures[key] for key in expected} == expected
    assert judge(ALL, arrivals=ARRIVED, sent=SENT)[1]["copied_not_arrived"] == 6 and judge(ALL)[1]["copied_not_arrived"] is None
    assert figures["copy_after_sending_ns"] == 900 and figures["marks_of_arrivals"]["46"] == {"46": 20}
    assert judge(ALL, pauses=0)[0].pause == "not-seen" and judge(ALL)[0].pause == "unknown"


def test_nothing_is_told_of_nothing() -> None:
    facts, figures = judge([], arrivals=ALL, sent=SENT)
    assert facts == PointFacts(mirror_loss=1.0) and figures["copied"] == 0 and figures["copy_after_sending_ns"] is None


def test_the_largest_run_is_judged_unless_one_is_named() -> None:
    others = [replace(row, run="f" * 16) for row in ALL[:20]]
    assert list(run_of([*others, *ALL])) == ALL
    assert list(run_of([*others, *ALL], "f" * 16)) == others
    assert list(run_of([])) == [] and list(run_of(ALL, "e" * 16)) == []
