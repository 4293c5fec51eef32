"""The sensor's doors over HTTP."""

import gzip
import json
import zlib

import pytest
from django.db import OperationalError
from django.test import Client, override_settings
from django.urls import include, path

from flowguard.actions import receive
from flowguard.domain.batch import OLDEST, WAITING
from flowguard.models import IdentityEntry, ObservationPoint, Sensor, VerdictBatch
from policyhub.actions import tokens
from policyhub.models import ApiToken, AuditEntry, DeviceGroup, Realm
from tests.support.batches import batch, verdict
from tests.support.ingesting import NOW, queued  # noqa: F401

urlpatterns = [path("api/v1/", include("flowguard.api.urls"))]
pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__), pytest.mark.usefixtures("queued")]
BATCHES, BUNDLE = "/api/v1/sensors/core-1/batches", "/api/v1/sensors/core-1/bundle"


@pytest.fixture
def bearer():
    return make_token(sensor="core-1", scopes=["ingest"])


def make_token(**fields):
    return tokens.create(name="t", actor="test", now=NOW, **fields)[1]


def send(told, token, *, url=BATCHES, **headers):
    body = told if isinstance(told, bytes) else json.dumps(told).encode()
    extra = {"authorization": f"Bearer {token}"} if token else {}
    return Client().post(url, body, content_type="application/json", headers={**extra, **headers})


def test_new_is_201_again_is_200_and_other_content_is_409(bearer):
    assert send(batch(verdicts=[verdict(1)]), bearer).status_code == 201
    assert send(batch(verdicts=[verdict(1)]), bearer).status_code == 200
    answer = send(batch(verdicts=[verdict(2)]), bearer)
    assert (answer.status_code, answer.json()["code"]) == (409, "FG-E003")
    assert VerdictBatch.objects.count() == 1


def test_the_row_is_committed_when_the_answer_leaves(bearer):
    send(batch(verdicts=[verdict(1)]), bearer)
    row = VerdictBatch.objects.get()
    assert json.loads(zlib.decompress(row.body)) == batch(verdicts=[verdict(1)])


def test_what_waits_on_a_sensor_s_disk_is_known_from_every_request_and_null_where_it_does_not_say(bearer):
    def known():
        return Sensor.objects.values_list("spooled", "spooled_s").get()

    send(batch(1), bearer, **{WAITING: "2724", OLDEST: "612.5"})
    assert known() == (2723, 612.5)
    send(batch(2), bearer, **{WAITING: "1", OLDEST: "0.2"})
    assert known() == (0, 0.0)
    Client().get(BUNDLE, headers={"authorization": f"Bearer {bearer}", WAITING: "3", OLDEST: "9"})
    assert known() == (3, 9.0)
    for junk in ("-1", "nan", "1e9", "9" * 20, "³"):
        send(batch(2), bearer, **{WAITING: junk, OLDEST: "1"})
        assert known() == (None, None)


def test_gzip_and_plain_are_the_same_batch(bearer):
    packed = gzip.compress(json.dumps(batch()).encode())
    assert send(packed, bearer, **{"content-encoding": "gzip"}).status_code == 201
    assert send(batch(), bearer).status_code == 200


def test_a_wrong_field_is_422_with_its_name(bearer):
    answer = send(batch(verdicts=[verdict(dscp=99)]), bearer)
    assert answer.status_code == 422
    assert answer.json() == {
        "code": "FG-E001", "message": "verdicts[0].dscp: 99 is not a whole number from 0 to 63", "data": {}
    }  # fmt: skip
    assert not VerdictBatch.objects.exists()


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"not gzip", "gzip"),
        (gzip.compress(json.dumps(batch()).encode(), mtime=0)[:-9], "gzip"),
        (gzip.compress(b"{}", mtime=0) + b"tail", "gzip"),
        (json.dumps(batch()).encode(), "br"),
        (b"", "identity"),
    ],
)
def test_a_body_that_cannot_be_unpacked_is_422(bearer, body, encoding):
    assert send(body, bearer, **{"content-encoding": encoding}).status_code == 422


def test_a_bomb_of_a_few_kilobytes_is_413_without_being_unpacked(bearer):
    bomb = gzip.compress(bytes(200_000_000), 9)
    assert len(bomb) < 300_000
    assert send(bomb, bearer, **{"content-encoding": "gzip"}).status_code == 413


@override_settings(FLOWGUARD_MAX_WIRE_BYTES=1000)
def test_a_body_over_the_limit_is_413(bearer):
    assert send(b"x" * 1001, bearer).status_code == 413
    assert send(b"x" * 1000, bearer).status_code == 422


def test_a_database_that_cannot_take_it_is_503_so_that_the_sensor_comes_again(bearer, monkeypatch):
    def full(**_):
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(receive, "store", full)
    answer = send(batch(), bearer)
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")


