"""Inventories of others as wishes: CSV of ours and of NetBox, NetBox JSON, Ansible YAML, INI and `ansible-inventory --list`.

A row that cannot be used is a problem with its line; the others are read all the same. What a file is, its content says.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message, gettext_noop

COLUMNS = ("name", "platform", "host", "port", "role", "group", "realm", "credential", "ssh_profile", "bastion", "host_key")
ALIASES = {
    "site": "realm",
    "address": "host",
    "credential_set": "credential",
    "ssh profile": "ssh_profile",
    "host key": "host_key",
}
# Headings of a NetBox table export and of its API's CSV; the others of that file say nothing that we keep.
NETBOX = {
    "name": "name", "platform": "platform", "primary ip": "host", "primary_ip": "host", "ip address": "host",
    "primary ipv4": "host", "primary_ip4": "host", "site": "realm", "role": "role", "device role": "role", "device_role": "role",
}  # fmt: skip
MOST_ROWS = 100_000
MOST_CHARACTERS = 64_000_000


@dataclass(frozen=True, slots=True)
class Wish:
    """One device as somebody wants it. "" = as it is; for a new one port 22, role access, group "default", the empty realm.

    platform: an id, what other inventories call it, or "detect", which keeps what was detected before.
    user: whose credential is wanted, where no name was given.
    host_key: "ssh-ed25519 AAAA...", to be trusted. lenient: words of another inventory that we do not know are no mistake.
    """

    name: str
    platform: str = ""
    host: str = ""
    port: str = ""
    role: str = ""
    group: str = ""
    realm: str = ""
    credential: str = ""
    ssh_profile: str = ""
    bastion: str = ""
    host_key: str = ""
    user: str = ""
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """line: of the file, 1-based; an item's number in JSON. problem: why there is no wish."""

    line: int
    name: str
    wish: Wish | None = None
    problem: Message | None = None


@dataclass
class _Reading:
    entries: list[Entry] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)

    def add(self, line: int, values: Mapping[str, str], *, lenient: bool) -> None:
        wish = Wish(**values, lenient=lenient)
        problem = None
        if not wish.name:
            problem = Message(gettext_noop("it has no name"))
        elif self.seen.setdefault(wish.name, line) != line:
            problem = Message(gettext_noop("the name stands on line %(line)s too"), {"line": self.seen[wish.name]})
        template = next((name for name, value in values.items() if "{{" in value), "")
        if template and problem is None:
            problem = Message(gettext_noop("%(field)s is a template. Export it with its value"), {"field": template})
        self.keep(Entry(line, wish.name, None if problem else wish, problem))

    def keep(self, entry: Entry) -> None:
        if len(self.entries) >= MOST_ROWS:
            raise BadInput.of(gettext_noop("more than %(most)s rows. Split the file"), most=MOST_ROWS)
        self.entries.append(entry)


def read(text: str, file: str) -> tuple[Entry, ...]:
    """Every row of the file. Raises BadInput when the file as a whole is none of the forms."""
    text = text.removeprefix("\ufeff")
    if len(text) > MOST_CHARACTERS:
        raise BadInput.of(gettext_noop("%(file)s is larger than any inventory. Split the file"), file=file)
    into, start = _Reading(), text.lstrip()
    if start[:1] in ("{", "["):
        if re.match(r"\[[\w.:-]+\]\s*(?:[#;].*)?\n", start):
            _read_ini(text, into)
        else:
            _read_json(text, file, into)
    elif re.match(r"(?:#.*\n|\s)*(?:---|[\w.-]+:(?:\s|$))", text):
        _read_yaml(text, file, into)
    elif re.search(r"(?m)^\[[\w.:-]+\]\s*$", text):
        _read_ini(text, into)
    else:
        _read_csv(text, file, into)
    return tuple(into.entries)


