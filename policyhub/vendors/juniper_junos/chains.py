"""Several statements typed in one `set` line: `match source-address any destination-address any application any`."""

from __future__ import annotations

MATCH = frozenset(
    ("source-address", "destination-address", "application", "source-identity", "dynamic-application", "url-category",
     "from-zone", "to-zone", "source-address-name", "destination-address-name", "protocol", "source-port",
     "destination-port", "source-address-excluded", "destination-address-excluded")
)  # fmt: skip
FROM = frozenset(
    ("source-address", "destination-address", "address", "protocol", "next-header", "payload-protocol", "source-port",
     "destination-port", "port", "icmp-type", "icmp-code", "dscp", "traffic-class", "precedence", "tcp-flags",
     "tcp-established", "tcp-initial", "is-fragment", "fragment-offset", "source-prefix-list", "destination-prefix-list",
     "prefix-list", "ttl", "packet-length", "interface", "forwarding-class", "source-mac-address",
     "destination-mac-address", "ether-type")
)  # fmt: skip
THEN = frozenset(
    ("accept", "discard", "reject", "next", "count", "log", "syslog", "policer", "dscp", "traffic-class",
     "forwarding-class", "loss-priority", "sample", "permit", "deny", "routing-instance", "three-color-policer")
)  # fmt: skip
EXCEEDING = frozenset(("bandwidth-limit", "burst-size-limit", "bandwidth-percent"))
INTERPOLATE = frozenset(("fill-level", "drop-probability"))
CONTAINERS = {"match": MATCH, "from": FROM, "then": THEN, "if-exceeding": EXCEEDING, "interpolate": INTERPOLATE}
# statements without a value; the word behind any other one is its value, whatever it is called
FLAGS = frozenset(
    ("accept", "discard", "reject", "log", "syslog", "sample", "permit", "deny", "tcp-established", "tcp-initial",
     "is-fragment", "source-address-excluded", "destination-address-excluded")
)  # fmt: skip


def chained(words: list[str]) -> list[list[str]]:
    """One path per statement; most lines hold one."""
    for at in range(len(words) - 3, 0, -1):
        keys = CONTAINERS.get(words[at])
        if keys is not None and not words[at + 1].endswith("-nat"):
            return _split(words, at + 1, keys)
    return [words]


def _split(words: list[str], start: int, keys: frozenset[str]) -> list[list[str]]:
    cuts = [start]
    at = start
    while at < len(words):
        if words[at] in keys and at > cuts[-1]:
            cuts.append(at)
        at += 2 if words[at] in keys and words[at] not in FLAGS else 1
    if len(cuts) == 1:
        return [words]
    ends = [*cuts[1:], len(words)]
    return [[*words[:start], *words[first:end]] for first, end in zip(cuts, ends, strict=True)]
