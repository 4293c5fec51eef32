"""Captures played back judge as they would have been judged live, and as the report of the same files does."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import native_capture
from flowguard.domain.bundle import LAB, compile_bundle
from tests.support.capture_files import write_capture
from tests.support.captures import Maker
from tests.support.fabric_frames import marked

SEED = int.from_bytes(os.urandom(4))
WAIT_S = 120.0


def played(replay: native_capture.Replay, packets: int) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Latest revision of every verdict, and all rows, once every packet was read and nothing more comes."""
    verdicts: dict[str, dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []
    end = time.monotonic() + WAIT_S
    quiet = 0
    while quiet < 3:
        assert time.monotonic() < end
        body = json.loads(replay.poll(100))
        rows += body["observations"]
        for verdict in body["verdicts"]:
            assert verdicts.get(verdict["id"], {"revision": 0})["revision"] < verdict["revision"]
            verdicts[verdict["id"]] = verdict
        is_quiet = body["health"]["received"] == packets and not body["verdicts"]
        quiet = quiet + 1 if is_quiet else 0
    return verdicts, rows


def test_a_replay_judges_as_the_report_does(tmp_path: Path):
    truth = Maker(SEED).make()
    points = [(name, str(write_capture(tmp_path / name, getattr(truth, name)))) for name in ("near", "far")]
    bundle = compile_bundle(truth.identities, profile=LAB)
    began = time.monotonic()
    replay = native_capture.Replay(points, bundle=bundle)
    verdicts, rows = played(replay, len(truth.near) + len(truth.far))
    length_s = (truth.far[-1][0] - truth.near[0][0]) / 1e9
    assert time.monotonic() - began > length_s * 0.9
    report = json.loads(native_capture.analyse(points, bundle=bundle))
    assert verdicts == {verdict["id"]: verdict for verdict in report["verdicts"]}
    seconds = {row["start_ns"] for row in rows}
    for name in ("near", "far"):
        seen = sum(source["packets"] for row in rows if row["point"] == name for source in row["sources"])
        finished = [ns for ns, _ in getattr(truth, name) if ns // 10**9 * 10**9 in seconds]
        assert seen in (len(finished), len(finished) - truth.non_ip)
    replay.close()


def test_tcp_counts_per_mark_of_the_rows_sum_up_to_those_of_the_point(tmp_path: Path):
    truth = Maker(SEED).make()
    later = (truth.near[-1][0] + 2 * 10**9, truth.near[0][1])
    path = write_capture(tmp_path / "near", [*truth.near, later])
    replay = native_capture.Replay([("near", str(path))])
    _, rows = played(replay, len(truth.near) + 1)
    sums: Counter[str] = Counter()
    for row in rows:
        for tcp in row["tcp"]:
            sums.update({kind: count for kind, count in tcp.items() if kind != "dscp"})
    write_capture(path, truth.near)
    (point,) = json.loads(native_capture.analyse([("near", path)]))["points"]
    assert +sums == +Counter(point["tcp"])
    replay.close()


def test_a_closed_replay_says_so(tmp_path: Path):
    replay = native_capture.Replay([("p", str(write_capture(tmp_path / "p", [])))])
    replay.close()
    with pytest.raises(native_capture.CaptureError, match="the capture has ended") as caught:
        replay.poll(0)
    assert caught.value.code == "NC-E013"


def test_a_damaged_file_ends_the_replay_with_its_byte(tmp_path: Path):
    path = write_capture(tmp_path / "p", [(10**18, bytes(60))])
    path.write_bytes(path.read_bytes() + b"xyz")
    replay = native_capture.Replay([("p", str(path))])
    with pytest.raises(native_capture.CaptureError, match=r"byte 100: the file ends after 3 of 16 bytes"):
        played(replay, packets=2)


def test_a_bad_bundle_is_refused_and_the_old_one_stays(tmp_path: Path):
    replay = native_capture.Replay([("p", str(write_capture(tmp_path / "p", [])))], bundle=compile_bundle([]))
    for bad in (b"", b"{}", b"\xff", compile_bundle([]).replace(b"bundle/1", b"bundle/9")):
        with pytest.raises(native_capture.CaptureError, match="bundle: ") as caught:
            replay.set_bundle(bad)
        assert caught.value.code == "NC-E010"
        with pytest.raises(native_capture.CaptureError):
            native_capture.audit_bundle(bad)
    assert json.loads(replay.poll(0))["bundle"] == json.loads(compile_bundle([]))["version"]
    replay.close()


QUEUES = {
    "observation_points": {}, "link_mbps": 10, "ports": {"out": {"point": "far", "arrivals_from": "near"}},
    "classes": {"EF": {"dscp": [46], "rate_mbps": 1, "ceil_mbps": 1, "queue_pkts": 10}, "BE": {"dscp": "rest", "rate_mbps": 9}},
}  # fmt: skip


@pytest.mark.parametrize("points", [("near", "far"), ("near",)])
def test_the_running_engine_replays_queues_as_the_report_does(tmp_path: Path, points: tuple[str, ...]):
    second, gap = 1_700_000_000 * 10**9, 8_000_000
    arrivals = [(second + at * 100_000, marked(at)) for at in range(20)] + [(second + 600_000_000, marked(90))]
    passed = [arrivals[0], *((second + at * gap, marked(at)) for at in range(1, 10)), (second + 600_000_001, marked(90))]
    for name, packets in (("near", arrivals), ("far", passed)):
        write_capture(tmp_path / name, packets)
    files = [(name, str(tmp_path / name)) for name in points]
    queues = json.dumps({**QUEUES, "sides": {"near": ["10.0.0.1"]}}).encode()
    report = json.loads(native_capture.analyse(files, queues=queues))
    (told,) = report["verdicts"]
    assert (told["name"], told["src"], told["dscp"], told["severity"]) == ("microburst", "10.0.0.1", 46, "medium")
    counted = {fact["kind"]: fact for fact in told["evidence"]}
    assert counted["queue"]["basis"] == ("measured" if len(points) == 2 else "estimated")
    replay = native_capture.Replay(files, queues=queues)
    verdicts, _ = played(replay, sum(len(packets) for packets in (arrivals, passed)[: len(points)]))
    replay.close()
    assert verdicts == {told["id"]: told}


def test_queues_that_say_nothing_possible_are_refused(tmp_path: Path):
    write_capture(tmp_path / "near", [(0, marked(1))])
    with pytest.raises(native_capture.CaptureError, match="NC-E011 queues"):
        native_capture.Replay([("near", str(tmp_path / "near"))], queues=b"{}")