def _read_csv(text: str, file: str, into: _Reading) -> None:
    # Not DictReader: a row of another length is one problem, and must not shift what follows.
    first = text.partition("\n")[0]
    between = max(",;\t", key=first.count)  # spreadsheets of many countries write semicolons
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=between)
    try:
        header = [name.strip() for name in next(reader, [])]
        names, lenient = _columns(header, file)
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                said = Message(gettext_noop("%(n)s columns expected. Count the commas of this line"), {"n": len(header)})
                into.keep(Entry(reader.line_num, row[0].strip(), problem=said))
                continue
            values = {name: cell.strip() for name, cell in zip(names, row, strict=True) if name}
            if lenient:
                values["host"] = values.get("host", "").partition("/")[0]
            into.add(reader.line_num, values, lenient=lenient)
    except csv.Error as error:
        raise BadInput.at(file, reader.line_num, f"not CSV ({error})", "Quote fields with commas or quotes") from error


def _columns(header: list[str], file: str) -> tuple[list[str], bool]:
    """What each column is to us ("" = nothing), and whether the file is NetBox's."""
    ours = [ALIASES.get(name.lower(), name) for name in header]
    netbox = ("name" not in header and "Name" in header) or any(name.lower() in ("primary_ip4", "device_role") for name in header)
    if netbox:
        names = [NETBOX.get(name.lower(), "") for name in header]
        # an export has several columns of addresses; the first that we know is the one
        return [name if name and name not in names[:at] else "" for at, name in enumerate(names)], True
    wrong = next((name for name in ours if name not in COLUMNS), None)
    if wrong is not None:
        raise BadInput.at(file, 1, f"column {wrong!r} is not known", f"Known: {', '.join(COLUMNS)}")
    if "name" not in ours:
        raise BadInput.at(file, 1, "column 'name' is missing", "Needed: name")
    if len(set(ours)) != len(ours):
        raise BadInput.at(file, 1, "a column stands there twice", "Remove one of them")
    return ours, False


def _read_json(text: str, file: str, into: _Reading) -> None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput.at(file, getattr(error, "lineno", 1), "not JSON", "Export it again") from error
    if isinstance(data, dict) and isinstance(data.get("_meta"), dict):
        hosts = data["_meta"].get("hostvars") or {}
        if not isinstance(hosts, dict):
            raise BadInput.at(file, 1, "its hostvars are no object", "Export it with `ansible-inventory --list`")
        for number, (name, known) in enumerate(hosts.items(), 1):
            into.add(number, _of_ansible(str(name), known if isinstance(known, dict) else {}), lenient=True)
        return
    rows = data.get("results") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise BadInput.at(file, 1, "neither a list of NetBox devices nor an Ansible inventory", "Export /api/dcim/devices/")
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict):
            into.add(number, _of_netbox(row), lenient=True)
        else:
            into.keep(Entry(number, "", problem=Message(gettext_noop("it is no device"))))


def _of_netbox(row: Mapping[str, Any]) -> dict[str, str]:
    address = row.get("oob_ip") if not row.get("primary_ip") else row["primary_ip"]
    return {
        "name": _word(row.get("name"), ""),
        "host": _word(address, "address").partition("/")[0],
        "platform": _word(row.get("platform"), "slug"),
        "realm": _word(row.get("site"), "slug"),
        "role": _word(row.get("role") or row.get("device_role"), "slug"),
    }


def _word(value: Any, name: str) -> str:
    """A nested object's word, or the value itself where the export was flat."""
    if isinstance(value, dict):
        value = value.get(name) or value.get("name")
    return "" if value is None or isinstance(value, (dict, list)) else str(value).strip()


_ANSIBLE = {
    "ansible_host": "host", "ansible_port": "port", "ansible_network_os": "platform", "ansible_user": "user", "realm": "realm",
    "site": "realm", "bastion": "bastion", "ssh_profile": "ssh_profile", "credential": "credential",
}  # fmt: skip


def _of_ansible(name: str, known: Mapping[str, Any]) -> dict[str, str]:
    """Without ansible_host, Ansible connects to the name."""
    values = {ours: str(known[theirs]).strip() for theirs, ours in _ANSIBLE.items() if known.get(theirs) is not None}
    return {"name": name, "host": name, **values}


