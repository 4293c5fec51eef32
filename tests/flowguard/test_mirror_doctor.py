"""`policyhub sensor doctor PCAP...`: every fault of a mirror is recognised where it was built in, and none where it was not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.packet import Packet, Raw

from flowguard.sensor import cli as sensor_cli
from policyhub.conf import cli
from tests.support.capture_files import Stamped, write_capture

START, STEP = 1_700_000_000_000_000_123, 1_000_017
CORPUS = Path(os.environ.get("POLICYHUB_CORPUS") or Path(__file__).parents[2].parent / "shared" / "data")
Change = Callable[[list[Stamped]], Iterable[Stamped]]


@cache
def talks(count: int = 8, segments: int = 30, size: int = 1_448) -> list[tuple[int, Packet]]:
    """Conversations in which every segment is acknowledged, time rising, one packet each step; nobody changes them."""
    frames: list[tuple[int, Packet]] = []
    now = START
    for number in range(segments):
        for talk in range(count):
            out = {"src": f"10.0.0.{talk + 1}", "dst": "10.0.1.9", "id": number * 2 + 1, "ttl": 60}
            back = {"src": "10.0.1.9", "dst": f"10.0.0.{talk + 1}", "id": number * 2 + 2, "ttl": 60}
            data = TCP(sport=40_000 + talk, dport=443, seq=1 + size * number, ack=1, flags="PA") / bytes(size)
            ack = TCP(sport=443, dport=40_000 + talk, seq=1, ack=1 + size * (number + 1), flags="A")
            for packet in (Ether() / IP(**out) / data, Ether() / IP(**back) / ack):
                frames.append((now, packet))
                now += STEP
    return frames


def raw(frames: Iterable[tuple[int, Packet]]) -> list[Stamped]:
    return [(ns, bytes(packet)) for ns, packet in frames]


def one_way() -> list[Stamped]:
    return raw((ns, packet) for ns, packet in talks() if packet[IP].src != "10.0.1.9")


def doubled() -> list[Stamped]:
    """Each packet again behind the router, with one hop less."""
    frames = []
    for ns, packet in talks():
        behind = packet.copy()
        behind[IP].ttl -= 1
        del behind[IP].chksum
        frames += [(ns, packet), (ns + 30_000, behind)]
    return raw(frames)


def half_tagged() -> list[Stamped]:
    tag = lambda packet: Ether() / Dot1Q(vlan=7, prio=5) / packet[IP]  # noqa: E731
    return raw((ns, tag(packet) if packet[IP].src == "10.0.1.9" else packet) for ns, packet in talks())


def overrun() -> list[Stamped]:
    """Every ninth segment is missing, yet acknowledged."""
    return raw(frame for n, frame in enumerate(talks()) if n % 18 != 4)


def stepped() -> list[Stamped]:
    frames = raw(talks())
    return [(ns - 40_000_000 if n > len(frames) // 2 else ns, frame) for n, (ns, frame) in enumerate(frames)]


def batched() -> list[Stamped]:
    return [(START + n // 64 * 64 * STEP, frame) for n, (_, frame) in enumerate(raw(talks()))]


def coarse() -> list[Stamped]:
    return [(ns // 1_000_000 * 1_000_000, frame) for ns, frame in raw(talks())]


def mirrored(lose: Callable[[int], bool]) -> list[Stamped]:
    """ERSPAN II (draft-foschiano-erspan, 4.2) of the conversations."""
    frames = []
    for n, (ns, packet) in enumerate(talks()):
        if not lose(n):
            outer = Ether() / IP(src="10.9.0.1", dst="10.9.0.2") / GRE(proto=0x88BE, seqnum_present=1, seqence_number=n)
            frames.append((ns, bytes(outer / Raw(b"\x10\x01\x00\x05\x00\x00\x00\x00" + bytes(packet)))))
    return frames


FAULTS: dict[str, tuple[str, Callable[[], list[Stamped]], int]] = {
    "one direction": ("unidirectional", one_way, 65_535),
    "both sides of a router": ("duplicated", doubled, 65_535),
    "tag of one direction stripped": ("untagged", half_tagged, 65_535),
    "sliced": ("truncated", lambda: raw(talks()), 64),
    "joined by GRO": ("offload-merged", lambda: raw(talks(size=4 * 1_448)), 65_535),
    "oversubscribed": ("oversubscribed", overrun, 65_535),
    "ERSPAN lost on its way": ("oversubscribed", partial(mirrored, lambda n: n % 40 == 7), 65_535),
    "clock set back": ("clock-backwards", stepped, 65_535),
    "stamped in batches": ("clock-batches", batched, 65_535),
    "clock of milliseconds": ("clock-coarse", coarse, 65_535),
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = cli.run(sensor_cli, "sensor", ["doctor", *arguments])
    return code, capsys.readouterr().out


def codes(capsys: pytest.CaptureFixture[str], file: Path) -> tuple[int, set[str], dict[str, Any]]:
    code, out = run(capsys, str(file), "--format=json")
    point = json.loads(out)["points"][0]
    return code, {sign["code"] for sign in point["signs"]}, point


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_recognised_alone(name, tmp_path, capsys):
    code, frames, snaplen = FAULTS[name]
    found = codes(capsys, write_capture(tmp_path / "m.pcap", frames(), snaplen=snaplen))
    expected = {code} | ({"wrapped"} if name == "ERSPAN lost on its way" else set())
    assert (found[0], found[1]) == (1, expected)
    assert all(sign["evidence"] and sign["means"] and sign["cure"] for sign in found[2]["signs"])


def test_sound_captures_are_not_accused(tmp_path, capsys):
    jumbo = raw(talks(size=8_948))
    for frames in (raw(talks()), jumbo):
        assert codes(capsys, write_capture(tmp_path / "m.pcap", frames))[:2] == (0, set())


def test_a_capture_that_is_mostly_erspan_is_told_until_it_is_unwrapped(tmp_path, capsys):
    file = write_capture(tmp_path / "m.pcap", mirrored(lambda n: False))
    code, signs, point = codes(capsys, file)
    assert (code, signs) == (1, {"wrapped"}) and "--unwrap POINT=erspan" in point["signs"][0]["cure"]
    code, out = run(capsys, str(file), "--unwrap", "m=erspan")
    assert (code, f"nothing wrong showed in {len(talks())} frames" in out) == (0, True)
    assert run(capsys, str(file), "--unwrap", "x=erspan")[0] == 2
    half = sorted([*mirrored(lambda n: n % 2 == 0), *raw(talks()[::2])])
    assert "wrapped" not in codes(capsys, write_capture(tmp_path / "h.pcap", half))[1]


def test_figures_are_those_built_in(tmp_path, capsys):
    lost = codes(capsys, write_capture(tmp_path / "m.pcap", overrun()))[2]["figures"]
    missing = sum(n % 18 == 4 for n in range(len(talks())))
    assert 0 < lost["streams"]["unseen"] <= missing
    erspan = codes(capsys, write_capture(tmp_path / "e.pcap", mirrored(lambda n: n in (5, 6, 300))))[2]["figures"]
    assert (erspan["mirrors"]["missing"], erspan["mirrors"]["frames"]) == (3, len(talks()) - 3)


def test_chinese_words_and_english_words_say_the_same_figures(tmp_path, capsys):
    file = str(write_capture(tmp_path / "m.pcap", doubled()))
    english, chinese = run(capsys, file)[1], run(capsys, file, "--lang=zh")[1]
    assert "duplicated: 480 of 960 packets" in english and "Mirror one side only" in english
    assert "480" in chinese and "镜像" in chinese and "Mirror one side" not in chinese


def test_bad_input_is_one_line(tmp_path, capsys):
    assert run(capsys)[0] == 2
    assert run(capsys, str(tmp_path / "none.pcap"))[0] == 2
    (tmp_path / "text.pcap").write_text("no capture")
    assert run(capsys, str(tmp_path / "text.pcap"))[0] == 2


@pytest.mark.corpus
@pytest.mark.parametrize("folder", ["1_baseline", "2_training_in_ef", "3_training_in_be", "4_microburst", "5_dscp_rewritten",
                                    "6_short_lived", "8_roce"])  # fmt: skip
def test_healthy_captures_of_the_set_are_not_accused(folder, capsys):
    where = CORPUS / "scenarios" / folder
    for name in ("ingress", "egress"):
        code, signs, _ = codes(capsys, where / f"{name}.pcap")
        assert (code, signs) == (0, set())
