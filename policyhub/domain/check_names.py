"""What findings are called in front of people: nothing but msgids. Programs read the names (docs/checks)."""

from policyhub.domain.message import gettext_noop as _

TITLES = {
    "zombie-rule": _("Rule without hits"),
    "no-hit-evidence": _("Hits not known"),
    "shadowed-rule": _("Shadowed rule"),
    "redundant-rule": _("Redundant rule"),
    "coverage-undecided": _("Coverage not decided"),
    "correlated-rules": _("Rules that overlap"),
    "generalization": _("Generalisation"),
    "overbroad-rule": _("Rule too wide"),
    "any-any": _("Permits everything"),
    "risky-service": _("Risky service"),
    "expired-rule": _("Expired rule"),
    "disabled-rule": _("Disabled rule"),
    "unused-object": _("Unused object"),
    "duplicate-object": _("Duplicate object"),
    "empty-group": _("Empty group"),
    "unlogged-rule": _("Rule without log"),
    "mergeable-rules": _("Rules that can be one"),
    "undefined-reference": _("Defined nowhere"),
    "undefined-qos-reference": _("QoS part defined nowhere"),
    "shadowed-class": _("Shadowed class"),
    "unused-class": _("Unused class"),
    "ef-without-limit": _("EF without limit"),
    "ef-overcommit": _("EF overcommitted"),
    "dscp-trusted-at-edge": _("Mark trusted at the edge"),
    "class-not-queued": _("Class without queue"),
    "unattached-policy": _("Policy not attached"),
    "mark-without-queue": _("Mark without queue"),
    "host-key-changed": _("Host key changed"),
}
