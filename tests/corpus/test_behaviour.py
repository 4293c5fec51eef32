"""Behaviour over recordings of real applications and public captures: the training jobs keep time, and nobody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import native_capture
from flowguard.sensor.behaviour_text import CAVEAT, behaviour_text

pytestmark = pytest.mark.corpus

RING = {"10.10.8.101", "10.10.8.102", "10.20.8.103"}
JOBS = ["2_training_in_ef", "3_training_in_be"]
# Backup and web over ssh and TLS, PostgreSQL, RTP; a microburst; rewritten marks; one upload.
OTHERS = ["1_baseline", "4_microburst", "5_dscp_rewritten", "6_short_lived", "8_roce"]
# Share of packets with data that are full, counted one by one in ingress.pcap of scenario 2 (IP packets of 1,400 bytes or more).
FULL = {
    ("10.10.9.91", "10.20.9.10"): 0.935, ("10.10.8.102", "10.20.8.200"): 0.989, ("10.20.8.200", "10.10.8.101"): 0.974,
    ("10.20.1.10", "10.10.1.11"): 0.887, ("10.10.8.101", "10.20.8.103"): 0.951, ("10.20.8.103", "10.10.8.102"): 0.955,
}  # fmt: skip


def behaviour(*captures: Path) -> dict[str, Any]:
    points = [(f"p{number}", file) for number, file in enumerate(captures)]
    found: dict[str, Any] = json.loads(native_capture.analyse(points, top=20))["behaviour"]
    return found


def both(corpus: Path, folder: str) -> list[Path]:
    return sorted((corpus / "scenarios" / folder).glob("*.pcap"))


@pytest.mark.parametrize("folder", JOBS)
def test_hosts_that_train_together_are_one_group_and_payload_names_it(corpus: Path, folder: str) -> None:
    for captures in (both(corpus, folder), both(corpus, folder)[:1], both(corpus, folder)[1:]):
        (group,) = behaviour(*captures)["groups"]
        assert {host["address"] for host in group["hosts"]} == RING
        assert group["together"] >= 0.4 and group["balance"] >= 0.4 and "tcpstore" in group["named"]


@pytest.mark.parametrize("folder", OTHERS)
def test_backups_data_bases_media_and_web_are_no_group(corpus: Path, folder: str) -> None:
    assert behaviour(*both(corpus, folder))["groups"] == []


def test_no_public_capture_shows_a_group(corpus: Path) -> None:
    found = []
    for file in sorted((corpus / "pcap").glob("*/*.pcap*")):
        if file.suffix == ".json":
            continue
        try:
            groups = behaviour(file)["groups"]
        except native_capture.CaptureError:
            continue
        found += [(file.name, group) for group in groups]
    assert found == []


def test_short_connections_are_one_way_and_how_full_packets_are_is_near_the_truth(corpus: Path) -> None:
    rows = behaviour(corpus / "scenarios" / "2_training_in_ef" / "ingress.pcap")["bulk"]
    ways = {(row["src"], row["dst"]): row for row in rows if row["filled"] > 0.5 and row["proto"] == "tcp"}
    assert {
        pair: round(ways[pair]["filled"] - share, 2) for pair, share in FULL.items() if abs(ways[pair]["filled"] - share) > 0.07
    } == {}
    gets = ways["10.20.8.200", "10.10.8.101"]
    assert (gets["server_port"], gets["dscp"]) == (9_000, 46) and gets["connections"] >= 8
    assert gets["last_ns"] - gets["first_ns"] > 15 * 10**9


def test_the_text_says_what_it_is_worth(corpus: Path) -> None:
    captures = both(corpus, "3_training_in_be")
    shown = behaviour_text({"behaviour": behaviour(*captures)})
    assert "Hosts that send and pause together" in shown and CAVEAT in shown and "10.20.8.103" in shown
