"""What people read of several points: the fault with its control group, clocks, missed copies, and what is withheld."""

from __future__ import annotations

import pytest

from flowguard.sensor import flows_cli
from policyhub.conf import cli
from tests.native_capture.test_path import START, STEP, both_ways, data, write
from tests.native_capture.test_unwrap import recorded
from tests.support.wrapped import wrap
from tests.support.wrapped import write as write_frames


def read(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    cli.run(flows_cli, "flows", list(arguments))
    return capsys.readouterr().out


def test_a_fault_its_control_group_and_a_missed_copy_are_told(tmp_path, capsys):
    a, b = [], []
    for n in range(300):
        packet = data(n, dscp=46 if n % 3 else 0)
        if n != 150:
            a.append((START + n * STEP, packet))
        if n % 30 != 1:
            b.append((START + n * STEP + 2_000, packet))
    text = read(capsys, f"--point=acc={write(tmp_path / 'a.pcap', a)}", f"--point=core={write(tmp_path / 'b.pcap', b)}")
    assert "Between acc and core" in text
    assert (
        "FAULT between acc and core, class DSCP 46: 10 of 200 lost (5.00 %); its packets vanished without having waited" in text
    )
    assert "DSCP 46 only: DSCP 0 lost 0 of 99 on the same way" in text and "It could also be: the mirror missed them" in text
    assert "1 packets were not copied at acc although they passed there" in text


def test_an_offset_and_withheld_claims_are_told(tmp_path, capsys):
    a, b = both_ways(200, 3_000_000)
    counters = tmp_path / "c.csv"
    counters.write_text(f"time,packets\n{START // 10**9 - 1},1000\n{START // 10**9 + 10},1400\n")
    points = [f"--point=a={write(tmp_path / 'a.pcap', a)}", f"--point=b={write(tmp_path / 'b.pcap', b)}"]
    text = read(capsys, *points)
    assert "Clocks: b was taken to be 2,999.5 us ahead of a (estimated, error 5.5 us)." in text
    text = read(capsys, *points, f"--counters=a={counters}")
    assert "a: its mirror copied 200 of 400 frames (by counters), 50.000 % lost" in text
    assert "Losses and delays are withheld: the mirror of a lost 50.00 % (limit 0.1 %, by counters)." in text


def test_wrapped_points_are_told_of_until_they_are_unwrapped_and_then_compared_inside(tmp_path, capsys):
    sides = [recorded(bytes(data(n)) for n in range(60)) for _ in range(2)]
    paths = [write_frames(tmp_path / f"{name}.pcap", wrap(rows, "erspan-2")) for name, rows in zip("ab", sides, strict=True)]
    points = [f"--point=a={paths[0]}", f"--point=b={paths[1]}"]
    text = read(capsys, *points)
    assert "a: 60 of 60 packets are ERSPAN and were counted by the mirror's own headers. Use --unwrap a=erspan to measure" in text
    wrapped = list(wrap(sides[1], "erspan-2"))
    write_frames(paths[1], [*wrapped[:20], (START, 60, bytes(12) + b"\x08\x06" + bytes(46)), *wrapped[40:]])
    text = read(capsys, *points, "--unwrap=a=erspan", "--unwrap=b=erspan")
    assert "Use --unwrap" not in text and "10.0.1.9:443" in text and "192.0.2.9" not in text
    assert "b: 1 packets that are not wrapped (not IP 1) were left out, 40 were unwrapped" in text
    assert "b: its mirror copied 40 of 60 frames (by erspan), 33.333 % lost" in text
    assert "Losses and delays are withheld: the mirror of b lost 33.33 % (limit 0.1 %, by erspan)." in text


@pytest.mark.parametrize(
    "wrong",
    ["--unwrap=a=gtp", "--unwrap=c=erspan", "--clock-error=c=5", "--clock-error=a=x", "--counters=a", "--mirror-loss=101"],
)
def test_wrong_arguments_are_refused_in_a_line(tmp_path, capsys, wrong):
    file = write(tmp_path / "a.pcap", [(START, data(1))])
    try:
        code = cli.run(flows_cli, "flows", [f"--point=a={file}", wrong])
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    assert code == 2 and capsys.readouterr().err.count("\n") <= 2
