"""How to talk to a Linux router over SSH: shell commands, each answered by `rc=<n>`; data only."""

from policyhub.vendorkit.contract import PushProfile
from policyhub.vendors.linux_nftables.render import COUNTERS, RULESET

# nft names its place first ("<cmdline>:1:1-8: Error: ..."); shells name themselves. `rc=` is what the transport appends.
ERROR = (
    r"(?im)^\s*(?:"
    r"(?:[\w<>/.:\-]+: )?error: "
    r"|netlink: error"
    r"|rc=(?!0\s*$)\S+"
    r"|(?:-?(?:ba|da|z|a)?sh|sudo|nft|/[\w/]+): .*"
    r"(?:not found|permitted|denied|no such file|syntax error|unexpected|cannot)"
    r"|(?:operation not permitted|permission denied)\b"
    r")"
)

# The inverse touches our own table only, so it cannot undo other people's work. `if` keeps a list of several lines together.
WATCHDOG = (
    "rm -f /run/phg-{token}.ok; (setsid nohup sh -c 'sleep {ttl_s}; if [ ! -f /run/phg-{token}.ok ]; then {inverse}; fi;"
    " rm -f /run/phg-{token}.ok' >/dev/null 2>&1 </dev/null &)"
)

PROFILE = PushProfile(  # noqa: S604 (`shell` is a field of the profile, not a subprocess)
    device_type="linux",
    error_regex=ERROR,
    snapshot_command=RULESET,
    shell=True,
    read_timeout_s=20.0,
    watchdog=WATCHDOG,
    disarm="touch /run/phg-{token}.ok",
    counter_commands=("nft list ruleset",),
    reads_allowed=(RULESET, COUNTERS),
)
