"""`priority-flow-control ..` of a port or of the device, as NX-OS and IOS-XR write it."""

from __future__ import annotations

from dataclasses import replace

from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_reading import IosReading
from policyhub.vendorkit.lexing import NotUnderstood, Words


def read_pfc(reading: IosReading, place: str, block: Block) -> bool:
    """`priority-flow-control mode on|off|auto`, `.. watch-dog-interval on|off` (or `watchdog mode`).

    Timers change nothing here.

    False when it is another line. Raises NotUnderstood.
    """
    words = Words(block.words)
    off = bool(words.accept("no"))
    if not words.accept("priority-flow-control"):
        return False
    known = reading.lossless(place)
    word = words.next("mode or watch-dog-interval").lower()
    if word == "mode":
        mode = words.next("on, off or auto").lower()
        if mode not in ("on", "off", "auto"):
            raise NotUnderstood(f"{mode[:40]!r} is not on, off or auto")
        known = replace(known, enabled=False if off else {"on": True, "off": False}.get(mode))
    elif word == "watch-dog-interval" or (word == "watchdog" and words.accept("mode")):
        known = replace(known, watchdog=not off and words.next("on or off").lower() == "on")
    elif word not in ("watch-dog", "watchdog", "auto-restore", "fixed-restore", "override-interface", "recover"):
        raise NotUnderstood(f"{word[:40]!r} is not understood here")
    reading.losslessness[place] = replace(known, lines=(*known.lines, block.number))
    return True
