"""Firewall rules and policies in evaluation order."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.services import ANY_SERVICE, Service


class Action(StrEnum):
    PERMIT = "permit"
    DENY = "deny"
    CONTINUE = "continue"  # counts, logs, marks or jumps; evaluation goes on


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule matches. A packet matches when every dimension does.

    conditions: what the model does not express (established, time-range, user, rate ...), verbatim. With conditions the
    products above are an upper bound, so such a rule never *covers* another but can be covered.
    unresolved: names whose addresses or services are unknown; the bound is then unknown in that dimension (set to any).
    """

    source: AddressSet = ANY
    destination: AddressSet = ANY
    services: tuple[Service, ...] = (ANY_SERVICE,)
    source_zones: tuple[str, ...] = ()
    destination_zones: tuple[str, ...] = ()
    dscp: frozenset[int] | None = None
    conditions: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        return not self.conditions and not self.unresolved


@dataclass(frozen=True, slots=True)
class Rule:
    """One ordered match + action.

    name: the vendor's own name or id ("ACL line 3", policyid). hit_key: joins it with the device's counters.
    lines: 1-based source lines. logged: None when the platform cannot say.
    target: name of the policy that is asked for what matches (chain, inline layer, next filter); the action is then CONTINUE.
    returns: with a target, whether evaluation comes back behind this rule when the target decides nothing (jump, not goto).
    """

    name: str
    action: Action
    match: Match
    lines: tuple[int, ...]
    text: str = ""
    enabled: bool = True
    logged: bool | None = None
    comment: str = ""
    schedule: str = ""
    hit_key: str = ""
    references: tuple[str, ...] = ()
    target: str = ""
    returns: bool = True


#: Notes of a policy that is bound and stands nowhere: what the device does with the traffic of the place, by its documentation.
UNDEFINED_PERMITS = "bound but not defined: the device permits everything"
UNDEFINED_REFUSED = "bound but not defined: the device admits no such binding, the text is not whole"
UNDEFINED_UNKNOWN = "bound but not defined: what the device does is not documented"
UNDEFINED = (UNDEFINED_PERMITS, UNDEFINED_REFUSED, UNDEFINED_UNKNOWN)

#: Note of the empty policy that `return` out of a chain goes to.
COMES_BACK = "empty: a goto here comes back to the chain that called"


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a policy is bound: `interface` "" means global; `direction` in, out, forward, local or zone pair."""

    interface: str
    direction: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """An ordered list of rules; the first enabled match decides, then `default`.

    default None: the platform falls through to something this model does not hold (a chain that returns).
    family: 4, 6 or 0 for both. first_match False: all rules are evaluated (nft `accept` in one hook does not end others).
    context: vdom, vsys, logical system, device group; "" where there is only one.
    """

    name: str
    rules: tuple[Rule, ...]
    default: Action | None = Action.DENY
    family: int = 0
    bindings: tuple[Binding, ...] = ()
    lines: tuple[int, ...] = ()
    first_match: bool = True
    purpose: str = "filter"
    notes: tuple[str, ...] = field(default=())
    context: str = ""

    @property
    def is_defined(self) -> bool:
        """False for one that is bound and stands nowhere."""
        return not set(self.notes) & set(UNDEFINED)
