"""The writer of the sample network never waits for room in one pipe while its reader waits for the other."""

import fcntl
import os
import random
import select
import struct
import threading

from flowguard.lab.sample.traffic import drive, opened

SECONDS = 1.5
PAGE = 4096  # the smallest pipe there is


def packet_times(descriptor):
    """Packet times in seconds of the pcap that comes through a pipe, up to its end."""
    with os.fdopen(descriptor, "rb") as stream:
        assert select.select([stream], [], [], 60)[0]  # before its writer has come, a pipe reads as ended
        assert len(stream.read(24)) == 24
        while head := stream.read(16):
            seconds, nanoseconds, length, _ = struct.unpack("<IIII", head)
            assert len(stream.read(length)) == length
            yield seconds + nanoseconds / 1e9


def small_pipe(path):
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PAGE)
    return descriptor


def test_a_late_reader_may_be_ahead_at_one_point_by_more_than_the_other_pipe_holds(tmp_path):
    enter, leave = small_pipe(tmp_path / "enter"), small_pipe(tmp_path / "leave")

    def play():
        with opened(tmp_path / "enter") as entering, opened(tmp_path / "leave", beside=entering) as leaving:
            drive(entering, leaving, lambda: (), random.Random(1), SECONDS)

    entered = []

    def far_ahead():
        for at in packet_times(enter):
            entered.append(at)
            if at - entered[0] > SECONDS - 0.5:
                arrived.set()

    arrived = threading.Event()
    threads = [threading.Thread(target=work, daemon=True) for work in (play, far_ahead)]
    for thread in threads:
        thread.start()
    assert arrived.wait(90), "the writer waits for the reader, the reader for the writer"
    left = list(packet_times(leave))
    for thread in threads:
        thread.join(90)
        assert not thread.is_alive()
    assert left == sorted(left)
    assert len(left) > 100
    assert abs(left[-1] - entered[-1]) < 0.2
