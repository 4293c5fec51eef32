"""Modular QoS of IOS: which types of class-map and policy-map are QoS, and which belong to the zone-based firewall."""

from __future__ import annotations

from policyhub.vendorkit.blocks import Block, reopened
from policyhub.vendorkit.lexing import NotUnderstood, Words
from policyhub.vendors.cisco_ios.reading import Reading

QOS_TYPES = ("qos", "queuing", "queueing")
INSPECTED = ("http", "smtp", "imap", "pop3", "sip", "im", "urlfilter")


def read_class_map(reading: Reading, block: Block) -> None:
    """`class-map [type ..] [match-any|match-all] NAME`; match-all is the default."""
    words = Words(block.words, 1)
    kind = words.next("a type").lower() if words.accept("type") else "qos"
    if kind == "inspect":
        words.accept(*INSPECTED)
        words.accept("match-any", "match-all")
        name = words.next("a name")
        reading.inspect_classes[name] = reopened(reading.inspect_classes.get(name), block)
        reading.mqc.note_lists(block)
        return
    if kind not in QOS_TYPES:
        raise NotUnderstood(f"class-map type {kind[:40]!r} is not modelled")
    words.accept("match-any", "match-all")
    reading.mqc.add_class_map(words.next("a name"), block)


def read_policy_map(reading: Reading, block: Block) -> None:
    words = Words(block.words, 1)
    kind = words.next("a type").lower() if words.accept("type") else "qos"
    if kind == "inspect":
        words.accept(*INSPECTED)
        reading.inspect_policies[words.next("a name")] = block
        return
    if kind not in QOS_TYPES:
        raise NotUnderstood(f"policy-map type {kind[:40]!r} is not modelled")
    reading.mqc.add_policy_map(words.next("a name"), block)
