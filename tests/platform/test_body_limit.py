"""A body beyond the limit is refused before it is written anywhere."""

import asyncio

import pytest

from policyhub.conf.body_limit import BodyLimit


def play(parts, *, announced=None, limit=10):
    """Returns (statuses sent, bytes that reached the application)."""
    sent, reached, waiting = [], [], list(parts)

    async def application(scope, receive, send):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            reached.append(message["body"])
            if not message.get("more_body"):
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive():
        body = waiting.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(waiting)}

    async def send(message):
        sent.append(message)

    headers = [] if announced is None else [(b"content-length", str(announced).encode())]
    asyncio.run(BodyLimit(application, limit)({"type": "http", "headers": headers}, receive, send))
    return [message["status"] for message in sent if message["type"] == "http.response.start"], b"".join(reached)


def test_up_to_the_limit_everything_passes():
    assert play([b"12345", b"67890"], announced=10) == ([200], b"1234567890")


def test_an_announced_length_over_the_limit_is_refused_unread():
    assert play([b"x"], announced=11) == ([413], b"")


def test_a_body_that_grows_over_the_limit_is_cut_there():
    statuses, reached = play([b"12345", b"67890", b"1", b"more"])
    assert statuses == [413]
    assert reached == b"1234567890"


@pytest.mark.parametrize("announced", ["-1", "x", ""])
def test_a_length_that_is_no_number_does_not_open_the_door(announced):
    assert play([b"12345678901"], announced=announced)[0] == [413]


def test_what_is_no_request_passes_untouched():
    seen = []

    async def application(scope, receive, send):
        seen.append(scope["type"])

    asyncio.run(BodyLimit(application)({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]
