"""Stateful simulated switches over real SSH: for `up --demo`, tests and fault trials.

They keep a running configuration, refuse what the real command line refuses with the vendor's words, and misbehave on request
(`Faults`). They encode a reading of vendor documents and of what netmiko's drivers insist on: they prove our own code, not a
vendor. No code is shared with policyhub.vendors, or a mistake there would be confirmed here.
"""

from flowguard.lab.simulators.cisco_ios import IosDevice
from flowguard.lab.simulators.huawei_vrp import VrpDevice
from flowguard.lab.simulators.readers import ANSWERS, ReadOnlyDevice
from flowguard.lab.simulators.server import Logins, Simulator
from flowguard.lab.simulators.shell import Device, Faults

PLATFORMS: dict[str, type[Device]] = {"cisco_ios": IosDevice, "huawei_vrp": VrpDevice}

READ_ONLY = tuple(ANSWERS)  # further platforms, for which ReadOnlyDevice answers

__all__ = ["PLATFORMS", "READ_ONLY", "Device", "Faults", "IosDevice", "Logins", "ReadOnlyDevice", "Simulator", "VrpDevice"]
