"""What our own guard rewrites is told apart from what somebody else's switch rewrites."""

from datetime import timedelta

import pytest

from flowguard.actions import enforcement, own_remarks
from flowguard.models import Enforcement, Verdict
from tests.support.enforcing import NOW, NOW_NS, OFFENDER, SECOND, make_scene

pytestmark = pytest.mark.django_db


def standing(scene, **changed):
    row = scene.another(**{"name": "dscp-rewritten", "severity": "info", "src": OFFENDER, **changed})
    own_remarks.tell_apart([row])
    return Verdict.objects.get(pk=row.pk).standing


def enforced():
    scene = make_scene()
    enforcement.consider(verdict_id=scene.verdict.pk, now=NOW)
    return scene


def test_a_member_of_our_guard_is_rewritten_by_us():
    assert standing(enforced()) == "own"


def test_another_host_or_another_mark_is_not_ours():
    scene = enforced()
    assert standing(scene, src="192.0.2.78") == "stands"
    assert standing(scene, dscp=26) == "stands"


def test_a_rewrite_that_began_after_the_member_was_taken_back_is_not_ours():
    scene = enforced()
    Enforcement.objects.update(state="expired", ended_at=NOW + timedelta(seconds=10))
    assert standing(scene, first_ns=NOW_NS + 11 * SECOND) == "stands"
    assert standing(scene, first_ns=NOW_NS + 9 * SECOND) == "own"


def test_what_was_only_refused_rewrote_nothing():
    scene = make_scene(mode="observe")
    enforcement.consider(verdict_id=scene.verdict.pk, now=NOW)
    assert standing(scene) == "stands"


def test_a_host_verdict_is_never_ours():
    assert standing(enforced(), name="class-not-allowed") == "stands"
