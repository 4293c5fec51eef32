"""The spool: durable before it is sent, in order, explicit about what it left out."""

import contextlib
import errno
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid

import pytest

from flowguard.sensor import spool as spool_module
from flowguard.sensor.spool import Spool
from policyhub.domain.errors import BadInput
from tests.support.batches import batch, new_stream, verdict


def told(number=1, verdicts=1):
    body = batch(verdicts=[verdict(number + n) for n in range(verdicts)])
    return {key: body[key] for key in ("bundle", "judging", "verdicts", "observations", "health")}


def opened(folder, *, stream=None, max_bytes=10**6):
    return Spool(folder, sensor="core-1", stream=stream or new_stream(), max_bytes=max_bytes)


def read(entry):
    return json.loads(gzip.decompress(entry.payload))


def drained(spool):
    bodies = []
    while entry := spool.oldest():
        bodies.append(read(entry))
        spool.done(entry)
    return bodies


def test_batches_leave_in_the_order_they_came_with_rising_sequence(tmp_path):
    spool = opened(tmp_path, stream="11111111-2222-4333-8444-555555555555")
    for number in range(12):
        assert spool.append(told(number))
    bodies = drained(spool)
    assert [body["sequence"] for body in bodies] == list(range(1, 13))
    assert {body["stream"] for body in bodies} == {"11111111-2222-4333-8444-555555555555"}
    assert spool.waiting() == 0


def test_a_batch_stays_until_it_is_done(tmp_path):
    spool = opened(tmp_path)
    spool.append(told())
    assert spool.oldest() == spool.oldest()
    spool.close()
    assert len(drained(opened(tmp_path))) == 1


def test_a_new_start_opens_a_new_stream_and_sends_the_old_one_first(tmp_path):
    first, second = new_stream(), new_stream()
    spool = opened(tmp_path, stream=first)
    spool.append(told(1))
    spool.append(told(2))
    spool.close()
    again = opened(tmp_path, stream=second)
    again.append(told(3))
    assert [(b["stream"], b["sequence"]) for b in drained(again)] == [(first, 1), (first, 2), (second, 1)]


def test_a_full_spool_says_what_it_left_out(tmp_path):
    spool = opened(tmp_path, max_bytes=3000)
    kept = [spool.append(told(n * 10, verdicts=3)) for n in range(12)]
    assert kept[0] and not kept[-1]
    sent = drained(spool)
    assert spool.append(told(999))
    gap = drained(spool)[0]["gaps"]
    lost = kept.count(False)
    first = len(sent) + 1
    assert [(g["from_sequence"], g["to_sequence"], g["verdicts"], g["reason"]) for g in gap] == [
        (first, 12, 3 * lost, "spool-full")
    ]
    assert spool.append(told(1000))
    assert drained(spool)[0]["gaps"] == []


def test_a_gap_is_told_even_when_the_sensor_was_killed_before_it_could(tmp_path):
    stream = new_stream()
    spool = opened(tmp_path, stream=stream, max_bytes=10)
    assert not spool.append(told(1, verdicts=2))
    spool.close()
    again = opened(tmp_path)
    again.append(told(5))
    assert drained(again)[0]["gaps"] == [
        {"stream": stream, "from_sequence": 1, "to_sequence": 1, "verdicts": 2, "reason": "spool-full"}
    ]


