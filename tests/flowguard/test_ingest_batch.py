"""The batch is checked to the last field before anything is stored."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowguard.domain.batch import canonical, digest, read_batch
from flowguard.domain.errors import BadBatch
from tests.support.batches import batch, observation, source, verdict
from tests.support.sample_shape import shape


def text(value):
    return json.dumps(value).encode()


def test_a_full_batch_is_read_as_it_was_sent():
    sent = batch(verdicts=[verdict(server_port="ephemeral")], observations=[observation(sources=[source(None, 0, 3)])])
    assert read_batch(text(sent), sensor="core-1") == sent


def test_fields_of_a_newer_engine_are_kept():
    sent = batch(verdicts=[verdict(persisted_ms=12)], more={"a": 1})
    assert read_batch(text(sent), sensor="core-1") == sent


def test_spelling_does_not_change_the_digest():
    sent = batch(verdicts=[verdict()])
    assert digest(json.loads(json.dumps(sent, indent=3))) == digest(dict(reversed(sent.items())))
    assert digest(sent) != digest(batch(2, verdicts=[verdict()]))


def _marked(dscp):
    """A shape whose carried flow has these marks."""
    sent = shape(10**18)
    sent["points"][0]["carried"]["rows"][0]["dscp"] = dscp
    return sent


WRONG = [
    (batch(schema="flowguard.batch/2"), "schema"),
    (batch(sensor="core-2"), "sensor"),
    (batch(stream="not-a-uuid"), "stream"),
    (batch(0), "sequence"),
    (batch(True), "sequence"),
    (batch(2**60), "sequence"),
    (batch(judging=1), "judging"),
    (batch(bundle="abc"), "bundle"),
    (batch(verdicts={}), "verdicts"),
    (batch(verdicts=[verdict(dscp=64)]), "verdicts[0].dscp"),
    (batch(verdicts=[verdict(src="10.0.0.256")]), "verdicts[0].src"),
    (batch(verdicts=[verdict(src="fe80::1%eth0")]), "verdicts[0].src"),
    (batch(verdicts=[verdict(src=167772161)]), "verdicts[0].src"),
    (batch(verdicts=[verdict(), verdict(id="x")]), "verdicts[1].id"),
    (batch(verdicts=[verdict(id="A" * 32)]), "verdicts[0].id"),
    (batch(verdicts=[verdict(packets=-1)]), "verdicts[0].packets"),
    (batch(verdicts=[verdict(packets=2**63)]), "verdicts[0].packets"),
    (batch(verdicts=[verdict(packets=1.0)]), "verdicts[0].packets"),
    (batch(verdicts=[verdict(confidence=1.1)]), "verdicts[0].confidence"),
    (batch(verdicts=[verdict(severity="urgent")]), "verdicts[0].severity"),
    (batch(verdicts=[verdict(server_port="http")]), "verdicts[0].server_port"),
    (batch(verdicts=[verdict(name="n" * 41)]), "verdicts[0].name"),
    (batch(verdicts=[verdict(last_ns=0)]), "verdicts[0].last_ns"),
    (batch(verdicts=[verdict(evidence=[{"text": "a\x00b"}])]), "verdicts[0].evidence[0].text"),
    (batch(verdicts=[verdict(evidence=["\ud800"])]), "verdicts[0].evidence[0]"),
    (batch(observations=[observation(complete=None)]), "observations[0].complete"),
    (batch(observations=[observation(sources=[source("x", 0, 1)])]), "observations[0].sources[0].src"),
    (batch(observations=[observation(tcp=[{"dscp": 0}])]), "observations[0].tcp[0].data_segments"),
    (batch(gaps=[{"stream": "x"}]), "gaps[0].stream"),
    (batch(shape={**shape(10**18), "points": [{**shape(10**18)["points"][0], "lldp": [{}]}]}), "shape.points[0].lldp[0].chassis"),
    (batch(shape=_marked({"999": {"packets": 1, "bytes": 1}})), "shape.points[0].carried.rows[0].dscp"),
    (batch(shape=_marked({"46": 1})), "shape.points[0].carried.rows[0].dscp.46"),
    (
        batch(shape={**shape(10**18), "behaviour": {"bulk": [{}], "bulk_total": 1, "groups": [], "left_out": 0}}),
        "shape.behaviour.bulk[0].point",
    ),
    (batch(health={"received": -1, "dropped": {}, "decode_errors": 0}), "health.received"),
    ([], "body"),
]


@pytest.mark.parametrize(("sent", "field"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_a_wrong_field_is_named_in_one_line(sent, field):
    with pytest.raises(BadBatch) as caught:
        read_batch(text(sent), sensor="core-1")
    assert caught.value.message.startswith(f"{field}: ")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("missing", ["verdicts", "health", "stream", "judging"])
def test_a_missing_field_is_named(missing):
    sent = batch()
    del sent[missing]
    with pytest.raises(BadBatch, match=f"^FG-E001 {missing}: is missing"):
        read_batch(text(sent), sensor="core-1")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b'{"a": NaN}', b"[" * 100_000, b'{"a":' * 5_000, b'{"sequence": ' + b"9" * 5_000 + b"}"],
)
def test_what_is_not_json_is_one_line(body):
    with pytest.raises(BadBatch) as caught:
        read_batch(body, sensor="core-1")
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(place=st.sampled_from(sorted(batch())), value=JSON)
def test_whatever_stands_in_a_field_is_taken_or_refused_never_worse(place, value):
    sent = {**batch(verdicts=[verdict()]), place: value}
    try:
        body = json.dumps(sent).encode()
    except (ValueError, UnicodeEncodeError):
        return
    try:
        read = read_batch(body, sensor="core-1")
    except BadBatch:
        return
    assert canonical(read)
    assert not any(isinstance(x, float) and math.isnan(x) for x in read.values())
