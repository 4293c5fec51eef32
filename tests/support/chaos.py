"""Nothing lost, nothing doubled: real processes, killed with -9 at seeded moments, against books that are known beforehand."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.support.services import Processes, RedisServer, free_port, kill, stop
from tests.support.verdict_source import story, truth

TARGETS = ("web", "worker", "worker-child", "worker-decide", "redis", "sensor")


@dataclass(frozen=True)
class Plan:
    """What is told and what is killed. cut_share: part of the API's answers that never reach the sensor."""

    seed: int
    verdicts: int
    kills: int
    pause_s: tuple[float, float] = (0.3, 2.5)
    batch_ms: int = 60
    cut_share: float = 0.05
    settle_s: float = 300.0


@dataclass
class Outcome:
    """problems: one line per way in which the books differ from the truth; empty when nothing was lost or doubled."""

    problems: list[str] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    batches: int = 0
    seconds: float = 0.0


class CuttingProxy:
    """Passes bytes between sensor and API, and now and then swallows an answer after the API has committed."""

    def __init__(self, port: int, chance: random.Random, share: float) -> None:
        self._port, self._chance, self._share, self.cut = port, chance, share, 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        try:
            upstream = socket.create_connection(("127.0.0.1", self._port), timeout=20)
        except OSError:
            client.close()
            return
        threading.Thread(target=_copy, args=(client, upstream), daemon=True).start()
        with contextlib.suppress(OSError):
            while data := upstream.recv(65536):
                if b"HTTP/1.1 201" in data[:16] and (not self.cut or self._chance.random() < self._share):
                    self.cut += 1  # the first answer always: without one cut the self-test would prove nothing
                    break
                client.sendall(data)
        for side in (client, upstream):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()


def _copy(source: socket.socket, to: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)


class Stage:
    """Redis, web, workers, scheduler and sensor as processes of their own, each of which can be killed and comes back."""

    def __init__(self, plan: Plan, service: Processes, redis: RedisServer, token: str) -> None:
        self.plan, self.service, self.redis = plan, service, redis
        self.chance = random.Random(plan.seed)
        self.port = free_port()
        self.proxy = CuttingProxy(self.port, random.Random(plan.seed + 1), plan.cut_share)
        self.position = service.folder / "position"
        self.config = service.folder / "sensor.toml"
        (service.folder / "token").write_text(token)
        self.config.write_text(
            f'name = "core-1"\nurl = "http://127.0.0.1:{self.proxy.port}"\ntoken_file = "token"\n'
            f"batch_interval_ms = {plan.batch_ms}\nheartbeat_ms = 10000\n"
            '[[points]]\nname = "in0"\ninterface = "lo"\n[spool]\ndir = "spool"\nmax_mb = 64\n'
        )

    def start(self) -> None:
        self.service.web(self.port)
        self._start("worker")
        self._start("worker-decide")
        self.service.scheduler()
        self._start("sensor")

    def kill(self, target: str) -> None:
        """SIGKILL, then start again as a supervisor would, without waiting for it to be ready."""
        if target == "redis":
            self.redis.kill()
            self.redis.start()
        elif target == "worker-child":
            children = _children(self.service.running["worker"].pid)
            if children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.chance.choice(children), signal.SIGKILL)
        else:
            kill(self.service.running.pop(target))
            self._start(target)

    def supervise(self) -> None:
        """Start again what ended by itself: a worker whose child is killed while it starts gives up."""
        for target in ("web", "worker", "worker-decide", "sensor"):
            if target in self.service.running and self.service.running[target].poll() is not None:
                kill(self.service.running.pop(target))
                self._start(target)

    def wait(self, done: Callable[[], bool], seconds: float) -> bool:
        """Supervise until `done()`, at most `seconds`."""
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end:
                return False
            self.supervise()
            time.sleep(0.1)
        return True

    def _start(self, target: str) -> None:
        from policyhub.conf.processes import worker_argv

        source = ["--config", str(self.config), "--seed", str(self.plan.seed), "--verdicts", str(self.plan.verdicts)]
        argv = {
            "web": [sys.executable, "-m", "policyhub.conf.web", "--port", str(self.port)],
            "worker": worker_argv("worker", ("ingest",)),
            "worker-decide": worker_argv("worker-decide", ("decide",)),
            "sensor": [sys.executable, "-m", "tests.support.verdict_source", *source, "--position", str(self.position)],
        }
        self.service.start(target, argv[target])

    def end_of_story(self) -> None:
        """The sensor leaves; it would go on to say that it is alive."""
        stop(self.service.running.pop("sensor"))

    def told_everything(self) -> bool:
        end = len(story(self.plan.seed, self.plan.verdicts))
        done = self.position.exists() and int(self.position.read_text()) >= end
        return done and not list((self.service.folder / "spool").glob("*-*/*.batch"))


