"""`--help` of every command works where there is no service, no data folder and no settings, and leaves nothing behind."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

POLICYHUB = Path(sys.executable).with_name("policyhub")
COMMANDS = sorted(entry.name for entry in entry_points(group="policyhub.commands"))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_needs_nothing_and_leaves_nothing(command, tmp_path):
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("POLICYHUB_", "DJANGO_"))}
    done = subprocess.run(
        [POLICYHUB, command, "--help"], capture_output=True, text=True, cwd=tmp_path, env=bare, timeout=180, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: policyhub {command}")
    assert list(tmp_path.iterdir()) == []


SEEN = """
import sys
from policyhub.conf.celery import app
app.loader.import_default_modules()
from policyhub.actions import changes, collect, counters
print({"netmiko", "paramiko", "rest_framework.views", "policyhub.console.entries", "flowguard.console.entries"} & {*sys.modules})
"""


def test_a_worker_loads_no_pages_and_no_api_and_ssh_only_for_a_session():
    done = subprocess.run([sys.executable, "-c", SEEN], capture_output=True, text=True, timeout=180, check=False)
    assert done.stdout == "set()\n", done.stderr
