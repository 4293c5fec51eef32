"""From the engine to the service: in order, kept while the service is away, refused ones told, no bundle no judging."""

import logging
import os
import random
import threading
import time
import uuid
from pathlib import Path

import pytest

from flowguard.domain.batch import read_backlog
from flowguard.sensor import process
from flowguard.sensor.client import Client
from flowguard.sensor.config import Point, SensorConfig
from flowguard.sensor.doctor import examine
from flowguard.sensor.process import Collector
from flowguard.sensor.sending import Backoff, BundleKeeper, Sender
from flowguard.sensor.spool import Spool
from policyhub.domain.errors import BadInput
from tests.support.batches import observation, source, verdict
from tests.support.fake_service import FakeEngine, FakeService

TOKEN = "phb_0123456789abcdef.secret"


@pytest.fixture
def service():
    service = FakeService()
    yield service
    service.close()


@pytest.fixture
def config(tmp_path, service):
    (tmp_path / "token").write_text(TOKEN)
    return SensorConfig(
        "core-1", service.url, tmp_path / "token", (Point("in0", "lo"),), tmp_path / "spool", 10**7,
        batch_s=0.05, bundle_s=0.05, heartbeat_s=0.5,
    )  # fmt: skip


@pytest.fixture
def spool(config):
    return Spool(config.spool_dir, sensor="core-1", stream=str(uuid.uuid4()), max_bytes=config.spool_bytes)


@pytest.fixture(autouse=True)
def connect(monkeypatch):
    """Clients made by a test are closed after it."""
    made = []

    def client(*told):
        made.append(Client(*told))
        return made[-1]

    monkeypatch.setattr("tests.flowguard.test_sensor_delivery.new_client", client)
    yield
    for one in made:
        one.close()


new_client = Client


def sender(config, spool):
    return Sender(spool, new_client(config, config.token), threading.Event(), Backoff(random.Random(1), longest=0.05))


def collector(config, spool, engine, news=lambda: None, clock=time.monotonic):
    return Collector(engine, spool, news, config, clock)


def keep(spool, *numbers):
    for number in numbers:
        health = {"received": 0, "dropped": {}, "decode_errors": 0}
        spool.append({"bundle": None, "judging": True, "verdicts": [verdict(number)], "observations": [], "health": health})


def sequences(service):
    return [batch["sequence"] for batch in service.batches]


