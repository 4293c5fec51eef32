"""Headers equal what tshark counted: packets, bytes, marks of carried packets, tags, tunnels, RDMA, pause frames.

KNOWN names each capture where the two differ and why; docs/engine.md shows the same table.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import native_capture

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("POLICYHUB_CORPUS") or ROOT.parent / "shared" / "data")
WITHOUT_DECODER = {"erf"}
INNER = "dscp_inner(innermost of tunnelled)"
CUSTOM_BLOCKS = "tshark counts custom blocks as frames"
OFFLOAD = "IP length 0 of an offloaded frame: this tshark does not go on to the carried packet"
INSIDE = "tshark counts tags inside tunnels as well; ours are those of the outer frame"
NESTED = "tshark counts the ids of nested tunnels as well; ours is the outermost"
STACK = "ours keeps the outer two tags"
ZERO = "tag 0 is a priority tag and names no VLAN"
AD = "ours counts the 802.1ad tag as well"
KNOWN = {
    ("gopacket__be_test102.pcapng", "packets"): CUSTOM_BLOCKS,
    ("gopacket__be_test102.pcapng", "bytes"): CUSTOM_BLOCKS,
    ("wireshark__wireguard-ping-tcp-dsb.pcapng", "inner"): "tshark decrypts it with the keys in the file",
    ("zeek__mpls-6in6-6in6-4in6-invalid-version-4.pcap", "inner"): "the innermost header has a wrong version",
    **{
        (f"tcpdump__bigtcp-{outer}-{tunnel}-{inner}.pcap", what): OFFLOAD
        for outer in ("ipv4", "ipv6")
        for inner in ("ipv4", "ipv6")
        for tunnel, id_of in (("geneve", "geneve"), ("vxlan", "vxlan"))
        for what in ("inner", id_of)
    },
    ("arkime__gre-erspan-vxlan.pcap", "vxlan"): NESTED,
    ("zeek__vxlan-triple-v2.pcap", "vxlan"): NESTED,
    ("ndpi__4in4tunnel.pcap", "pcp"): STACK,
    **{
        (name, what): INSIDE
        for name in (
            "tcpdump__erspan-type-i-1.pcap",
            "tcpdump__erspan-type-i-2.pcap",
            "tcpdump__erspan-type-i-3.pcap",
            "tcpdump__erspan-type-iii-ft-0.pcap",
            "zeek__gre-erspan3-dot1q.pcap",
        )
        for what in ("pcp", "vlans")
    },
    ("trex__hlt_4vlans.pcap", "pcp"): STACK,
    ("trex__hlt_4vlans.pcap", "vlans"): STACK,
    ("zeek__http-qinq-0.pcap", "pcp"): STACK,
    ("zeek__http-qinq-0.pcap", "vlans"): ZERO,
    ("zeek__vlan-qinqinq.pcap", "pcp"): STACK,
    ("zeek__vlan-qinqinq.pcap", "vlans"): STACK,
    ("zeek__mpls-in-vlan.pcap", "vlans"): ZERO,
    ("pcapplusplus__QinQ_802.1_AD.pcapng", "vlans"): AD,
    ("tcpdump__802.1ad_QinQ.pcap", "vlans"): AD,
}

pytestmark = pytest.mark.corpus


def truths() -> list[Path]:
    where = CORPUS / "pcap"
    assert where.is_dir(), f"{where} is missing: set POLICYHUB_CORPUS to the folder that holds pcap/"
    return sorted(where.glob("*/*.truth.json"))


def counted(sums: dict[str, Any]) -> dict[str, int]:
    return {key: value["packets"] for key, value in sums.items()}


def given(counts: dict[str, int]) -> dict[str, int]:
    return {key: count for key, count in counts.items() if count}


def ids(tunnels: dict[str, int], name: str) -> dict[str, int]:
    return {key.split()[1]: count for key, count in tunnels.items() if key.split()[0] == name}


def ours(point: dict[str, Any]) -> dict[str, Any]:
    headers = point["headers"]
    acknowledges = headers["roce"]["acknowledges"]
    return {
        "packets": point["packets"],
        "bytes": point["bytes"],
        "inner": counted(headers["inner_dscp"]),
        "ecn": headers["ecn"],
        "vlans": headers["vlans"],
        "pcp": headers["pcp"],
        "vxlan": ids(headers["tunnels"], "vxlan"),
        "geneve": ids(headers["tunnels"], "geneve"),
        "bth": headers["roce"]["opcodes"],
        "cnp": headers["roce"]["cnp"],
        "acknowledges": {kind: acknowledges.get(kind, 0) for kind in ("ack", "rnr")},
        "naks": acknowledges.get("nak", 0) + acknowledges.get("sequence-error", 0),
        "stopped": headers["pfc"]["stopped"],
        "released": headers["pfc"]["released"],
    }


def theirs(truth: dict[str, Any]) -> dict[str, Any]:
    kinds, mac, roce = truth["roce"]["aeth_kinds"], truth["mac_control"], truth["roce"]
    return {
        "packets": truth["packets"],
        "bytes": truth["frame_bytes_on_wire"],
        "inner": counted(truth[INNER]),
        "ecn": given(truth["ecn_outer"]),
        "vlans": {stack.replace(">", ".").replace(",", "."): count for stack, count in truth["vlan_stacks"].items()},
        "pcp": truth["vlan_pcp"],
        "vxlan": truth["vxlan_vni"],
        "geneve": truth["geneve_vni"],
        "bth": given(roce["bth_opcodes"]),
        "cnp": roce["cnp_packets(opcode 129)"],
        "acknowledges": {"ack": kinds.get("ack", 0), "rnr": kinds.get("rnr_nak", 0)},
        "naks": sum(count for kind, count in kinds.items() if kind.startswith("nak")),
        "stopped": given(mac["pfc_xoff_per_class(time>0)"]),
        "released": given(mac["pfc_xon_per_class(time=0)"]),
    }


def test_headers_equal_those_of_tshark_or_the_difference_is_known():
    compared, wrong, unseen = 0, [], set(KNOWN)
    for file in truths():
        whole = json.loads(file.read_text())
        if whole["capinfos"].get("File encapsulation") in WITHOUT_DECODER:
            continue
        path = file.with_name(file.name.removesuffix(".truth.json"))
        (point,) = json.loads(native_capture.analyse([("p", path)]))["points"]
        # what tshark counts without reassembly stands first: this engine looks at one packet at a time
        truth = whole["truth"] | whole.get("without_ip_reassembly", {}).get("truth", {})
        mine, other = ours(point), theirs(truth)
        for what in mine:
            if mine[what] != other[what]:
                unseen.discard((path.name, what))
                if (path.name, what) not in KNOWN:
                    wrong.append((path.name, what, mine[what], other[what]))
        compared += 1
    assert wrong == []
    assert compared > 200
    assert {name for name, _ in unseen} <= {name for name, _ in KNOWN if name.startswith("tcpdump__bigtcp")}
