"""Platform id -> Vendor, imported on first use; other packages add theirs through the entry point group `policyhub.vendors`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.metadata import entry_points

from policyhub.domain.errors import UnknownPlatform
from policyhub.domain.message import gettext_noop
from policyhub.vendorkit.contract import Vendor
from policyhub.vendorkit.expansion import expanding
from policyhub.vendorkit.uncollected import uncollected

BUILT_IN = {
    "arista_eos": "policyhub.vendors.arista_eos",
    "aws": "policyhub.vendors.aws",
    "azure": "policyhub.vendors.azure",
    "checkpoint_gaia": "policyhub.vendors.checkpoint_gaia",
    "cisco_asa": "policyhub.vendors.cisco_asa",
    "cisco_ios": "policyhub.vendors.cisco_ios",
    "cisco_iosxr": "policyhub.vendors.cisco_iosxr",
    "cisco_nxos": "policyhub.vendors.cisco_nxos",
    "fortinet_fortios": "policyhub.vendors.fortinet_fortios",
    "gcp": "policyhub.vendors.gcp",
    "h3c_comware": "policyhub.vendors.h3c_comware",
    "hillstone_stoneos": "policyhub.vendors.hillstone_stoneos",
    "huawei_usg": "policyhub.vendors.huawei_usg",
    "huawei_vrp": "policyhub.vendors.huawei_vrp",
    "linux_iptables": "policyhub.vendors.linux_iptables",
    "juniper_junos": "policyhub.vendors.juniper_junos",
    "linux_nftables": "policyhub.vendors.linux_nftables",
    "mikrotik": "policyhub.vendors.mikrotik",
    "nvidia_cumulus": "policyhub.vendors.nvidia_cumulus",
    "opnsense_pfsense": "policyhub.vendors.opnsense_pfsense",
    "paloalto_panos": "policyhub.vendors.paloalto_panos",
    "pf": "policyhub.vendors.pf",
    "sonic": "policyhub.vendors.sonic",
    "sonicwall": "policyhub.vendors.sonicwall",
    "topsec": "policyhub.vendors.topsec",
    "vmware_nsx": "policyhub.vendors.vmware_nsx",
    "vyos": "policyhub.vendors.vyos",
}
SURE = 0.5


class VendorRegistry:
    """One table of platforms; keeps what it imported on the instance."""

    def __init__(self, modules: dict[str, str] | None = None) -> None:
        self._modules = dict(BUILT_IN if modules is None else modules)
        if modules is None:
            for point in entry_points(group="policyhub.vendors"):
                if point.name in self._modules:
                    raise UnknownPlatform(f"platform {point.name!r} is registered twice. Remove one of the packages")
                self._modules[point.name] = point.value
        self._loaded: dict[str, Vendor] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._modules))

    def get(self, name: str) -> Vendor:
        """Raises UnknownPlatform naming the known ones."""
        if name not in self._loaded:
            if name not in self._modules:
                said = gettext_noop("platform %(name)r is not known. Known: %(known)s")
                raise UnknownPlatform.of(said, name=name, known=", ".join(self.names()))
            vendor: Vendor = import_module(self._modules[name]).VENDOR
            self._loaded[name] = replace(
                vendor, parse=uncollected()(expanding(vendor.parse)), counters=expanding(vendor.counters)
            )
        return self._loaded[name]

    def all(self) -> Iterator[Vendor]:
        return (self.get(name) for name in self.names())

    def detect(self, text: str) -> Vendor | None:
        """The platform whose content this is, or None when nobody is sure."""
        scored = sorted(((vendor.looks_like(text), vendor.name) for vendor in self.all()), reverse=True)
        best, name = scored[0]
        return self.get(name) if best >= SURE else None


REGISTRY = VendorRegistry()
