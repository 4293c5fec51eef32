"""Plain words for the traffic side: verdicts, outcomes, signals."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from flowguard.domain.verdict_names import TITLES

Text = str | Promise

# What a verdict says, and in one sentence what it means.
REASONS: dict[str, Text] = {
    "class-not-allowed": _("The sender uses a priority mark that its entry in the ledger does not allow."),
    "unknown-identity-in-priority": _("Nobody claims this address, and it sends in a priority class."),
    "dscp-rewritten": _("The packet entered with one mark and left with another: the host is not to blame."),
    "over-peak": _("It sends more than its entry in the ledger allows."),
    "outside-window": _("It sends at a time that its entry in the ledger does not cover."),
    "bulk-into-business-hours": _("A long transfer that began off-hours runs into the business peak."),
    "queue-saturated": _("The class's queue stays nearly full for more than half a second."),
    "microburst": _("The class's queue was nearly full for milliseconds."),
    "roce-loss": _("The receiver asked for missing packets, or the sender sent them again with all that followed."),
    "roce-congested": _("Switches mark this connection's packets as congested, or its receiver tells it to slow down."),
    "roce-rnr": _("The receiver has no buffer posted and refuses: a matter of the host, not of the network."),
    "roce-v1": _("These frames cannot be routed and carry no DSCP: switches can only go by their tag."),
    "roce-not-lossless": _("Its data cannot be marked for congestion, or changes its mark: the network drops it instead."),
    "pfc-pause": _("A neighbour stopped this link or a priority of it, often enough to matter."),
    "pfc-storm": _("A neighbour holds a priority of this link for a large share of the time: everything behind it waits."),
    "ecn-silent": _("The queue was nearly full of packets that can carry a congestion mark, and none was marked."),
    "mtu-blackhole": _("Large packets are sent again and again without an answer, while small ones are answered."),
}
VERDICTS: dict[str, tuple[Text, Text]] = {name: (_(TITLES[name]), reason) for name, reason in REASONS.items()}

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
    "roce-loss": _("The receiver dropped the packets itself, or an adapter's timeout is shorter than its answers take."),
    "roce-congested": _("The switch marks from too low a queue length on."),
    "roce-rnr": _("The refusals belong to another connection of the same two hosts."),
    "roce-v1": _("The frames are a test or a leftover that nobody waits for."),
    "roce-not-lossless": _("A device before the point removed the marks, or these hosts may lose packets by design."),
    "pfc-pause": _("The speed of the link is not the one that was assumed, or the point sees another link's frames."),
    "pfc-storm": _("The speed of the link is not the one that was assumed, or the point sees another link's frames."),
    "ecn-silent": _("The rate or the buffer that was given for the queue is not that of the port."),
    "mtu-blackhole": _("The receiver is gone or refuses this connection, or a firewall drops this one packet for what is in it."),
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
    "sequence-nak": _("the receiver misses packets"),
    "sent-again": _("packets sent again"),
    "lost-between-points": _("seen at one point, not at the next"),
    "large-frames-vanish": _("large packets get no answer"),
    "large-segments-vanish": _("large packets get no answer"),
    "too-big-ignored": _("a router says too big, the sender goes on"),
    "receiver-not-ready": _("the receiver is not ready"),
    "notifications": _("congestion notifications"),
    "ce-share": _("share of congestion marks"),
    "not-routable": _("cannot be routed"),
    "not-ect": _("cannot carry a congestion mark"),
    "other-marks": _("several marks in one connection"),
    "pause-frames": _("pause frames"),
    "paused-share": _("share of time paused"),
    "queue-nearly-full": _("queue nearly full"),
    "packets-lost": _("packets lost"),
    "core-packets-lost": _("packets of a core business lost"),
    "no-congestion-mark": _("no congestion mark"),
}

EVIDENCE: dict[str, Text] = {
    "first-packet": _("First offending packet"),
    "last-packet": _("Last offending packet"),
    "allowance": _("What the ledger allowed"),
    "rewritten": _("How the mark changed"),
    "replayed": _("Played back from a file"),
    "signature": _("What the payload shows"),
    "first-interval": _("First time"),
    "last-interval": _("Last time"),
    "counted": _("Counted"),
    "queue": _("The queue"),
    "filler": _("Who filled the queue"),
    "pause": _("The pauses"),
    "lost-between": _("Where packets vanish"),
    "told": _("What an exporter told"),
    "carried": _("In which tunnel it was seen"),
    "calibrated": _("What marked probes showed of the point's mirror"),
    "too-big": _("What a router said of the size"),
    "damaged": _("The capture is damaged"),
    "clocks": _("How right the clocks of both sensors are"),
}

EVIDENCE_FIELDS: dict[str, Text] = {
    "told": _("A router said so"),
    "router": _("Router"),
    "mtu": _("Largest packet that fits, in bytes"),
    "messages": _("Messages"),
    "damage": _("Damage"),
    "error_ms": _("Apart by at most, in ms"),
    "granted_ms": _("Granted, in ms"),
    "withheld": _("The network is not blamed"),
    "error": _("Error"),
    "point": _("Point"),
    "ts_ns": _("Time"),
    "sport": _("Source port"),
    "dport": _("Destination port"),
    "ip_id": _("IP id"),
    "bundle": _("Bundle"),
    "allowed_dscp": _("Allowed marks"),
    "from_dscp": _("Mark at the first point"),
    "to_dscp": _("Mark at a later point"),
    "tunnel": _("Tunnel"),
    "tunnel_id": _("Number of the tunnel"),
    "outer_src": _("From the tunnel's end"),
    "outer_dst": _("To the tunnel's end"),
    "outer_dscp": _("Mark of the outer packet"),
    "shift_ns": _("Times moved by"),
    "name": _("Name"),
    "title": _("Application"),
    "strength": _("Strength"),
    "about": _("Kind of traffic"),
    "visibility": _("Where it shows"),
    "active_window": _("Hours"),
    "peak_mbps": _("Peak in Mbit/s"),
    "port": _("Port"),
    "class": _("Class"),
    "basis": _("Basis"),
    "start_ns": _("Begin"),
    "end_ns": _("End"),
    "src": _("From"),
    "dst": _("To"),
    "proto": _("Protocol"),
    "server_port": _("Server port"),
    "dscp": _("Mark"),
    "packets": _("Packets"),
    "bytes": _("Bytes"),
    "share": _("Share (0 to 1)"),
    "identity": _("Entry in the ledger"),
    "business": _("Business"),
    "allowed": _("Mark allowed"),
    "mac": _("MAC address"),
    "priority": _("Priority"),
    "speed_mbps": _("Speed in Mbit/s"),
    "not_seen_at": _("Not seen at"),
    "dest_qps": _("Destination queue pairs"),
    "repeated": _("Sent again"),
    "missing": _("Numbers missing"),
    "sequence_naks": _("Refusals for missing packets"),
    "lost_between": _("Lost between the points"),
    "after_silence": _("Sent again after a timeout"),
    "largest_frame": _("Largest frame in bytes"),
    "ce": _("Congestion marks"),
    "cnp": _("Congestion notifications"),
    "rnr_naks": _("Refusals for want of a buffer"),
    "not_ect": _("Packets that cannot be marked"),
    "other_marks": _("Packets with another mark"),
    "frames": _("Frames"),
    "paused_us": _("Paused in µs"),
    "longest_us": _("Longest pause in µs"),
    "share_pct": _("Largest share in per cent"),
    "intervals": _("How often"),
    "longest_ms": _("Longest in ms"),
    "peak_fill_pct": _("Fullest in per cent"),
    "queue_bytes": _("Bytes in the queue"),
    "lost": _("Packets lost"),
    "lost_of_core": _("Of these of a core business"),
    "source": _("Kind of record"),
    "exporter": _("Exporter"),
    "sampling": _("One packet looked at in"),
    "is_estimate": _("Scaled up from a sample"),
    "records": _("Records"),
    "counted_packets": _("Packets that were counted"),
    "records_of_others": _("Records of other exporters"),
    "cannot_know": _("Cannot know"),
    "rewrite": _("Copies are made, seen from the change of marks"),
    "egress_drop": _("Copies are made, seen from drops on the way out"),
}

# Words that stand as values in evidence.
EVIDENCE_WORDS: dict[str, Text] = {
    "ended": _("its end is missing"),
    "doubtful": _("what was read may be wrong"),
    "measured": _("measured"),
    "estimated": _("estimated"),
    "True": _("yes"),
    "False": _("no"),
    "dscp-per-millisecond": _("marks of each millisecond"),
    "microbursts": _("microbursts"),
    "queues": _("queues"),
    "path": _("the way between points"),
    "tcp-health": _("health of TCP"),
    "signatures": _("signatures"),
    "payload": _("payload"),
    "marks-that-changed-within-a-flow": _("marks that changed within a flow"),
    "frame-bytes": _("bytes of whole frames"),
    "vlan": _("VLAN"),
    "ipv6": _("IPv6"),
    "packets-not-sampled": _("packets that were not sampled"),
    "first-and-last-packet": _("first and last packet"),
    "retransmitted": _("what was sent again"),
    "before": _("before it"),
    "after": _("after it"),
    "both": _("before and after it"),
}

GAP_REASONS: dict[str, Text] = {
    "spool-full": _("the sensor's spool was full"),
    "never-arrived": _("batches that never arrived"),
    "torn": _("torn by a crash before it was sent"),
}

HEALTH_LOSS: dict[str, Text] = {"interface": _("interface"), "kernel": _("kernel"), "ring": _("ring"), "spool": _("spool")}


def server_port(port: str) -> Text:
    """A number, or the word for one that only means "some client"."""
    return _("ephemeral port") if port == "ephemeral" else port


def verdict_title(name: str) -> Text:
    return VERDICTS[name][0] if name in VERDICTS else name


def verdict_reason(name: str) -> Text:
    return VERDICTS[name][1] if name in VERDICTS else ""
