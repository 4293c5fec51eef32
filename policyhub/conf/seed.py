"""Fills the running service with the sample network: `python -m policyhub.conf.seed URL`, started by `policyhub up --demo`."""

from __future__ import annotations

import sys
from importlib import import_module

from policyhub.conf.setup import django_setup

if __name__ == "__main__":
    django_setup()
    # By name: the sample network is left out of production images.
    import_module("flowguard.lab.demo").seed(sys.argv[1])