class TestSender:
    def test_batches_are_sent_in_order_with_the_token(self, service, config, spool):
        keep(spool, 1, 2, 3)
        sender(config, spool).drain(lambda: False)
        assert sequences(service) == [1, 2, 3]
        method, path, headers = service.seen[0]
        assert (method, path) == ("POST", "/api/v1/sensors/core-1/batches")
        assert (headers["Authorization"], headers["Content-Encoding"]) == (f"Bearer {TOKEN}", "gzip")

    @pytest.mark.parametrize("status", [500, 502, 503, 429, 401, 403, 404])
    def test_a_batch_waits_for_a_service_that_cannot_take_it_now(self, service, config, spool, status):
        keep(spool, 1, 2)
        service.statuses = [status]
        work = sender(config, spool)
        assert not work.deliver(spool.oldest())
        assert spool.waiting() == 2
        work.drain(lambda: False)
        assert sequences(service) == [1, 2]

    @pytest.mark.parametrize("status", [400, 409, 413, 422])
    def test_a_batch_that_is_refused_for_ever_does_not_block_the_rest(self, service, config, spool, status):
        keep(spool, 1, 2)
        service.statuses = [status]
        sender(config, spool).drain(lambda: False)
        assert sequences(service) == [2]
        keep(spool, 3)
        sender(config, spool).drain(lambda: False)
        assert service.batches[-1]["gaps"][0]["reason"] == f"refused-{status}"

    def test_every_request_says_how_many_batches_wait_and_since_when(self, service, config, spool):
        keep(spool, 1, 2, 3)
        made = os.stat(spool.oldest().path).st_mtime
        client = new_client(config, config.token, lambda: spool.backlog(made + 90.0))
        Sender(spool, client, threading.Event(), Backoff(random.Random(1))).drain(lambda: False)
        client.get_bundle("")
        told = [read_backlog(headers, delivered=method == "POST") for method, _, headers in service.seen]
        assert [waiting for waiting, _ in told] == [2, 1, 0, 0]
        assert told[0][1] == pytest.approx(90.0, abs=0.1) and told[2:] == [(0, 0.0), (0, 0.0)]

    def test_an_answer_that_got_lost_is_asked_for_again_with_the_same_bytes(self, service, config, spool):
        keep(spool, 1)
        service.cut_answers = 1
        work = sender(config, spool)
        assert not work.deliver(spool.oldest())
        work.drain(lambda: False)
        assert service.batches[0] == service.batches[1]
        assert spool.waiting() == 0

    def test_a_kept_connection_that_the_server_closed_is_no_outage(self, service, config, spool):
        keep(spool, 1, 2)
        work = sender(config, spool)
        assert work.deliver(spool.oldest())
        service.cut_answers = 1
        assert work.deliver(spool.oldest())

    def test_an_outage_is_one_line_and_its_end_is_one(self, service, config, spool, caplog):
        keep(spool, 1)
        service.statuses = [503] * 5
        work = sender(config, spool)
        with caplog.at_level(logging.WARNING):
            while not work.deliver(spool.oldest()):
                continue
        assert [record.message[:14] for record in caplog.records] == ["cannot deliver", "delivering aga"]

    def test_a_missing_token_file_is_an_outage_not_an_end(self, service, config, spool):
        keep(spool, 1)
        config.token_file.unlink()
        work = sender(config, spool)
        assert not work.deliver(spool.oldest())
        config.token_file.write_text(TOKEN)
        assert work.deliver(spool.oldest())

    def test_waiting_grows_but_stays_bounded(self):
        backoff = Backoff(random.Random(1), longest=5.0)
        waits = [backoff.next() for _ in range(20)]
        assert 0.1 <= waits[0] <= 0.2
        assert max(waits) <= 5.0
        assert min(waits[10:]) >= 2.5


class TestBundle:
    def keeper(self, config, check=lambda body: "v1"):
        return BundleKeeper(new_client(config, config.token), threading.Event(), 0.05, check, config.spool_dir / "bundle.json")

    def test_a_bundle_is_taken_once_and_asked_for_by_etag(self, service, config, spool):
        service.bundle = (b"{}", '"v1"')
        keeper = self.keeper(config)
        for _ in range(3):
            keeper.ask()
        assert (keeper.news(), keeper.news()) == (b"{}", None)
        assert [headers.get("If-None-Match") for _, _, headers in service.seen] == [None, '"v1"', '"v1"']

    def test_a_bundle_that_the_engine_refuses_is_not_used(self, service, config, spool):
        def check(body):
            raise ValueError("version does not match")

        service.bundle = (b"{}", '"v1"')
        keeper = self.keeper(config, check)
        keeper.ask()
        assert keeper.news() is None
        keeper.ask()
        assert "If-None-Match" not in service.seen[-1][2]

    def test_the_last_bundle_serves_a_start_without_service(self, service, config, spool):
        service.bundle = (b'{"a": 1}', '"v1"')
        self.keeper(config).start()
        service.bundle = None
        keeper = self.keeper(config)
        keeper.start()
        assert keeper.news() == b'{"a": 1}'

    def test_without_any_bundle_there_is_no_news(self, service, config, spool):
        keeper = self.keeper(config)
        keeper.start()
        assert keeper.news() is None


