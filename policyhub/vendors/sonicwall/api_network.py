"""NAT policies and route policies in answers of the SonicOS 7 API."""

from __future__ import annotations

from policyhub.vendorkit.json_books import JsonBooks, objects_of
from policyhub.vendorkit.json_lines import Node
from policyhub.vendorkit.lexing import NotUnderstood, number_in
from policyhub.vendors.sonicwall.drafts import SIDES, NatDraft, Reading, RouteDraft

ABOUT = {"name", "comment", "uuid", "ticket"}
NAT = {"inbound", "outbound", "enable", "enabled", "priority", "reflexive", "nat_method"}
NAT |= {f"{prefix}{side}" for side in SIDES for prefix in ("", "original_", "translated_")}
NAT_REST = {"dns_doctoring", "source_port_remap", "high_availability"}
ROUTE = {"interface", "metric", "gateway", "distance", "tos", "mask", "nexthop_number", *SIDES}
ROUTE_REST = {
    "type", "priority", "disable_on_interface_down", "vpn_precedence", "auto_add_access_rules", "probe",
    "disable_when_probes_succeed", "default_probe_state_up",
}  # fmt: skip
NO_TOS = ("", "0", "00", "0x00")


def read_nat(books: JsonBooks, reading: Reading, family: str, node: Node) -> None:
    """Raises NotUnderstood."""
    books.take(node, {*NAT, *ABOUT}, NAT_REST)
    draft = NatDraft(family, tuple(node.numbers), node.word("name"), node.word("inbound"), node.word("outbound"))
    for side in SIDES:
        draft.operands[side] = _names(books, node.get(side) or node.get(f"original_{side}"), f"original {side}", "any")
        became = _names(books, node.get(f"translated_{side}"), f"translated {side}", "original")
        draft.translated[side] = ", ".join(became)
    if node.get("translated_source") is None and node.get("translated_destination") is None:
        raise NotUnderstood("a NAT policy does not say what it translates")
    draft.is_enabled = "false" not in (node.word("enable"), node.word("enabled"))
    draft.comment = node.word("comment")
    notes = [f"nat method {node.word('nat_method')}"] if node.word("nat_method") else []
    draft.notes = (*notes, "reflexive") if node.word("reflexive") == "true" else tuple(notes)
    draft.priority = priority(books, node)
    reading.nat.append(draft)


def priority(books: JsonBooks, node: Node) -> int | None:
    """That a person gave; None when the device chooses. Raises NotUnderstood."""
    found = node.get("priority")
    if found is not None:
        books.take(found, {"auto", "manual"})
        if found.get("manual") is not None:
            return number_in(found.word("manual"), 0, 2**31, "a priority")
    return None


def read_route(books: JsonBooks, reading: Reading, family: str, node: Node) -> None:
    """A route by destination alone. Raises NotUnderstood of one that chooses by source, service or type of service, too."""
    books.take(node, {*ROUTE, *ABOUT}, ROUTE_REST)
    if any(_names(books, node.get(side), side, "any") for side in ("source", "service")) or node.word("tos") not in NO_TOS:
        raise NotUnderstood("a route by source, service or type of service is not modelled")
    if node.word("nexthop_number") not in ("", "1"):
        raise NotUnderstood("a route with several next hops is not modelled")
    distance = node.get("distance")
    if distance is not None:
        books.take(distance, {"auto", "value"})
    wanted = distance.word("value") if distance is not None else ""
    reading.routes.append(
        RouteDraft(
            family,
            tuple(node.numbers),
            _names(books, node.get("destination"), "destination", "any"),
            node.word("interface"),
            _gateway(books, node.get("gateway")),
            number_in(wanted, 0, 255, "a distance") if wanted else None,
        )
    )


def _names(books: JsonBooks, node: Node | None, what: str, whole: str) -> tuple[str, ...]:
    """() for `whole` (any, original) and where nothing is said. Raises NotUnderstood."""
    if node is None:
        return ()
    return names(books, node, whole, f"a policy without a readable {what}", "address")


def names(books: JsonBooks, node: Node, whole: str, missing: str, *inside: str) -> tuple[str, ...]:
    """Of objects and groups; () when one says `whole`. Raises NotUnderstood with `missing` when there is neither.

    inside: members of one that hold others.
    """
    found: list[str] = []
    is_whole = False
    for part in objects_of(node):
        books.take(part, {whole, "name", "group", *inside})
        nested = [one for key in inside for one in objects_of(part.get(key))]
        for one in nested:
            books.take(one, {whole, "name", "group"})
        for one in (part, *nested):
            name = one.word("name") or one.word("group")
            is_whole = is_whole or one.word(whole) == "true"
            found += [name] if name else []
    if not found and not is_whole:
        raise NotUnderstood(missing)
    return () if is_whole else tuple(found)


def _gateway(books: JsonBooks, node: Node | None) -> str:
    """Raises NotUnderstood."""
    if node is None:
        return ""
    books.take(node, {"default", "name", "host"})
    if not (node.word("name") or node.word("host") or node.word("default") == "true"):
        raise NotUnderstood("a route without a readable gateway")
    return node.word("name") or node.word("host")
