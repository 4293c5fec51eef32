"""Opens device sessions with what the database knows: credential, pinned keys, platform; and writes down what went wrong."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime

from django.db import transaction

from policyhub import transport
from policyhub.actions import audit, secrets
from policyhub.domain.errors import DeviceClosed
from policyhub.domain.message import gettext_noop
from policyhub.models import Credential, Device, HostKey
from policyhub.transport import WALL_LIMIT_S, Address, Jump, Login, PublicKey, Way
from policyhub.transport.errors import AuthenticationFailed, HostKeyChanged, HostKeyUnknown, LineRejected, TransportError
from policyhub.vendorkit.collecting import ReadProfile, read_profile
from policyhub.vendorkit.contract import PushProfile
from policyhub.vendorkit.registry import REGISTRY

KEY_CHANGED, LOGIN_REFUSED = gettext_noop("host key changed"), gettext_noop("login refused")

NO_LOGIN = {
    Credential.Purpose.PUSH: gettext_noop("%(device)s has no credential to push, nor has its site. Give it one"),
    Credential.Purpose.COLLECT: gettext_noop("%(device)s has no credential to collect, nor has its site. Give it one"),
}
DISABLED = gettext_noop("%(device)s is disabled. Enable it first")
QUARANTINED = gettext_noop("%(device)s is in quarantine (%(reason)s). Find the cause, then release it")
NO_ADDRESS = gettext_noop("%(device)s has no address; its configuration comes from files")


RELATED = ("group", "realm__collect_credential", "realm__push_credential", "collect_credential", "push_credential",
           "bastion__realm__collect_credential", "bastion__realm__push_credential", "bastion__collect_credential",
           "bastion__push_credential")  # fmt: skip

READING_WALL_S = 600.0  # a large configuration and all counters, on a slow management processor


def answers(session: transport.DeviceSession, commands: Iterable[str], needed: Container[str] = ()) -> dict[str, str]:
    """What each command printed; what this model or login does not have is missing. Raises LineRejected for a needed one."""
    texts = {}
    for command in commands:
        try:
            texts[command] = session.read(command)
        except LineRejected:
            if command in needed:
                raise
    return texts


def joined(texts: Mapping[str, str], commands: Iterable[str]) -> str:
    """The answers to these commands below each other."""
    return "\n".join(texts[command] for command in commands if texts.get(command))


def profile_of(device: Device) -> PushProfile:
    """How to push to it. Raises DeviceClosed where nothing is pushed to the platform, UnknownPlatform."""
    profile = REGISTRY.get(device.platform).push
    if profile is None:
        said = gettext_noop("%(device)s: nothing is pushed to %(platform)s; it is only read")
        raise DeviceClosed.of(said, device=device.name, platform=device.platform)
    return profile


def reading_of(device: Device) -> ReadProfile:
    """How to read it. Raises DeviceClosed while nobody knows what it is, UnknownPlatform."""
    if device.platform == Device.DETECT:
        said = gettext_noop("%(device)s: its platform is not known yet. `policyhub device preflight %(device)s` finds it")
        raise DeviceClosed.of(said, device=device.name)
    return read_profile(device.platform)


@contextmanager
def open_session(
    device: Device, purpose: Credential.Purpose, *, now: datetime, wall_s: float = WALL_LIMIT_S
) -> Iterator[transport.DeviceSession]:
    """A session that is closed on every way out and ends after `wall_s`.

    Raises DeviceClosed, UnknownPlatform, and the errors of transport.
    A refused login or a changed key quarantines the device: nothing tries again until a person released it.
    """
    profile = profile_of(device) if purpose == Credential.Purpose.PUSH else reading_of(device)
    login, trusted, address = login_for(device, purpose), trusted_keys(device), Address(device.host, device.port)
    try:
        session = transport.DeviceSession.open(address, login, profile, trusted, way=way_to(device), wall_s=wall_s)
    except (HostKeyUnknown, HostKeyChanged, AuthenticationFailed) as error:
        blame(device, error, now=now)
        raise
    with session:
        yield session


def blame(device: Device, error: TransportError, *, now: datetime) -> None:
    """Write down what a login that failed says about the device, or about its bastion: the key it offers, a quarantine."""
    if error.data.get("bastion") and device.bastion is not None:
        device = device.bastion
    if isinstance(error, (HostKeyUnknown, HostKeyChanged)):
        with suppress(TransportError):  # it was there a moment ago; the error counts more
            remember_offered_key(device, now=now)
    if isinstance(error, HostKeyChanged):
        quarantine(device, KEY_CHANGED, error, now=now)
    elif isinstance(error, AuthenticationFailed):
        quarantine(device, LOGIN_REFUSED, error, now=now)


def login_for(device: Device, purpose: Credential.Purpose) -> Login:
    """The lent credential. Raises DeviceClosed: disabled, quarantined, without address or credential."""
    if not device.enabled:
        raise DeviceClosed.of(DISABLED, device=device.name)
    if device.quarantine_reason:
        raise DeviceClosed.of(QUARANTINED, device=device.name, reason=device.quarantine_reason)
    if not device.host:
        raise DeviceClosed.of(NO_ADDRESS, device=device.name)
    credential = _credential_of(device, purpose)
    if credential is None:
        raise DeviceClosed.of(NO_LOGIN[purpose], device=device.name)
    return Login(
        credential.username,
        secrets.unseal(credential.password_envelope),
        secrets.unseal(credential.private_key_envelope),
        secrets.unseal(credential.enable_envelope),
    )


def _credential_of(device: Device, purpose: Credential.Purpose) -> Credential | None:
    """The device's own before its site's; what may push may read."""
    pushing = device.push_credential or device.realm.push_credential
    if purpose == Credential.Purpose.PUSH:
        return pushing
    return device.collect_credential or (device.push_credential or device.realm.collect_credential or pushing)


def way_to(device: Device) -> Way:
    """Straight or through its bastion. Raises DeviceClosed when the bastion cannot be used."""
    old = device.ssh_profile == Device.SshProfile.OLD
    bastion = device.bastion
    if bastion is None:
        return Way(old)
    login = login_for(bastion, Credential.Purpose.COLLECT)
    old_too = bastion.ssh_profile == Device.SshProfile.OLD
    return Way(old, Jump(Address(bastion.host, bastion.port), login, tuple(trusted_keys(bastion)), old_too))


def trusted_keys(device: Device) -> list[PublicKey]:
    rows = device.host_keys.filter(state=HostKey.State.TRUSTED).order_by("pk")
    return [PublicKey(row.algorithm, row.public_key) for row in rows]


def remember_offered_key(device: Device, *, now: datetime) -> HostKey:
    """Scan without login and keep the key as pending, unless it is known. Raises Unreachable, and what its bastion raises."""
    return remember_key(device, transport.fetch(device.host, device.port, way=way_to(device)), now=now)


def remember_key(device: Device, key: PublicKey, *, now: datetime) -> HostKey:
    row, _ = HostKey.objects.get_or_create(
        device=device,
        fingerprint=key.fingerprint,
        defaults={"algorithm": key.algorithm, "public_key": key.body, "first_seen_at": now},
    )
    return row


def quarantine(device: Device, reason: str, error: TransportError, *, now: datetime) -> None:
    """One failed login is enough; a second could lock the account."""
    with transaction.atomic():
        Device.objects.filter(pk=device.pk).update(quarantine_reason=reason)
        told = error.told.as_json()
        audit.record(
            "device.quarantined", actor="policyhub", at=now, device=device.pk, name=device.name, reason=reason, detail=told
        )
    device.quarantine_reason = reason
