"""The identity ledger is replaced as a whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import reduce

from django.db import transaction

from flowguard.actions.writers import one_ingest_at_a_time
from flowguard.domain.errors import FlowGuardError
from flowguard.models import IdentityEntry
from flowguard.queries.identities import identities
from policyhub.actions import audit
from policyhub.domain.errors import BadInput
from policyhub.domain.identity import Identity, read_identities, with_zone
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import Realm

Key = tuple[str, str]
# A file that lost its second half looks like one that means it. More than this share goes only with a second word.
MOST_REMOVED_UNASKED = 0.1
TOO_MUCH = gettext_noop(
    "%(file)s: would remove %(removed)d of %(entries)d entries, more than a tenth; nothing was changed. "
    "Is the file whole? Then confirm it (--replace)"
)
_LONGEST = {"name": 128, "business": 255, "owner": 128, "active_window": 64, "realm": 64}


@dataclass(frozen=True, slots=True)
class Difference:
    """What an import changes. changed: pairs (as it was, as it becomes)."""

    added: tuple[Identity, ...]
    removed: tuple[Identity, ...]
    changed: tuple[tuple[Identity, Identity], ...]
    same: int

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed or self.changed)

    @property
    def before(self) -> int:
        """Entries in the ledger as it was."""
        return len(self.removed) + len(self.changed) + self.same

    @property
    def removes_much(self) -> bool:
        return len(self.removed) > MOST_REMOVED_UNASKED * self.before

    def words(self) -> list[Message]:
        """One line per entry: `+` added, `-` removed, `~` changed with the fields that differ."""
        told = [(_key(one), Message("+ %(entry)s", {"entry": _label(one)})) for one in self.added]
        told += [(_key(one), Message("- %(entry)s", {"entry": _label(one)})) for one in self.removed]
        told += [
            (_key(new), Message("~ %(entry)s: %(fields)s", {"entry": _label(new), "fields": _fields(old, new)}))
            for old, new in self.changed
        ]
        return [line for _, line in sorted(told, key=lambda pair: (pair[0], pair[1].template))]

    def lines(self) -> list[str]:
        """The same in English."""
        return [str(line) for line in self.words()]


class RemovesMuch(FlowGuardError):
    """The file lacks more than a tenth of the ledger, and nobody said that this is meant. `difference`: what it would change."""

    code = "FG-E013"

    def __init__(self, file: str, difference: Difference) -> None:
        gone, before = len(difference.removed), difference.before
        values = {"file": file, "removed": gone, "entries": before}
        super().__init__(Message(TOO_MUCH, values), **values)
        self.difference = difference


def import_identities(
    *, text: str, file: str, actor: object, now: datetime, dry_run: bool = False, replace: bool = False
) -> Difference:
    """Make the ledger equal to the CSV `text`. Raises BadInput naming file, line and cure, RemovesMuch; then nothing was changed.

    dry_run: only say what would change. replace: the file is whole, although it lacks more than a tenth of the ledger.
    An empty CSV is refused: without identities every priority packet becomes a verdict.
    """
    wanted = read_identities(text, file)
    _fits(wanted, file)
    with transaction.atomic(), one_ingest_at_a_time():
        difference = compare(identities(), wanted)
        if difference.removes_much and not (dry_run or replace):
            raise RemovesMuch(file, difference)
        if not dry_run and not difference.is_empty:
            _apply(difference)
            lines = [line.as_json() for line in difference.words()[:200]]
            audit.record(
                "identities.imported", actor=actor, at=now, file=file, added=len(difference.added),
                removed=len(difference.removed), changed=len(difference.changed), lines=lines,
            )  # fmt: skip
    return difference


def compare(old: Iterable[Identity], new: Iterable[Identity]) -> Difference:
    """Entries are the same one when realm and prefix are."""
    before, after = {_key(one): one for one in old}, {_key(one): one for one in new}
    changed = tuple((before[key], after[key]) for key in after if key in before and before[key] != after[key])
    added = tuple(one for key, one in after.items() if key not in before)
    removed = tuple(one for key, one in before.items() if key not in after)
    return Difference(added, removed, changed, len(after) - len(added) - len(changed))


def _fits(wanted: Iterable[Identity], file: str) -> None:
    for one in wanted:
        for field, longest in _LONGEST.items():
            if len(getattr(one, field)) > longest:
                said = gettext_noop("%(prefix)s: %(field)s is longer than %(longest)d characters")
                values = {"prefix": one.prefix, "field": field, "longest": longest}
                raise BadInput.at(file, None, Message(said, values), Message(gettext_noop("Shorten it")))


def _apply(difference: Difference) -> None:
    realms = {realm.name: realm for realm in Realm.objects.all()}
    for name in {one.realm for one in difference.added} - realms.keys():
        realms[name] = Realm.objects.create(name=name)
    for one in difference.removed:
        IdentityEntry.objects.filter(realm=realms[one.realm], prefix=one.prefix).delete()
    IdentityEntry.objects.bulk_create(
        [IdentityEntry(realm=realms[one.realm], prefix=one.prefix, **_columns(one)) for one in difference.added], batch_size=500
    )
    for _, one in difference.changed:
        IdentityEntry.objects.filter(realm=realms[one.realm], prefix=one.prefix).update(**_columns(one))


def _columns(one: Identity) -> dict[str, object]:
    return {
        "name": one.name, "business": one.business, "owner": one.owner, "core": one.core,
        "allowed_dscp": None if one.allowed_dscp is None else sorted(one.allowed_dscp),
        "active_window": one.active_window, "peak_mbps": one.peak_mbps,
    }  # fmt: skip


def _key(one: Identity) -> Key:
    return (one.realm, one.prefix)


def _label(one: Identity) -> Message:
    place = f"[{one.realm}] {one.prefix}" if one.realm else one.prefix
    said = gettext_noop("%(prefix)s %(name)s (allowed %(marks)s)")
    return Message(said, {"prefix": place, "name": one.name, "marks": _shown(one.allowed_dscp)})


def _fields(old: Identity, new: Identity) -> Message:
    old, new = (replace(one, active_window=with_zone(one.active_window)) for one in (old, new))
    pairs = [(field.name, getattr(old, field.name), getattr(new, field.name)) for field in fields(Identity)]
    said = gettext_noop("%(field)s %(old)s to %(new)s")
    told = [Message(said, {"field": name, "old": _shown(a), "new": _shown(b)}) for name, a, b in pairs if a != b]
    return reduce(lambda some, one: Message("%(some)s, %(one)s", {"some": some, "one": one}), told)


def _shown(value: object) -> str | Message:
    if isinstance(value, frozenset):
        return " ".join(str(mark) for mark in sorted(value))
    return Message(gettext_noop("any")) if value is None else str(value) or Message(gettext_noop("(empty)"))
