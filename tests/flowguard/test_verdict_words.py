"""What the engine can tell is accepted by the service, and has words for people."""

from __future__ import annotations

import json
import re
from pathlib import Path

import native_capture
from flowguard.console import labels
from flowguard.console.pages_view import _fact
from flowguard.domain.batch import read_batch
from policyhub.domain.identity import with_zone
from tests.support.batches import batch
from tests.support.capture_files import write_capture
from tests.support.fabric_frames import ACK, SEQUENCE_NAK, WRITE_MIDDLE, pause, rdma

ROOT = Path(__file__).parents[2]
DETECT = ROOT / "native_capture" / "crates" / "detect" / "src"
SECOND = 1_700_000_000 * 10**9


def names() -> set[str]:
    return set(re.findall(r'Name::\w+ => "([a-z0-9-]+)"', (DETECT / "verdict.rs").read_text()))


def test_every_verdict_has_a_title_a_doubt_and_a_row_on_its_page():
    page = (ROOT / "docs" / "verdicts.md").read_text()
    assert names() == set(re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE))
    for name in names():
        assert name in labels.VERDICTS and name in labels.WRONG_IF, name


def test_hours_are_told_with_their_zone():
    told = [
        _fact({"kind": "allowance", "active_window": hours}).values[0].value
        for hours in ("22:00-06:00", "08:00-18:00@Mon-Fri Asia/Shanghai")
    ]
    assert told == ["22:00-06:00 UTC", "08:00-18:00@Mon-Fri Asia/Shanghai"]
    assert with_zone("") == ""


def test_every_number_of_the_evidence_has_a_label():
    figures = re.findall(r'\(Figure::\w+, "(\w+)"\)', (DETECT / "figure.rs").read_text())
    assert len(figures) >= 20
    assert set(figures) <= set(labels.EVIDENCE_FIELDS)


def test_every_kind_of_evidence_of_the_engine_and_what_exporters_cannot_know_have_words():
    sources = "".join(path.read_text() for path in DETECT.parents[1].rglob("src/*.rs"))
    kinds = set(re.findall(r'json!\(\{\s*"kind": "([a-z-]+)"', sources))
    assert {"told", "queue", "filler", "rewritten"} <= kinds <= set(labels.EVIDENCE)
    told = re.findall(r'"([a-z_]+)":', (DETECT / "told.rs").read_text())
    assert "cannot_know" in told and set(told) <= {"kind", *labels.EVIDENCE_FIELDS}
    record = (DETECT.parents[1] / "records" / "src" / "record.rs").read_text()
    unknown = re.findall(r'"([a-z0-9-]+)"', record.split("fn cannot_know", 1)[1].split("\n    }\n", 1)[0])
    assert {"calibrated", "replayed"} <= set(labels.EVIDENCE) and {"rewrite", "egress_drop"} <= set(labels.EVIDENCE_FIELDS)
    assert len(set(unknown)) >= 12 and set(unknown) <= set(labels.EVIDENCE_WORDS)


def test_what_an_exporter_cannot_know_is_told_whole():
    told = {"kind": "told", "source": "netflow5", "cannot_know": ["queues", "path", "tcp-health", "frame-bytes", "vlan", "x"]}
    (source, unknown) = _fact(told).values
    assert (source.value, unknown.value) == (
        "netflow5", "queues, the way between points, health of TCP, bytes of whole frames, VLAN, x",
    )  # fmt: skip


def test_a_body_with_verdicts_of_the_network_is_a_good_batch(tmp_path):
    frames = [(SECOND + at, pause(65_535)) for at in range(20)]
    frames += [(SECOND + 100 + psn, rdma(WRITE_MIDDLE, psn)) for psn in (1, 2, 4)]
    frames += [(SECOND + 200, rdma(ACK, 3, SEQUENCE_NAK, back=True, qp=99))]
    path = write_capture(tmp_path / "p", frames)
    told = json.loads(native_capture.analyse([("p", path)]))["verdicts"]
    assert {verdict["name"] for verdict in told} == {"pfc-pause", "roce-loss"}
    read = read_batch(json.dumps(batch(verdicts=told)).encode(), sensor="core-1")
    assert [verdict["src"] for verdict in read["verdicts"]] == ["fe80::250:56ff:fe00:aa", "10.0.0.1"]
    for verdict in told:
        assert set(verdict["signals"]) <= set(labels.SIGNALS)
        assert {fact["kind"] for fact in verdict["evidence"]} <= set(labels.EVIDENCE)
        assert {field for fact in verdict["evidence"] for field in fact} <= {"kind", *labels.EVIDENCE_FIELDS}