class TestCollector:
    def test_without_a_bundle_the_batch_says_that_nothing_is_judged(self, service, config, spool, caplog):
        engine = FakeEngine()
        engine.ready = [{"observations": [observation()]}]
        with caplog.at_level(logging.WARNING):
            collector(config, spool, engine).once(0)
        sender(config, spool).drain(lambda: False)
        assert service.batches[0]["judging"] is False
        assert caplog.records[0].message.startswith("no bundle yet")

    def test_a_new_bundle_reaches_the_engine_and_is_reported_at_once(self, service, config, spool):
        engine, news = FakeEngine(), [b"bundle"]
        collector(config, spool, engine, lambda: news.pop() if news else None).once(0)
        sender(config, spool).drain(lambda: False)
        assert engine.bundle == b"bundle"
        assert service.batches[0]["judging"] is True

    def test_nothing_to_tell_is_a_heartbeat_now_and_then(self, config, spool):
        now = [100.0]
        work = collector(config, spool, FakeEngine(), clock=lambda: now[0])
        for _ in range(9):
            work.once(0)
            now[0] += 0.125
        assert spool.waiting() == 3

    def test_a_long_poll_becomes_several_batches_and_nothing_is_left_out(self, service, config, spool):
        engine = FakeEngine()
        engine.ready = [
            {"verdicts": [verdict(n) for n in range(1203)], "observations": [observation(second=n) for n in range(9)]}
        ]
        collector(config, spool, engine).once(0)
        sender(config, spool).drain(lambda: False)
        assert [len(batch["verdicts"]) for batch in service.batches] == [500, 500, 203]
        assert sum(len(batch["observations"]) for batch in service.batches) == 9
        assert len({v["id"] for batch in service.batches for v in batch["verdicts"]}) == 1203

    def test_observations_share_a_batch_as_far_as_their_sources_leave_room(self, service, config, spool):
        engine, full = FakeEngine(), [source("10.0.0.1", 46, 1)] * 4096
        small = [observation(second=n) for n in range(40)]
        engine.ready = [{"observations": [*small, *({**observation(second=n), "sources": full} for n in range(40, 48))]}]
        collector(config, spool, engine).once(0)
        sender(config, spool).drain(lambda: False)
        told = [[row["start_ns"] for row in batch["observations"]] for batch in service.batches]
        assert [start for starts in told for start in starts] == [observation(second=n)["start_ns"] for n in range(48)]
        assert [len(starts) for starts in told] == [43, 4, 1]

    def test_batches_that_wait_make_later_ones_fewer_and_their_delivery_brings_the_usual_pace_back(self):
        pause, made, waiting, longest, due, came = 0.25, 0, 0, 0, 0.0, 0.0
        for tick in range(4 * 1800):  # half an hour of a service that takes two batches a second
            now = tick / 4
            if now >= due:
                made, waiting = made + 1, waiting + 1
                pause = process.next_pause(pause, 0.25, waiting)
                due = now + pause
            if waiting and now >= came:
                waiting, came = waiting - 1, now + 0.5
            longest = max(longest, waiting)
        assert longest <= process.BACKLOG + 4
        assert made >= 1800  # it does not idle either
        pauses = [pause := process.next_pause(pause, 0.25, 9) for _ in range(20)]
        assert pauses[-1] == process.LONGEST_PAUSE_S
        back = [pause := process.next_pause(pause, 0.25, 0) for _ in range(20)]
        assert (back[-1], process.next_pause(60.0, 60.0, 99)) == (0.25, 60.0)

    def test_a_service_that_is_away_gets_few_batches_not_many(self, config, spool):
        """The collector itself: while nothing is delivered, its clock passes between its batches."""
        now, stop, waits = [0.0], threading.Event(), []

        def wait(seconds):
            waits.append(seconds)
            now[0] += seconds
            return len(waits) >= 40 and bool(stop.set() or True)

        pausing = type("Pausing", (), {"is_set": stop.is_set, "wait": staticmethod(wait)})()
        engine = FakeEngine(lambda: {"verdicts": [verdict(1)]})
        collector(config, spool, engine, clock=lambda: now[0]).run(pausing)
        assert waits[0] == config.batch_s and waits[-1] == process.LONGEST_PAUSE_S
        assert spool.waiting() == 41

    def test_a_full_spool_is_said_in_the_log_in_the_health_and_in_the_gap(self, service, config, caplog, tmp_path):
        tiny = Spool(tmp_path / "tiny", sensor="core-1", stream=str(uuid.uuid4()), max_bytes=1)
        engine = FakeEngine()
        engine.ready = [{"verdicts": [verdict(1)]}, {"verdicts": [verdict(2)]}]
        work = collector(config, tiny, engine)
        with caplog.at_level(logging.ERROR):
            work.once(0)
            work.once(0)
        assert len(caplog.records) == 1
        tiny.max_bytes = 10**6
        work.once(0)
        sender(config, tiny).drain(lambda: False)
        last = service.batches[-1]
        assert (last["gaps"][0]["verdicts"], last["health"]["dropped"]["spool"]) == (2, 2)


