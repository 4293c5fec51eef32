"""The promise of the product, on a real router with real packets; also `make demo-net`."""

import json
import subprocess
import sys

import pytest


@pytest.mark.root
@pytest.mark.serial
def test_an_offender_is_found_remarked_proved_by_packets_and_taken_back(tmp_path):
    argv = [sys.executable, "-m", "flowguard.lab.net.loop", "--json", "--keep", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=420, check=False)
    assert done.stdout, done.stderr[-5000:]
    report = json.loads(done.stdout)
    print(f"first offending packet to verified change: {report['seconds_to_verified']} s ({report['notes']})")
    assert report["broken"] == [], report
    assert done.returncode == 0
