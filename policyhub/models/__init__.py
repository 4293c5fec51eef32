"""Tables of the policy side. Rows only: reads live in `queries`, every change of state in `actions`."""

from policyhub.models.access import ApiToken
from policyhub.models.audit import AuditEntry
from policyhub.models.changes import Approval, Change, ChangeEvent, DeviceLease, KillSwitch
from policyhub.models.counters import CounterReading
from policyhub.models.findings import Exemption, Finding, Sweep
from policyhub.models.inventory import ConfigSnapshot, Credential, Device, DeviceGroup, HostKey, Realm
from policyhub.models.preflights import Preflight, PreflightResult
from policyhub.models.schedule import Schedule

__all__ = [
    "ApiToken",
    "Approval",
    "AuditEntry",
    "Change",
    "ChangeEvent",
    "ConfigSnapshot",
    "CounterReading",
    "Credential",
    "Device",
    "DeviceGroup",
    "DeviceLease",
    "Exemption",
    "Finding",
    "HostKey",
    "KillSwitch",
    "Preflight",
    "PreflightResult",
    "Realm",
    "Schedule",
    "Sweep",
]