def test_a_full_disk_is_a_gap_and_its_record_uses_the_reserve(tmp_path, monkeypatch):
    spool = opened(tmp_path)
    real = spool_module._write
    reserve = next(tmp_path.glob("*-*/reserve"))

    def full(path, data):
        if path.suffix == ".batch" or reserve.exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, data)

    monkeypatch.setattr(spool_module, "_write", full)
    assert not spool.append(told())
    assert json.loads(next(tmp_path.glob("*-*/gaps.json")).read_bytes())[0]["reason"] == "spool-full"


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "longer"])
def test_a_damaged_file_is_set_aside_and_told(tmp_path, harm):
    stream = new_stream()
    spool = opened(tmp_path, stream=stream)
    for number in range(3):
        spool.append(told(number))
    path = sorted(tmp_path.glob("*-*/*.batch"))[1]
    data = path.read_bytes()
    changed = {"cut": data[:-7], "flip": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:], "empty": b"", "longer": data + b"x"}
    path.write_bytes(changed[harm])
    spool.close()
    again = opened(tmp_path)
    assert [body["sequence"] for body in drained(again)] == [1, 3]
    again.append(told(9))
    assert drained(again)[0]["gaps"] == [
        {"stream": stream, "from_sequence": 2, "to_sequence": 2, "verdicts": None, "reason": "spool-damaged"}
    ]


def test_every_torn_length_of_the_last_file_is_noticed(tmp_path):
    spool = opened(tmp_path)
    spool.append(told())
    path = next(tmp_path.glob("*-*/*.batch"))
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert spool_module._read(path) is None
    path.write_bytes(data)
    assert spool_module._read(path) is not None


def test_a_half_written_file_of_a_killed_sensor_is_no_batch(tmp_path):
    spool = opened(tmp_path)
    spool.append(told())
    folder = next(tmp_path.glob("*-*"))
    (folder / "000000000002.new").write_bytes(b"PHSPOOL1 half")
    spool.close()
    again = opened(tmp_path)
    assert len(drained(again)) == 1
    assert not list(tmp_path.glob("*-*/*.new"))


def test_a_refused_batch_is_kept_for_a_person_and_told(tmp_path):
    spool = opened(tmp_path)
    spool.append(told(1, verdicts=4))
    spool.refuse(spool.oldest(), "refused-422")
    assert spool.oldest() is None
    assert len(list((tmp_path / "refused").iterdir())) == 1
    spool.append(told(2))
    assert [(g["verdicts"], g["reason"]) for g in drained(spool)[0]["gaps"]] == [(4, "refused-422")]


def test_two_sensors_cannot_share_a_spool(tmp_path):
    first = opened(tmp_path)
    with pytest.raises(BadInput, match="another sensor uses this spool"):
        opened(tmp_path)
    first.close()
    opened(tmp_path)


def test_an_unusable_folder_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be used as spool") as caught:
        opened(tmp_path / "file" / "spool")
    assert "\n" not in str(caught.value)


WRITER = """
import sys
from pathlib import Path
from flowguard.sensor.spool import Spool
from tests.flowguard.test_sensor_spool import told
spool = Spool(Path(sys.argv[1]), sensor="core-1", stream=sys.argv[2], max_bytes=10**9)
for number in range(100000):
    spool.append(told(number))
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def test_kill_at_a_random_moment_loses_no_batch_that_was_reported_kept(tmp_path):
    chance = random.Random(7)
    for _ in range(5):
        stream = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path, stream], stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"0\n"
        time.sleep(chance.uniform(0.0, 0.15))
        os.kill(writer.pid, signal.SIGKILL)
        said = writer.stdout.read().split(b"\n")
        writer.wait()
        writer.stdout.close()
        reported = len([line for line in said if line]) + 1
        reader = opened(tmp_path)
        kept = [body for body in drained(reader) if body["stream"] == stream]
        reader.close()
        assert [body["sequence"] for body in kept] == list(range(1, len(kept) + 1))
        assert reported <= len(kept) <= reported + 1


@pytest.mark.root
def test_a_disk_that_is_really_full_loses_nothing_without_a_record(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
    try:
        spool = opened(disk / "spool")
        filler = disk / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        assert not spool.append(told(1, verdicts=5))
        spool.close()
        again = opened(disk / "spool")  # the reserve of the last start makes room to begin
        filler.unlink()
        assert again.append(told(3))
        assert [(gap["verdicts"], gap["reason"]) for gap in drained(again)[0]["gaps"]] == [(5, "spool-full")]
        again.close()
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
