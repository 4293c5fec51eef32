"""A guard of lists, classes and one policy at interfaces, as it stands in a running configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from policyhub.domain.change import GuardSpec
from policyhub.domain.errors import CannotRender
from policyhub.domain.message import gettext_noop


@dataclass(slots=True)
class GuardParts:
    """parts: name of a part ("acl4", "policy" ..) -> canonical lines. blanks: families whose list holds what keeps it from being
    empty. inputs: interface -> input policy ("" = none), names as printed. trouble: interface -> why no policy may be attached.
    """

    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    blanks: set[int] = field(default_factory=set)
    inputs: dict[str, str] = field(default_factory=dict)
    trouble: dict[str, str] = field(default_factory=dict)
    odd: list[str] = field(default_factory=list)

    @property
    def anything(self) -> bool:
        return bool(self.parts)

    def attached(self, spec: GuardSpec) -> list[str]:
        """Interfaces with the guard's policy. Raises CannotRender when the guard does not name one of them."""
        places = [name for name, policy in self.inputs.items() if policy == spec.name]
        known = {name.lower() for name in spec.interfaces}
        stray = next((name for name in places if name.lower() not in known), None)
        if stray is not None:
            said = gettext_noop("%(guard)s is attached to %(place)s too, which the guard does not name. Detach it there by hand")
            raise CannotRender.of(said, guard=spec.name, place=stray)
        return places

    def free_interface(self, interface: str, taken: str) -> str:
        """The interface as the device spells it; `interface X` of an unknown one would create it.

        taken: what to say (interface, policy) when another policy is there. Raises CannotRender.
        """
        name = next((known for known in self.inputs if known.lower() == interface.lower()), None)
        if name is None:
            said = gettext_noop("interface %(interface)s is not in the running configuration. Write it as the device prints it")
            raise CannotRender.of(said, interface=interface)
        if self.inputs[name]:
            raise CannotRender.of(taken, interface=name, policy=self.inputs[name])
        if name in self.trouble:
            said = gettext_noop("no policy can go on %(interface)s: %(why)s")
            raise CannotRender.of(said, interface=name, why=self.trouble[name])
        return name

    def faults(self, spec: GuardSpec, expected: Mapping[str, tuple[str, ...]], entry: str) -> list[str]:
        """How the guard differs from what we write; members do not count. entry: what the platform calls a line of a list."""
        faults = [f"{part} is missing" for part in expected if part not in self.parts]
        faults += [f"{part} is not ours" for part in self.parts if part not in expected]
        faults += [f"{part} was changed" for part, lines in expected.items() if self.parts.get(part, lines) != lines]
        for family in spec.families:
            if f"acl{family}" in self.parts and family not in self.blanks:
                faults.append(f"the {entry} that keeps the IPv{family} list from being empty is missing")
        attached = {name.lower() for name, policy in self.inputs.items() if policy == spec.name}
        faults += [f"not attached to {name}" for name in spec.interfaces if name.lower() not in attached]
        return faults + self.odd
