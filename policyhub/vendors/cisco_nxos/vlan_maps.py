"""VLAN access maps, as the other Cisco switches write them."""

from policyhub.vendorkit.ios_vlan_maps import policies, read_vlan

__all__ = ["policies", "read_vlan"]
