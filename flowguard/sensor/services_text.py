"""Which services are slow, and whether the network or the server takes the time."""

from __future__ import annotations

from typing import Any

from flowguard.sensor.tables import Read, count, ns, share, table
from policyhub.domain.message import gettext_noop

SHOWN = 20
TITLE = gettext_noop("Slow services (%(shown)d of %(all)d; time from request to first answer)")
HEAD = (
    gettext_noop("service"), gettext_noop("proto"), gettext_noop("name"), gettext_noop("answers"), gettext_noop("p50"),
    gettext_noop("p95"), gettext_noop("max"), gettext_noop("network to client"), gettext_noop("to server"),
    gettext_noop("server"), gettext_noop("slow by"), gettext_noop("retransmitted"), gettext_noop("point"),
)  # fmt: skip
SERVER, NETWORK = gettext_noop("server"), gettext_noop("network")


def services_text(report: dict[str, Any], read: Read = gettext_noop) -> str:
    """The services that answer slowest at the 95th percentile; the network's own time stands beside it.

    `server` is what is left of the middle answer without the round trip from the point to the server; `slow by` names who has the
    greater part of the middle answer as a client has it, which waits for the round trip on its own side as well.
    """
    answered = [service for service in report["services"] if service["responses"]["count"]]
    answered.sort(key=lambda service: -service["responses"]["p95_ns"])
    rows = [
        [
            f"{service['server']}:{service['server_port']}", service["proto"], _named(service),
            count(service["responses"]["count"]), ns(service["responses"]["p50_ns"]), ns(service["responses"]["p95_ns"]),
            ns(service["responses"]["max_ns"]), ns(service["rtt_client"]["p50_ns"]), ns(service["rtt_server"]["p50_ns"]),
            ns(server_ns(service)), read(slow_by(service)), _retransmitted(service), service["point"],
        ]
        for service in answered[:SHOWN]
    ]  # fmt: skip
    title = read(TITLE) % {"shown": len(rows), "all": len(answered)}
    return table(title, [read(head) for head in HEAD], rows, range(3, 10))


def server_ns(service: dict[str, Any]) -> int | None:
    """The server's own part of its middle answer; None when the round trip to it is not known."""
    network, answer = service["rtt_server"]["p50_ns"], service["responses"]["p50_ns"]
    return None if network is None or answer is None else max(answer - network, 0)


def slow_by(service: dict[str, Any]) -> str:
    """`network` or `server`, whichever has the greater part; `-` when the network's is not known on both sides."""
    own = server_ns(service)
    client = service["rtt_client"]["p50_ns"]
    if own is None or client is None:
        return "-"
    return SERVER if own >= client + service["rtt_server"]["p50_ns"] else NETWORK


def _named(service: dict[str, Any]) -> str:
    return f"{service['server_name']} ({service['name_source']})" if service["server_name"] else "-"


def _retransmitted(service: dict[str, Any]) -> str:
    health = service["health"]
    return share(health["retransmitted"], health["data_segments"]) if health else "-"
