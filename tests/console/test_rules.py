"""The list of rules says what is known of each, and why the rest is not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from policyhub.actions.secrets import seal
from policyhub.console import rules_view
from policyhub.domain.hits import HitCount, HitSample
from policyhub.models import ConfigSnapshot
from tests.support.sample_rows import Sample


def test_rules_stand_in_order_with_action_and_place(rows: Sample, admin: Client) -> None:
    text = admin.get(f"/devices/{rows.device.pk}/rules/").content.decode()
    assert text.index("10.2.0.5") < text.index("deny ip any any")
    assert "EDGE-IN" in text and "GigabitEthernet0/1 in" in text


def test_line_nobody_understands_is_shown_and_its_secret_is_not(rows: Sample, admin: Client) -> None:
    text = admin.get(f"/devices/{rows.device.pk}/rules/").content.decode()
    assert "zzz-feature" in text and "hunter2hunter2" not in text and "s3cretword" not in text


def test_hits_without_counters_are_unknown_with_the_reason(rows: Sample, admin: Client) -> None:
    text = admin.get(f"/devices/{rows.device.pk}/rules/").content.decode()
    assert "no counters were read with this configuration" in text


@pytest.mark.parametrize(
    ("sample", "count", "hits"),
    [
        (None, None, None),
        (HitSample("x", "packets", (), enabled=False), HitCount("p", "k", 0), None),
        (HitSample("x", "packets", ()), None, None),
        (HitSample("x", "packets", ()), HitCount("p", "k", None), None),
        (HitSample("x", "packets", (), zero_is_printed=False), HitCount("p", "k", None), 0),
        (HitSample("x", "packets", ()), HitCount("p", "k", 7), 7),
    ],
)
def test_no_data_is_never_zero(sample: HitSample | None, count: HitCount | None, hits: int | None) -> None:
    value, why = rules_view._hits(sample, count)
    assert value == hits
    assert value is not None or str(why)


def test_device_that_was_never_read_says_so(rows: Sample, admin: Client) -> None:
    rows.device.snapshots.all().delete()
    assert "unknown until then" in admin.get(f"/devices/{rows.device.pk}/rules/").content.decode()


def test_thousand_rules_come_in_pages(rows: Sample, admin: Client) -> None:
    lines = "\n".join(f" {n * 10 + 10} permit tcp host 10.1.{n // 250}.{n % 250} any eq 443" for n in range(1000))
    ConfigSnapshot.objects.create(
        device=rows.device, taken_at=rows.snapshot.taken_at + timedelta(hours=1), taken_by="t", sha256="0" * 64, lines=1001,
        text_envelope=seal(f"ip access-list extended BIG\n{lines}\n"),
    )  # fmt: skip
    text = admin.get(f"/devices/{rows.device.pk}/rules/?page=5").content.decode()
    assert "801–1000 of 1000" in text and text.count("<tr data-row>") == 200
