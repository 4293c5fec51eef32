"""Runs in genie's own environment (`make peers`): {module, class, text, arguments} in, its answer out, a line each."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def read(wish: dict[str, Any]) -> object:
    """What genie's parser makes of the text; {"refused": why} when it makes nothing of it."""
    parser = getattr(importlib.import_module(f"genie.libs.parser.{wish['module']}"), wish["class"])
    try:
        return parser(device=None).parse(output=wish["text"], **wish["arguments"])
    except Exception as error:  # whatever it raises is its answer
        return {"refused": f"{type(error).__name__}: {error}"[:200]}


for line in sys.stdin:
    print(json.dumps(read(json.loads(line)), default=str), flush=True)
