"""Plain words for the traffic side: verdicts, outcomes, signals."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise

# What a verdict says, and in one sentence what it means.
VERDICTS: dict[str, tuple[Text, Text]] = {
    "class-not-allowed": (
        _("Mark not allowed"),
        _("The sender uses a priority mark that its entry in the ledger does not allow."),
    ),
    "unknown-identity-in-priority": (
        _("Unknown sender in priority"),
        _("Nobody claims this address, and it sends in a priority class."),
    ),
    "dscp-rewritten": (
        _("Mark changed by the network"),
        _("The packet entered with one mark and left with another: the host is not to blame."),
    ),
    "over-peak": (_("Above its peak"), _("It sends more than its entry in the ledger allows.")),
    "outside-window": (_("Outside its hours"), _("It sends at a time that its entry in the ledger does not cover.")),
    "bulk-into-business-hours": (
        _("Bulk runs into the day"),
        _("A long transfer that began off-hours runs into the business peak."),
    ),
    "queue-saturated": (_("Queue full"), _("The class's queue stays nearly full for more than half a second.")),
    "microburst": (_("Microburst"), _("The class's queue was nearly full for milliseconds.")),
}

# What would have to be true for a verdict to be wrong: where its reader should look first.
WRONG_IF: dict[str, Text] = {
    "class-not-allowed": _(
        "The ledger is out of date, another host uses this address, or a device before the point sets the mark."
    ),
    "unknown-identity-in-priority": _("The ledger misses this prefix, or the point belongs to another realm."),
    "dscp-rewritten": _("The two points see different traffic, or addresses are translated between them."),
    "over-peak": _("The peak in the ledger is out of date, or the point sees the same packets twice."),
    "outside-window": _("The hours or their time zone in the ledger are wrong, or the sensor's clock is."),
    "bulk-into-business-hours": _("The hours or their time zone in the ledger are wrong, or the sensor's clock is."),
    "queue-saturated": _("The rate or the buffer that was given for the queue is not that of the port."),
    "microburst": _("The rate or the buffer that was given for the queue is not that of the port."),
}

OUTCOMES: dict[str, tuple[Text, Text]] = {
    "helped": (_("It helped"), _("By packets behind the device: the sender's share of the priority class is gone.")),
    "harmed": (_("It harmed"), _("By packets behind the device: another class got worse. It was taken back at once.")),
    "offender-stopped": (_("The sender stopped"), _("The sender sends nothing any more, so the effect cannot be shown.")),
    "cannot-tell": (_("Cannot tell"), _("Too few packets were seen to say whether it helped.")),
}

SIGNALS: dict[str, Text] = {
    "dscp-outside-allowance": _("mark outside its allowance"),
    "no-identity": _("no entry in the ledger"),
    "volume": _("volume"),
    "persisted": _("it lasts"),
    "mark-changed-in-network": _("mark changed on the way"),
    "training-signature": _("payload of model training"),
    "outside-window": _("outside its hours"),
    "over-peak": _("above its peak"),
}

EVIDENCE: dict[str, Text] = {
    "first-packet": _("First offending packet"),
    "last-packet": _("Last offending packet"),
    "allowance": _("What the ledger allowed"),
    "rewritten": _("How the mark changed"),
    "replayed": _("Played back from a file"),
    "signature": _("What the payload shows"),
}

EVIDENCE_FIELDS: dict[str, Text] = {
    "point": _("Point"),
    "ts_ns": _("Time"),
    "sport": _("Source port"),
    "dport": _("Destination port"),
    "ip_id": _("IP id"),
    "bundle": _("Bundle"),
    "allowed_dscp": _("Allowed marks"),
    "from_dscp": _("Mark at the first point"),
    "to_dscp": _("Mark at a later point"),
    "shift_ns": _("Times moved by"),
    "name": _("Name"),
    "title": _("Application"),
    "strength": _("Strength"),
    "about": _("Kind of traffic"),
    "visibility": _("Where it shows"),
}

GAP_REASONS: dict[str, Text] = {
    "spool-full": _("the sensor's spool was full"),
    "never-arrived": _("batches that never arrived"),
    "torn": _("torn by a crash before it was sent"),
}

HEALTH_LOSS: dict[str, Text] = {"kernel": _("kernel"), "ring": _("ring"), "spool": _("spool")}


def server_port(port: str) -> Text:
    """A number, or the word for one that only means "some client"."""
    return _("ephemeral port") if port == "ephemeral" else port


def verdict_title(name: str) -> Text:
    return VERDICTS[name][0] if name in VERDICTS else name


def verdict_reason(name: str) -> Text:
    return VERDICTS[name][1] if name in VERDICTS else ""
