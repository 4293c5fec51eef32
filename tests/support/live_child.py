"""A capture in a process of its own, which a test can stop: interface and bytes of a frame in, polled bodies out, one a line.

With the word `unprivileged` it becomes nobody with CAP_NET_RAW alone first, and gives that away once the interface is open;
with the word `nobody` it has not even that.
"""

from __future__ import annotations

import ctypes
import os
import sys

import native_capture

NOBODY = 65_534
PR_SET_KEEPCAPS = 8
CAP_NET_RAW = 13
CAPABILITY_VERSION_3 = 0x20080522


def become_nobody(capabilities: int) -> None:
    """Another user with these capabilities only (capset(2): two words each of effective, permitted and inheritable)."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)(capabilities, capabilities, capabilities, 0, 0, 0)
    assert libc.capset(header, sets) == 0, os.strerror(ctypes.get_errno())


if __name__ == "__main__":
    interface, snaplen, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    if words:
        become_nobody(1 << CAP_NET_RAW if words == ["unprivileged"] else 0)
    try:
        live = native_capture.Live([("p", interface)], bundle=None, snaplen=snaplen, ring_mb=1, drop_privileges=bool(words))
    except native_capture.CaptureError as error:
        sys.exit(str(error))
    while True:
        sys.stdout.write(live.poll(200).decode() + "\n")
        sys.stdout.flush()