def _children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def run(plan: Plan, service: Processes, redis: RedisServer, token: str) -> Outcome:
    """Play the plan to its end and compare the books. Call inside a `transactional_db` test."""
    began, outcome = time.monotonic(), Outcome()
    stage = Stage(plan, service, redis, token)
    stage.start()
    for target in _schedule(plan):
        stage.wait(lambda: False, stage.chance.uniform(*plan.pause_s))
        stage.kill(target)
        outcome.kills[target] += 1
    assert stage.wait(stage.told_everything, plan.settle_s), f"the sensor did not end: {service.log('sensor')[-600:]}"
    stage.end_of_story()
    stage.wait(_nothing_waits, plan.settle_s)
    outcome.cut = stage.proxy.cut
    stage.proxy.close()
    outcome.problems = list(differences(plan))
    outcome.batches, outcome.seconds = _batches(), time.monotonic() - began
    return outcome


def _schedule(plan: Plan) -> list[str]:
    """Every target as often as the others, in seeded order."""
    targets = [TARGETS[n % len(TARGETS)] for n in range(plan.kills)]
    random.Random(plan.seed + 2).shuffle(targets)
    return targets


def _nothing_waits() -> bool:
    """No batch and no consideration; running out of time for it is one of the differences."""
    from flowguard.models import Verdict, VerdictBatch

    return not (
        VerdictBatch.objects.filter(state="stored").exists() or Verdict.objects.filter(next_step_at__isnull=False).exists()
    )


def _batches() -> int:
    from flowguard.models import VerdictBatch

    return VerdictBatch.objects.count()


def differences(plan: Plan) -> Iterator[str]:
    """How the database differs from what was told."""
    from django.utils import timezone

    from flowguard.actions.streams import notice_gaps
    from flowguard.models import Enforcement, StreamGap, Verdict, VerdictBatch

    wanted = truth(plan.seed, plan.verdicts)
    rows = list(Verdict.objects.values_list("uid", "revision", "packets", "next_step_at", "src"))
    known = {uid: (revision, packets) for uid, revision, packets, _, _ in rows}
    if lost := wanted.keys() - known.keys():
        yield f"{len(lost)} verdicts lost"
    if doubled := [src for src, count in Counter(row[4] for row in rows).items() if count > 1]:
        yield f"{len(doubled)} verdicts doubled"
    if len(rows) != len(wanted):
        yield f"{len(rows)} rows for {len(wanted)} verdicts"
    if stale := [uid for uid in wanted.keys() & known.keys() if wanted[uid] != known[uid]]:
        yield f"{len(stale)} verdicts not in their last revision"
    if waiting := sum(1 for row in rows if row[3] is not None):
        yield f"{waiting} verdicts not considered"
    planned = Counter(Enforcement.objects.values_list("member", flat=True))
    members = {f"{row[4]}/32" for row in rows}
    if unplanned := members - planned.keys():
        yield f"{len(unplanned)} verdicts without a decision"
    if twice := [member for member, count in planned.items() if count > 1]:
        yield f"{len(twice)} verdicts decided twice"
    for state, count in Counter(VerdictBatch.objects.exclude(state="ingested").values_list("state", flat=True)).items():
        yield f"{count} batches {state}"
    notice_gaps(now=timezone.now() + timezone.timedelta(days=1))
    if gaps := StreamGap.objects.count():
        yield f"{gaps} gaps in the streams"
