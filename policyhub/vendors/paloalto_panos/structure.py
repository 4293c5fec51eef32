"""Walks the tree: which part belongs to which scope. Whole configurations, Panorama's, pushed policies, and any part of them."""

from __future__ import annotations

from collections.abc import Callable

from policyhub.vendors.paloalto_panos import network
from policyhub.vendors.paloalto_panos.reading import LOCAL, POST, PRE, Reading, Rulebase, Scope
from policyhub.vendors.paloalto_panos.tree import Node, words

OBJECT_KINDS = words("objects")
POSITIONS = {"rulebase": LOCAL, "pre-rulebase": PRE, "post-rulebase": POST}
RULEBASES = words("rulebases")
WRAPPERS = frozenset(("config", "response", "result", "policy-and-objects", "merged", "effective-running-config"))
DEVICE_KEYS = frozenset(("deviceconfig", "network", "vsys", "device-group", "template", "template-stack"))
RUNNING_SIGNS = ("application/service", "translate-to", "nat-type", "terminal", "icmp-unreachable:")
MANAGER = "Panorama"


def walk(reading: Reading, root: Node) -> None:
    """The root of a text, and what merely wraps a configuration."""
    for node in root:
        if node.name in WRAPPERS:
            reading.pass_by(node)
            walk(reading, node)
        elif node.name == "devices":
            reading.pass_by(node)
            for device in node:
                reading.pass_by(device)
                _device(reading, device)
        elif node.name == "shared":
            reading.pass_by(node)
            _scope(reading, reading.shared, node)
        elif node.name == "readonly":
            _read_only(reading, node)
        elif node.name == "policy":
            _pushed(reading, node)
        elif node.name in DEVICE_KEYS:
            _device_key(reading, node)
        elif _is_of_scope(node):
            _scope_key(reading, _default_scope(reading), node)
        elif node.name == "rule-hit-count":
            reading.understand(node)  # counters.py reads it
        elif node.name == "rules":
            _bare_rules(reading, node)
        elif any(node.get(sign) is not None for sign in RUNNING_SIGNS):
            reading.running.append(node)
        else:
            reading.leave(node, node.name)


def _is_of_scope(node: Node) -> bool:
    """A part of a vsys or device group; a rulebase alone must hold rules (settings have the same names)."""
    if node.name in RULEBASES:
        return node.get("rules") is not None
    return node.name in OBJECT_KINDS or node.name in POSITIONS or node.name in SCOPE_READERS


def _default_scope(reading: Reading) -> Scope:
    return reading.scope_of_vsys("vsys1")


def _device(reading: Reading, device: Node, template: str = "") -> None:
    for node in device:
        if node.name in DEVICE_KEYS:
            _device_key(reading, node, template)
        else:
            reading.leave(node, node.name)


def _device_key(reading: Reading, node: Node, template: str = "") -> None:
    reading.pass_by(node)
    context = f"template:{template}" if template else ""
    if node.name == "deviceconfig":
        _device_settings(reading, node, bool(template))
    elif node.name == "network":
        network.read(reading, node, context)
        for gateway in node.get("shared-gateway") or ():
            reading.pass_by(gateway)
            _scope(reading, reading.scope_of_vsys(gateway.name), gateway)
    elif node.name == "vsys":
        for entry in node:
            name = entry.name if not template else context if entry.name == "vsys1" else f"{context}/{entry.name}"
            scope = reading.scope_of_template(name) if template else reading.scope_of_vsys(name)
            reading.pass_by(entry)
            _scope(reading, scope, entry)
    elif node.name == "device-group":
        reading.manager = MANAGER
        for entry in node:
            reading.pass_by(entry)
            _device_group(reading, entry)
    else:
        for entry in node:
            reading.pass_by(entry)
            _template(reading, entry)


def _device_settings(reading: Reading, node: Node, is_template: bool) -> None:
    """The host name and the manager; the rest holds no policy."""
    for child in node:
        if child.name != "system":
            reading.leave(child, f"deviceconfig {child.name}")
            continue
        reading.pass_by(child)
        for setting in child:
            if setting.name == "hostname":
                reading.understand(setting)
                reading.hostname = reading.hostname if is_template and reading.hostname else setting.value
            elif setting.name in ("panorama-server", "panorama-server-2", "panorama"):
                reading.understand(setting)
                reading.manager = reading.manager if is_template else MANAGER
            else:
                reading.leave(setting, f"deviceconfig system {setting.name}")


def _template(reading: Reading, entry: Node) -> None:
    """A template, or a template stack with values of its own."""
    for child in entry:
        if child.name != "config":
            _understand_names(reading, child, "template")
            continue
        reading.pass_by(child)
        for part in child:
            if part.name == "devices":
                reading.pass_by(part)
                for device in part:
                    reading.pass_by(device)
                    _device(reading, device, entry.name)
            elif part.name == "shared":
                reading.pass_by(part)
                _scope(reading, reading.scope_of_template(f"template:{entry.name}"), part)
            else:
                reading.leave(part, part.name)


