"""Titles and heads of the tables of `policyhub flows`: nothing but msgids."""

from policyhub.domain.message import gettext_noop as _

POINTS, MARKS, VERDICTS = _("Points"), _("Marks"), _("Verdicts")
POINT_HEAD = (
    _("point"), _("packets"), _("bytes"), _("first packet (UTC)"), _("length"), _("TCP data"), _("retransmitted"),
    _("zero window"), _("file"),
)  # fmt: skip
MARK_HEAD = (_("point"), _("mark"), _("packets"), _("bytes"), _("peak in 1 ms"))
NO_VERDICTS = _("Verdicts: none")
NOT_JUDGED = _("Verdicts: no identities given, marks were not judged")
VERDICT_HEAD = (
    _("severity"), _("verdict"), _("source"), _("destination"), _("service"), _("mark"), _("packets"), _("bytes"),
    _("since (UTC)"), _("for"), _("point"),
)  # fmt: skip
OR = _(" or ")
QUEUES = _("Queues (fill of the buffer, per millisecond)")
QUEUE_HEAD = (
    _("port"), _("class"), _("basis"), _("fullest"), _("95th pct"), _("time over 90 %"), _("drops measured"),
    _("drops estimated"),
)  # fmt: skip
BASES, KINDS = (_("measured"), _("estimated")), (_("microburst"), _("saturated"))
BURSTS = _("Nearly full queues (%(shown)d of %(all)d)")
BURST_HEAD = (
    _("kind"), _("port"), _("class"), _("basis"), _("start (UTC)"), _("length"), _("fullest"), _("bytes"), _("filled by"),
)  # fmt: skip
BETWEEN = _("Between %(from)s and %(to)s")
PATH_HEAD = (_("direction"), _("mark"), _("matched"), _("lost"), _("share"), _("p50"), _("p99"), _("max"))
RDMA = _("RDMA flows (%(shown)d of %(all)d)")
RDMA_HEAD = (
    _("source"), _("destination"), _("queue pair"), _("marks"), _("packets"), _("bytes"), _("numbers missing"),
    _("sent again"), _("NAK"), _("RNR"), _("CNP"), _("CE"), _("point"),
)  # fmt: skip
FLOWS = _("Largest flows (%(shown)d of %(all)d)")
FLOW_HEAD = (
    _("proto"), _("source"), _("destination"), _("marks"), _("packets"), _("bytes"), _("retransmitted"), _("identity"),
    _("payload"), _("point"),
)  # fmt: skip
NDPI = _("nDPI's label")
HEALTH = _("TCP health (sums of the conversations first seen at each point)")
HEALTH_HEAD = (
    _("point"), _("conversations"), _("half seen"), _("unanswered"), _("resets"), _("fast"), _("timeout"), _("spurious"),
    _("out of order"), _("duplicate acks"), _("window closed"),
)  # fmt: skip
MEDIA = _("Media (RTP; %(shown)d of %(all)d)")
MEDIA_HEAD = (
    _("source"), _("destination"), _("codec"), _("packets"), _("lost"), _("share"), _("late"), _("jitter"), _("max jitter"),
    _("MOS"), _("point"),
)  # fmt: skip
TYPE = _("type %(number)d")
