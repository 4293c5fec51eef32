"""What the pieces of the parser share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from policyhub.vendorkit.blocks import Lines
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendors.vyos.tree import Node


@dataclass(slots=True)
class Reading:
    root: Node
    ledger: LineLedger
    by_number: Lines

    def refuse(self, numbers: Iterable[int], reason: str, again: bool = False) -> None:
        """Lines that nobody has booked become unparsed; again: also those that somebody has."""
        for number in numbers:
            if again or not self.ledger.is_booked(number):
                self.ledger.unparsed(self.by_number.at(number), reason)