class TestProcess:
    def run(self, config, engine, until, seconds=60):
        stop = threading.Event()
        options = {"open_engine": lambda *_: engine, "check_bundle": lambda body: "v1", "stream": uuid.uuid4(), "stop": stop}
        thread = threading.Thread(target=process.run, args=(config,), kwargs={**options, "chance": random.Random(3)})
        thread.start()
        end = time.monotonic() + seconds
        while not until() and time.monotonic() < end:
            time.sleep(0.01)
        stop.set()
        thread.join(60)
        assert not thread.is_alive()

    def test_everything_told_arrives_once_while_the_service_comes_and_goes(self, service, config):
        numbers = iter(range(60))
        engine = FakeEngine(lambda: {"verdicts": [verdict(n)]} if (n := next(numbers, None)) is not None else None)
        service.bundle = (b"{}", '"v1"')
        service.statuses = [503, 201, 500, 201, 401, 201, 503]
        self.run(config, engine, lambda: sum(len(b["verdicts"]) for b in service.batches) >= 60)
        assert [v["id"] for b in service.batches for v in b["verdicts"]] == [f"{n:032x}" for n in range(60)]
        assert engine.closed
        assert engine.bundle == b"{}"

    def test_what_is_told_at_the_end_still_leaves(self, service, config):
        engine = FakeEngine()
        self.run(config, engine, lambda: bool(service.batches))
        assert service.batches

    def test_without_a_token_it_does_not_start(self, service, config):
        config.token_file.unlink()
        with pytest.raises(BadInput, match="no such file or directory"):
            process.run(
                config, open_engine=lambda *_: FakeEngine(), check_bundle=lambda body: "", stream=uuid.uuid4(),
                stop=threading.Event(), chance=random.Random(1),
            )  # fmt: skip


class TestDoctor:
    def write(self, tmp_path, service, interface="lo", url=None):
        (tmp_path / "token").write_text(TOKEN)
        path = tmp_path / "sensor.toml"
        path.write_text(
            f'name = "core-1"\nurl = "{url or service.url}"\ntoken_file = "token"\n'
            f'[[points]]\nname = "in0"\ninterface = "{interface}"\n[spool]\ndir = "spool"\n'
        )
        return path

    def signs(self, path: Path):
        return [(sign.ok, sign.text) for sign in examine(path, lambda body: "v1")]

    def test_a_well_sensor(self, tmp_path, service):
        service.bundle = (b"{}", '"v1"')
        signs = self.signs(self.write(tmp_path, service))
        assert all(ok for ok, text in signs if "CAP_NET_RAW" not in text)
        assert signs[-1] == (True, "bundle v1")

    def test_each_lack_is_its_own_line(self, tmp_path, service):
        signs = self.signs(self.write(tmp_path, service, "nope0", "http://127.0.0.1:9"))
        missing = [text for ok, text in signs if not ok and "CAP_NET_RAW" not in text]
        assert len(missing) == 2
        assert "interface nope0 does not exist. Here are:" in missing[0]
        assert "cannot be reached" in missing[1]

    def test_a_refused_token_says_how_to_make_one(self, tmp_path, service, monkeypatch):
        monkeypatch.setattr(service, "answer", lambda *_: (403, b'{"detail": "no"}', {}))
        assert "policyhub token create --sensor core-1" in self.signs(self.write(tmp_path, service))[-1][1]

    def test_a_bad_configuration_is_the_only_line(self, tmp_path):
        (tmp_path / "sensor.toml").write_text("x")
        assert [ok for ok, _ in self.signs(tmp_path / "sensor.toml")] == [False]
