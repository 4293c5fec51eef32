"""What our own guard rewrites is told apart from what somebody else's switch rewrites."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from flowguard.actions import enforcement, own_remarks
from flowguard.models import Enforcement, Verdict
from flowguard.queries.own_guards import rewriters
from policyhub.models import Change
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


def test_the_page_and_the_api_name_the_enforcement_and_who_caused_it():
    scene = enforced()
    Verdict.objects.filter(pk=scene.verdict.pk).update(business="algorithm test")
    assert standing(scene) == "own"
    row, by = Verdict.objects.get(standing="own"), Enforcement.objects.get()
    admin = Client()
    admin.force_login(User.objects.create_superuser("first", password="long enough to be one"))
    text = admin.get(f"/traffic/{row.pk}/").content.decode()
    part = text.split("data-own>")[1].split("</dl>")[0]
    assert f'href="/enforcements/{by.pk}/"' in part and f'href="/traffic/{scene.verdict.pk}/"' in part
    assert "algorithm test" in part and "the policy of this mode" in part and "Mark changed by our own guard" in text
    assert f"as enforcement #{by.pk} asked" in text
    assert f'href="/enforcements/{by.pk}/">#{by.pk}' in admin.get("/traffic/?standing=all").content.decode()
    assert admin.get(f"/api/v1/verdicts/{row.pk}").json()["rewritten_by"] == by.pk
    Enforcement.objects.all().delete()
    assert "no longer kept" in admin.get(f"/traffic/{row.pk}/").content.decode()
    assert admin.get(f"/api/v1/verdicts/{row.pk}").json()["rewritten_by"] is None


def test_of_two_enforcements_the_one_that_was_on_the_device_is_named():
    scene = enforced()
    first = Enforcement.objects.get()
    second = Enforcement.objects.create(
        guard=first.guard, realm=first.realm, member=first.member, state="proposed", idempotency_key="second", created_at=NOW
    )
    row = scene.another(name="dscp-rewritten", src=OFFENDER)
    assert rewriters([row])[row.pk] == second
    pushed = {"created_at": NOW, "pushed_at": NOW - timedelta(seconds=5)}
    first.add_change = Change.objects.create(device=scene.device, kind="member-add", state="confirmed", spec={}, **pushed)
    first.save()
    assert rewriters([row])[row.pk] == first
