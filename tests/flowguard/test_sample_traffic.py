"""The writer of the sample network never waits for room in one pipe while its reader waits for the other."""

import fcntl
import os
import random
import re
import select
import struct
import threading

from flowguard.lab.sample.dataplane import remarks
from flowguard.lab.sample.packets import Template
from flowguard.lab.sample.traffic import INTERFACE, Switch, drive, keep_hits, opened
from flowguard.lab.simulators.cisco_ios import IosDevice

SECONDS = 1.5
POLICY = f"""hostname sw
!
ip access-list extended PHG-M
 10 permit ip host 10.61.8.101 any
!
class-map match-all PHG-C
 match access-group name PHG-M
 match dscp ef
!
policy-map PHG-P
 class PHG-C
  set dscp cs1
!
interface {INTERFACE}
 service-policy input PHG-P
!
end
"""
PAGE = 4096  # the smallest pipe there is


def test_the_switch_counts_what_its_policy_did_and_its_command_line_tells(tmp_path):
    device = IosDevice(hits_file=tmp_path / "hits.json")
    device.load(POLICY)
    switch = Switch(lambda: remarks(POLICY, INTERFACE))
    for source, mark in (("10.61.8.101", 46), ("10.61.8.101", 46), ("10.61.8.102", 46), ("10.61.8.101", 0)):
        switch.forward(Template(source, "10.62.8.200", "tcp", 42001, 9000, 1400).stamp(mark), 0.0)
    told = device.session().type(f"show policy-map interface {INTERFACE} input")
    assert "0 packets, 0 bytes" in told  # nothing was counted yet
    keep_hits(tmp_path / "hits.json", switch.hits)
    told = device.session().type(f"show policy-map interface {INTERFACE} input")
    assert re.findall(r"Class-map: (\S+) .*\n +(\d+) packets, (\d+) bytes", told) == [
        ("PHG-C", "2", "2908"), ("class-default", "2", "2908")
    ]  # fmt: skip


def test_a_switch_without_a_policy_counts_nothing():
    switch = Switch(lambda: ())
    switch.forward(Template("10.61.8.101", "10.62.8.200", "tcp", 42001, 9000, 1400).stamp(46), 0.0)
    assert switch.hits == {}


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
