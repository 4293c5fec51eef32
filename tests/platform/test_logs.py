"""One JSON line for each event: what was given beside the message stands in it, secrets do not."""

from __future__ import annotations

import json
import logging

import pytest

from policyhub.conf.logs import HIDDEN, REQUEST_ID, JsonLines


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture):
    caplog.handler.setFormatter(JsonLines())
    return lambda: [json.loads(line) for line in caplog.text.splitlines()]


def test_a_line_says_what_when_who_and_for_which_request(lines) -> None:
    context = REQUEST_ID.set("abcdefgh")
    logging.getLogger("policyhub.x").warning("read %s", "核心", extra={"device": 7, "api_token": "t"})
    REQUEST_ID.reset(context)
    (line,) = lines()
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "read 核心", "logger": "policyhub.x", "level": "warning",
        "device": 7, "api_token": HIDDEN, "request_id": "abcdefgh",
    }  # fmt: skip


def test_a_traceback_is_one_line_without_its_secrets(lines) -> None:
    try:
        raise ValueError("username x password open-sesame")
    except ValueError:
        logging.getLogger("x").exception("it failed: %s", {"odd": {1, 2}})
    (line,) = lines()
    assert "Traceback" in line["exception"] and HIDDEN in line["exception"]
    assert "open-sesame" not in json.dumps(line)
