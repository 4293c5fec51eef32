"""Signatures over recordings of real applications and public captures: right names, none elsewhere; the published table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import native_capture

pytestmark = pytest.mark.corpus

MEASURED = Path(__file__).parents[2] / "native_capture" / "data" / "signatures_measured.json"
TENSORS = frozenset({"fp32-tensors", "bf16-tensors"})
NAMES = sorted([*(file.stem for file in (MEASURED.parent / "signatures").glob("*.json")), *TENSORS])
FILES = frozenset({"tar", "npy", "safetensors"}) | TENSORS
# What one may find beside the name that must be there.
BESIDE = {"http-dataset": FILES, "s3": FILES, "gloo": TENSORS, "grpc-tensor": TENSORS}
RECORDED = {
    "tcpstore": "tcpstore",
    "gloo": "gloo",
    "grpc_tensor": "grpc-tensor",
    "http_dataset_ckpt": "http-dataset",
    "s3_boto3": "s3",
}
TRAINING_PORTS = {29_500: "tcpstore", 9_000: "http-dataset"}
PORTS = {139: "smb", 445: "smb", 873: "rsync", 988: "lustre", 2_049: "nfs", 3_260: "iscsi"}
Talk = tuple[Any, ...]


def flows(*captures: Path) -> list[dict[str, Any]]:
    points = [(f"p{number}", file) for number, file in enumerate(captures)]
    rows: list[dict[str, Any]] = json.loads(native_capture.analyse(points))["flows"]
    return rows


def conversations(*captures: Path) -> dict[Talk, set[str]]:
    """Of TCP with payload: the two ends, smaller first, to names."""
    found: dict[Talk, set[str]] = {}
    for flow in flows(*captures):
        if flow["tcp"]["data_segments"]:
            ends = sorted([(flow["src"], flow["sport"]), (flow["dst"], flow["dport"])])
            found.setdefault((*ends, flow["vlan"]), set()).update(row["name"] for row in flow["signatures"])
    return found


def port_of(talk: Talk, known: dict[int, str]) -> str | None:
    return next((known[port] for _, port in talk[:2] if port in known), None)


def in_training(talk: Talk) -> str | None:
    """Scenarios 2 and 3: gloo is what its three training hosts say to each other beside the rendezvous."""
    hosts = {host for host, _ in talk[:2]}
    if name := port_of(talk, TRAINING_PORTS):
        return name
    return "gloo" if hosts <= {"10.10.8.101", "10.10.8.102", "10.20.8.103"} else None


def labelled(corpus: Path) -> Iterator[tuple[str, Talk, str | None, set[str]]]:
    """Capture, conversation, the name it must bear, names found."""
    for stem in [*RECORDED, "tls_dataset"]:
        for talk, names in conversations(corpus / "scenarios" / "payload_samples" / f"{stem}.pcap").items():
            yield stem, talk, RECORDED.get(stem), names
    for folder in ("1_baseline", "2_training_in_ef", "3_training_in_be"):
        where = corpus / "scenarios" / folder
        for talk, names in conversations(where / "ingress.pcap", where / "egress.pcap").items():
            yield folder, talk, None if folder == "1_baseline" else in_training(talk), names
    for file in sorted((corpus / "pcap").glob("*/*.pcap*")):
        if file.suffix == ".json":
            continue
        try:
            found = conversations(file)
        except native_capture.CaptureError:
            continue
        for talk, names in found.items():
            yield f"{file.parent.name}/{file.name}", talk, port_of(talk, PORTS), names


@pytest.fixture(scope="module")
def all_labelled(corpus: Path) -> list[tuple[str, Talk, str | None, set[str]]]:
    return list(labelled(corpus))


def test_no_conversation_bears_a_name_that_is_not_its_own(all_labelled: list[tuple[str, Talk, str | None, set[str]]]) -> None:
    wrong = [(c, t, names) for c, t, truth, names in all_labelled if names - {truth} - BESIDE.get(truth or "", frozenset())]
    assert wrong == []


def test_a_capture_too_short_to_show_a_name_says_so(corpus: Path) -> None:
    where = corpus / "scenarios" / "3_training_in_be"
    report = json.loads(native_capture.analyse([("p", where / "ingress.pcap")], top=0))
    assert "gloo" in report["not_visible"] and "tcpstore" not in report["not_visible"]


def test_recorded_applications_are_named_whole(all_labelled: list[tuple[str, Talk, str | None, set[str]]]) -> None:
    recorded = [row for row in all_labelled if "/" not in row[0] and row[0] != "3_training_in_be"]
    assert {truth for _, _, truth, _ in recorded} >= {None, *RECORDED.values()}
    assert [row for row in recorded if row[2] and row[2] not in row[3]] == []


def test_the_published_table_is_what_is_measured(all_labelled: list[tuple[str, Talk, str | None, set[str]]]) -> None:
    named, missed, wrong = Counter[str](), Counter[str](), Counter[str]()
    for _, _, truth, names in all_labelled:
        if truth:
            (named if truth in names else missed)[truth] += 1
        wrong.update(names - {truth} - BESIDE.get(truth or "", frozenset()))
        named.update(names & BESIDE.get(truth or "", frozenset()))
    rows = {
        n: {"named": named[n], "missed": None if n in FILES else missed[n], "wrong": wrong[n]}
        for n in NAMES
        if named[n] + missed[n] + wrong[n]
    }
    table = {"captures": len({c for c, *_ in all_labelled}), "conversations": len(all_labelled), "signatures": rows}
    print(json.dumps(table, indent=1))
    assert json.loads(MEASURED.read_text()) == table, "write the table printed above into the file and run docs/signatures.py"
