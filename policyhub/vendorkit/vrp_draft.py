"""A rule of a Huawei or H3C firewall while its lines are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, NOWHERE, AddressSet
from policyhub.domain.rules import Action, Match, Rule
from policyhub.domain.services import ANY_SERVICE
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words
from policyhub.vendorkit.operands import Services, compact


@dataclass(slots=True)
class Side:
    """Addresses of one side: alternatives, and what is taken away from them. given: at least one line names it."""

    values: list[AddressSet] = field(default_factory=list)
    excluded: list[AddressSet] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    given: bool = False

    def bound(self, unknown: AddressSet) -> AddressSet:
        """An upper bound: everything as soon as a member is unknown; an exclusion that is unknown takes nothing away."""
        value = unknown
        if self.given and not self.unresolved:
            value = self.values[0] if len(self.values) == 1 else NOWHERE.union(*self.values)
        return value.minus(NOWHERE.union(*self.excluded)) if self.excluded else value


@dataclass(slots=True, kw_only=True)
class RuleDraft:
    """What both platforms say of a rule. everything: what a side without addresses stands for."""

    everything: AddressSet = ANY
    source: Side = field(default_factory=Side)
    destination: Side = field(default_factory=Side)
    zones: dict[str, list[str]] = field(default_factory=lambda: {"source-zone": [], "destination-zone": []})
    services: list[Services] = field(default_factory=list)
    service_unresolved: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    schedule: str = ""
    comment: str = ""
    group: str = ""
    enabled: bool = True
    logged: bool = False

    @contextmanager
    def booking(self, ledger: LineLedger, child: Block) -> Iterator[None]:
        """As the ledger's; a line that is not understood is a condition of the rule, which then covers less than it says."""
        try:
            yield
            ledger.understood(child.number)
        except NotUnderstood as reason:
            ledger.unparsed(child.line, str(reason))
            self.conditions.append(f"not understood: {child.text[:80]}")

    def take_schedule(self, words: Words) -> None:
        self.schedule = words.next("a time range")
        self.conditions.append(f"time-range {self.schedule}")
        self.references.append(self.schedule)

    def match(self) -> Match:
        services: Services = (ANY_SERVICE,)
        if self.services and not self.service_unresolved:
            services = self.services[0] if len(self.services) == 1 else compact(s for part in self.services for s in part)
            services = services or (ANY_SERVICE,)
        unresolved = (*self.source.unresolved, *self.destination.unresolved, *self.service_unresolved)
        return Match(
            source=self.source.bound(self.everything),
            destination=self.destination.bound(self.everything),
            services=services,
            source_zones=tuple(self.zones["source-zone"]),
            destination_zones=tuple(self.zones["destination-zone"]),
            conditions=tuple(self.conditions),
            unresolved=tuple(dict.fromkeys(unresolved)),
        )

    def rule(self, name: str, action: Action, block: Block) -> Rule:
        return Rule(
            name,
            action,
            self.match(),
            block.numbers,
            text=block.text,
            enabled=self.enabled,
            logged=self.logged,
            comment=self.comment,
            schedule=self.schedule,
            hit_key=name,
            references=tuple(dict.fromkeys(self.references)),
        )
