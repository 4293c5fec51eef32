"""Modular QoS of IOS: which types of class-map and policy-map are QoS, and which belong to the zone-based firewall."""

from __future__ import annotations

import re

from policyhub.vendorkit import ios_reading
from policyhub.vendorkit.blocks import Block, reopened
from policyhub.vendorkit.ios_mqc import MqcSyntax
from policyhub.vendorkit.lexing import Words
from policyhub.vendors.cisco_ios.reading import Reading

# Limits per mark or in time, buffers, trust of a class, marks of other layers: a class keeps them as notes.
KEPT = re.compile(
    r"^(?:queue-limit (?:dscp|cos|prec(?:edence)?|qos-group|values) .+|queue-limit \d+ [mu]s|queue-buffers ratio \d+|trust .+"
    r"|set (?:mpls|discard-class|atm-clp|fr-de|dot1ad) .+|dbl|compress .+|netflow-sampler .+|estimate .+)$"
)
SYNTAX = MqcSyntax(kept=KEPT)
INSPECTED = ("http", "smtp", "imap", "pop3", "sip", "im", "urlfilter")


def read_class_map(reading: Reading, block: Block) -> None:
    """`class-map [type ..] [match-any|match-all] NAME`; match-all is the default."""
    words = _inspect(block)
    if words is not None:
        words.accept("match-any", "match-all")
        name = words.next("a name")
        reading.inspect_classes[name] = reopened(reading.inspect_classes.get(name), block)
        reading.mqc.note_lists(block)
    else:
        ios_reading.read_class_map(reading, block)


def read_policy_map(reading: Reading, block: Block) -> None:
    words = _inspect(block)
    if words is not None:
        reading.inspect_policies[words.next("a name")] = block
    else:
        ios_reading.read_policy_map(reading, block)


def _inspect(block: Block) -> Words | None:
    """The words behind `type inspect [protocol]`; None when it is of another type."""
    words = Words(block.words, 1)
    if not words.accept("type") or not words.accept("inspect"):
        return None
    words.accept(*INSPECTED)
    return words
