"""Health of connections, media and names beside tshark: its truth files for kinds of segments, itself for times, RTP and names.

KNOWN names each capture where the two differ and why; the definitions of ours stand in docs/traffic-health.md.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import native_capture
from tests.support.tshark import rows, tshark

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("POLICYHUB_CORPUS") or ROOT.parent / "shared" / "data")
PCAP = CORPUS / "pcap"
WITHOUT_DECODER = {"erf"}

KEEP_ALIVE = (
    "a keep-alive is sent again in vain by the contract's count; tshark calls it neither sent again nor its answer a duplicate"
)
NOTHING_OUTSTANDING = "duplicates while no data is outstanding: RFC 5681 does not count them, tshark does"
HALF_SEEN = "one direction only: ours does not guess the kind"
COPIES = "the mirror copied every frame: nothing is outstanding when the copies come, and what is acknowledged is spurious"
NEWEST = "tshark measures disorder from the newest segment and without a gap, ours from the gap that is filled"
IN_RECOVERY = "ours calls every segment sent during recovery fast, also above the first gap (RFC 6675)"
TUNNEL = "the connection is inside a tunnel: ours counts the outer packets"
WITH_FIN = "data that comes again with its FIN counts as both; what begins in old data and goes beyond it is new by the contract"
SPLIT = "the server's SYN comes again as SYN-ACK: repeated by the contract"
FIRST_FIN = "tshark calls the first FIN of the file sent again"
KINDS = ("fast", "spurious", "out_of_order", "duplicate_acks", "timeout")
KNOWN: dict[tuple[str, str], str] = {
    **{
        (name, "duplicate_acks"): NOTHING_OUTSTANDING
        for name in (
            "suriverify__pop3__input.pcap",
            "gopacket__le_test300.pcapng",
            "gopacket__le_test301.pcapng",
            "nfstream__skype_no_unknown.pcap",
            "chrissanders__tcp_ports.pcapng",
            "arkime__mpls-basic.pcap",
            "ndpi__webex.pcap",
        )
    },
    **{("arkime__wireshark-retrans.pcap", what): COPIES for what in KINDS},
    **{("zeek__vxlan-overlapping-http-get.pcap", what): TUNNEL for what in ("fast", "duplicate_acks", "timeout")},
    ("gopacket__le_test301.pcapng", "out_of_order"): NEWEST,
    ("gopacket__le_test301.pcapng", "timeout"): NEWEST,
    ("suriverify__bug-4376__syn_retransmit_with_ts.pcap", "out_of_order"): NEWEST,
    ("suriverify__bug-4376__syn_retransmit_with_ts.pcap", "timeout"): NEWEST,
    ("nfstream__skype_no_unknown.pcap", "fast"): IN_RECOVERY,
    ("nfstream__skype_no_unknown.pcap", "out_of_order"): NEWEST,
    ("nfstream__skype_no_unknown.pcap", "timeout"): WITH_FIN,
    ("ndpi__webex.pcap", "out_of_order"): NEWEST,
    ("ndpi__webex.pcap", "timeout"): WITH_FIN,
    ("zeek__smb3_multichannel.pcap", "spurious"): KEEP_ALIVE,
    ("pcapplusplus__one_tcp_stream.pcap", "spurious"): KEEP_ALIVE,
    ("zeek__retransmit-fast009.pcap", "fast"): IN_RECOVERY,
    ("zeek__retransmit-fast009.pcap", "timeout"): IN_RECOVERY,
    ("synthetic__microburst_ef_s1.pcap", "out_of_order"): HALF_SEEN,
    ("synthetic__microburst_ef_s1.pcap", "timeout"): HALF_SEEN,
    ("suriverify__tcp-async-01__input.pcap", "timeout"): HALF_SEEN,
    ("trex__hlt_4vlans.pcap", "timeout"): HALF_SEEN,
    ("suriverify__tcp-split-handshake-02-5whs__split-handshake-5whs.pcap", "timeout"): SPLIT,
    ("zeek__fin_retransmission.pcap", "timeout"): FIRST_FIN,
}

pytestmark = pytest.mark.corpus


def analyse(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(native_capture.analyse([("p", str(path))]))
    return report


# ---- kinds of segments


def truths() -> list[Path]:
    assert PCAP.is_dir(), f"{PCAP} is missing: set POLICYHUB_CORPUS to the folder that holds pcap/"
    return sorted(PCAP.glob("*/*.truth.json"))


def ours(point: dict[str, Any]) -> dict[str, int]:
    """`timeout` with repeated SYNs and FINs, which tshark counts as one kind."""
    health, tcp = point["health"], point["tcp"]
    again = health["timeout"] + tcp["syn_retransmitted"] + tcp["fin_retransmitted"]
    kinds = {key: health[key] for key in ("fast", "spurious", "out_of_order", "duplicate_acks")}
    return kinds | {"timeout": again}


def theirs(frames: dict[str, int]) -> dict[str, int]:
    count = {key: frames[f"tcp.analysis.{key}"] for key in ("retransmission", "fast_retransmission", "spurious_retransmission")}
    return {
        "fast": count["fast_retransmission"],
        "spurious": count["spurious_retransmission"],
        "out_of_order": frames["tcp.analysis.out_of_order"],
        "duplicate_acks": frames["tcp.analysis.duplicate_ack"],
        "timeout": count["retransmission"] - count["fast_retransmission"] - count["spurious_retransmission"],
    }


def test_kinds_of_segments_equal_those_of_tshark_or_the_difference_is_known():
    compared, wrong, unseen = 0, [], set(KNOWN)
    for file in truths():
        whole = json.loads(file.read_text())
        truth = whole["truth"] | whole.get("without_ip_reassembly", {}).get("truth", {})
        if whole["capinfos"].get("File encapsulation") in WITHOUT_DECODER or not truth.get("tcp_analysis_frames"):
            continue
        path = file.with_name(file.name.removesuffix(".truth.json"))
        (point,) = analyse(path)["points"]
        mine, other = ours(point), theirs(truth["tcp_analysis_frames"])
        for what in mine:
            if mine[what] != other[what]:
                unseen.discard((path.name, what))
                if (path.name, what) not in KNOWN:
                    wrong.append((path.name, what, mine[what], other[what], point["health"]["half_seen"]))
        compared += 1
    assert wrong == []
    assert compared > 200
    assert unseen == set()


# ---- round trips


@dataclass
class Way:
    """A direction of a twin that times one segment after another, as docs/traffic-health.md says."""

    highest: int | None = None
    timed: tuple[int, int] | None = None
    is_syn: bool = False
    isn: int | None = None
    handshake: int | None = None
    samples: list[int] = field(default_factory=list)
    packets: int = 0


def after(a: int, b: int) -> bool:
    return 0 < (a - b) % 2**32 < 2**31


def twin(path: Path) -> dict[tuple[str, ...], Way]:
    """By source and destination: what the times of the frames give."""
    ways: dict[tuple[str, ...], Way] = defaultdict(Way)
    names = ("ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "tcp.srcport", "tcp.dstport", "frame.time_epoch", "tcp.flags")
    for four, six, to_four, to_six, sport, dport, time, flags, seq, ack, size in rows(
        path, *names, "tcp.seq_raw", "tcp.ack_raw", "tcp.len", only="tcp && !icmp && !icmpv6"
    ):
        if not (seq and size):
            continue  # tshark could not read the header
        key = (four or six, sport, to_four or to_six, dport)
        mine, other = ways[key], ways[key[2:] + key[:2]]
        seconds, fraction = time.split(".")
        step(mine, other, int(seconds) * 10**9 + int(fraction.ljust(9, "0")), int(flags, 16), int(seq), int(ack or 0), int(size))
    return ways


def step(mine: Way, other: Way, now: int, flags: int, seq: int, ack: int, size: int) -> None:
    syn, rst = flags & 2, flags & 4
    mine.packets += 1
    before = mine.highest
    again = bool(syn) and mine.isn == seq
    if syn and not again:
        mine.isn, mine.highest, mine.timed, mine.is_syn = seq, (seq + 1) % 2**32, ((seq + 1) % 2**32, now), True
        before = mine.highest
    elif again or rst:
        mine.timed = None
    if flags & 0x10 and not rst and other.timed and not after(other.timed[0], ack):
        if other.is_syn:
            other.handshake = now - other.timed[1]
        else:
            other.samples.append(now - other.timed[1])
        other.timed, other.is_syn = None, False
    if flags & 1:
        mine.isn = None
    if not size:
        return
    start = (seq + bool(syn)) % 2**32
    end = (start + size) % 2**32
    if before is not None and not after(end, before):
        mine.timed, mine.is_syn = None, False
        return
    mine.highest = end
    in_order = before is None or not after(start, before)
    if mine.timed is None and in_order and other.packets:
        mine.timed = (end, now)


TIMED = (
    "chrissanders__latency1.pcapng", "chrissanders__tcp_dupack.pcapng", "chrissanders__tcp_zerowindowrecovery.pcapng",
    "chrissanders__tickedoffdeveloper.pcapng", "pcapplusplus__one_tcp_stream.pcap", "pcapplusplus__tcp-reassembly.pcap",
    "suriverify__bug-4376__syn_retransmit_with_ts.pcap", "zeek__retransmit-fast009.pcap",
    "suriverify__llmnr-tcp-reassembly__input.pcap",
)  # fmt: skip


ASKED_TWICE = {"suriverify__bug-4376__syn_retransmit_with_ts.pcap"}  # tshark times from another of the SYNs


@pytest.mark.parametrize("name", TIMED)
def test_round_trips_are_those_of_a_twin_in_python_and_whole_handshakes_those_of_tshark(name):
    path = PCAP / "tcp_health" / name
    ways, flows = twin(path), [flow for flow in analyse(path)["flows"] if flow["proto"] == "tcp"]
    nothing = dict.fromkeys(("handshake_ns", "min_ns", "max_ns"))
    for flow in flows:
        way = ways[(flow["src"], str(flow["sport"]), flow["dst"], str(flow["dport"]))]
        least, most = (min(way.samples), max(way.samples)) if way.samples else (None, None)
        given = {key: value for key, value in (flow["health"]["rtt"] or nothing).items() if key != "median_ns"}
        for key, exact in (("handshake_ns", way.handshake), ("min_ns", least), ("max_ns", most)):
            assert (given[key] is None) == (exact is None), (flow["src"], flow["sport"], key)
            assert exact is None or abs(given[key] - exact) <= max(1, exact >> 25), (flow["src"], flow["sport"], key)
    whole = {(row[0], row[1], row[2], row[3]): row[4] for row in rows(
        path, "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.analysis.initial_rtt", only="tcp.analysis.initial_rtt && ip",
    )}  # fmt: skip
    compared = 0
    for key, seconds in whole.items():
        halves = [ways[key].handshake, ways[key[2:] + key[:2]].handshake]
        if None not in halves and name not in ASKED_TWICE:
            compared += 1
            assert abs(sum(filter(None, halves)) - float(seconds) * 1e9) < 2, key
    assert compared or not whole or name in ASKED_TWICE


# ---- media


def streams(path: Path) -> dict[tuple[str, str, str, str, int], list[str]]:
    """tshark's table of RTP streams, by ends and source: packets, lost, largest jitter in ms."""
    found = {}
    for line in tshark(path, "-o", "rtp.heuristic_rtp:TRUE", "-q", "-z", "rtp,streams").splitlines():
        words = line.replace("(", " ( ").split()
        if len(words) > 10 and words[6].startswith("0x"):
            loss = next(at for at, word in enumerate(words) if word == "(")
            found[(words[2], words[3], words[4], words[5], int(words[6], 16))] = [words[loss - 2], words[loss - 1], words[-1]]
    return found


