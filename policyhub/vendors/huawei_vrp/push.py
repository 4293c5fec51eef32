"""How to talk to VRP S series (immediate, no commit); data only."""

from policyhub.vendorkit.contract import PushProfile
from policyhub.vendors.huawei_vrp.render import RUNNING

ERROR = (
    r"(?im)^\s*(?:"
    r"error\s*[:.]"
    r"|\^\s*$"
    r"|(?:info|warning)\s*: .*(?:fail|not take effect|not supported|cannot|can not|invalid|does not exist|conflict)"
    r"|(?:unrecognized|incomplete|ambiguous) command|wrong parameter|too many parameters|failed to\b"
    r"|permission denied|the command is not permitted"
    r")"
)

PROFILE = PushProfile(
    device_type="huawei",
    error_regex=ERROR,
    snapshot_command=RUNNING,
    setup=("undo terminal monitor",),
    enter="system-view",
    leave="return",
    read_timeout_s=30.0,
    max_lines=60,  # an install over several interfaces; a member is two or three
    slow=((r"^\s*(?:undo )?traffic-policy ", 90.0), (r"^display current-configuration", 120.0)),
    counter_commands=("display acl all",),
    reads_allowed=(RUNNING, r"display traffic policy statistics interface [A-Za-z0-9][A-Za-z0-9/.:-]* inbound"),
)
