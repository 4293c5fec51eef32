"""A body beyond the limit is refused before it is written anywhere."""

import asyncio
import contextlib
import http.client
import socket
import threading

import pytest
import uvicorn

from policyhub.conf import body_limit, patience
from policyhub.conf.body_limit import BodyLimit
from policyhub.domain import tally


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


def test_large_bodies_take_turns_and_one_address_leaves_room_for_others(monkeypatch):
    """Memory is bounded by those that are admitted: each has been counted until its answer is done."""
    monkeypatch.setattr(body_limit, "LARGE_BYTES", 5)
    at_once, most = [0], [0]

    async def application(scope, receive, send):
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        while (message := await receive()).get("more_body"):
            await asyncio.sleep(0.01)
        at_once[0] -= 1
        if message["type"] == "http.request":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    async def one(door, source, size, announced):
        parts, statuses = [b"x" * (size // 2), b"x" * (size - size // 2)], []

        async def receive():
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def send(message):
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        headers = [(b"content-length", str(size).encode())] if announced else []
        await door({"type": "http", "headers": headers, "client": (source, 1)}, receive, send)
        return statuses[0]

    async def flood(sources, size, announced=True):
        return sorted(await asyncio.gather(*(one(door, source, size, announced) for source in sources)))

    door = BodyLimit(application, 100)
    for announced in (True, False):
        assert asyncio.run(flood(["a"] * 10, 50, announced)) == [200] * 4 + [503] * 6
    assert asyncio.run(flood([f"h{number}" for number in range(30)], 50)) == [200] * 16 + [503] * 14
    assert most[0] == 16
    assert asyncio.run(flood(["a"] * 30, 5)) == [200] * 30, "small ones always"
    assert door._large == {}


def test_a_body_that_stops_or_trickles_is_given_up(monkeypatch):
    monkeypatch.setattr(body_limit, "IDLE_S", 0.2)
    monkeypatch.setattr(body_limit, "WHOLE_S", 0.4)
    with served(limit=2**20) as port:
        for pause in (60.0, 0.05):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
                slow.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nab")
                slow.settimeout(pause)
                answer = b""
                while not answer:
                    try:
                        answer = slow.recv(400)
                    except TimeoutError:
                        slow.sendall(b"c")
                assert answer.startswith(b"HTTP/1.1 408 ")


def test_who_sends_no_request_is_closed_and_one_address_leaves_room_for_others(monkeypatch, caplog):
    monkeypatch.setattr(patience, "HEAD_S", 0.3)
    monkeypatch.setattr(tally, "EACH_S", 0)
    with served(limit=2**20, http=patience.protocol(2)) as port:

        def connect(source="127.0.0.1"):
            return socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(source, 0))

        with connect() as silent, connect() as half, connect() as third, connect("127.0.0.2") as other:
            half.sendall(b"GET / HTTP/1.1\r\nHost")
            assert third.recv(1) == b""
            other.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert other.recv(12) == b"HTTP/1.1 200"
            other.sendall(b"GET / HTTP/1.1\r\nHost: x")  # the next request on the same connection
            assert silent.recv(1) == b"" and half.recv(1) == b""
            while other.recv(400):
                pass
    assert "too many connections" in caplog.text


@contextlib.contextmanager
def served(limit, **more):
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
        config = uvicorn.Config(BodyLimit(application, limit), lifespan="off", log_config=None, access_log=False, **more)
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
