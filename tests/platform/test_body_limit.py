"""A body beyond the limit is refused before it is written anywhere."""

import asyncio
import contextlib
import http.client
import socket
import threading

import pytest
import uvicorn

from policyhub.conf import body_limit
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


@contextlib.contextmanager
def served(limit):
    """Port of a real server whose application reads the body and says how much came."""

    async def application(scope, receive, send):
        came = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            came += len(message["body"])
            if not message.get("more_body"):
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(came).encode()})

    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(BodyLimit(application, limit), lifespan="off", log_config=None, access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(30)


def test_a_server_of_this_kind_reads_what_is_within_the_limit():
    with served(limit=2**20) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", "/", body=b"x" * 2**20)
        assert connection.getresponse().read() == str(2**20).encode()
        connection.close()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_sender_that_reads_only_after_it_has_written_everything_sees_the_refusal(chunked):
    """More than every buffer between the two: a connection that is closed at once would be reset under the sender."""
    block = b"x" * 2**20
    with served(limit=2**20) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {} if chunked else {"Content-Length": str(40 * len(block))}
        connection.request("POST", "/", body=(block for _ in range(40)), headers=headers, encode_chunked=chunked)
        answer = connection.getresponse()
        assert (answer.status, b"PH-E413" in answer.read()) == (413, True)
        answer.close()
        connection.close()


def test_no_more_than_a_bound_is_swallowed_after_the_refusal(monkeypatch):
    monkeypatch.setattr(body_limit, "LINGER_BYTES", 15)
    sent, endless = [], iter(lambda: {"type": "http.request", "body": b"0123456789", "more_body": True}, None)
    taken = []

    async def receive():
        taken.append(1)
        return next(endless)

    async def send(message):
        sent.append(message)

    asyncio.run(BodyLimit(None, 10)({"type": "http", "headers": [(b"content-length", b"99999")]}, receive, send))
    assert len(taken) == 2
    assert [message.get("more_body", False) for message in sent[1:]] == [True, False]


def test_a_sender_that_stops_writing_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(body_limit, "LINGER_S", 0.01)
    sent = []

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    asyncio.run(BodyLimit(None, 10)({"type": "http", "headers": [(b"content-length", b"11")]}, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body", "http.response.body"]
