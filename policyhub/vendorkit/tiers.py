"""What each platform can do and what that was proven against, as a Markdown table: printed by `policyhub check --platforms`."""

from __future__ import annotations

from collections.abc import Iterable

from policyhub.vendorkit.contract import Capability, Tier, Vendor

SHORT = {Tier.REAL_OUTPUTS: "real", Tier.DOCUMENTATION: "docs", Tier.SIMULATED: "simulated", Tier.HARDWARE: "hardware"}
ABSENT = "-"


def legend() -> str:
    meanings = [f"{word} = {tier.value}" for tier, word in SHORT.items() if word != tier.value]
    return "; ".join([*meanings, f"{ABSENT} = it cannot"]) + "."


def table(vendors: Iterable[Vendor], column: tuple[str, dict[str, str]] | None = None) -> str:
    """A row per platform, a column per capability; column: heading and platform id -> text of one more at the end."""
    head = ["platform", "id", *(capability.value for capability in Capability)]
    rows = [[v.label, v.name, *(_cell(v, capability) for capability in Capability)] for v in vendors]
    if column is not None:
        head.append(column[0])
        for row in rows:
            row.append(column[1].get(row[1], ABSENT))
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |" for row in [head, *rows]
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def _cell(vendor: Vendor, capability: Capability) -> str:
    tier = vendor.capabilities.get(capability)
    return ABSENT if tier is None else SHORT[tier]
