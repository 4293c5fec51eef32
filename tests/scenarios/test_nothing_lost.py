"""Nothing lost, nothing doubled, while processes are killed with -9 and answers vanish on their way.

The sample runs with every test run; `make soak` runs the full set. Each figure is printed.
"""

import sys

import pytest
from django.utils import timezone

from policyhub.actions import tokens
from tests.support.chaos import Outcome, Plan, run
from tests.support.services import RedisServer, processes

SAMPLE = Plan(seed=20261130, verdicts=400, kills=10, batch_ms=200)  # told as long as it is killed
BROKEN = Plan(seed=5, verdicts=40, kills=1, pause_s=(0.5, 1.0))
FULL = Plan(seed=77, verdicts=20_000, kills=200, pause_s=(1.0, 4.0), batch_ms=100, settle_s=2400.0)


@pytest.fixture
def stage(transactional_db, tmp_path_factory):
    """A broker of this test's own, which may be killed, and the processes; settings may be another module's."""
    started = []

    def play(plan: Plan, settings_module: str = "policyhub.conf.settings.test") -> Outcome:
        folder = tmp_path_factory.mktemp("c")
        redis = RedisServer(folder).start()
        started.append(redis)
        extra = {"POLICYHUB_TEST_BROKER_URL": redis.url, "DJANGO_SETTINGS_MODULE": settings_module}
        _, token = tokens.create(name="core-1", sensor="core-1", scopes=["ingest"], actor="test", now=timezone.now())
        with processes(folder / "p", extra) as service:
            outcome = run(plan, service, redis, token)
        sys.stdout.write(f"\n{plan.verdicts} verdicts, {outcome.batches} batches, killed {dict(outcome.kills)}, ")
        sys.stdout.write(f"{outcome.cut} answers cut, {outcome.seconds:.0f} s: {outcome.problems or 'nothing lost or doubled'}\n")
        return outcome

    yield play
    for redis in started:
        redis.stop()


def test_nothing_is_lost_or_doubled_by_kills_and_lost_answers(stage):
    outcome = stage(SAMPLE)
    assert outcome.problems == []
    assert sum(outcome.kills.values()) == SAMPLE.kills
    assert outcome.cut


@pytest.mark.once  # it asks the comparison of the books, on which both databases pass above
def test_the_check_notices_when_deduplication_is_off(stage):
    outcome = stage(BROKEN, "tests.support.no_deduplication")
    assert any("doubled" in problem for problem in outcome.problems)


@pytest.mark.soak
def test_two_hundred_kills_over_twenty_thousand_verdicts(stage):
    outcome = stage(FULL)
    assert outcome.problems == []
    assert sum(outcome.kills.values()) >= 200
