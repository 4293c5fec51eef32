"""Hand-made configurations for the tests of the checks."""

from __future__ import annotations

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.rules import Action, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, TCP, Service


def rule(name: str, action: str = "permit", source: str = "any", destination: str = "any", ports: str = "any", **more) -> Rule:
    """ports: "any", "tcp" (every TCP port) or destination ports such as "80" and "8000-8100,443"."""
    match = {"conditions", "unresolved", "source_zones", "destination_zones", "dscp"}
    dims = {key: value for key, value in more.items() if key in match}
    rest = {key: value for key, value in more.items() if key not in match}
    line = rest.pop("line", 1)
    return Rule(
        name=name,
        action=Action(action),
        match=Match(_addresses(source), _addresses(destination), _services(ports), **dims),
        lines=(line,),
        hit_key=rest.pop("hit_key", name),
        **rest,
    )


def policy(*rules: Rule, name: str = "OUTSIDE_IN", **more) -> Policy:
    return Policy(name, rules, **more)


def device(*policies: Policy, **more) -> DeviceConfig:
    return DeviceConfig(more.pop("platform", "cisco_asa"), more.pop("hostname", "fw-01"), 100, policies, **more)


def _addresses(text: str) -> AddressSet:
    return ANY if text == "any" else AddressSet.of(*text.split(","))


def _services(text: str) -> tuple[Service, ...]:
    if text == "any":
        return (ANY_SERVICE,)
    if text == "tcp":
        return (Service.of(TCP),)
    pairs = [part.split("-") for part in text.split(",")]
    return (Service.of(TCP, tuple((int(pair[0]), int(pair[-1])) for pair in pairs)),)
