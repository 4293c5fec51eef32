"""`policyhub sensor probe`: sent through real sockets, judged from captures, and what a report leaves out because of it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from flowguard.domain.bundle import compile_bundle
from flowguard.domain.probe import LEAST_BYTES, PointFacts, Seen, find, payload
from flowguard.sensor.calibrating import CalibratedEngine
from flowguard.sensor.config import read_config
from flowguard.sensor.doctor import examine
from flowguard.sensor.engine import open_engine
from flowguard.sensor.frames import read_frames
from flowguard.sensor.probing import Plan, send
from policyhub.conf import cli
from policyhub.domain.errors import BadInput
from policyhub.domain.identity import read_identities
from tests.support.capture_files import FORMATS, Stamped, write_capture
from tests.support.services import wait_until

RUN = "00112233445566ff"
START = 1_700_000_000_000_000_000
STEP = 20_000_000
MARKS = (0, 46)
PAUSE = bytes.fromhex("0180c2000001020000000001880800010000") + bytes(42)


def frame(number: int, dscp: int | None = None, tagged: bool = False) -> Stamped:
    mark = MARKS[number % 2]
    packet = IP(src="10.0.0.1", dst="10.0.1.9", id=number, tos=(mark if dscp is None else dscp) << 2) / UDP(
        sport=40_000, dport=47_801
    )
    link = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    whole = (link / Dot1Q(vlan=7) if tagged else link) / packet / Raw(payload(RUN, number, mark, START + number * STEP))
    return START + number * STEP + 1_000, bytes(whole)


def later(frames: list[Stamped]) -> list[Stamped]:
    return [(ns + 100_000, content) for ns, content in frames]


SENT = {"schema": "policyhub.probe/1", "sent": True, "run": RUN, "marks": list(MARKS), "count": 20}
WHOLE = [frame(number, tagged=True) for number in range(40)]
REWRITTEN = [frame(number, 8 if number % 2 else None) for number in range(40)]  # EF arrives as CS1
LOSSY = [row for number, row in enumerate(REWRITTEN) if number % 4 != 1]  # half of EF is lost


@pytest.fixture
def captures(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "sent.json").write_text(json.dumps(SENT))
    made = {"in0": [*WHOLE, (START + 10**9, PAUSE)], "end": later(LOSSY), "empty": []}
    found = {name: str(write_capture(tmp_path / f"{name}.pcap", frames)) for name, frames in made.items()}
    return found | {"sent": str(tmp_path / "sent.json"), "facts": str(tmp_path / "facts.json")}


def judged(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert cli.main(["sensor", "probe", "judge", *arguments, "--format", "json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "policyhub.point-facts/1"
    return told["points"]


def test_a_run_is_judged_with_the_receivers_capture(captures: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    ends = ("--receiver", captures["end"], "--sent", captures["sent"], "--tagged", "--point", "core")
    point = judged(capsys, captures["in0"], *ends)["core"]
    figures = point.pop("figures")
    assert point == {
        "rewrite": "before", "egress_drop": "before", "tags": "kept", "pause": "seen", "cut_to": None, "duplicates": 0.0,
        "mirror_loss": 0.0,
    }  # fmt: skip
    assert (figures["copied"], figures["arrived"], figures["copied_not_arrived"]) == (40, 30, 10)
    assert figures["marks_of_arrivals"] == {"0": {"0": 20}, "46": {"8": 10}}


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        (
            "en",
            (
                "in0: 40 probes of run",
                "before the device changes them",
                "is copied all the same",
                "VLAN tags: kept",
                "pause frames: seen",
            ),
        ),
        ("zh", ("in0：", "在设备改动之前", "VLAN 标签：保留", "暂停帧：见到")),
    ],
)
def test_it_reads_in_both_languages(
    captures: dict[str, str], capsys: pytest.CaptureFixture[str], lang: str, words: tuple[str, ...]
) -> None:
    arguments = [captures["in0"], "--receiver", captures["end"], "--sent", captures["sent"], "--lang", lang]
    assert cli.main(["sensor", "probe", "judge", *arguments]) == 0
    said = capsys.readouterr().out
    assert [word for word in words if word not in said] == []


def test_a_capture_without_probes_tells_nothing_and_is_not_kept(
    captures: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["sensor", "probe", "judge", captures["empty"], "--into", captures["facts"]]) == 3
    assert "no probe is in the capture" in capsys.readouterr().out
    assert not Path(captures["facts"]).exists()


def test_points_gather_in_one_file(captures: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    judged(capsys, captures["in0"], "--into", captures["facts"])
    judged(capsys, captures["end"], "--into", captures["facts"])
    judged(capsys, captures["in0"], "--receiver", captures["end"], "--into", captures["facts"])
    kept = json.loads(Path(captures["facts"]).read_text())["points"]
    assert {name: row["rewrite"] for name, row in kept.items()} == {"in0": "before", "end": "after"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "not a file of policyhub.point-facts/1"),
        ('{"schema": "policyhub.point-facts/1", "points": [1]}', "not a file of policyhub.point-facts/1"),
        ('{"schema": "policyhub.point-facts/1", "points": {"in0": 3}}', "points.in0 is no object"),
        ('{"schema": "policyhub.point-facts/1", "points": {"in0": {"rewrite": "maybe"}}}', "points.in0.rewrite is 'maybe'"),
        ('{"schema": "policyhub.point-facts/1", "points": {"x": {}}}', "knows none of the points in0"),
    ],
)
def test_facts_that_cannot_be_used_are_told_in_one_line(
    captures: dict[str, str], capsys: pytest.CaptureFixture[str], content: str, told: str
) -> None:
    Path(captures["facts"]).write_text(content)
    assert cli.main(["flows", captures["in0"], "--point-facts", captures["facts"]]) == 2
    said = capsys.readouterr()
    assert told in said.err and said.err.count("\n") == 1 and said.out == ""


def flows(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert cli.main(["flows", *arguments, "--format", "json"]) in (0, 1)
    return json.loads(capsys.readouterr().out)


def facts(path: str, **points: dict[str, str]) -> tuple[str, str]:
    Path(path).write_text(json.dumps({"schema": "policyhub.point-facts/1", "points": points}))
    return "--point-facts", path


def test_no_loss_is_claimed_up_to_a_point_whose_copies_are_made_before_the_drop(
    captures: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    points = (captures["in0"], captures["end"])
    assert flows(capsys, *points)["path"]["lost"] == 10
    report = flows(capsys, *points, *facts(captures["facts"], end={"egress_drop": "before"}))
    path = report["path"]
    assert path["lost"] is None and path["delay_ns"]["p50"] is None and path["by_dscp"]["46"]["lost"] is None
    assert path["rewrites"] and path["matched"] == 30 and "before its egress queue" in path["withheld"][0]
    assert report["points"][1]["calibration"]["limits"] == path["withheld"] and report["points"][0]["calibration"] is None
    for harmless in ({"in0": {"egress_drop": "before"}}, {"end": {"egress_drop": "after"}}):
        assert flows(capsys, *points, *facts(captures["facts"], **harmless))["path"]["lost"] == 10


def test_nobody_is_blamed_for_a_mark_that_the_device_may_have_set(
    captures: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Path(captures["facts"]).with_name("who.csv")
    ledger.write_text("prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps\n10.0.0.1/32,a,b,c,non-core,0,,\n")
    asked = (captures["in0"], "--identities", str(ledger))
    assert cli.main(["flows", *asked]) == 1
    capsys.readouterr()
    for word, severity in (("before", "high"), ("after", "info"), ("both", "info"), ("unknown", "high")):
        report = flows(capsys, *asked, *facts(captures["facts"], in0={"rewrite": word}))
        (verdict,) = report["verdicts"]
        assert (verdict["name"], verdict["severity"]) == ("class-not-allowed", severity), word
        doubts = [fact for fact in verdict["evidence"] if fact["kind"] == "calibrated"]
        assert doubts == ([{"kind": "calibrated", "point": "in0", "rewrite": word}] if severity == "info" else [])
    assert cli.main(["flows", *asked, *facts(captures["facts"], in0={"rewrite": "after"})]) == 0
    assert "who set them cannot be told" in capsys.readouterr().out


class Told:
    """An engine that tells one body."""

    def __init__(self, verdicts: list[dict[str, Any]]) -> None:
        self.verdicts, self.closed, self.bundle = verdicts, False, b""

    def poll(self, timeout_ms: int, /) -> bytes:
        return json.dumps({"judging": True, "verdicts": self.verdicts, "after": timeout_ms}).encode()

    def set_bundle(self, bundle: bytes, /) -> str:
        self.bundle = bundle
        return "v"

    def close(self) -> None:
        self.closed = True


def test_a_sensor_tells_such_verdicts_as_information_only_and_those_of_queues_too() -> None:
    queue = {"kind": "queue", "basis": "measured"}
    rows = [("class-not-allowed", "a", []), ("over-peak", "a", []), ("class-not-allowed", "c", []), ("microburst", "b", [queue]),
            ("microburst", "b", [queue | {"basis": "estimated"}]), ("queue-saturated", "a", [queue])]  # fmt: skip
    inner = Told([{"name": name, "point": point, "severity": "high", "evidence": facts} for name, point, facts in rows])
    engine = CalibratedEngine(inner, {"a": PointFacts(rewrite="after"), "b": PointFacts(egress_drop="before", rewrite="before")})
    told = json.loads(engine.poll(7))
    assert [row["severity"] for row in told["verdicts"]] == ["info", "high", "high", "info", "high", "high"]
    assert told["verdicts"][3]["evidence"] == [queue, {"kind": "calibrated", "point": "b", "egress_drop": "before"}]
    assert (told["after"], engine.set_bundle(b"x"), inner.bundle) == (7, "v", b"x")
    engine.close()
    assert inner.closed


def test_a_real_engine_is_told_by_its_facts_what_its_points_copies_can_bear(captures: dict[str, str], tmp_path: Path) -> None:
    text = (
        'name = "s"\nurl = "https://h"\ntoken_file = "t"\n[[replay]]\npoint = "in0"\nfile = "in0.pcap"\n[spool]\ndir = "spool"\n'
    )
    ledger = read_identities(
        "prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps\n10.0.0.1/32,a,b,c,non-core,0,,\n", "i"
    )
    bundle = compile_bundle(ledger, points={}, priority_dscp={46})
    severities = {}
    for line in ("", 'point_facts = "facts.json"\n'):
        facts(captures["facts"], in0={"rewrite": "after"})
        (tmp_path / "s.toml").write_text(line + text)
        engine = open_engine(read_config(tmp_path / "s.toml"), bundle)
        found: list[dict[str, Any]] = []
        wait_until(lambda: bool(found.extend(json.loads(engine.poll(200))["verdicts"]) or found), "a verdict")  # noqa: B023
        engine.close()
        severities[line] = {(row["name"], row["severity"]) for row in found}
    assert list(severities.values()) == [{("class-not-allowed", "high")}, {("class-not-allowed", "info")}]


def test_a_sensors_configuration_names_the_facts_and_its_doctor_reads_them(tmp_path: Path) -> None:
    text = 'name = "s"\nurl = "https://h"\ntoken_file = "t"\npoint_facts = "f.json"\n[[points]]\nname = "in0"\ninterface = "lo"\n'
    (tmp_path / "s.toml").write_text(text + '[spool]\ndir = "spool"\n')
    facts(str(tmp_path / "f.json"), in0={"rewrite": "after"}, out7={})
    assert read_config(tmp_path / "s.toml").facts() == {"in0": PointFacts(rewrite="after"), "out7": PointFacts()}
    told = {sign.text: sign.ok for sign in examine(tmp_path / "s.toml", lambda bundle: "") if "facts" in sign.text}
    assert told == {
        "facts of point in0": True, "facts of point out7: no such point here. Judge its capture with --point NAME": False,
    }  # fmt: skip
    (tmp_path / "f.json").write_text("{")
    assert any("not a file of" in sign.text and not sign.ok for sign in examine(tmp_path / "s.toml", lambda bundle: ""))


@pytest.mark.parametrize("form", FORMATS)
def test_frames_are_read_from_every_form_of_capture(tmp_path: Path, form: str) -> None:
    tick = 1_000 if "us" in form else 1
    frames = [(ns // tick * tick, content) for ns, content in [(START + 123_456_789, b"abc"), (START + 10**9, bytes(1501))]]
    path = write_capture(tmp_path / "x", frames, form)
    assert list(map(tuple, read_frames(path))) == frames
    whole = path.read_bytes()
    for cut in (*range(1, 150, 3), len(whole) - 1):
        path.write_bytes(whole[:cut])
        found = []
        try:
            for each in read_frames(path):
                found.append(tuple(each))
        except BadInput as error:
            assert "byte " in str(error)  # noqa: PT017
        assert found == frames[: len(found)]


@pytest.mark.parametrize("content", [b"", b"hello world", b"\x1f\x8b broken", b"\n\r\r\n" + bytes(40)])
def test_what_is_no_capture_is_told_in_one_line(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_bytes(content)
    assert cli.main(["sensor", "probe", "judge", str(tmp_path / "x")]) == 2
    said = capsys.readouterr().err
    assert str(tmp_path / "x") in said and said.count("\n") == 1


@pytest.fixture
def heard() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        receiver.settimeout(60)
        receiver.bind(("127.0.0.1", 0))
        yield receiver


def test_probes_leave_by_a_real_socket_with_their_marks_and_no_closer_than_the_rate_allows(heard: socket.socket) -> None:
    plan = Plan(RUN, "127.0.0.1", heard.getsockname()[1], (0, 8, 46), 10, 50, 64)
    now, waits = [START], list[float]()

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += round(seconds * 1e9)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        send(plan, sender, clock_ns=lambda: now[0], sleep=sleep)
    found = []
    for number in range(30):
        body, extra, _, _ = heard.recvmsg(2_000, 100)
        tos = extra[0][2][0]
        packet = bytes(Ether() / IP(src="127.0.0.1", dst="127.0.0.1", tos=tos) / UDP(sport=1, dport=2) / Raw(body))
        found.append(find(packet, START))
        assert len(body) == 64 and found[-1] == Seen(
            RUN, number, (0, 8, 46)[number % 3], tos >> 2, None, START, START + number * STEP
        )
    assert [row.dscp for row in found if row] == [0, 8, 46] * 10
    assert waits == pytest.approx([0.02] * 29)


def test_the_rate_is_kept_behind_a_pause_of_the_machine(heard: socket.socket) -> None:
    plan = Plan(RUN, "127.0.0.1", heard.getsockname()[1], (0,), 5, 100, LEAST_BYTES)
    times = iter([0, 0, 0, 10**9, 10**9, *[10**9] * 20])
    waits: list[float] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        send(plan, sender, clock_ns=lambda: next(times), sleep=waits.append)
    assert waits == pytest.approx([0.01, 0.02, 0.03])  # the second is late; none of the others makes up for it


def test_the_command_sends_only_with_go_and_says_what_it_sent(
    heard: socket.socket, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = heard.getsockname()[1]
    asked = [
        "sensor",
        "probe",
        "send",
        "--to",
        "127.0.0.1",
        "--port",
        str(port),
        "--dscp",
        "EF,0",
        "--count",
        "3",
        "--rate",
        "1000",
    ]
    assert cli.main([*asked, "--sent", str(tmp_path / "s.json")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Nothing was sent. With --go: 6 packets to 127.0.0.1") and not (tmp_path / "s.json").exists()
    assert cli.main([*asked, "--go", "--run", RUN, "--sent", str(tmp_path / "s.json"), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((tmp_path / "s.json").read_text())
    assert (told["sent"], told["marks"], told["run"]) == (True, [46, 0], RUN)
    bodies = [heard.recv(2_000) for _ in range(6)]
    assert [int.from_bytes(body[16:20], "big") for body in bodies] == list(range(6)) and {len(body) for body in bodies} == {64}
    heard.setblocking(False)
    with pytest.raises(BlockingIOError):
        heard.recv(1)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--to", "host"), "--to 'host' is no address"),
        (("--to", "239.1.1.1"), "is no single host"),
        (("--to", "127.0.0.1", "--count", "20000", "--dscp", "0,8,16,24,32,40"), "more than 100000 probes"),
        (("--to", "127.0.0.1", "--from", "192.0.2.1", "--go"), "Name an address of this machine"),
    ],
)
def test_what_cannot_be_sent_is_told_in_one_line(
    arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["sensor", "probe", "send", *arguments]) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1


@pytest.mark.parametrize("arguments", [("--rate", "1001"), ("--rate", "0"), ("--size", "31"), ("--dscp", "64"), ("--run", "xyz")])
def test_numbers_out_of_range_are_usage_errors(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["sensor", "probe", "send", "--to", "127.0.0.1", *arguments])
    assert ended.value.code == 2
