"""Secrets are sealed at rest, rotate, and never survive in text."""

from datetime import UTC, datetime

import pytest
from cryptography.fernet import Fernet

from policyhub.actions import secrets
from policyhub.models import AuditEntry, Credential

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _old_key(settings):
    settings.POLICYHUB_CREDENTIAL_KEYS = [OLD]


def test_envelope_opens_again_and_hides_its_content():
    envelope = secrets.seal("hünter2 密码")
    assert secrets.unseal(envelope) == "hünter2 密码"
    assert "nter2" not in envelope and envelope.split(".")[1] == secrets.key_id(OLD)
    assert secrets.seal("") == "" and secrets.unseal("") == ""


def test_altered_envelope_and_unknown_key_are_one_clear_line(settings):
    envelope = secrets.seal("hunter2")
    with pytest.raises(secrets.CannotOpen, match="altered"):
        secrets.unseal(envelope[:-4])
    settings.POLICYHUB_CREDENTIAL_KEYS = [NEW]
    with pytest.raises(secrets.CannotOpen, match=secrets.key_id(OLD)) as caught:
        secrets.unseal(envelope)
    assert "hunter2" not in str(caught.value)


@pytest.mark.django_db
def test_rotation_moves_every_envelope_so_that_the_old_key_can_go(settings):
    row = Credential.objects.create(
        name="c", username="u", purpose="push", password_envelope=secrets.seal("one"), enable_envelope=secrets.seal("two")
    )
    settings.POLICYHUB_CREDENTIAL_KEYS = [NEW, OLD]
    assert secrets.rotate_all(actor="ops", now=NOW) == 2
    assert secrets.rotate_all(actor="ops", now=NOW) == 0
    settings.POLICYHUB_CREDENTIAL_KEYS = [NEW]
    row.refresh_from_db()
    assert (secrets.unseal(row.password_envelope), secrets.unseal(row.enable_envelope)) == ("one", "two")
    assert "one" not in str(AuditEntry.objects.first().data)


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("enable secret 5 $1$abcd$Xyz0123456789", "$1$abcd$Xyz0123456789"),
        ("username ops privilege 15 password 7 0822455D0A16", "0822455D0A16"),
        ("snmp-server community S3cret RO", "S3cret"),
        (" local-user ops password irreversible-cipher %^%#abc%^%#", "%^%#abc%^%#"),
        ("snmp-agent community read cipher %$%$xyz", "%$%$xyz"),
        ("tacacs-server host 10.1.1.1 key 7 13061E010803", "13061E010803"),
        (" pre-shared-key cipher %^%#kkk", "%^%#kkk"),
        (' set password ENC "AbC dEf="', "AbC dEf="),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNza\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNza"),
    ],
)
def test_what_devices_print_as_secret_is_masked(line, secret):
    assert secret not in secrets.redact(f"hostname x\n{line}\nend") and "hostname x" in secrets.redact(f"hostname x\n{line}\nend")


def test_known_secret_is_masked_wherever_it_stands_and_rules_stay_readable():
    text = "sw1#enable\nPassword: open-sesame\n"
    text += "sw1(config)#permit ip host 10.1.1.1 any dscp ef\n hash md5\n group 2\nclass-map match-all PHG-X"
    clean = secrets.redact(text, ["open-sesame", ""])
    assert "open-sesame" not in clean and clean.splitlines()[2:] == text.splitlines()[2:]