def _understand_names(reading: Reading, node: Node, path: str) -> None:
    if node.name in (
        "templates",
        "devices",
        "description",
        "settings",
        "variable",
        "reference-templates",
        "id",
        "user-group-source",
    ):
        reading.understand(node)
    else:
        reading.leave(node, f"{path} {node.name}")


def _device_group(reading: Reading, entry: Node) -> None:
    scope = reading.scope_of_group(entry.name)
    for child in entry:
        if child.name == "parent-dg":
            reading.parents[entry.name] = child.value
            reading.understand(child)
        elif child.name in OBJECT_KINDS or child.name in POSITIONS or child.name in SCOPE_READERS:
            _scope_key(reading, scope, child)
        else:
            _understand_names(reading, child, "device-group")


def _read_only(reading: Reading, node: Node) -> None:
    """Internal numbers, and who is the parent of a device group."""
    for device in node.get("devices") or ():
        for group in device.get("device-group") or ():
            parent = group.text("parent-dg")
            if parent:
                reading.scope_of_group(group.name)
                reading.parents[group.name] = parent
    reading.leave(node, "readonly")


def _pushed(reading: Reading, node: Node) -> None:
    """`policy panorama`: what Panorama pushed to this firewall, shared and device groups already merged."""
    reading.pass_by(node)
    for child in node:
        if child.name != "panorama":
            reading.leave(child, f"policy {child.name}")
            continue
        reading.pass_by(child)
        for part in child:
            reading.manager = MANAGER
            if part.name in OBJECT_KINDS:
                _scope_key(reading, reading.shared, part)
            elif part.name in POSITIONS:
                _rulebases(reading, _default_scope(reading), part, pushed=True)
            else:
                _scope_key(reading, _default_scope(reading), part)


def _scope(reading: Reading, scope: Scope, node: Node) -> None:
    for child in node:
        _scope_key(reading, scope, child)


def _scope_key(reading: Reading, scope: Scope, node: Node) -> None:
    if node.name in OBJECT_KINDS:
        reading.pass_by(node)
        known = scope.objects.setdefault(node.name, {})
        for entry in node:  # a name that stands twice (several documents) is read twice
            known[f"{entry.name}\0{len(known)}" if entry.name in known else entry.name] = entry
    elif node.name in POSITIONS:
        _rulebases(reading, scope, node, pushed=node.name != "rulebase" and not _is_panorama(reading, scope))
    elif node.name in SCOPE_READERS:
        SCOPE_READERS[node.name](reading, scope, node)
    elif node.name in RULEBASES and node.get("rules") is not None:
        _rulebase(reading, scope, node, LOCAL, False)
    else:
        reading.leave(node, node.name)


def _is_panorama(reading: Reading, scope: Scope) -> bool:
    return scope.is_group or scope is reading.shared


def _rulebases(reading: Reading, scope: Scope, node: Node, pushed: bool) -> None:
    reading.pass_by(node)
    if pushed:
        reading.manager = MANAGER
    for child in node:
        if child.name in RULEBASES:
            _rulebase(reading, scope, child, POSITIONS[node.name], pushed)
        else:
            reading.leave(child, f"{node.name} {child.name}", "rules of an unknown kind")


def _rulebase(reading: Reading, scope: Scope, node: Node, position: str, pushed: bool) -> None:
    reading.pass_by(node)
    for child in node:
        if child.name == "rules":
            reading.pass_by(child)
            scope.rulebases.append(Rulebase(position, node.name, child, pushed))
        else:
            reading.leave(child, f"rulebase {node.name} {child.name}", "rules are expected")


def _bare_rules(reading: Reading, node: Node) -> None:
    """`<rules>` alone: the kind is told by the first rule."""
    reading.pass_by(node)
    first = next(iter(node), None)
    kind = "security"
    if first is not None and (first.get("nat-type") or first.get("source-translation") or first.get("destination-translation")):
        kind = "nat"
    _default_scope(reading).rulebases.append(Rulebase(LOCAL, kind, node))


def _tags(reading: Reading, _: Scope, node: Node) -> None:
    """Colours and comments of tags: labels only."""
    reading.understand(node)


def _display_name(reading: Reading, _: Scope, node: Node) -> None:
    reading.understand(node)


SCOPE_READERS: dict[str, Callable[[Reading, Scope, Node], None]] = {
    "zone": network.read_zones,
    "import": network.read_imports,
    "tag": _tags,
    "display-name": _display_name,
}
