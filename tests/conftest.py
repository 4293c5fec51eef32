"""Fixtures of all rooms. Servers are real and started on first use; POLICYHUB_TEST_DB=sqlite|postgres chooses the database."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation

from tests.support.services import PostgresCluster, Processes, RedisServer, ServiceFailed, processes
from tests.support.wires import Router

ROOTLESS = os.environ.get("ROOTLESS", "") not in {"", "0"}
LONG = ("soak", "bench")  # only when -m names them
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "admin_client", "client_with_user"}
WAITING_ROOM = "scenarios"
# Nothing in them uses the database: the run on PostgreSQL need not even read them.
WITHOUT_DATABASE = {"architecture", "checks", "corpus", "mutants", "native_capture", "vendors"}


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """The run folder of this process; with PostgreSQL, one cluster for all xdist workers, before any of them starts."""
    settings.POLICYHUB_TEST_RUN.mkdir(mode=0o700, parents=True, exist_ok=True)
    _no_arp()
    if os.environ.get("POLICYHUB_TEST_DB") == "postgres" and not _is_worker(config) and not config.option.collectonly:
        try:
            cluster = PostgresCluster(Path(os.environ["POLICYHUB_TEST_POSTGRES"])).start()
        except ServiceFailed as error:
            raise pytest.UsageError(str(error)) from error
        config.add_cleanup(cluster.stop)


def _no_arp() -> None:
    """A frame built without a destination goes to everybody; scapy would ask this machine's network for it, two seconds each."""
    from scapy.config import conf
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import ETHER_BROADCAST, Ether

    for packet in (IP, IPv6):
        conf.neighbor.register_l3(Ether, packet, lambda _frame, _packet: ETHER_BROADCAST)


def pytest_unconfigure() -> None:
    shutil.rmtree(settings.POLICYHUB_TEST_RUN, ignore_errors=True)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    room = collection_path.parent == config.rootpath / "tests" and collection_path.name in WITHOUT_DATABASE
    return True if room and os.environ.get("POLICYHUB_TEST_DB") == "postgres" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses the database and what waits; waiting ones first; leave out long sets and, if asked, what needs root."""
    expression = config.option.markexpr or ""
    dropped = []
    for item in items:
        uses_database = item.get_closest_marker("django_db") or DATABASE_FIXTURES & set(getattr(item, "fixturenames", ()))
        if uses_database and not item.get_closest_marker("once"):
            item.add_marker(pytest.mark.db)
        room = Path(str(item.path)).relative_to(config.rootpath / "tests").parts[0]
        if item.get_closest_marker("serial") and room != WAITING_ROOM:
            raise pytest.UsageError(f"{item.nodeid}: `make test-serial` looks for such tests in {WAITING_ROOM}/ only")
        if uses_database and room in WITHOUT_DATABASE:
            raise pytest.UsageError(f"{item.nodeid} uses the database: take its room out of WITHOUT_DATABASE (tests/conftest.py)")
        if room == WAITING_ROOM or any(item.get_closest_marker(name) for name in ("root", "browser")):
            item.add_marker(pytest.mark.waits)
        long = any(item.get_closest_marker(name) and name not in expression for name in LONG)
        if long or (ROOTLESS and item.get_closest_marker("root")):
            dropped.append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in set(dropped)]
    # The longest files begin while there is much to do beside them, instead of ending alone (with --no-loadscope-reorder).
    waiting = {item.path for item in items if item.get_closest_marker("waits")}
    items.sort(key=lambda item: item.path not in waiting)
    config.stash[_LEFT_OUT] = sum(1 for item in dropped if ROOTLESS and item.get_closest_marker("root"))


_LEFT_OUT = pytest.StashKey[int]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left_out := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(f"ROOTLESS=1: {left_out} tests that need root were left out")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("root") and (missing := _missing_for_root()):
        pytest.fail(f"needs {', '.join(missing)}; `make test ROOTLESS=1` leaves such tests out", pytrace=False)


def _missing_for_root() -> list[str]:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    tools = [tool for tool in ("ip", "nft", "sshd") if shutil.which(tool, path=path) is None]
    return ([] if os.geteuid() == 0 else ["root"]) + [f"`{tool}` (`make deps`)" for tool in tools]


@pytest.fixture(autouse=True)
def _own_language() -> Iterator[None]:
    """A request leaves its language behind in this thread; the next test starts with the service's own."""
    yield
    translation.deactivate()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A real Redis where the test settings' broker URL points; one per test process."""
    run = settings.POLICYHUB_TEST_RUN
    server = RedisServer(run, Path(settings.CELERY_BROKER_URL.removeprefix("redis+socket://"))).start()
    yield server
    server.stop()


@pytest.fixture
def empty_redis(redis_server: RedisServer) -> RedisServer:
    """The same Redis without keys."""
    import redis

    with redis.Redis(unix_socket_path=str(redis_server.path)) as client:
        client.flushall()
    return redis_server


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a real PostgreSQL, whichever database the tests themselves run on."""
    if os.environ.get("POLICYHUB_TEST_DB") == "postgres":
        yield f"postgresql://policyhub@/policyhub?host={os.environ['POLICYHUB_TEST_POSTGRES']}"
        return
    cluster = PostgresCluster(Path(f"{settings.POLICYHUB_TEST_RUN}-pg")).start()
    yield cluster.url
    cluster.stop()


@pytest.fixture
def service(transactional_db: None, empty_redis: RedisServer, tmp_path: Path) -> Iterator[Processes]:
    """Starts web, workers and scheduler as processes on the test's database: `service.worker("ingest", "sweep")`."""
    with processes(tmp_path / "processes") as children:
        yield children


@pytest.fixture
def dispatched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """(task, *ids) of everything queued, instead of queueing it. Use django_capture_on_commit_callbacks inside `db` tests."""
    from policyhub import dispatch

    sent: list[tuple[object, ...]] = []

    def record(task_name: str, *ids: int, expires_s: float | None = None) -> bool:
        sent.append((task_name, *ids))
        return True

    monkeypatch.setattr(dispatch, "send", record)
    return sent


@pytest.fixture
def router() -> Iterator[Router]:
    """In network namespaces of its own, for what captures from interfaces."""
    router = Router()
    try:
        yield router.start()
    finally:
        router.stop()


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Folder of the shared corpus; a missing one is a failure, never a skip."""
    folder = Path(os.environ.get("POLICYHUB_CORPUS") or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.fail(f"{folder}: no corpus. Set POLICYHUB_CORPUS to its folder.", pytrace=False)
    return folder
