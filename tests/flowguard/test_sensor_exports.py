"""A sensor that sends flow records, and one that hears those of others."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP

import native_capture
from flowguard.sensor.collecting import HearingEngine
from flowguard.sensor.config import Collector, Post, read_config
from flowguard.sensor.exporting import Exporter, ExportingEngine, messages
from policyhub.domain.errors import BadInput
from tests.flowguard.test_export_traffic import LINK, bundle, flowset, v9, v9_record, v9_template
from tests.support.capture_files import write_capture
from tests.support.services import free_port, wait_until

START = 1_700_000_000 * 10**9


def replay(tmp_path: Path) -> native_capture.Replay:
    frames = [bytes(LINK / IP(src="10.0.0.1", dst=f"10.0.1.{n}") / UDP(sport=9, dport=53)) for n in range(1, 60)]
    path = write_capture(tmp_path / "x.pcap", [(START + n, frame) for n, frame in enumerate(frames)], "pcap-ns-le")
    return native_capture.Replay([("p", str(path))], ipfix_domain=5)


def read_back(tmp_path: Path, body: bytes) -> dict:
    (tmp_path / "got.ipfix").write_bytes(body)
    return json.loads(native_capture.analyse_exports([("p", tmp_path / "got.ipfix")], ports=[1]))


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_every_flow_reaches_the_collector_before_the_sensor_ends(tmp_path: Path, transport: str) -> None:
    kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as listening:
        listening.bind(("127.0.0.1", 0))
        if transport == "tcp":
            listening.listen()
        engine = ExportingEngine(replay(tmp_path), Collector(transport, "127.0.0.1", listening.getsockname()[1], 5))
        wait_until(lambda: json.loads(engine.poll(50))["health"]["received"] == 59, "the capture was played")
        time.sleep(0.2)
        engine.close()
        report = read_back(tmp_path, received(listening, transport))
    assert report["flows_total"] == 59 and report["points"][0]["packets"] == 59
    assert report["points"][0]["exporters"][0]["lost"] == 0


def received(listening: socket.socket, transport: str) -> bytes:
    listening.settimeout(1)
    source = listening if transport == "udp" else listening.accept()[0]
    source.settimeout(1)
    parts: list[bytes] = []
    try:
        while part := source.recv(65_535):
            parts.append(part)
    except TimeoutError:
        pass
    if source is not listening:
        source.close()
    return b"".join(parts)


def test_a_new_connection_begins_with_the_templates_and_what_was_lost_is_counted(tmp_path: Path) -> None:
    engine = replay(tmp_path)
    wait_until(lambda: json.loads(engine.poll(50))["health"]["received"] == 59, "the capture was played")
    time.sleep(0.2)
    engine.close()
    template, *data = messages(engine.take_records())
    port, stop = free_port(), threading.Event()
    exporter = Exporter(Collector("tcp", "127.0.0.1", port, 5), stop)
    exporter.offer(template + data[0])
    stop.set()
    exporter.run()
    assert exporter.lost == 2
    with socket.create_server(("127.0.0.1", port)) as listening:
        exporter.offer(data[1])
        exporter.run()
        first, second = messages(received(listening, "tcp"))
    assert (first[16:], second) == (template[16:], data[1])
    assert struct.unpack_from(">I", first, 8) == struct.unpack_from(">I", second, 8)


def test_exporters_are_heard_and_their_offenders_judged() -> None:
    port = free_port()
    engine = HearingEngine(None, (Post("edge", "127.0.0.1", port),), bundle(), time.time_ns)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        for message in (v9(v9_template(), flowset(300, v9_record())), b"\x00\x07junk"):
            sending.sendto(message, ("127.0.0.1", port))
    bodies: list[dict] = []

    def heard_both() -> bool:
        bodies.append(json.loads(engine.poll(20)))
        return sum(row["messages"] for row in bodies[-1]["health"]["collectors"]) == 2

    wait_until(heard_both, "both datagrams were heard")
    engine.close()
    verdicts = [verdict for body in bodies for verdict in body["verdicts"]]
    assert [(verdict["name"], verdict["src"], verdict["point"]) for verdict in verdicts] == [
        ("class-not-allowed", "10.0.0.1", "edge")
    ]
    (row,) = bodies[-1]["health"]["collectors"]
    assert (row["source"], row["records"], row["unreadable"], bodies[-1]["judging"]) == ("netflow9", 1, 1, True)


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        post = Post("edge", "127.0.0.1", taken.getsockname()[1])
        with pytest.raises(BadInput, match="collect edge: cannot listen on"):
            HearingEngine(None, (post,), None, time.time_ns)


def config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sensor.toml"
    path.write_text(f'name = "s"\nurl = "http://localhost:1"\ntoken_file = "t"\n{text}\n[spool]\ndir = "spool"\n')
    return path


def test_the_configuration_names_collector_and_posts(tmp_path: Path) -> None:
    points = '[[points]]\nname = "in0"\ninterface = "eth0"\n'
    posts = '[[collect]]\nname = "edge"\nlisten = "[::1]:2055"\n'
    read = read_config(config(tmp_path, f'ipfix = "tcp://[2001:db8::7]:4739"\nipfix_domain = 9\n{points}{posts}'))
    assert (read.ipfix, read.collect) == (Collector("tcp", "2001:db8::7", 4739, 9), (Post("edge", "::1", 2055),))
    assert read_config(config(tmp_path, posts)).points == ()
    wrong = {
        f'ipfix = "collector"\n{points}': "host:port",
        f'ipfix = "http://c:1"\n{points}': "tcp://host:port",
        f'ipfix = "c:1"\n{posts}': "needs",
        points + posts.replace("edge", "in0"): "its own name",
        posts.replace("2055", "0"): "collect.listen",
    }
    for text, said in wrong.items():
        with pytest.raises(BadInput, match=said):
            read_config(config(tmp_path, text))
