"""How to talk to IOS and IOS-XE; data only."""

from policyhub.vendorkit.contract import PushProfile
from policyhub.vendors.cisco_ios.render import RUNNING

# A parser error starts with "% " or "%word"; a log message is "%FACILITY-SEVERITY-NAME:" and is none, except QoS refusals.
ERROR = (
    r"(?im)^\s*(?:"
    r"%\s*(?![A-Z0-9_]+-\d-)(?:invalid|incomplete|ambiguous|unrecognized|unknown|error|bad\b|cannot|can't|failed|duplicate"
    r"|incorrect|wrong|too many|not enough|insufficient|access denied|authorization failed|command authorization|warning: .*not)"
    r"|%\s*(?![A-Z0-9_]+-\d-).*\b(?:in use|being used|used by|not supported|unsupported|not allowed|not permitted|not valid"
    r"|does not exist|doesn't exist|already exists|already attached|not configured|not found|rejected|exceeds|denied|failed)\b"
    r"|%[A-Z0-9_]*QOS[A-Z0-9_]*-[0-4]-|%[A-Z0-9_]+-\d-\w*POLICY_INST_FAILED"
    r"|\^\s*$"
    r"|(?:error|command rejected|configuration failed|qos: .*(?:failed|not supported))\b[: ]"
    r"|service[- ]policy .*(?:cannot|failed|not supported|in use)"
    r")"
)

PROFILE = PushProfile(
    device_type="cisco_ios",
    error_regex=ERROR,
    snapshot_command=RUNNING,
    setup=("terminal no monitor",),
    enter="configure terminal",
    leave="end",
    read_timeout_s=30.0,
    max_lines=40,  # an install over several interfaces; a member is two or three
    # programming hardware (service-policy) and printing a large configuration take their time
    slow=((r"^\s*(?:no )?service-policy ", 90.0), (r"^show running-config", 120.0)),
    # 1..120 minutes; needs `archive` with `path`; one at a time; `configure confirm` keeps, `configure revert now` fires
    revert_timer="configure terminal revert timer {minutes}",
    counter_commands=("show access-lists",),
    reads_allowed=(RUNNING, r"show policy-map interface [A-Za-z][A-Za-z-]*\d[\d/.:]* input"),
)
