"""The sensor believes only a service whose certificate it can verify."""

import datetime
import ipaddress
import ssl
from dataclasses import replace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from flowguard.sensor.client import Client
from flowguard.sensor.config import Point, SensorConfig
from tests.support.fake_service import FakeService


def certificate(folder, address="127.0.0.1"):
    """A self-signed certificate for `address`; returns (certificate, key) files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "policyhub test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return files


@pytest.fixture
def start(tmp_path):
    started = []

    def start(address="127.0.0.1"):
        cert, key = certificate(tmp_path, address)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        service = FakeService(context=context)
        service.bundle = (b"{}", '"v1"')
        started.append(service)
        (tmp_path / "token").write_text("phb_00.x")
        url = service.url.replace("http:", "https:")
        return SensorConfig("core-1", url, tmp_path / "token", (Point("in0", "lo"),), tmp_path / "spool", ca_file=cert)

    yield start
    for service in started:
        service.close()


def ask(config):
    client = Client(config, config.token)
    try:
        return client.get_bundle("").status
    finally:
        client.close()


def test_a_certificate_of_the_given_authority_is_believed(start):
    assert ask(start()) == 200


def test_an_unknown_authority_is_not(start):
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(replace(start(), ca_file=None))


def test_a_certificate_for_another_address_is_not(start):
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(start("192.0.2.1"))


def test_only_insecure_believes_anything(start):
    assert ask(replace(start("192.0.2.1"), ca_file=None, insecure=True)) == 200
