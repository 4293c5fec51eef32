"""Devices as somebody wants them: checked against what is there, shown before anything is written, then all or one by one."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from policyhub.actions import audit, inventory_files
from policyhub.actions.inventory_files import Wish
from policyhub.domain.errors import BadInput, UnknownPlatform
from policyhub.domain.hosts import check_host
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import Credential, Device, DeviceGroup, HostKey, Realm
from policyhub.transport import PublicKey
from policyhub.vendorkit.collecting import platform_named
from policyhub.vendorkit.registry import REGISTRY

ROLES = {"leaf": "core", "spine": "core", "distribution": "core", "aggregation": "core", "edge": "router", "wan": "router"}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file as it would act. what: add, change, same or bad. changes: (field, old, new). problem: only when bad."""

    line: int
    name: str
    what: str
    changes: tuple[tuple[str, str, str], ...] = ()
    problem: Message | None = None
    notes: tuple[Message, ...] = ()
    wish: Wish | None = field(default=None, repr=False)


def preview(text: str, file: str) -> tuple[Row, ...]:
    """What an import would do, row by row; nothing is written. Raises BadInput when the file as a whole cannot be read."""
    entries = inventory_files.read(text, file)
    known = Known(entry.name for entry in entries if entry.wish)
    return tuple(_row(entry, known) for entry in entries)


def apply(rows: Sequence[Row], *, file: str, actor: object, now: datetime) -> int:
    """Write the good rows, all in one transaction; how many. Raises BadInput when something changed since the preview."""
    good = [row for row in rows if row.wish is not None and row.what in ("add", "change")]
    # a bastion stands before those behind it, whatever the order in the file
    good.sort(key=lambda row: bool(row.wish and row.wish.bastion))
    with transaction.atomic():
        known = Known(row.name for row in good)
        for row in good:
            assert row.wish is not None
            save(row.wish, checked(row.wish, known), actor=actor, now=now, known=known)
        bad = sum(row.what == "bad" for row in rows)
        audit.record("device.imported", actor=actor, at=now, file=file, devices=len(good), bad=bad)
    return len(good)


class Known:
    """What a file is compared with, read once: credentials by name and user, devices, realms and groups by name."""

    def __init__(self, names: Any = ()) -> None:
        self.coming = frozenset(names)
        self.devices = {row.name: row for row in Device.objects.select_related("realm", "group", "bastion")}
        self.credentials = {row.name: row for row in Credential.objects.all()}
        self.realms = {row.name: row for row in Realm.objects.all()}
        self.groups = {row.name: row for row in DeviceGroup.objects.all()}
        self.keys = set(HostKey.objects.filter(state=HostKey.State.TRUSTED).values_list("device__name", "fingerprint"))

    def of_user(self, username: str) -> Credential | None:
        rows = [row for row in self.credentials.values() if row.username == username]
        return rows[0] if len(rows) == 1 else None

    def realm(self, name: str) -> Realm:
        """Made when it is not there."""
        if name not in self.realms:
            self.realms[name] = Realm.objects.get_or_create(name=name)[0]
        return self.realms[name]

    def group(self, name: str) -> DeviceGroup:
        """Made when it is not there."""
        if name not in self.groups:
            self.groups[name] = DeviceGroup.objects.get_or_create(name=name)[0]
        return self.groups[name]


def checked(wish: Wish, known: Known | None = None) -> dict[str, Any]:
    """Values of the row's columns, only those that the wish names. Raises UnknownPlatform, BadInput; reads, never writes."""
    values: dict[str, Any] = {}
    if not wish.name or len(wish.name) > 128:
        raise BadInput.of(gettext_noop("a device needs a name of at most 128 characters"))
    for name, most in (("name", 128), ("realm", 64), ("group", 64)):
        text = getattr(wish, name)
        if len(text) > most or not text.isprintable():
            said = gettext_noop("%(field)s %(value)r is longer than %(most)s characters or holds one that cannot be printed")
            raise BadInput.of(said, field=name, value=text[:most], most=most)
    if wish.platform:
        platform = _platform(wish)
        # "detect" keeps what was detected: the same inventory again must change nothing (`preflights.forget` asks anew)
        if platform != Device.DETECT or known is None or wish.name not in known.devices:
            values["platform"] = platform
    if wish.host:
        values["host"] = check_host(wish.host)
    if wish.port:
        if not wish.port.isdecimal() or not 1 <= int(wish.port) <= 65535:
            raise BadInput.of(gettext_noop("port %(port)r is not in 1..65535"), port=wish.port)
        values["port"] = int(wish.port)
    if wish.role and (role := _role(wish)):
        values["role"] = role
    if wish.ssh_profile:
        values["ssh_profile"] = _choice("ssh_profile", wish.ssh_profile, Device.SshProfile.values)
    if credential := _credential(wish, known or Known()):
        values["push_credential" if credential.purpose == Credential.Purpose.PUSH else "collect_credential"] = credential
    if wish.bastion and known is not None and wish.bastion not in known.devices and wish.bastion not in known.coming:
        raise BadInput.of(gettext_noop("there is no bastion %(name)r. Import it first, or in the same file"), name=wish.bastion)
    if wish.bastion == wish.name:
        raise BadInput.of(gettext_noop("it cannot be its own bastion"))
    if wish.host_key:
        host_key(wish.host_key)
    return values


