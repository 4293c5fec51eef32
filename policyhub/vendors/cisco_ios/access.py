"""Access lists: standard, extended, IPv6, MAC; numbered, named, and as `show [ip|ipv6] access-lists` prints them."""

from __future__ import annotations

import re

from policyhub.domain.rules import UNDEFINED_PERMITS, Action, Policy
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_acl import AclSyntax
from policyhub.vendorkit.ios_reading import AccessList, Gaps, collect, list_policies
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal
from policyhub.vendors.cisco_ios.reading import NAMES, Reading

GAPS = Gaps(Action.PERMIT, "empty: the device permits everything", Action.PERMIT, UNDEFINED_PERMITS)
SYNTAX = AclSyntax(NAMES, bare_services=True, numbered_remarks=False)
HEADER = re.compile(
    r"^(?:(?P<ip>ip|ipv6|mac) access-list (?:(?P<form>standard|extended|role-based|fqdn) )?(?P<name>\S+)"
    r"|(?P<shown>Standard|Extended|Role-based|Reflexive|FQDN) IP access list (?P<name4>\S+)(?: \(.*\))?"
    r"|IPv6 (?:FQDN )?access list (?P<name6>\S+)(?: \(.*\))?"
    r"|Extended MAC access list (?P<namem>\S+))$"
)
NOT_LISTS = ("resequence", "log-update", "logging", "helper", "persistent", "match-local-traffic", "role-based")
IPV6_NOTE = "the device permits nd-na and nd-ns before the final deny"


def read_named(reading: Reading, block: Block) -> None:
    header = HEADER.match(block.text)
    if header is None or (header["name"] in NOT_LISTS and not block.children):
        raise NotUnderstood("not an access list that is modelled")
    if header["ip"] or header["shown"] is None:
        family = 6 if header["ip"] == "ipv6" or header["name6"] else 0 if header["ip"] == "mac" or header["namem"] else 4
    else:
        family = 4
    form = "mac" if family == 0 else (header["form"] or header["shown"] or ("ipv6" if family == 6 else "extended")).lower()
    name = header["name"] or header["name4"] or header["name6"] or header["namem"]
    collect(reading, (family, name), form, block, shown=not header["ip"])


def read_numbered(reading: Reading, block: Block) -> None:
    """`access-list N permit|deny|remark ..`: 1-99 and 1300-1999 are standard, 100-199 and 2000-2699 extended."""
    words = block.words
    if len(words) < 3 or not is_decimal(words[1]) or words[2].lower() not in ("permit", "deny", "remark", "dynamic"):
        raise NotUnderstood("not an access list that is modelled")
    number = int(words[1][:6])
    if 1 <= number <= 99 or 1300 <= number <= 1999:
        form = "standard"
    elif 100 <= number <= 199 or 2000 <= number <= 2699:
        form = "extended"
    else:
        raise NotUnderstood("access lists of this number are not modelled")
    found = reading.configured.setdefault((4, words[1]), AccessList(form))
    found.lines.append(block.number)
    found.entries.append(block)


def policies(reading: Reading) -> list[Policy]:
    """Configured lists, lists only seen in a show output, and names that are bound but not defined (IOS then permits all)."""
    return list_policies(reading, SYNTAX, GAPS, IPV6_NOTE)