def _read_yaml(text: str, file: str, into: _Reading) -> None:
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise BadInput.at(file, 1, "not an Ansible inventory", "Its groups hold `hosts:` or `children:`")
        found: dict[str, tuple[int, dict[str, str]]] = {}
        budget = [MOST_ROWS]
        for _, group in _pairs(root):
            _walk(loader, group, {}, found, budget, 0)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise BadInput.at(file, mark.line + 1 if mark else 1, "not YAML", "Check the indentation") from error
    finally:
        loader.dispose()
    for name, (line, known) in found.items():
        into.add(line, _of_ansible(name, known), lenient=True)
    if not found:
        raise BadInput.at(file, 1, "no hosts in it", "The groups of an Ansible inventory hold `hosts:` or `children:`")


def _walk(loader: Any, group: Any, above: dict[str, str], found: dict[str, tuple[int, dict[str, str]]],
          budget: list[int], depth: int) -> None:  # fmt: skip
    """Hosts of a group and of its children; what is nearer to a host wins. Aliases can make a small text endless: budget."""
    budget[0] -= 1
    if budget[0] < 0 or depth > 50:
        raise BadInput.of(gettext_noop("more than %(most)s rows. Split the file"), most=MOST_ROWS)
    parts = dict(_pairs(group))
    here = above | _scalars(loader, parts.get("vars"))
    for name, host in _pairs(parts.get("hosts")):
        budget[0] -= 1
        known = found.get(name, (0, {}))[1]
        found[name] = (host.start_mark.line + 1, known | here | _scalars(loader, host))
    for _, child in _pairs(parts.get("children")):
        _walk(loader, child, here, found, budget, depth + 1)


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        value.start_mark = key.start_mark  # the host's line, also where its mapping begins below it
        yield str(key.value) if isinstance(key, yaml.ScalarNode) else "", value


def _scalars(loader: Any, node: Any) -> dict[str, str]:
    """Plain values only: a vault or another tag is not ours to open."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return {
        str(key.value): str(value.value)
        for key, value in pairs
        if isinstance(value, yaml.ScalarNode) and value.tag.startswith("tag:yaml.org") and value.tag != "tag:yaml.org,2002:null"
    }


def _read_ini(text: str, into: _Reading) -> None:
    """Sections [group], [group:vars], [group:children]; a host with several groups has the variables of all."""
    hosts: dict[str, tuple[int, dict[str, str]]] = {}
    groups: dict[str, set[str]] = {}
    shared: dict[str, dict[str, str]] = {}
    children: dict[str, set[str]] = {}
    section, kind = "ungrouped", ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            section, _, kind = line[1:-1].partition(":")
        elif kind == "vars":
            name, _, value = line.partition("=")
            shared.setdefault(section, {})[name.strip()] = value.strip().strip("'\"")
        elif kind == "children":
            children.setdefault(section, set()).add(line)
        else:
            _ini_host(line, number, section, hosts, groups, into)
    for name, (number, own) in hosts.items():
        above = shared.get("all", {})
        for group in _with_parents({group for group, members in groups.items() if name in members}, children):
            above = above | shared.get(group, {})
        into.add(number, _of_ansible(name, above | own), lenient=True)


def _ini_host(line: str, number: int, section: str, hosts: dict[str, tuple[int, dict[str, str]]],
              groups: dict[str, set[str]], into: _Reading) -> None:  # fmt: skip
    try:
        name, *words = shlex.split(line, comments=True)
    except ValueError:
        into.keep(Entry(number, line.split()[0], problem=Message(gettext_noop("a quote is not closed"))))
        return
    if re.search(r"\[\w+:\w+(?::\w+)?\]", name):
        said = Message(gettext_noop("a range of hosts. Export it with `ansible-inventory --list`"))
        into.keep(Entry(number, name, problem=said))
        return
    own = dict(word.split("=", 1) for word in words if "=" in word)
    first, known = hosts.get(name, (number, {}))
    hosts[name] = (first, known | own)
    groups.setdefault(section, set()).add(name)


def _with_parents(groups: set[str], children: dict[str, set[str]]) -> list[str]:
    """Farthest first, so that what is nearer wins."""
    order: list[str] = []
    level = set(groups)
    while level:
        order = [*sorted(level), *order]
        level = {parent for parent, members in children.items() if members & level} - set(order)
    return order
