"""Texts of the checks for the message catalogues. Written by `python docs/checks/generate.py`."""

from policyhub.domain.message import gettext_noop

TEXTS = (
    gettext_noop("No packet used this rule over the whole window, and the device was counting all the time."),
    gettext_noop("A rule that nobody needs is a door that nobody watches."),
    gettext_noop(
        "Ask the owner, disable the rule, watch for its longest business cycle (quarter end, yearly recovery "
        "test), then delete it. Safe in this order only: a disabled rule is back in a minute. Make sure that "
        "the rule is older than the window, since the counters of one reading do not tell its age."
    ),
    gettext_noop("Nothing proves that this rule is used, and nothing proves that it is not."),
    gettext_noop(
        '"no data" is not "zero". Removing a rule on counters that were reset last week, are off, or live on '
        "the other cluster member is how working rules get deleted."
    ),
    gettext_noop(
        "Collect counters (again) after the missing days, or give the other member's counters: that changes "
        "nothing on the device and is safe. Where counting is off, switch it on: that is a change of its "
        "configuration."
    ),
    gettext_noop("Every packet of this rule is decided by earlier rules, and they act otherwise."),
    gettext_noop(
        "Somebody wrote the rule to allow or forbid something, and it does neither. A deny that never acts is"
        " worse than a permit that never acts: it looks like protection. One earlier rule or the union of "
        "several may cause it; rules with conditions that the model cannot express (established, time ranges,"
        " users) never count as a cause."
    ),
    gettext_noop(
        "Decide which of the two was meant. If the later rule: move it above the rules that cover it, and "
        "watch, since traffic changes. If the earlier ones: delete this rule; safe, because no packet reaches"
        " it."
    ),
    gettext_noop("This permit lets through far more than one service needs."),
    gettext_noop("What is open and not needed is what an intruder or a secret bulk transfer will use, and no counter shows it."),
    gettext_noop(
        "Replace it by the sources, destinations and services that were seen in use, keep the wide rule below"
        " with logging for one cycle, then remove it. Safe as long as the wide rule still stands; watch its "
        "counter before removing."
    ),
    gettext_noop("This permit lets everything through: any source, any destination, any service."),
    gettext_noop("From this line on there is no firewall, only a router; every rule below it is dead."),
    gettext_noop(
        "Log the rule for a business cycle, write rules for what is seen, move it behind them, and remove it "
        "when its counter stands still. Safe in this order only; removing it at once cuts traffic that nobody"
        " listed."
    ),
    gettext_noop("Other rules with the same action already say all of this rule."),
    gettext_noop("Long policies hide mistakes; each superfluous rule is read, reviewed and migrated again and again."),
    gettext_noop(
        "Delete the rule. Safe for forwarding: with direction up no packet reaches it; with direction down "
        "its packets meet the same action further down, and all rules reported so may go together. Counting "
        "and logging then happen at the other rule."
    ),
    gettext_noop("The schedule of this rule ended, and it will never match again."),
    gettext_noop("Temporary openings that stay in the policy come back when somebody edits the schedule for something else."),
    gettext_noop(
        "Delete the rule, then the schedule when nothing uses it any more. Safe: it matches no packet since "
        "then. The device's clock is taken as UTC, so the last day may differ."
    ),
    gettext_noop("This rule is disabled."),
    gettext_noop(
        "One keyword brings it back, without the review that a new rule would get; until then it only makes the policy longer."
    ),
    gettext_noop("Delete it when nobody expects it back. Safe: it decides no packet today."),
    gettext_noop("This deny, or permit from anywhere, is not logged."),
    gettext_noop(
        "What is forbidden and what is open to everybody are the two things that people ask about afterwards."
        " Other permits are left out on purpose: logging them all buries what matters. So are platforms that "
        "do not say whether they log."
    ),
    gettext_noop("Add logging to the rule. Safe for forwarding; watch the CPU of software routers and the rate of messages."),
    gettext_noop("Whether this rule is covered by earlier ones was not decided within the budget."),
    gettext_noop('"not decided" is not "fine"; the rule may be shadowed or redundant.'),
    gettext_noop("Read the rule by hand, or simplify the rules above it. Safe: nothing on the device needs to change."),
    gettext_noop("A list, object, group, service or chain is used here and defined nowhere."),
    gettext_noop(
        "It looks like protection and is none, or the file that was audited is not the whole one. Both are "
        "worth knowing before anybody relies on the rest."
    ),
    gettext_noop(
        "Define what is missing, or take the reference away. With a text that is not whole, collect it again."
        " Safe in a quiet hour only: a list that is defined at last begins to filter at once."
    ),
    gettext_noop("A queue that serves EF by strict priority has no policer, shaper or ceiling."),
    gettext_noop("RFC 3246 asks that EF arrivals stay below its service rate; strict priority without a limit starves the rest."),
    gettext_noop("Add a ceiling of at most a third of the port. Safe: it only bites when EF exceeds it."),
    gettext_noop("A QoS policy is attached, or uses a class, list or child policy, that is defined nowhere."),
    gettext_noop(
        "Traffic that somebody believes to be in the priority queue is served as any other, or the file that "
        "was audited is not the whole one."
    ),
    gettext_noop(
        "Define what is missing, or take the reference away. Safe when done in a quiet hour: marking and "
        "queueing of the port change at once."
    ),
)