def save(wish: Wish, values: dict[str, Any], *, actor: object, now: datetime, known: Known | None = None) -> Device:
    """Make or change the row, and nothing of it but what is wished; call it in a transaction."""
    known = known or Known()
    row = known.devices.get(wish.name)
    if row is None or wish.realm:
        values["realm"] = known.realm(wish.realm)
    if row is None or wish.group:
        values["group"] = known.group(wish.group or "default")
    if wish.bastion:
        values["bastion"] = known.devices.get(wish.bastion)
        if values["bastion"] is None:
            raise BadInput.of(
                gettext_noop("there is no bastion %(name)r. Import it first, or in the same file"), name=wish.bastion
            )
    if row is None:
        row = known.devices[wish.name] = Device.objects.create(**{"name": wish.name, "platform": Device.DETECT, **values})
    elif values:
        for name, value in values.items():
            setattr(row, name, value)
        row.save(update_fields=list(values))
    if wish.ssh_profile == Device.SshProfile.OLD:
        audit.record("device.old-algorithms", actor=actor, at=now, device=row.name)
    if wish.host_key:
        _trust(row, host_key(wish.host_key), actor, now)
    return row


def host_key(text: str) -> PublicKey:
    """`ssh-ed25519 AAAA...` as `ssh-keyscan` and `ssh-keygen -y` print it. Raises BadInput."""
    words = text.split()
    if len(words) >= 3 and not words[0].startswith(("ssh-", "ecdsa-")):
        words = words[1:]  # a line of known_hosts names the host first
    try:
        if len(words) < 2 or len(base64.b64decode(words[1], validate=True)) < 32:
            raise ValueError
    except (ValueError, binascii.Error):
        raise BadInput.of(gettext_noop("the host key is not of the form 'ssh-ed25519 AAAA...'")) from None
    return PublicKey(words[0], words[1])


def _row(entry: inventory_files.Entry, known: Known) -> Row:
    wish = entry.wish
    if wish is None:
        return Row(entry.line, entry.name, "bad", problem=entry.problem)
    try:
        values = checked(wish, known)
    except BadInput as error:
        return Row(entry.line, entry.name, "bad", problem=error.said)
    device = known.devices.get(wish.name)
    wanted = {name: str(value) for name, value in values.items()}
    wanted |= {name: getattr(wish, name) for name in ("realm", "group", "bastion") if getattr(wish, name)}
    if device is None:
        changes = [(name, "", value) for name, value in wanted.items()]
    else:
        changes = [(name, was, value) for name, value in wanted.items() if (was := _as_text(device, name)) != value]
    if wish.host_key:
        print_ = host_key(wish.host_key).fingerprint
        changes += [] if (wish.name, print_) in known.keys else [("host_key", "", print_)]
    what = "add" if device is None else "change" if changes else "same"
    return Row(entry.line, entry.name, what, tuple(changes), notes=tuple(_notes(wish, values, device, known)), wish=wish)


def _as_text(device: Device, name: str) -> str:
    value = getattr(device, name)
    return "" if value is None else value.name if isinstance(value, (Realm, DeviceGroup)) else str(value)


def _notes(wish: Wish, values: dict[str, Any], device: Device | None, known: Known) -> list[Message]:
    notes = []
    if values.get("platform", Device.DETECT if device is None else device.platform) == Device.DETECT:
        notes.append(Message(gettext_noop("its platform is found by the preflight")))
    if wish.user and not wish.credential and known.of_user(wish.user) is None:
        notes.append(Message(gettext_noop("no credential of user %(user)s: its site's is used"), {"user": wish.user}))
    if wish.ssh_profile == Device.SshProfile.OLD:
        notes.append(Message(gettext_noop("old SSH algorithms are allowed: its session can be read and changed on the way")))
    return notes


def _platform(wish: Wish) -> str:
    name = wish.platform
    if name == Device.DETECT or name in REGISTRY.names():
        return name
    found = platform_named(name)
    if found or wish.lenient:
        return found or Device.DETECT
    said = gettext_noop("platform %(name)r is not known. Known: %(known)s")
    raise UnknownPlatform.of(said, name=name, known=", ".join((Device.DETECT, *REGISTRY.names())))


def _role(wish: Wish) -> str:
    """The role; "" for a word of another inventory that we have no role for."""
    if not wish.lenient or wish.role in Device.Role.values:
        return _choice("role", wish.role, Device.Role.values)
    words = wish.role.lower().replace("-", " ").replace("_", " ").split()
    return next((ROLES.get(word, word) for word in words if ROLES.get(word, word) in Device.Role.values), "")


def _choice(name: str, value: str, allowed: list[str]) -> str:
    if value not in allowed:
        said = gettext_noop("%(field)s %(value)r is not one of %(allowed)s")
        raise BadInput.of(said, field=name, value=value, allowed=", ".join(allowed))
    return value


def _credential(wish: Wish, known: Known) -> Credential | None:
    if not wish.credential:
        return known.of_user(wish.user) if wish.user else None
    found = known.credentials.get(wish.credential)
    if found is None:
        said = gettext_noop("there is no credential %(name)r. Make it first: `policyhub device credential`")
        raise BadInput.of(said, name=wish.credential)
    return found


def _trust(device: Device, key: PublicKey, actor: object, now: datetime) -> None:
    values = {"algorithm": key.algorithm, "public_key": key.body, "first_seen_at": now}
    row, _ = HostKey.objects.get_or_create(device=device, fingerprint=key.fingerprint, defaults=values)
    if row.state == HostKey.State.TRUSTED:
        return
    others = HostKey.objects.filter(device=device, algorithm=key.algorithm, state=HostKey.State.TRUSTED).exclude(pk=row.pk)
    others.update(state=HostKey.State.REVOKED, decided_by=str(actor)[:150], decided_at=now)
    row.state, row.decided_by, row.decided_at = HostKey.State.TRUSTED, str(actor)[:150], now
    row.save(update_fields=["state", "decided_by", "decided_at"])
    audit.record("host-key.trusted", actor=actor, at=now, device=device.name, fingerprint=key.fingerprint, by="import")
