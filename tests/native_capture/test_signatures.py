"""Signatures against bytes made by encoders of their own: struct, json, tarfile, scapy. Right names, right ends, nothing else."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.layers.smb2 import SMB2_Header, SMB2_Negotiate_Protocol_Request
from scapy.packet import Raw

import native_capture
from flowguard.domain.bundle import compile_bundle
from policyhub.domain.identity import read_identities
from tests.support.capture_files import write_capture

FOLDER = Path(__file__).parents[2] / "native_capture" / "data" / "signatures"
CLIENT, SERVER = "10.0.0.1", "10.0.0.2"
Said = list[tuple[str, bytes]]  # "c" or "s", payload of one segment


def conversation(said: Said, *, dport: int = 40_123, syn: bool = True, tos: int = 0) -> list[tuple[int, bytes]]:
    sent = {"c": 1_000, "s": 9_000}
    steps: Said = [("c", b"")] if syn else []
    frames = []
    for number, (who, payload) in enumerate(steps + said):
        ends = (CLIENT, SERVER, 51_000, dport) if who == "c" else (SERVER, CLIENT, dport, 51_000)
        flags = "S" if syn and number == 0 else "PA"
        seq = sent[who] - (flags == "S")
        packet = IP(src=ends[0], dst=ends[1], tos=tos) / TCP(sport=ends[2], dport=ends[3], seq=seq, flags=flags) / Raw(payload)
        sent[who] += len(payload)
        frames.append((10**9 + number * 10**6, bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet)))
    return frames


def analyse(tmp_path: Path, frames: list[tuple[int, bytes]], *, snaplen: int = 65_535, **more: Any) -> dict[str, Any]:
    file = write_capture(tmp_path / "made.pcap", frames, snaplen=snaplen)
    report: dict[str, Any] = json.loads(native_capture.analyse([("p", file)], **more))
    return report


def named(report: dict[str, Any]) -> set[str]:
    found = [{row["name"] for row in flow["signatures"]} for flow in report["flows"]]
    assert all(names == found[0] for names in found), "both directions of a conversation bear the same names"
    return found[0]


def gloo(opcode: int, collective: int, payload: int = 0) -> bytes:
    slot = collective << 56 | 7 << 32
    return struct.pack("<6Q", 48 + payload, opcode, slot, 0, payload or 4, 0) + bytes(min(payload, 1_400))


def http2(kind: int, flags: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + (1 if kind else 0).to_bytes(4, "big") + body


def grpc(path: str) -> Said:
    headers = b"\x40\x05:path" + bytes([len(path)]) + path.encode() + b"\x40\x0a:authority\x01x"
    return [("c", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9)), ("c", http2(1, 4, headers))]


def safetensors() -> bytes:
    head = json.dumps({"__metadata__": {"format": "pt"}, "w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}})
    return struct.pack("<Q", len(head)) + head.replace(" ", "").encode() + bytes(1_000)


def tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("000001.jpg"), io.BytesIO())
    return out.getvalue()[:1_400]


def torch_archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("model/data.pkl", b"\x80\x02")
    return out.getvalue()


def npy() -> bytes:
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }".ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


def startup(**parameters: str) -> bytes:
    body = struct.pack(">I", 196_608) + b"".join(f"{k}\0{v}\0".encode() for k, v in parameters.items()) + b"\0"
    return struct.pack(">I", len(body) + 4) + body


def rpc_call(program: int, version: int) -> bytes:
    body = struct.pack(">6I", 77, 0, 2, program, version, 1) + bytes(16)
    return struct.pack(">I", 0x8000_0000 | len(body)) + body


def smb2() -> bytes:
    body = bytes(SMB2_Header() / SMB2_Negotiate_Protocol_Request(Dialects=[0x0311]))
    return struct.pack(">I", len(body)) + body


def hccl() -> bytes:
    table = {"rank_num": 2, "device_num": 2, "deploy_mode": 0, "rank_list": [], "server_list": [], "step": 0}
    return json.dumps(table, sort_keys=True, separators=(",", ":")).encode()


def iscsi_login() -> bytes:
    text = b"InitiatorName=iqn.2026-01.example:a\0SessionType=Normal\0"
    return bytes([0x43, 0x87, 0, 0, 0]) + len(text).to_bytes(3, "big") + bytes(40) + text


def request(method: str, path: str, extra: str = "") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: store\r\n{extra}\r\n".encode()


NCCL, SIGNED = 0x564A_B9F2_FC4B_9D6C, "Authorization: AWS4-HMAC-SHA256 Credential=x\r\n"
CASES: dict[str, list[Said]] = {
    "tcpstore": [
        [("c", b"\x00" + struct.pack("<I", 0x3C85F7CE))],
        [("c", b"\x04" + struct.pack("<Q", 5) + b"init/" + struct.pack("<Q", 1))],
    ],
    "gloo": [
        [("c", struct.pack("<Q", 2)), ("s", gloo(2, 2)), ("c", gloo(3, 2)), ("s", gloo(1, 2, 4))],
        [("c", b"x" * 1_400)] * 20 + [("c", gloo(1, 4, 19_976)), ("s", gloo(2, 4))],
    ],
    "nccl": [
        [("c", struct.pack("<QI", NCCL, 3))],
        [("c", struct.pack("<Q", NCCL)), ("c", struct.pack("<I", 4))],
        [("c", struct.pack("<QI", 0x0280_0280_0280_0280, 1))],
    ],
    "hccl": [[("c", hccl())], [("c", struct.pack("<I", len(hccl())) + hccl())], [("c", b"0" * 20), ("s", hccl())]],
    "ucx": [[("c", struct.pack("<QBIB", 0xCAFE_BABE_1234_5678, 0x20, 29, 1) + bytes(28))]],
    "open-mpi": [[("c", struct.pack("<II", 1, 2) + b"OPAL-TCP-BTL".ljust(16, b"\0"))]],
    "safetensors": [
        [("s", safetensors())],
        [("c", request("PUT", "/x")), ("c", safetensors())],
        [("s", b"HTTP/1.1 200 OK\r\nContent-Length: 1200\r\n\r\n" + safetensors())],
    ],
    "npy": [[("s", npy())], [("s", b"HTTP/1.1 200 OK\r\n\r\n" + npy())]],
    "tar": [[("s", tar())]],
    "parquet": [[("s", b"PAR1\x15\x04\x15\x80\x01" + bytes(90))]],
    "arrow": [[("s", b"ARROW1\0\0" + b"\xff" * 8 + bytes(90))]],
    "gguf": [[("s", b"GGUF" + struct.pack("<IQQ", 3, 291, 24))]],
    "hdf5": [[("s", b"\x89HDF\r\n\x1a\n" + bytes(90))]],
    "torch-save": [[("c", torch_archive())]],
    "http-dataset": [[("c", request("GET", "/d/model-00001-of-00004.safetensors"))], [("c", request("PUT", "/ckpt/step9"))]],
    "s3": [[("c", request("GET", "/bucket/key", SIGNED))], [("c", request("PUT", "/bucket/key.npy", SIGNED))]],
    "grpc-tensorflow": [grpc("/tensorflow.WorkerService/RecvTensor")],
    "grpc-tensor": [grpc("/lab.ParameterServer/Push")],
    "grpc-inference": [grpc("/inference.GRPCInferenceService/ModelInfer"), grpc("/tensorflow.serving.PredictionService/Predict")],
    "http-inference": [
        [("c", request("POST", "/v2/models/bert/versions/1/infer"))],
        [("c", request("POST", "/v1/models/half:predict"))],
        [("c", request("POST", "/v1/chat/completions"))],
        [("c", request("POST", "/predictions/resnet"))],
    ],
    "ray": [grpc("/ray.rpc.NodeInfoGcsService/RegisterNode")],
    "nfs": [[("c", rpc_call(100_003, 3))], [("c", b"x" * 1_400)] * 20 + [("c", rpc_call(100_003, 4))]],
    "smb": [[("c", smb2())], [("s", b"\0\0\0\x24\xffSMBr" + bytes(31))]],
    "iscsi": [[("c", iscsi_login())]],
    "nvme-tcp": [[("c", struct.pack("<BBBBIHBBI", 0, 0, 128, 0, 128, 0, 0, 0, 0).ljust(128, b"\0"))]],
    "ceph": [[("s", b"ceph v2\n" + struct.pack("<HQQ", 16, 3, 0))], [("c", b"ceph v027" + bytes(136))]],
    "lustre": [[("c", struct.pack("<IHH", 0xEEBC_0DED, 1, 0) + bytes(40))]],
    "hdfs-rpc": [[("c", b"hrpc\x09\x00\x00" + bytes(20))]],
    "rsync": [[("s", b"@RSYNCD: 31.0\n"), ("c", b"@RSYNCD: 31.0\n")]],
    "postgresql-replication": [
        [("c", startup(user="r", replication="true"))],
        [("c", startup(replication="database", user="r"))],
    ],
}
PAIRS = [(name, number) for name, cases in CASES.items() for number in range(len(cases))]

OTHERS: dict[str, Said] = {
    "tls": [
        ("c", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) * 2),
        ("s", b"\x17\x03\x03\x00\xff" + b"GGUF\x03" * 51),
    ],
    "ssh": [("s", b"SSH-2.0-OpenSSH_9.2\r\n"), ("c", b"SSH-2.0-OpenSSH_9.2\r\n")],
    "postgresql": [("c", startup(user="app", database="replication")), ("s", b"R\0\0\0\x08\0\0\0\0")],
    "web": [("c", request("GET", "/index.html")), ("s", b"HTTP/1.1 200 OK\r\n\r\n<html>.npy")],
    "redis": [("c", b"*1\r\n$4\r\nPING\r\n"), ("s", b"+PONG\r\n")],
    "grpc": grpc("/shop.Orders/List"),
    "zeros": [("c", bytes(1_400)), ("s", bytes(48))],
    "portmapper": [("c", rpc_call(100_000, 2))],
}


@pytest.mark.parametrize(("name", "number"), PAIRS)
def test_bytes_of_an_independent_encoder_get_their_name_and_no_other(name: str, number: int, tmp_path: Path) -> None:
    assert named(analyse(tmp_path, conversation(CASES[name][number]))) == {name}


def test_every_signature_has_a_case() -> None:
    assert set(CASES) == {file.stem for file in FOLDER.glob("*.json")}


@pytest.mark.parametrize("other", OTHERS)
def test_other_traffic_gets_no_name(other: str, tmp_path: Path) -> None:
    assert named(analyse(tmp_path, conversation(OTHERS[other]))) == set()


@pytest.mark.parametrize("name", ["tcpstore", "nccl", "ucx", "rsync"])
def test_the_beginning_of_a_flow_is_no_name_in_its_middle(name: str, tmp_path: Path) -> None:
    said = [("c", b"x" * 100), ("s", b"x" * 100)] * 9 + CASES[name][0]
    assert named(analyse(tmp_path, conversation(said))) == set()


@pytest.mark.parametrize("name", ["tcpstore", "nccl", "ucx"])
def test_what_only_the_client_says_is_no_name_from_the_server(name: str, tmp_path: Path) -> None:
    said = [("s", payload) for _, payload in CASES[name][0]]
    assert named(analyse(tmp_path, conversation(said))) == set()


def test_one_gloo_header_is_not_enough_and_a_repeated_segment_counts_once(tmp_path: Path) -> None:
    frames = conversation([("c", gloo(2, 4))])
    assert named(analyse(tmp_path, [*frames, (frames[-1][0] + 1, frames[-1][1])])) == set()


def test_packets_strength_and_visibility_are_told(tmp_path: Path) -> None:
    report = analyse(tmp_path, conversation([("c", gloo(2, 4)), ("s", gloo(3, 4)), ("c", gloo(1, 4, 100))]))
    row = {"name": "gloo", "strength": "payload", "packets": 3, "visibility": "mid-life"}
    assert [flow["signatures"] for flow in report["flows"]] == [[row], [row]]
    assert "signatures" not in report["not_evaluated"]


def test_a_cut_capture_says_what_it_cannot_show(tmp_path: Path) -> None:
    frames = conversation(CASES["gloo"][1])
    assert analyse(tmp_path, frames)["not_visible"] == []
    cut = analyse(tmp_path, frames, snaplen=54 + 40)
    assert {"gloo", "tar"} <= set(cut["not_visible"]) and "tcpstore" not in cut["not_visible"]
    assert named(cut) == set()
    assert named(analyse(tmp_path, frames, snaplen=54 + 48)) == {"gloo"}


LEDGER = "prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps\n10.0.0.0/30,lab,,,non-core,0,,\n"


@pytest.mark.parametrize(("name", "is_training"), [("gloo", True), ("tcpstore", True), ("rsync", False), ("tar", False)])
def test_a_verdict_cites_the_payload_and_a_backup_is_no_training(name: str, is_training: bool, tmp_path: Path) -> None:
    bundle = compile_bundle(read_identities(LEDGER, "ledger.csv"), points={})
    said = [*CASES[name][0], ("c", b"more"), ("s", b"more")]
    report = analyse(tmp_path, conversation(said, tos=46 << 2), bundle=bundle)
    assert len(report["verdicts"]) == 2
    for verdict in report["verdicts"]:
        assert ("training-signature" in verdict["signals"]) is is_training
        cited = [(fact["name"], fact["strength"]) for fact in verdict["evidence"] if fact["kind"] == "signature"]
        assert cited == [(name, "payload")]


def test_a_folder_of_the_user_adds_a_signature_without_rust(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    any_of = [[{"is": "text", "at": 0, "text": "MYBACKUP"}]]
    frames = conversation([("c", b"MYBACKUP 1")])
    with pytest.raises(native_capture.CaptureError, match=r"^NC-E014 .*own: the folder holds no signature file.*leave it out$"):
        analyse(tmp_path, frames, signatures=folder)
    (folder / "own.json").write_text(
        json.dumps({**json.loads((FOLDER / "rsync.json").read_text()), "name": "my-backup", "any": any_of})
    )
    assert named(analyse(tmp_path, frames)) == set()
    assert named(analyse(tmp_path, frames, signatures=folder)) == {"my-backup"}
    (folder / "own.json").write_text('{"name": ')
    with pytest.raises(native_capture.CaptureError, match=r"^NC-E014 .*own\.json: .*\. Correct the file") as caught:
        analyse(tmp_path, frames, signatures=folder)
    assert caught.value.code == "NC-E014"
