"""What people type into the admin's ledgers is checked as the CSV is, and one bad row never stops the rest."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from flowguard.actions import enforcement
from flowguard.models import Enforcement, IdentityEntry, NeverTouch
from policyhub.models import Realm
from tests.support.enforcing import NOW, make_scene

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "wrong",
    [
        {"prefix": "foo"},
        {"prefix": "10.0.0.1/8"},
        {"prefix": "10.0.0.0/255.0.0.0"},
        {"allowed_dscp": [99]},
        {"allowed_dscp": []},
        {"allowed_dscp": {"a": 1}},
        {"allowed_dscp": ["EF"]},
        {"active_window": "25:99-x"},
        {"peak_mbps": -1.0},
        {"peak_mbps": float("nan")},
    ],
)
def test_an_identity_that_nobody_could_read_is_refused(wrong):
    realm = Realm.objects.create(name="")
    with pytest.raises(ValidationError):
        IdentityEntry(**{"realm": realm, "prefix": "10.0.0.0/8", "name": "x", **wrong}).full_clean()


def test_an_identity_that_can_be_read_is_taken():
    entry = IdentityEntry(realm=Realm.objects.create(name=""), prefix="10.0.0.0/8", name="x", allowed_dscp=[0, 46], peak_mbps=5.0)
    entry.full_clean()


def test_a_never_touch_prefix_is_checked_and_brought_into_form():
    realm = Realm.objects.create(name="")
    with pytest.raises(ValidationError):
        NeverTouch(realm=realm, prefix="storage", reason="x").full_clean()
    row = NeverTouch(realm=realm, prefix=" 10.1.2.3/24 ", reason="x")
    row.full_clean()
    assert row.prefix == "10.1.2.0/24"


def test_a_never_touch_row_that_is_no_prefix_refuses_instead_of_stopping_the_worker():
    scene = make_scene()
    NeverTouch.objects.create(realm=scene.device.realm, prefix="storage", reason="typed past the form")
    row = enforcement.consider(verdict_id=scene.verdict.pk, now=NOW)
    assert row is not None and row.state == Enforcement.State.REFUSED
    assert [rail["name"] for rail in row.guardrails if not rail["passed"]] == ["never-touch"]
