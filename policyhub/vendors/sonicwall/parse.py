"""Configurations of SonicOS, answers of its API or text of its command line, into the domain model."""

from __future__ import annotations

from dataclasses import replace

from policyhub.domain.device_config import DeviceConfig, Route
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.json_books import JsonBooks
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, score
from policyhub.vendorkit.rendering import is_prompt
from policyhub.vendors.sonicwall.api import read_api
from policyhub.vendors.sonicwall.cli import read_cli
from policyhub.vendors.sonicwall.drafts import Reading
from policyhub.vendors.sonicwall.network import marks, nat_rules, routes

NAME = "sonicwall"
SIGNS = (
    (r"^ {0,8}access-rule (ipv[46] )?from [^\n]{1,400} action (allow|deny|discard)\b", 0.9),
    (r"^ {0,8}address-object (ipv4|ipv6|fqdn) ", 0.6),
    (r"^ {0,8}address-group ipv[46] ", 0.5),
    (r"^ {0,8}service-object [^\n]{1,100} (TCP|UDP|tcp|udp) \d+ \d+$", 0.6),
    (r'"access_rules?"\s{0,99}:\s{0,99}(\[\s{0,99})?\{\s{0,99}"ipv[46]"', 0.9),
    (r'"address_objects?"\s{0,99}:\s{0,99}(\[\s{0,99})?\{\s{0,99}"(ipv4|ipv6|fqdn)"', 0.6),
)


def looks_like(text: str) -> float:
    return score(text[:400_000].replace("\r", ""), SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    reading = Reading()
    lines = read_lines(text)
    first = next((line.text for line in lines if line.text and not line.text.startswith("#") and not is_prompt(line.text)), "")
    if first[:1] in ("{", "["):
        books = JsonBooks.read(text)
        read_api(books, reading)
        found_routes: list[Route] = []
        for draft in reading.routes:
            try:
                found_routes += routes(reading, draft)
            except NotUnderstood as error:
                books.refuse(range(draft.lines[0], draft.lines[-1] + 1), str(error))
        config = replace(books.config(NAME), routes=tuple(found_routes))
    else:
        ledger = LineLedger()
        read_cli(lines, ledger, reading)
        config = DeviceConfig(
            NAME, "", len(lines), ignored=ledger.ignored_lines, unparsed=ledger.unparsed_lines, special=ledger.special_lines
        )
    return replace(
        config, policies=reading.policies(), addresses=tuple(reading.address_objects), services=tuple(reading.service_objects),
        groups=tuple(reading.groups), nat_rules=tuple(nat_rules(reading, reading.nat)), qos_policies=tuple(marks(reading.drafts)),
    )  # fmt: skip