class TestWhoMay:
    def test_nobody_without_a_token(self):
        assert send(batch(), None).status_code == 401
        assert Client().get(BUNDLE).status_code == 401

    @pytest.mark.parametrize("token", ["phb_0000000000000000.x", "phb_", "x", "phb_é.ü", "phb_" + "a" * 500])
    def test_not_with_a_token_that_is_none(self, token):
        assert send(batch(), token.encode().decode("latin-1")).status_code == 401

    @pytest.mark.parametrize("scopes", [["read"], ["admin"], ["push"]])
    def test_no_other_scope_speaks_for_a_sensor(self, scopes):
        assert send(batch(), make_token(scopes=scopes)).status_code == 403

    def test_another_sensor_s_address_answers_the_same_whether_it_exists_or_not(self, bearer):
        Sensor.objects.create(name="exists")
        answers = [send(batch(), bearer, url=f"/api/v1/sensors/{name}/batches") for name in ("exists", "nothing")]
        assert {answer.status_code for answer in answers} == {403}
        assert answers[0].content == answers[1].content

    def test_the_name_in_the_body_must_be_its_own_too(self, bearer):
        answer = send(batch(sensor="core-2"), bearer)
        assert (answer.status_code, answer.json()["message"][:7]) == (422, "sensor:")

    def test_a_revoked_or_expired_token_is_out(self, bearer):
        tokens.revoke(key=bearer, actor="test", now=NOW)
        assert send(batch(), bearer).status_code == 401
        assert send(batch(), make_token(sensor="core-1", scopes=["ingest"], expires_at=NOW)).status_code == 401

    def test_a_session_is_no_sensor(self, admin_client):
        assert admin_client.get(BUNDLE).status_code in (401, 403)


class TestBundle:
    def get(self, token, **headers):
        return Client().get(BUNDLE, headers={"authorization": f"Bearer {token}", **headers})

    def test_it_carries_ledger_points_and_profile_and_its_version_as_etag(self, bearer):
        realm = Realm.objects.create(name="site-a")
        IdentityEntry.objects.create(realm=realm, prefix="10.0.0.0/24", name="algo", allowed_dscp=[8, 0])
        group = DeviceGroup.objects.create(name="g", profile="lab")
        ObservationPoint.objects.create(sensor=Sensor.objects.create(name="core-1", group=group), name="in0", realm=realm)
        answer = self.get(bearer)
        told = json.loads(answer.content)
        assert answer["ETag"] == f'"{told["version"]}"'
        assert told["identities"][0]["allowed_dscp"] == [0, 8]
        assert (told["points"], told["profile"]["name"]) == ({"in0": {"realm": "site-a"}}, "lab")

    def test_a_sensor_without_a_group_gets_the_careful_profile(self, bearer):
        assert json.loads(self.get(bearer).content)["profile"]["name"] == "production"

    def test_304_until_anything_in_it_changes(self, bearer):
        etag = self.get(bearer)["ETag"]
        again = self.get(bearer, **{"if-none-match": etag})
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", etag)
        IdentityEntry.objects.create(realm=Realm.objects.create(name=""), prefix="10.0.0.0/24", name="algo")
        changed = self.get(bearer, **{"if-none-match": etag})
        assert changed.status_code == 200
        IdentityEntry.objects.update(name="renamed")
        assert self.get(bearer, **{"if-none-match": changed["ETag"]}).status_code == 200

    def test_asking_is_a_sign_of_life(self, bearer):
        self.get(bearer)
        assert Sensor.objects.get().last_seen_at is not None


class TestTokens:
    def test_the_secret_is_not_stored(self, bearer):
        row = ApiToken.objects.get()
        assert bearer.partition(".")[2] not in json.dumps(list(ApiToken.objects.values()), default=str)
        assert len(row.digest) == 64
        assert bearer.partition(".")[2] not in json.dumps(list(AuditEntry.objects.values()), default=str)

    def test_a_wrong_secret_with_a_known_key_is_out(self, bearer):
        assert tokens.verify(bearer[:-1] + ("A" if bearer[-1] != "A" else "B"), now=NOW) is None

    def test_last_use_is_written_at_most_once_a_minute(self, bearer, django_assert_num_queries):
        from datetime import timedelta

        assert tokens.verify(bearer, now=NOW).key == ApiToken.objects.get().key
        with django_assert_num_queries(1):
            tokens.verify(bearer, now=NOW + timedelta(seconds=59))
        tokens.verify(bearer, now=NOW + timedelta(seconds=61))
        assert ApiToken.objects.get().last_used_at == NOW + timedelta(seconds=61)

    @pytest.mark.parametrize(
        "fields",
        [
            {"scopes": ["root"]},
            {"scopes": []},
            {"scopes": ["ingest"]},
            {"scopes": ["ingest", "read"], "sensor": "a"},
            {"scopes": ["ingest"], "sensor": "a/b"},
        ],
    )
    def test_a_token_that_would_be_wrong_is_refused(self, fields):
        from policyhub.domain.errors import BadInput

        with pytest.raises(BadInput):
            make_token(**fields)
        assert not ApiToken.objects.exists()

    def test_a_person_who_left_has_no_token(self, django_user_model):
        user = django_user_model.objects.create_user("li.wei")
        text = make_token(scopes=["read"], user=user)
        assert tokens.verify(text, now=NOW)
        django_user_model.objects.update(is_active=False)
        assert tokens.verify(text, now=NOW) is None
