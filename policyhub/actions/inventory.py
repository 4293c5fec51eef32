"""Devices, their credentials and host keys: what people decide about them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from policyhub.actions import audit, secrets, sessions
from policyhub.domain.errors import BadInput
from policyhub.domain.hosts import check_host
from policyhub.models import Credential, Device, DeviceGroup, HostKey, Realm
from policyhub.vendorkit.registry import REGISTRY

COLUMNS = ("name", "platform", "host", "port", "role", "group", "realm", "credential")
NEEDED = ("name", "platform")
MOST_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Wish:
    """One device as somebody wants it. "" = default: port 22, role access, group "default", the empty realm, no credential."""

    name: str
    platform: str
    host: str = ""
    port: str = ""
    role: str = ""
    group: str = ""
    realm: str = ""
    credential: str = ""


def add_device(wish: Wish, *, actor: object, now: datetime) -> Device:
    """Raises UnknownPlatform, BadInput (name taken, port, role, credential)."""
    with transaction.atomic():
        device = _create(wish, "device")
        audit.record("device.added", actor=actor, at=now, device=device.pk, name=device.name, platform=device.platform)
    return device


def import_devices(text: str, *, file: str, actor: object, now: datetime) -> int:
    """All rows of a CSV or none; a device that exists by name gets the row's values. Returns the number of rows.

    Header: name,platform[,host,port,role,group,realm,credential] in any order. Raises BadInput, UnknownPlatform naming the line.
    """
    rows = _rows(text, file)
    with transaction.atomic():
        for line, wish in rows:
            _create(wish, f"{file}:{line}", update=True)
        audit.record("device.imported", actor=actor, at=now, file=file, devices=len(rows))
    return len(rows)


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


def _rows(text: str, file: str) -> list[tuple[int, Wish]]:
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        header = [name.strip() for name in reader.fieldnames or []]
        _check_header(header, file)
        reader.fieldnames = header
        rows: list[tuple[int, Wish]] = []
        for row in reader:
            if None in row or None in row.values():
                raise BadInput.at(file, reader.line_num, f"{len(header)} columns expected", "Count the commas of this line")
            rows.append((reader.line_num, Wish(**{name: value.strip() for name, value in row.items()})))
            if len(rows) > MOST_ROWS:
                raise BadInput.at(file, reader.line_num, f"more than {MOST_ROWS} rows", "Split the file")
    except csv.Error as error:
        raise BadInput.at(file, reader.line_num, f"not CSV ({error})", "Quote fields with commas or quotes") from error
    names: dict[str, int] = {}
    for line, wish in rows:
        if names.setdefault(wish.name, line) != line:
            raise BadInput.at(file, line, f"device {wish.name!r} stands on line {names[wish.name]} too", "Remove one of them")
    return rows


def _check_header(header: list[str], file: str) -> None:
    wrong = next((name for name in header if name not in COLUMNS), None)
    if wrong is not None:
        raise BadInput.at(file, 1, f"column {wrong!r} is not known", f"Known: {', '.join(COLUMNS)}")
    missing = next((name for name in NEEDED if name not in header), None)
    if missing is not None:
        raise BadInput.at(file, 1, f"column {missing!r} is missing", f"Needed: {', '.join(NEEDED)}")
    if len(set(header)) != len(header):
        raise BadInput.at(file, 1, "a column stands there twice", "Remove one of them")


def _create(wish: Wish, place: str, *, update: bool = False) -> Device:
    try:
        REGISTRY.get(wish.platform)
    except BadInput as error:
        raise type(error)(f"{place}: {error.message}") from error
    if not wish.name or len(wish.name) > 128:
        raise BadInput(f"{place}: a device needs a name of at most 128 characters")
    port = wish.port or "22"
    if not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise BadInput(f"{place}: port {port!r} is not in 1..65535")
    try:
        host = check_host(wish.host)
    except BadInput as error:
        raise BadInput(f"{place}: {error.message}") from None
    role = wish.role or Device.Role.ACCESS
    if role not in Device.Role.values:
        raise BadInput(f"{place}: role {role!r} is not one of {', '.join(Device.Role.values)}")
    if not update and Device.objects.filter(name=wish.name).exists():
        raise BadInput(f"{place}: there is a device {wish.name!r} already. Choose another name")
    values: dict[str, object] = {"platform": wish.platform, "host": host, "port": int(port), "role": role}
    values["realm"], _ = Realm.objects.get_or_create(name=wish.realm)
    values["group"], _ = DeviceGroup.objects.get_or_create(name=wish.group or "default")
    if wish.credential:
        credential = Credential.objects.filter(name=wish.credential).first()
        if credential is None:
            raise BadInput(f"{place}: there is no credential {wish.credential!r}. Make it first: `policyhub device credential`")
        values["push_credential" if credential.purpose == Credential.Purpose.PUSH else "collect_credential"] = credential
    return Device.objects.update_or_create(name=wish.name, defaults=values)[0]