MEDIA = ("voip/sipp__g711a.pcap", "voip/trex__delay_10_rtp_250k_short.pcap", "flows_general/ndpi__rtp.pcapng")


@pytest.mark.parametrize("name", MEDIA)
def test_packets_losses_and_jitter_of_media_equal_those_of_tshark(name):
    path = PCAP / name
    other, mine = streams(path), {}
    for row in analyse(path)["media"]:
        mine[(row["src"], str(row["sport"]), row["dst"], str(row["dport"]), row["ssrc"])] = row
    large = {key for key, (packets, *_) in other.items() if int(packets) >= 16}
    assert {key for key in large if key not in mine} == set()
    for key, row in mine.items():
        if key in other and row["streams"] == 1:
            assert [str(row["packets"]), str(row["lost"])] == other[key][:2], key


@pytest.mark.parametrize("scenario", ["1_baseline", "2_training_in_ef", "3_training_in_be", "4_microburst"])
def test_media_behind_the_switch_are_what_their_receivers_counted(scenario):
    folder = CORPUS / "scenarios" / scenario
    logs = json.loads((folder / "truth.json").read_text())["application_logs"]["rtp"]
    (log,) = [log for log in logs if log["me"] == "10.20.3.10"]
    report = json.loads(native_capture.analyse([("out", str(folder / "egress.pcap"))]))
    seen = {str(row["dport"]): row for row in report["media"] if row["dst"] == log["me"]}
    assert seen.keys() == log["rx"].keys()
    for port, told in log["rx"].items():
        row = seen[port]
        after_its_end = row["packets"] - told["received"]  # the capture goes on a little longer than the receiver
        assert row["lost"] == told["lost"]
        assert 0 <= after_its_end == row["expected"] - told["span"] < 20


# ---- names

NAMED = ("tls_quic", "http_grpc")


@pytest.mark.parametrize("folder", NAMED)
def test_names_are_among_those_of_tshark(folder):
    found = 0
    for path in sorted((PCAP / folder).glob("*.pcap*")):
        if path.name.endswith(".json"):
            continue
        named = {
            (flow["src"], flow["sport"], flow["server_name"], flow["name_source"])
            for flow in analyse(path)["flows"]
            if flow["name_source"] in ("tls-sni", "http-host") and flow["dport"] == flow["server_port"]
        }
        if not named:
            continue
        fields = ("ip.src", "ipv6.src", "tcp.srcport", "tls.handshake.extensions_server_name", "http.host")
        told = defaultdict(set)
        for four, six, port, sni, host in rows(path, *fields, only="tls.handshake.extensions_server_name || http.host"):
            told[(four or six, int(port or 0))] |= {sni.lower(), host.rsplit(":", 1)[0].lower(), host.lower()}
        for src, sport, name, _ in named:
            assert name in told[(src, sport)], (path.name, src, sport, name, told[(src, sport)])
            found += 1
    assert found > 10
