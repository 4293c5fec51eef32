"""A live capture with everything on, in a process of its own: interface and threads in; health out for every line that comes."""

from __future__ import annotations

import json
import sys
import threading
import time

import native_capture
from flowguard.domain.bundle import LAB, compile_bundle
from policyhub.domain.identity import Identity

if __name__ == "__main__":
    # Everybody is known, and half of them may not use the mark that a tenth of the flows carries.
    known = [
        Identity(prefix=f"10.64.{number}.0/24", name=f"n{number}", allowed_dscp=frozenset({0, 46 * (number % 2)}))
        for number in range(40)
    ]
    bundle = compile_bundle(known, profile=LAB)
    live = native_capture.Live([("p", sys.argv[1])], bundle=bundle, ring_mb=64, ipfix_domain=1, threads=int(sys.argv[2]))
    latest = json.loads(live.poll(0))["health"]

    def collect() -> None:
        """As a sensor does: what is finished is taken away."""
        global latest
        while True:
            latest = json.loads(live.poll(200))["health"]
            live.take_records()

    threading.Thread(target=collect, daemon=True).start()
    for _ in sys.stdin:
        used = time.process_time()
        sys.stdout.write(json.dumps({**latest, "cpu_s": used}) + "\n")
        sys.stdout.flush()
