"""A capture in a process of its own, so that a test can stop it: interface and ring size in, polled bodies out, one a line."""

from __future__ import annotations

import sys

import native_capture

interface, snaplen = sys.argv[1], int(sys.argv[2])
live = native_capture.Live([("p", interface)], bundle=None, snaplen=snaplen, ring_mb=1)
while True:
    sys.stdout.write(live.poll(200).decode() + "\n")
    sys.stdout.flush()
