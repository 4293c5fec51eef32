"""What never came is said, and unsaid when it comes after all."""

import random
from datetime import timedelta

import pytest

from flowguard.actions.streams import NEVER_ARRIVED, notice_gaps
from flowguard.models import SensorStream, StreamGap
from tests.support.batches import STREAM, batch, new_stream
from tests.support.ingesting import NOW, later, queued, take  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]


def gaps():
    return list(StreamGap.objects.order_by("from_sequence").values_list("from_sequence", "to_sequence", "reason"))


def declared(first, last, *, stream=STREAM, verdicts=3, reason="spool-full"):
    return {"stream": stream, "from_sequence": first, "to_sequence": last, "verdicts": verdicts, "reason": reason}


def test_a_stream_in_order_has_no_gap_and_the_cursor_follows():
    for sequence in range(1, 6):
        take(batch(sequence))
    assert notice_gaps(now=later(hours=1)) == 0
    assert SensorStream.objects.get().contiguous_to == 5


def test_a_missing_sequence_is_a_gap_only_after_the_patience():
    take(batch(1))
    take(batch(4))
    assert notice_gaps(now=later(minutes=4)) == 0
    assert notice_gaps(now=later(minutes=6)) == 1
    assert gaps() == [(2, 3, NEVER_ARRIVED)]
    assert notice_gaps(now=later(minutes=7)) == 0


def test_patience_counts_from_the_batch_that_showed_the_hole():
    take(batch(1))
    take(batch(3), later(minutes=10))
    assert notice_gaps(now=later(minutes=12)) == 0
    assert notice_gaps(now=later(minutes=16)) == 1


def test_the_first_batch_of_a_stream_can_be_missing():
    take(batch(2))
    assert notice_gaps(now=later(minutes=6)) == 1
    assert gaps() == [(1, 1, NEVER_ARRIVED)]


@pytest.mark.parametrize(
    ("late", "left"),
    [
        ((2,), [(3, 5, NEVER_ARRIVED)]),
        ((5,), [(2, 4, NEVER_ARRIVED)]),
        ((3,), [(2, 2, NEVER_ARRIVED), (4, 5, NEVER_ARRIVED)]),
        ((2, 3, 4, 5), []),
    ],
)
def test_a_gap_closes_when_its_batches_come_late(late, left):
    take(batch(1))
    take(batch(6))
    notice_gaps(now=later(minutes=6))
    for sequence in late:
        take(batch(sequence), later(minutes=7))
    assert gaps() == left


def test_what_the_sensor_declares_is_kept_and_no_longer_missing():
    take(batch(1))
    take(batch(4, gaps=[declared(2, 3)]))
    assert notice_gaps(now=later(minutes=6)) == 0
    row = StreamGap.objects.get()
    assert (row.from_sequence, row.to_sequence, row.verdicts, row.reason) == (2, 3, 3, "spool-full")
    assert SensorStream.objects.get().contiguous_to == 4


def test_a_declaration_replaces_what_was_only_noticed():
    take(batch(1))
    take(batch(6))
    notice_gaps(now=later(minutes=6))
    take(batch(7, gaps=[declared(3, 4)]))
    assert gaps() == [(2, 2, NEVER_ARRIVED), (3, 4, "spool-full"), (5, 5, NEVER_ARRIVED)]


def test_a_declaration_told_twice_is_one_row():
    take(batch(1, gaps=[declared(8, 9)]))
    take(batch(2, gaps=[declared(8, 9)]))
    assert len(gaps()) == 1


def test_a_gap_of_an_earlier_stream_is_told_by_the_next_one():
    old = new_stream()
    take(batch(1, stream=old))
    take(batch(1, gaps=[declared(2, 2, stream=old)]))
    row = StreamGap.objects.get()
    assert str(row.stream) == old
    assert SensorStream.objects.get(stream=old).contiguous_to == 2


def test_damage_found_after_the_service_had_the_batch_is_no_gap():
    take(batch(1))
    take(batch(2, gaps=[declared(1, 1, verdicts=None, reason="spool-damaged")]))
    assert gaps() == []


def test_any_order_of_arrival_ends_with_the_same_books():
    chance = random.Random(11)
    sequences = [n for n in range(1, 40) if n not in (7, 20, 21, 33)]
    chance.shuffle(sequences)
    for at, sequence in enumerate(sequences):
        take(batch(sequence), NOW + timedelta(seconds=at))
        if at % 9 == 8:
            notice_gaps(now=NOW + timedelta(minutes=30 * at), patience=timedelta(0))
    notice_gaps(now=later(days=1))
    assert gaps() == [(7, 7, NEVER_ARRIVED), (20, 21, NEVER_ARRIVED), (33, 33, NEVER_ARRIVED)]
    assert SensorStream.objects.get().contiguous_to == 39
