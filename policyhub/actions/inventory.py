"""Devices, their credentials and host keys: what people decide about them."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from policyhub.actions import audit, secrets, sessions, wishes
from policyhub.actions.inventory_files import Wish
from policyhub.domain.errors import BadInput
from policyhub.models import Credential, Device, DeviceGroup, HostKey, Realm


def add_device(wish: Wish, *, actor: object, now: datetime) -> Device:
    """Raises UnknownPlatform, BadInput (name taken, port, role, credential)."""
    if Device.objects.filter(name=wish.name).exists():
        raise BadInput(f"there is a device {wish.name!r} already. Choose another name")
    values = wishes.checked(wish)
    with transaction.atomic():
        device = wishes.save(wish, values, actor=actor, now=now)
        audit.record("device.added", actor=actor, at=now, device=device.pk, name=device.name, platform=device.platform)
    return device


def set_credential(
    *,
    name: str,
    username: str,
    purpose: str,
    password: str = "",
    private_key: str = "",
    enable: str = "",
    actor: object,
    now: datetime,
) -> Credential:
    """Create or replace. A secret that is not given stays as it is. Raises BadInput."""
    if purpose not in Credential.Purpose.values:
        raise BadInput(f"purpose {purpose!r} is not one of {', '.join(Credential.Purpose.values)}")
    given = {"password_envelope": password, "private_key_envelope": private_key, "enable_envelope": enable}
    sealed = {field: secrets.seal(text) for field, text in given.items() if text}
    with transaction.atomic():
        row, made = Credential.objects.update_or_create(name=name, defaults={"username": username, "purpose": purpose, **sealed})
        audit.record("credential.set", actor=actor, at=now, name=name, username=username, purpose=purpose, replaced=not made)
    return row


def give_credential(device: Device, credential: Credential, *, actor: object, now: datetime) -> None:
    """One for pushing serves for collecting too, unless the device has one of its own."""
    field = "push_credential" if credential.purpose == Credential.Purpose.PUSH else "collect_credential"
    with transaction.atomic():
        Device.objects.filter(pk=device.pk).update(**{field: credential})
        audit.record("device.credential", actor=actor, at=now, device=device.name, credential=credential.name)
    setattr(device, field, credential)


def set_site(realm: Realm, *, collect: Credential | None, push: Credential | None, actor: object, now: datetime) -> None:
    """The site's credential set: what its devices use that have no login of their own. None leaves one as it is."""
    given = {"collect_credential": collect, "push_credential": push}
    with transaction.atomic():
        Realm.objects.filter(pk=realm.pk).update(**{name: row for name, row in given.items() if row is not None})
        names = {name: str(row) for name, row in given.items() if row is not None}
        audit.record("realm.credentials", actor=actor, at=now, realm=realm.name, **names)


def set_mode(group: DeviceGroup, mode: str, *, reason: str, actor: object, now: datetime) -> None:
    """How far the service may go by itself on the group's devices: observe, propose, auto. Raises BadInput.

    What was decided under the mode before is looked at again before it is planned and before it is approved.
    """
    if mode not in DeviceGroup.Mode.values:
        raise BadInput(f"mode {mode!r} is not one of {', '.join(DeviceGroup.Mode.values)}")
    with transaction.atomic():
        row = DeviceGroup.objects.select_for_update().get(pk=group.pk)
        was, row.mode = row.mode, mode
        row.save(update_fields=["mode"])
        audit.record("group.mode", actor=actor, at=now, group=row.name, was=was, mode=mode, profile=row.profile, reason=reason)
    group.mode = mode


def scan_host_key(device: Device, *, actor: object, now: datetime) -> HostKey:
    """Fetch the key without logging in; a new one waits for a person. Raises Unreachable, BadInput (no address)."""
    if not device.host:
        raise BadInput(f"{device} has no address to scan")
    key = sessions.remember_offered_key(device, now=now)
    audit.record("host-key.scanned", actor=actor, at=now, device=device.name, fingerprint=key.fingerprint, state=key.state)
    return key


def trust_host_key(*, host_key: HostKey, actor: object, now: datetime) -> None:
    """From now on the device must show this key; another trusted one of the same kind is revoked, its quarantine ends."""
    with transaction.atomic():
        device = Device.objects.select_for_update(of=("self",)).get(pk=host_key.device_id)
        same_kind = HostKey.objects.filter(device=device, algorithm=host_key.algorithm, state=HostKey.State.TRUSTED)
        same_kind.exclude(pk=host_key.pk).update(state=HostKey.State.REVOKED, decided_by=_name(actor), decided_at=now)
        _decide(host_key, HostKey.State.TRUSTED, actor, now)
        if device.quarantine_reason == sessions.KEY_CHANGED:
            _release(device, actor, now)


def revoke_host_key(*, host_key: HostKey, actor: object, now: datetime) -> None:
    """The device cannot be reached any more until another key is trusted."""
    with transaction.atomic():
        _decide(host_key, HostKey.State.REVOKED, actor, now)


def release(device: Device, *, actor: object, now: datetime) -> None:
    """End a quarantine after the cause was found."""
    with transaction.atomic():
        _release(device, actor, now)


def _release(device: Device, actor: object, now: datetime) -> None:
    was, device.quarantine_reason = device.quarantine_reason, ""
    Device.objects.filter(pk=device.pk).update(quarantine_reason="")
    audit.record("device.released", actor=actor, at=now, device=device.name, was=was)


def _decide(key: HostKey, state: HostKey.State, actor: object, now: datetime) -> None:
    key.state, key.decided_by, key.decided_at = state, _name(actor), now
    key.save(update_fields=["state", "decided_by", "decided_at"])
    audit.record(f"host-key.{state}", actor=actor, at=now, device=key.device.name, fingerprint=key.fingerprint)


def _name(actor: object) -> str:
    username = getattr(actor, "get_username", None)
    return str(username() if callable(username) else actor)[:150]
