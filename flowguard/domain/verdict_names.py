"""What verdicts are called in front of people: nothing but msgids. Programs read the names (docs/verdicts.md)."""

from policyhub.domain.message import gettext_noop as _

TITLES = {
    "class-not-allowed": _("Mark not allowed"),
    "unknown-identity-in-priority": _("Unknown sender in priority"),
    "dscp-rewritten": _("Mark changed by the network"),
    "over-peak": _("Above its peak"),
    "outside-window": _("Outside its hours"),
    "bulk-into-business-hours": _("Bulk runs into the day"),
    "queue-saturated": _("Queue full"),
    "microburst": _("Microburst"),
    "roce-loss": _("RDMA packets lost"),
    "roce-congested": _("RDMA congested"),
    "roce-rnr": _("RDMA receiver not ready"),
    "roce-v1": _("RoCEv1 in use"),
    "roce-not-lossless": _("RDMA without protection"),
    "pfc-pause": _("Paused by a neighbour"),
    "pfc-storm": _("Pause storm"),
    "ecn-silent": _("Full queue without congestion marks"),
    "mtu-blackhole": _("Large packets vanish"),
}
